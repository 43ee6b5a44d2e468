//! Mail joins within its inbox only. What is written to a private inbox stays there, whatever it answers;
//! what is in one draws in no mail to another.

use serde_json::{Value, json};

use crate::{
    kit::{Api, Kit, text, texts},
    mcp::{Era, Mcp},
};

const SECRET: &str = "between us two";

/// A workspace with a team inbox and a person's private one, a key that sees both, and a webhook for each.
struct Office {
    kit: Kit,
    team: String,
    everyone: Api,
    owner: Api,
    hooks: [String; 2],
}

const PRIVATE: &str = "priv@acme.example";

impl Office {
    async fn open() -> Self {
        let kit = Kit::start().await;
        let owner = text(&kit.act("/users", json!({ "name": "Priv Ate" })).await["id"]);
        kit.act("/mailboxes", json!({ "address": PRIVATE, "name": "Private", "owner": owner })).await;
        let scopes = ["read", "write", "draft", "send", "record"];
        let new = json!({ "name": "Own", "scopes": scopes, "livemode": true, "createdBy": owner });
        let own = kit.api(&text(&kit.act("/keys", new).await["key"]));
        // Nothing listens there: the log shows what would be told to whom.
        let hook = |scope: &str| json!({ "url": "http://127.0.0.1:9/", "livemode": true, "scope": scope, "owner": owner });
        let hooks = [
            text(&kit.act("/webhooks", hook("team")).await["id"]),
            text(&kit.act("/webhooks", hook("private")).await["id"]),
        ];
        let team = kit.inbox().await;
        Self { team, everyone: kit.live(), owner: own, hooks, kit }
    }

    /// A mail from Kim with a file; where it went.
    async fn mail(&self, to: &str, more: Value) -> Value {
        let mut mail = json!({
            "to": to, "from": "kim@example.com", "text": SECRET,
            "attachments": [{ "filename": "salary.pdf", "contentType": "application/pdf", "size": 10 }],
        });
        mail.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        self.kit.act("/inbound", mail).await
    }

    /// The kinds of event about a conversation that went to the team's webhook and to the private one.
    async fn event_kinds(&self, conversation: &str) -> [Vec<String>; 2] {
        let state = self.kit.look("/state").await;
        let log = state["webhooks"]["log"].as_object().expect("a log");
        [0, 1].map(|hook| {
            let to = |it: &&Value| {
                it["event"]["data"]["conversation_id"] == conversation
                    && it["deliveries"].get(&self.hooks[hook]).is_some()
            };
            log.values().filter(to).map(|it| text(&it["event"]["type"])).collect()
        })
    }

    /// Panics when mail to a private inbox shows anywhere but there.
    async fn assert_private(&self, received: &Value, as_answer_to: &str) {
        let id = text(&received["conversationId"]);
        assert_eq!(received["created"], true, "{as_answer_to}: {received}");
        self.everyone.get(&format!("/conversations/{id}")).await.error(404);
        assert_eq!(self.everyone.listed("?q=between").await, [] as [&str; 0], "{as_answer_to}");
        assert_eq!(self.everyone.get("/documents").await.expect(200), json!([]), "{as_answer_to}");
        let mcp = Mcp::new(&self.kit, &self.everyone);
        for era in [Era::Legacy, Era::Modern] {
            assert_eq!(mcp.tool(era, "get_conversation", json!({ "id": id })).await["isError"], true);
            let found = mcp.tool(era, "list_conversations", json!({ "q": "between" })).await;
            assert_eq!(found["structuredContent"]["items"], json!([]), "{as_answer_to}");
            let files = mcp.tool(era, "search_documents", json!({})).await;
            assert_eq!(files["structuredContent"]["items"], json!([]), "{as_answer_to}");
        }
        assert_eq!(self.owner.listed("?q=between").await, [id.as_str()], "{as_answer_to}");
        let files = self.owner.get("/documents").await.expect(200);
        assert_eq!(files[0]["conversationId"], json!(id), "{as_answer_to}");
        let [team, private] = self.event_kinds(&id).await;
        assert!(team.is_empty() && !private.is_empty(), "{as_answer_to}: {team:?} {private:?}");
    }
}

#[tokio::test]
async fn mail_to_a_private_inbox_that_answers_a_message_of_the_team_stays_private() {
    let office = Office::open().await;
    let id = office.kit.mail("kim@example.com", "Hello").await;
    let said = text(&office.everyone.timeline(&id).await[0]["id"]);
    let received = office.mail(PRIVATE, json!({ "inReplyTo": said })).await;
    office.assert_private(&received, "a message").await;
    assert_eq!(office.everyone.timeline(&id).await.len(), 1);
    let named = format!("<{said}@mail.acme.example>");
    let more = office.mail(PRIVATE, json!({ "inReplyTo": named })).await;
    assert_ne!(more["conversationId"], json!(id));
}

#[tokio::test]
async fn mail_to_a_private_inbox_that_answers_app_mail_of_the_team_stays_private() {
    let office = Office::open().await;
    let sent = json!({
        "messageId": "<a1@shop.example>", "reference": "order-7", "to": ["kim@example.com"], "subject": "Order",
        "text": "the app's own words",
    });
    office.everyone.post("/app-mail", sent).await.expect(201);
    let team = office.team.replace('@', "+order-7@");
    let first =
        json!({ "to": team, "from": "kim@example.com", "text": "Hello", "inReplyTo": "<a1@shop.example>" });
    let first = text(&office.kit.act("/inbound", first).await["conversationId"]);
    assert_eq!(office.everyone.conversation(&first).await["appSent"]["messageId"], "a1@shop.example");

    let received = office.mail(PRIVATE, json!({ "inReplyTo": "a1@shop.example" })).await;
    office.assert_private(&received, "recorded mail").await;
    let kept = office.owner.conversation(&text(&received["conversationId"])).await;
    assert!(
        kept.get("appSent").is_none() && kept.get("reference").is_none(),
        "it stays with its conversation: {kept}"
    );
    assert_eq!(office.everyone.timeline(&first).await.len(), 1);
    let tagged = office.mail("priv+order-7@acme.example", json!({})).await;
    assert_eq!(tagged["created"], true);
    assert_eq!(office.owner.conversation(&text(&tagged["conversationId"])).await["reference"], "order-7");
    assert_eq!(office.everyone.listed("?view=all&reference=order-7").await, [first]);
}

#[tokio::test]
async fn mail_to_the_team_that_answers_private_mail_does_not_join_it() {
    let office = Office::open().await;
    let private = text(&office.mail(PRIVATE, json!({})).await["conversationId"]);
    let said = text(&office.owner.timeline(&private).await[0]["id"]);
    let sent = json!({
        "messageId": "<p1@shop.example>", "reference": "raise-9", "to": ["kim@example.com"], "subject": "Raise",
        "text": "private words of the app",
    });
    office.owner.post("/app-mail", sent).await.expect(201);
    let answered = office.mail(PRIVATE, json!({ "inReplyTo": "<p1@shop.example>" })).await;
    let answered = text(&answered["conversationId"]);

    for named in [said.as_str(), "p1@shop.example"] {
        let mail =
            json!({ "to": office.team, "from": "kim@example.com", "text": "To all", "inReplyTo": named });
        let received = office.kit.act("/inbound", mail).await;
        assert_eq!(received["created"], true, "{named}");
        let id = text(&received["conversationId"]);
        let read = office.everyone.conversation(&id).await;
        assert_eq!(read["timeline"].as_array().map(Vec::len), Some(1), "{named}");
        assert!(
            !read.to_string().contains("private words") && read.get("reference").is_none(),
            "{named}: {read}"
        );
        let [team, private] = office.event_kinds(&id).await;
        assert!(!team.is_empty() && private.is_empty(), "{named}: {team:?} {private:?}");
    }
    assert_eq!(office.owner.timeline(&private).await.len(), 1);
    assert_eq!(office.owner.timeline(&answered).await.len(), 1);
}

#[tokio::test]
async fn mail_cannot_name_a_conversation_of_another_inbox() {
    let office = Office::open().await;
    let team = office.kit.mail("kim@example.com", "Hello").await;
    let private = text(&office.mail(PRIVATE, json!({})).await["conversationId"]);
    let before = office.kit.look("/state").await;
    for (to, id) in [(PRIVATE, &team), (office.team.as_str(), &private)] {
        let mail = json!({ "to": to, "from": "kim@example.com", "text": "Hi", "conversationId": id });
        let error = office.kit.control("POST", "/inbound", mail).await.error(400);
        assert!(error.starts_with("conversationId: "), "{error}");
    }
    assert_eq!(office.kit.look("/state").await, before, "nothing happened");
    let simulated = json!({ "from": "kim@customer.test", "text": "Hi", "conversationId": team });
    office.kit.sandbox().post("/sandbox/inbound", simulated).await.error(404);
    let simulated = json!({ "from": "kim@customer.test", "text": "Hi", "to": office.team });
    let error = office.kit.sandbox().post("/sandbox/inbound", simulated).await.error(400);
    assert!(error.starts_with("to: "), "{error}");
}

#[tokio::test]
async fn simulated_mail_that_answers_live_mail_stays_in_the_sandbox_and_the_other_way_round() {
    let office = Office::open().await;
    let (kit, sandbox) = (&office.kit, office.kit.sandbox());
    let live = kit.mail("kim@example.com", "Hello").await;
    let said = text(&office.everyone.timeline(&live).await[0]["id"]);
    let mail = json!({ "from": "kim@customer.test", "text": "Hi", "inReplyTo": said });
    let received = sandbox.post("/sandbox/inbound", mail).await.expect(201);
    assert_ne!(received["conversationId"], json!(live));
    let answer = json!({ "to": office.team, "from": "kim@example.com", "text": "Hi", "inReplyTo": received["messageId"] });
    assert_eq!(kit.act("/inbound", answer).await["created"], true);
    assert_eq!(office.everyone.timeline(&live).await.len(), 1);
    assert_eq!(sandbox.timeline(&text(&received["conversationId"])).await.len(), 1);
}

#[tokio::test]
async fn whatever_happens_in_a_private_inbox_changes_nothing_for_anybody_else() {
    let office = Office::open().await;
    let (kit, owner) = (&office.kit, &office.owner);
    office.kit.mail("kim@example.com", "Hello, all of you").await;
    kit.advance(0).await;
    let mcp = Mcp::new(kit, &office.everyone);
    // All that another key gets to see, and all that the team's webhook hears.
    let seen = async || {
        let mut all = Vec::new();
        for path in ["/mailboxes", "/documents", "/documents?q=salary", "/documents?kind=id", "/tags"] {
            all.push(office.everyone.get(path).await.expect(200));
        }
        for view in ["open", "waiting", "snoozed", "closed", "all&reference=raise-9", "open&q=between"] {
            all.push(office.everyone.get(&format!("/conversations?view={view}")).await.expect(200));
        }
        all.push(mcp.tool(Era::Modern, "search_documents", json!({})).await);
        all.push(mcp.tool(Era::Modern, "list_conversations", json!({ "assigned": "unassigned" })).await);
        let log = kit.look(&format!("/webhooks/{}/deliveries", office.hooks[0])).await;
        all.push(json!(texts(&log, "eventId")));
        all
    };
    // Tags are the workspace's, so this one is there before; how often it is used is not for everyone.
    let visible = office.everyone.listed("").await[0].clone();
    let tag = json!({ "add": ["raise"] });
    office.everyone.act(&visible, "tags", tag.clone()).await;
    kit.advance(0).await;
    let before = seen().await;

    let private =
        text(&office.mail("priv+raise-9@acme.example", json!({ "held": true })).await["conversationId"]);
    owner.act(&private, "notes", json!({ "body": SECRET })).await;
    owner.act(&private, "tags", tag).await;
    owner.act(&private, "assign", json!({ "to": "me" })).await;
    let draft = owner.act(&private, "replies", json!({ "body": SECRET })).await;
    kit.act(&format!("/messages/{}/approve", text(&draft["messageId"])), json!({})).await;
    let ask = json!({ "documents": [{ "label": "Your passport" }], "send": true });
    let request = owner.act(&private, "document-requests", ask).await;
    kit.advance(700).await;
    let upload = json!({ "item": 0, "filename": "salary-passport.jpg", "kind": "id" });
    kit.act(&format!("/document-requests/{}/uploads", text(&request["requestId"])), upload).await;
    let host = kit.look("/users").await[0]["id"].clone();
    let times = json!({ "hostUserId": host, "startsAt": "2027-03-01T09:30:00Z", "endsAt": "2027-03-01T10:00:00Z", "conversationId": private });
    kit.act("/bookings", times).await;
    kit.act(&format!("/messages/{}/bounce", text(&draft["messageId"])), json!({})).await;
    let snooze = format!("/conversations/{private}/snooze");
    kit.act(&snooze, json!({ "until": "2040-01-01T00:00:00Z" })).await;
    owner.act(&private, "status", json!({ "status": "closed" })).await;
    kit.advance(0).await;

    assert_eq!(seen().await, before);
    let kinds_heard: Vec<String> =
        office.event_kinds(&private).await.into_iter().nth(1).expect("the private one");
    let kinds = "turn.changed scout.held conversation.assigned draft.approved message.sent ask.completed booking.created";
    for kind in kinds.split(' ') {
        assert!(kinds_heard.iter().any(|it| it == kind), "the owner's webhook hears {kind}: {kinds_heard:?}");
    }
    // Nobody else can do anything there either, and is told what someone is told who names nothing.
    for (what, body) in [
        ("notes", json!({ "body": "Hi" })),
        ("status", json!({ "status": "open" })),
        ("tags", json!({ "remove": ["raise"] })),
        ("assign", json!({ "to": "none" })),
        ("replies", json!({ "body": "Hi", "send": true })),
        ("document-requests", json!({ "documents": [{ "label": "x" }] })),
    ] {
        let refusal = async |id: &str| {
            office.everyone.post(&format!("/conversations/{id}/{what}"), body.clone()).await.error(404)
        };
        assert_eq!(refusal(&private).await, refusal("cnv_nowhere").await, "{what}");
    }
}
