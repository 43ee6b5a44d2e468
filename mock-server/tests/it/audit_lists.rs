//! Lists narrowed, ordered and up to date, and what each call sets off, seen through the log of a webhook.

use serde_json::{Value, json};

use crate::kit::{Kit, text};

fn ids(list: &Value) -> Vec<String> {
    list.as_array().expect("a list").iter().map(|it| text(&it["id"])).collect()
}

/// A webhook that nobody listens behind: its log shows what was told.
async fn listening(kit: &Kit, livemode: bool) -> String {
    let hook = json!({ "url": "http://127.0.0.1:9/in", "livemode": livemode, "scope": "team" });
    text(&kit.act("/webhooks", hook).await["id"])
}

/// The kinds of what was told, oldest first, without the turns.
async fn told(kit: &Kit, hook: &str) -> Vec<String> {
    let log = kit.look(&format!("/webhooks/{hook}/deliveries")).await;
    let kinds = log.as_array().expect("a list").iter().rev().map(|it| text(&it["type"]));
    kinds.filter(|kind| kind != "turn.changed").collect()
}

#[tokio::test]
async fn conversations_are_narrowed_to_an_inbox_and_the_latest_message_decides_the_order() {
    let kit = Kit::start().await;
    let live = kit.live();
    let sales = kit.act("/mailboxes", json!({ "address": "sales@acme.example", "name": "Sales" })).await;
    let first = kit.mail("vera@customer.example", "One").await;
    kit.advance(1).await;
    let mail = json!({ "to": "SALES@acme.example", "from": "karl@customer.example", "text": "Two" });
    let second = text(&kit.act("/inbound", mail).await["conversationId"]);
    kit.advance(1).await;
    let third = kit.mail("olga@customer.example", "Three").await;
    assert_eq!(live.listed("").await, [third.as_str(), second.as_str(), first.as_str()]);
    assert_eq!(live.listed(&format!("?mailbox={}", text(&sales["id"]))).await, [second.as_str()]);
    let inboxes = live.get("/mailboxes").await.expect(200);
    let help =
        inboxes.as_array().expect("a list").iter().find(|it| it["id"] != sales["id"]).expect("the first");
    assert_eq!(
        live.listed(&format!("?mailbox={}", text(&help["id"]))).await,
        [third.as_str(), first.as_str()]
    );
    assert_eq!(live.listed("?mailbox=mbx_nowhere").await, [""; 0]);
    assert_eq!((&help["open"], &inboxes[1]["open"]), (&json!(2), &json!(1)));

    kit.advance(1).await;
    let again = json!({ "to": kit.inbox().await, "from": "vera@customer.example", "text": "More", "conversationId": first });
    kit.act("/inbound", again).await;
    let list = live.get("/conversations?limit=2").await.expect(200);
    assert_eq!(ids(&list), [first.as_str(), third.as_str()]);
    assert_eq!((&list[0]["snippet"], &list[0]["messageCount"]), (&json!("More"), &json!(2)));
    assert_eq!(list[0]["lastMessageAt"], kit.look("/clock").await["now"]);
    assert_eq!(list[0]["lastMessageAt"], live.conversation(&first).await["lastMessageAt"]);
}

/// What a list says of a conversation, all of it as a read and the control API say it.
async fn summary(kit: &Kit, id: &str) -> Value {
    let live = kit.live();
    let read = live.conversation(id).await;
    let view = kit.look(&format!("/conversations/{id}")).await;
    let list = live.get(&format!("/conversations?view={}", text(&read["status"]))).await.expect(200);
    let summary = list.as_array().expect("a list").iter().find(|it| it["id"] == id).expect("it is listed");
    for field in
        ["subject", "status", "contact", "lastMessageAt", "assignee", "tags", "topic", "urgency", "risk"]
    {
        assert_eq!((&summary[field], &read[field]), (&view[field], &view[field]), "{field}");
    }
    assert_eq!((&read["mailbox"], &read["team"]), (&view["mailbox"]["address"], &view["team"]));
    let timeline = view["timeline"].as_array().expect("a timeline");
    let ids = |of: &Value| of["timeline"].as_array().map(|it| it.iter().map(|it| it["id"].clone()).collect());
    assert_eq!(ids(&read), ids(&view) as Option<Vec<Value>>);
    let messages: Vec<&Value> = timeline.iter().filter(|it| it["type"] == "message").collect();
    assert_eq!(summary["messageCount"], messages.len());
    assert_eq!(summary["snippet"], messages[messages.len() - 1]["text"]);
    summary.clone()
}

#[tokio::test]
async fn a_list_or_a_conversation_that_is_asked_for_again_shows_whatever_has_changed() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "One").await;
    let other = kit.mail("karl@customer.example", "Two").await;
    let (first, beside) = (summary(&kit, &id).await, summary(&kit, &other).await);
    kit.control("POST", "/snapshots", json!({ "name": "before" })).await.expect(201);

    let path = |what: &str| format!("/conversations/{id}/{what}");
    let me = text(&kit.live().get("/me").await.expect(200)["agent"]["id"]);
    let mut last = first.clone();
    for (what, body) in [
        ("tags", json!({ "add": ["vip"] })),
        ("assign", json!({ "to": format!("agent:{me}") })),
        ("replies", json!({ "body": "A draft" })),
        ("status", json!({ "status": "closed" })),
        ("status", json!({ "status": "open" })),
    ] {
        kit.live().post(&path(what), body).await;
        let now = summary(&kit, &id).await;
        assert_ne!(now, last, "{what}");
        last = now;
    }
    kit.live().post(&path("notes"), json!({ "body": "A note" })).await.expect(201);
    assert_eq!(summary(&kit, &id).await, last, "a note is in no list");
    kit.act("/users", json!({ "name": "Somebody new" })).await;
    assert_eq!(summary(&kit, &id).await, last, "nor is the team");
    let more = json!({ "to": kit.inbox().await, "from": "vera@customer.example", "text": "More", "conversationId": id });
    for (what, body) in
        [(path("sorting"), json!({ "topic": "billing", "urgency": "high" })), ("/inbound".into(), more)]
    {
        kit.act(&what, body).await;
        let now = summary(&kit, &id).await;
        assert_ne!(now, last, "{what}");
        last = now;
    }
    kit.live().post(&path("replies"), json!({ "body": "Sent", "send": true })).await.expect(201);
    let scheduled = summary(&kit, &id).await;
    kit.advance(600).await;
    assert_ne!(summary(&kit, &id).await, scheduled, "it has left by itself");
    assert_eq!(summary(&kit, &other).await, beside);

    kit.control("POST", "/snapshots/before/restore", Value::Null).await.expect(200);
    assert_eq!(summary(&kit, &id).await, first);
    let mut state = kit.look("/state").await;
    for inbox in state["mailboxes"].as_array_mut().expect("inboxes") {
        inbox["name"] = json!("Another name");
    }
    kit.control("PUT", "/state", state).await.expect(200);
    assert_eq!(summary(&kit, &id).await["mailbox"], "Another name");
    kit.control("POST", "/snapshots/before/restore", Value::Null).await.expect(200);
    assert_eq!(summary(&kit, &id).await, first);
}

#[tokio::test]
async fn a_conversation_of_more_than_a_mebibyte_is_read_whole_each_time() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let note = async |body: String| {
        kit.live().post(&format!("/conversations/{id}/notes"), json!({ "body": body })).await.expect(201);
    };
    for _ in 0..110 {
        note("x".repeat(10_000)).await;
    }
    let read = kit.live().conversation(&id).await;
    assert!(read.to_string().len() > 1 << 20);
    assert_eq!(kit.live().conversation(&id).await, read);
    note("The last".to_owned()).await;
    assert_eq!(kit.live().timeline(&id).await[111]["body"], "The last");
}

#[tokio::test]
async fn documents_are_newest_first_and_found_by_title_name_fields_and_kind() {
    let kit = Kit::start().await;
    let live = kit.live();
    let id = kit.mail("vera@customer.example", "Hi").await;
    let asked = json!({ "documents": [{ "label": "Lease" }, { "label": "Bill" }], "send": true });
    let asked = live.post(&format!("/conversations/{id}/document-requests"), asked).await.expect(201);
    kit.advance(600).await;
    let uploads = format!("/document-requests/{}/uploads", text(&asked["requestId"]));
    let lease =
        kit.act(&uploads, json!({ "item": 0, "filename": "front-page.pdf", "kind": "contract" })).await;
    kit.advance(1).await;
    let fields =
        json!({ "vendor": "Nordwind", "amount": 12.5, "currency": "EUR", "date": null, "reference": "R-77" });
    let bill = json!({ "item": 1, "filename": "scan-2.pdf", "kind": "invoice", "fields": fields });
    let bill = kit.act(&uploads, bill).await;
    let (lease, bill) = (text(&lease["documentId"]), text(&bill["documentId"]));
    let all = live.get("/documents").await.expect(200);
    assert_eq!(ids(&all), [bill.as_str(), lease.as_str()]);
    assert_eq!(all[0]["fields"], fields, "null, missing and there are told apart");
    for (query, found) in [
        ("q=nordwind", &bill),
        ("q=R-77", &bill),
        ("q=Lease", &lease),
        ("q=FRONT-page.pdf", &lease),
        ("kind=contract", &lease),
        ("kind=invoice&q=scan-2", &bill),
        ("limit=1", &bill),
    ] {
        assert_eq!(
            ids(&live.get(&format!("/documents?{query}")).await.expect(200)),
            [found.as_str()],
            "{query}"
        );
    }
    for query in ["kind=tax", "q=absent", "q=lease&kind=invoice"] {
        assert_eq!(live.get(&format!("/documents?{query}")).await.expect(200), json!([]), "{query}");
    }
}

#[tokio::test]
async fn documents_are_25_unless_said_and_what_no_helper_found_is_null() {
    let kit = Kit::start().await;
    let file = json!({ "filename": "scan.pdf", "contentType": "application/pdf", "size": 1 });
    let mail = json!({ "to": kit.inbox().await, "from": "vera@customer.example", "text": "Hi",
                       "attachments": vec![file; 30] });
    kit.act("/inbound", mail).await;
    let live = kit.live();
    for (query, count) in [("", 25), ("?limit=30", 30), ("?limit=100", 30)] {
        assert_eq!(ids(&live.get(&format!("/documents{query}")).await.expect(200)).len(), count, "{query}");
    }
    let summary = live.get("/conversations").await.expect(200)[0].clone();
    for field in ["topic", "urgency", "risk"] {
        assert_eq!(summary[field], Value::Null, "{field}");
    }
}

#[tokio::test]
async fn tagging_takes_no_body_at_all_and_everything_else_that_is_required_does_not() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hi").await;
    for (rest, status) in [
        ("tags", 200),
        ("notes", 400),
        ("status", 400),
        ("assign", 400),
        ("replies", 400),
        ("document-requests", 400),
    ] {
        let url = format!("{}/conversations/{id}/{rest}", kit.mock.base_url());
        let answer = kit.ask(kit.http().post(url).bearer_auth(kit.mock.live_key())).await;
        assert_eq!(answer.status, status, "{rest}");
    }
    assert_eq!(kit.live().timeline(&id).await.len(), 1, "nothing was recorded");
}

#[tokio::test]
async fn repeating_what_is_safe_to_repeat_tells_and_records_nothing_new() {
    let kit = Kit::start().await;
    let live = kit.live();
    let id = kit.mail("vera@customer.example", "Hi").await;
    let hook = listening(&kit, true).await;
    let calls = [
        ("status", json!({ "status": "closed" })),
        ("tags", json!({ "add": ["a"], "remove": ["b"] })),
        ("assign", json!({ "to": "me" })),
    ];
    for (rest, body) in &calls {
        live.post(&format!("/conversations/{id}/{rest}"), body.clone()).await.expect(200);
    }
    let (timeline, log) = (live.timeline(&id).await, kit.look(&format!("/webhooks/{hook}/deliveries")).await);
    assert_eq!((timeline.len(), told(&kit, &hook).await), (4, vec!["conversation.assigned".to_owned()]));
    for (rest, body) in calls {
        live.post(&format!("/conversations/{id}/{rest}"), body).await.expect(200);
    }
    assert_eq!(live.timeline(&id).await, timeline);
    let events = |log: &Value| log.as_array().expect("a list").len();
    assert_eq!(events(&kit.look(&format!("/webhooks/{hook}/deliveries")).await), events(&log));
}

#[tokio::test]
async fn each_magic_recipient_sets_off_its_own_events() {
    for (address, status, came, events) in [
        ("delivered@x.test", "sent", 1, vec!["message.sent"]),
        ("someone@deep.er.test", "sent", 1, vec!["message.sent"]),
        ("bounce+7@x.test", "failed", 1, vec![]),
        ("complaint@x.test", "sent", 1, vec!["message.sent"]),
        ("Reply+ticket@y.test", "sent", 2, vec!["message.sent", "client.replied"]),
        ("docs@x.test", "sent", 2, vec!["message.sent", "client.replied"]),
        ("ooo@x.test", "sent", 2, vec!["message.sent"]),
        ("replyto@x.test", "sent", 1, vec!["message.sent"]),
    ] {
        let kit = Kit::start().await;
        let api = kit.sandbox();
        let (hook, live) = (listening(&kit, false).await, listening(&kit, true).await);
        let mail = json!({ "from": address, "text": "Hello" });
        let id = text(&api.post("/sandbox/inbound", mail).await.expect(201)["conversationId"]);
        let reply = json!({ "body": "x", "send": true });
        let reply = api.post(&format!("/conversations/{id}/replies"), reply).await.expect(201);
        kit.advance(11).await;
        let timeline = api.timeline(&id).await;
        let sent = timeline.iter().find(|it| it["id"] == reply["messageId"]).expect("it is there");
        assert_eq!(sent["status"], status, "{address}");
        assert_eq!(timeline.iter().filter(|it| it["direction"] == "inbound").count(), came, "{address}");
        assert_eq!(told(&kit, &hook).await, events, "{address}");
        assert_eq!(told(&kit, &live).await, [""; 0], "live webhooks hear nothing of the sandbox");
        let complaint: Vec<_> = timeline.iter().filter(|it| it["event"] == "spam-complaint").collect();
        assert_eq!(complaint.len(), usize::from(address.starts_with("complaint")), "{address}");
        assert!(complaint.iter().all(|it| it["data"] == json!({ "email": address })));
        let outbox = kit.look("/outbox").await;
        assert_eq!((&outbox[0]["to"], &outbox[0]["outcome"]), (&json!(address), &json!(status)));
    }
}

#[tokio::test]
async fn the_team_of_a_conversation_is_who_can_see_its_inbox() {
    let kit = Kit::start().await;
    let ben = text(&kit.act("/users", json!({ "name": "Ben" })).await["id"]);
    kit.act("/mailboxes", json!({ "address": "ben@acme.example", "name": "Ben", "owner": ben })).await;
    let new = json!({ "name": "Ben's", "scopes": ["write"], "livemode": true, "createdBy": ben });
    let new = kit.act("/keys", new).await;
    let (own, agent) = (kit.api(&text(&new["key"])), text(&new["agentId"]));
    let mail = json!({ "to": "ben@acme.example", "from": "v@customer.example", "text": "Between us" });
    let private = text(&kit.act("/inbound", mail).await["conversationId"]);
    let team = own.conversation(&private).await["team"].clone();
    assert_eq!(
        team,
        json!({ "people": [{ "id": format!("user:{ben}"), "name": "Ben" }], "agents": [{ "id": format!("agent:{agent}"), "name": "Ben's" }] })
    );
    let open = kit.mail("vera@customer.example", "Hi").await;
    let team = own.conversation(&open).await["team"].clone();
    assert_eq!(
        (team["people"].as_array().map(Vec::len), team["agents"].as_array().map(Vec::len)),
        (Some(2), Some(2))
    );
    for member in team["people"].as_array().into_iter().chain(team["agents"].as_array()).flatten() {
        own.post(&format!("/conversations/{open}/assign"), json!({ "to": member["id"] })).await.expect(200);
        assert_eq!(own.conversation(&open).await["assignee"]["name"], member["name"]);
    }
    kit.control("DELETE", &format!("/keys/{agent}"), Value::Null).await.expect(204);
    let team = kit.live().conversation(&open).await["team"].clone();
    assert!(!team.to_string().contains(&agent), "a revoked key is on no team");
    kit.live()
        .post(&format!("/conversations/{open}/assign"), json!({ "to": format!("agent:{agent}") }))
        .await
        .error(400);
}
