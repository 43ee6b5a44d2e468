//! Listing, reading, notes, status, tags, assigning, inboxes, tags and documents.

use serde_json::{Value, json};

use crate::kit::{Kit, text};

fn fields(value: &Value) -> Vec<String> {
    let mut fields: Vec<_> = value.as_object().expect("an object").keys().cloned().collect();
    fields.sort();
    fields
}

#[tokio::test]
async fn a_summary_has_all_its_fields() {
    let kit = Kit::start().await;
    kit.mail("vera@customer.example", "Where is my parcel?").await;
    let list = kit.live().get("/conversations").await.expect(200);
    assert_eq!(
        fields(&list[0]),
        [
            "assignee",
            "contact",
            "id",
            "lastMessageAt",
            "mailbox",
            "messageCount",
            "risk",
            "snippet",
            "status",
            "subject",
            "tags",
            "topic",
            "urgency"
        ]
    );
    let inboxes = kit.live().get("/mailboxes").await.expect(200);
    assert_eq!(list[0]["mailbox"], inboxes[0]["name"], "the summary gives the inbox's name");
    let read = kit.live().conversation(&text(&list[0]["id"])).await;
    assert_eq!(read["mailbox"], inboxes[0]["address"], "the full one its address");
    assert!(text(&list[0]["snippet"]).starts_with("Where is"));
    assert!(read.get("snippet").is_none() && read.get("messageCount").is_none());
    assert!(
        text(&list[0]["lastMessageAt"]).ends_with('Z') && text(&list[0]["lastMessageAt"]).len() == 24,
        "milliseconds"
    );
}

#[tokio::test]
async fn lists_are_newest_first_and_limited() {
    let kit = Kit::start().await;
    let mut ids = Vec::new();
    for i in 0..30 {
        ids.push(kit.mail(&format!("c{i}@customer.example"), "Hello").await);
        kit.advance(1).await;
    }
    ids.reverse();
    assert_eq!(kit.live().listed("").await, ids[..25]);
    assert_eq!(kit.live().listed("?limit=100").await, ids);
    assert_eq!(kit.live().listed("?limit=1").await, ids[..1]);
    let inbox = text(&kit.live().get("/mailboxes").await.expect(200)[0]["id"]);
    assert_eq!(kit.live().listed(&format!("?limit=100&mailbox={inbox}")).await, ids);
    assert!(kit.live().listed("?mailbox=mbx_none").await.is_empty());
}

#[tokio::test]
async fn wrong_parameters_are_all_named_at_once() {
    let kit = Kit::start().await;
    let long = "x".repeat(201);
    let error =
        kit.live().get(&format!("/conversations?view=lost&q={long}&limit=101&assigned=you")).await.error(400);
    let named: Vec<_> =
        error.split("; ").map(|it| it.split([':', ' ']).next().unwrap_or_default().to_owned()).collect();
    for field in ["view", "q", "limit", "assigned"] {
        assert!(named.contains(&field.to_owned()), "{error}");
    }
    for query in ["limit=", "limit=0", "limit=x", "limit=1.5", "view=", "q=", "view=all", "limit=5&limit=6"] {
        kit.live().get(&format!("/conversations?{query}")).await.error(400);
    }
    kit.live().get("/conversations?unknown=1").await.expect(200);
    for query in ["kind=poem", "limit=101", &format!("q={long}")] {
        kit.live().get(&format!("/documents?{query}")).await.error(400);
    }
}

#[tokio::test]
async fn views_and_assigned_narrow_the_list() {
    let kit = Kit::start().await;
    let (mut ids, me) = (Vec::new(), text(&kit.live().get("/me").await.expect(200)["agent"]["id"]));
    for status in ["open", "waiting", "closed"] {
        let id = kit.mail("vera@customer.example", "Hello").await;
        kit.live()
            .post(&format!("/conversations/{id}/status"), json!({ "status": status }))
            .await
            .expect(200);
        ids.push(id);
    }
    for (view, id) in ["open", "waiting", "closed"].iter().zip(&ids) {
        assert_eq!(kit.live().listed(&format!("?view={view}")).await, [id.as_str()]);
    }
    kit.live()
        .post(&format!("/conversations/{}/assign", ids[0]), json!({ "to": format!("agent:{me}") }))
        .await
        .expect(200);
    assert_eq!(kit.live().listed("?assigned=me").await, [ids[0].as_str()]);
    assert!(kit.live().listed("?assigned=unassigned").await.is_empty());
    assert_eq!(kit.live().listed("?assigned=unassigned&view=closed").await, [ids[2].as_str()]);
}

#[tokio::test]
async fn search_finds_words_and_prefixes_in_all_mail_text() {
    let kit = Kit::start().await;
    let parcel = kit.mail("vera@customer.example", "Where is my PARCEL, please?").await;
    let refund = kit.mail("karl@customer.example", "I want a refund for order 4711").await;
    assert_eq!(kit.live().listed("?q=parcel").await, [parcel.as_str()]);
    assert_eq!(kit.live().listed("?q=Parc").await, [parcel.as_str()]);
    assert_eq!(kit.live().listed("?q=order%20refund").await, [refund.as_str()]);
    assert!(kit.live().listed("?q=arcel").await.is_empty());
    kit.live()
        .post(&format!("/conversations/{refund}/replies"), json!({ "body": "Zanzibar", "send": true }))
        .await
        .expect(201);
    kit.advance(600).await;
    assert_eq!(kit.live().listed("?q=zanzibar&view=waiting").await, [refund.as_str()]);
}

#[tokio::test]
async fn setting_a_status_records_one_event_and_the_same_again_none() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let path = format!("/conversations/{id}/status");
    for status in ["waiting", "waiting", "closed", "open"] {
        assert_eq!(
            kit.live().post(&path, json!({ "status": status })).await.expect(200),
            json!({ "ok": true })
        );
        assert_eq!(kit.live().conversation(&id).await["status"], status);
    }
    let timeline = kit.live().timeline(&id).await;
    let changes: Vec<_> =
        timeline.iter().filter(|it| it["event"] == "status").map(|it| it["data"].clone()).collect();
    assert_eq!(
        changes,
        [
            json!({ "from": "open", "to": "waiting" }),
            json!({ "from": "waiting", "to": "closed" }),
            json!({ "from": "closed", "to": "open" })
        ]
    );
    for body in
        [json!({}), json!({ "status": "snoozed" }), json!({ "status": "Open" }), json!({ "status": null })]
    {
        assert!(kit.live().post(&path, body).await.error(400).starts_with("status"));
    }
}

#[tokio::test]
async fn notes_have_1_to_10000_characters_and_each_call_makes_one() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let path = format!("/conversations/{id}/notes");
    for body in
        [json!({}), json!({ "body": "" }), json!({ "body": "x".repeat(10_001) }), json!({ "body": 5 })]
    {
        assert!(kit.live().post(&path, body).await.error(400).starts_with("body"));
    }
    let longest = "ü".repeat(10_000);
    for body in ["x", "x", &longest] {
        assert_eq!(kit.live().post(&path, json!({ "body": body })).await.expect(201), json!({ "ok": true }));
    }
    let timeline = kit.live().timeline(&id).await;
    assert_eq!(timeline.iter().filter(|it| it["type"] == "note").count(), 3);
    assert_eq!(kit.look("/outbox").await, json!([]), "never to the customer");
}

#[tokio::test]
async fn tags_are_made_added_once_and_counted() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let path = format!("/conversations/{id}/tags");
    kit.live().post(&path, json!({ "add": ["refund", "vip"] })).await.expect(200);
    kit.live().post(&path, json!({ "add": ["refund"], "remove": ["vip", "never there"] })).await.expect(200);
    assert_eq!(kit.live().conversation(&id).await["tags"], json!(["refund"]));
    let tags = kit.live().get("/tags").await.expect(200);
    let count = |name: &str| {
        tags.as_array().expect("a list").iter().find(|it| it["name"] == name).map(|it| it["count"].clone())
    };
    assert_eq!((count("refund"), count("vip")), (Some(json!(1)), Some(json!(0))));
    let url = format!("{}{path}", kit.mock.base_url());
    let bare = kit.ask(kit.http().post(url).bearer_auth(kit.mock.live_key())).await;
    assert_eq!(bare.status, 200, "the body itself is optional");
    let many: Vec<_> = (0..11).map(|i| format!("t{i}")).collect();
    for body in [
        json!({ "add": many }),
        json!({ "remove": many }),
        json!({ "add": [""] }),
        json!({ "add": ["x".repeat(41)] }),
        json!({ "add": "refund" }),
    ] {
        kit.live().post(&path, body).await.error(400);
    }
    kit.live().post(&path, json!({ "add": ["x".repeat(40)] })).await.expect(200);
}

#[tokio::test]
async fn assigning_takes_people_agents_me_and_none() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let path = format!("/conversations/{id}/assign");
    let team = kit.live().conversation(&id).await["team"].clone();
    for member in [&team["people"][0], &team["agents"][0]] {
        kit.live().post(&path, json!({ "to": member["id"] })).await.expect(200);
        let assignee = kit.live().conversation(&id).await["assignee"].clone();
        assert_eq!(assignee["name"], member["name"]);
        let kind_and_id = format!("{}:{}", text(&assignee["type"]), text(&assignee["id"]));
        assert_eq!(json!(kind_and_id), member["id"]);
    }
    kit.live().post(&path, json!({ "to": "me" })).await.expect(200);
    kit.live().post(&path, json!({ "to": "none" })).await.expect(200);
    assert!(kit.live().conversation(&id).await["assignee"].is_null());
    for to in ["user:usr_none", "agent:agt_none", "somebody", "", &format!("user:usr_{}", "x".repeat(80))] {
        assert!(kit.live().post(&path, json!({ "to": to })).await.error(400).starts_with("to"), "{to}");
    }
}

#[tokio::test]
async fn long_texts_are_cut_and_quoted_history_is_removed() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", &"y".repeat(9_000)).await;
    let (to, read) = (kit.inbox().await, kit.live().conversation(&id).await);
    assert_eq!(text(&read["timeline"][0]["text"]).chars().count(), 8_000);
    let said =
        "Yes please.\n\nOn Mon, 2 Mar 2026 at 10:00, Support <support@acme.example> wrote:\n> Shall we?";
    kit.act(
        "/inbound",
        json!({ "to": to, "from": "vera@customer.example", "text": said, "conversationId": id }),
    )
    .await;
    let last = kit.live().timeline(&id).await;
    assert_eq!(text(&last.last().expect("a message")["text"]).trim(), "Yes please.");
}

#[tokio::test]
async fn attachments_are_filed_as_documents_and_found() {
    let kit = Kit::start().await;
    let to = kit.inbox().await;
    let mail = json!({ "to": to, "from": "vera@customer.example", "text": "x", "attachments": [{ "filename": "march-invoice.pdf", "contentType": "application/pdf", "size": 9 }] });
    let received = kit.act("/inbound", mail).await;
    let documents = kit.live().get("/documents?q=march").await.expect(200);
    assert_eq!(documents[0]["id"], received["documentIds"][0]);
    assert_eq!(documents[0]["conversationId"], received["conversationId"]);
    assert_eq!(
        fields(&documents[0]),
        ["conversationId", "createdAt", "fields", "filename", "id", "kind", "title"]
    );
    assert_eq!(kit.live().get("/documents?q=april").await.expect(200), json!([]));
    assert_eq!(kit.sandbox().get("/documents").await.expect(200), json!([]));
}

#[tokio::test]
async fn inboxes_count_their_open_conversations() {
    let kit = Kit::start().await;
    let first = kit.mail("vera@customer.example", "Hello").await;
    kit.mail("karl@customer.example", "Hello").await;
    let inboxes = kit.live().get("/mailboxes").await.expect(200);
    assert_eq!(fields(&inboxes[0]), ["address", "id", "name", "open"]);
    assert_eq!(inboxes[0]["open"], 2);
    kit.live()
        .post(&format!("/conversations/{first}/status"), json!({ "status": "closed" }))
        .await
        .expect(200);
    assert_eq!(kit.live().get("/mailboxes").await.expect(200)[0]["open"], 1);
}

#[tokio::test]
async fn an_id_of_the_wrong_form_answers_404() {
    let kit = Kit::start().await;
    for id in ["nonsense", "msg_1", "cnv_", "cnv_UPPER", "cnv_%2F", "%00", "cnv_1%20"] {
        kit.live().get(&format!("/conversations/{id}")).await.error(404);
    }
}

#[tokio::test]
async fn an_id_in_a_path_may_be_percent_encoded() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let encoded = id.replacen('c', "%63", 1);
    assert_eq!(kit.live().conversation(&encoded).await["id"], id);
    kit.live().get("/conversations/%ff").await.error(404);
}
