//! `--mailbox`: the model is kept to chosen inboxes, in everything that it can reach.

use rmcp::model::Reference;
use serde_json::json;
use shared_inbox_mock::{InboundMail, world::NewMailbox};

use crate::fixture::{
    Answer, Fixture, Newer, Older, Person, assert_done, assert_lacks, assert_refused, is_error, items, text,
};

/// The fixture's own conversation is in orders@; this one is not.
async fn another(fixture: &Fixture, address: &str) -> String {
    let control = fixture.mock.control();
    control.create_mailbox(NewMailbox::new(address, "Orders")).await.unwrap();
    let mut mail = InboundMail::new(address, "eve@customer.example", "The other inbox");
    mail.subject = Some("Secret plans".into());
    mail.attachments = serde_json::from_value(
        json!([{ "filename": "plans.pdf", "contentType": "application/pdf", "size": 1 }]),
    )
    .unwrap();
    control.inbound(mail).await.unwrap().conversation_id.to_string()
}

async fn mailbox_id(fixture: &Fixture, address: &str) -> String {
    let all = fixture.mock.client().mailboxes().await.unwrap();
    all.into_iter().find(|mailbox| mailbox.address == address).unwrap().id.to_string()
}

#[tokio::test]
async fn nothing_of_another_inbox_can_be_read_listed_changed_or_completed() {
    let fixture = Fixture::new().await;
    let other = another(&fixture, "boss@shop.example").await;
    let person = Person::who(Answer::Yes);
    let client = fixture.start_program(&person, Older, &["--mailbox", "ORDERS@shop.example"]).await;
    let plain = fixture.start_program(&person, Older, &[]).await;

    // The same tools, but for the one that belongs to no inbox.
    let tools = client.tools().await;
    assert!(tools.len() == 11 && !tools.contains(&"record_sent".into()), "{tools:?}");

    for tool in ["list_conversations", "search_documents", "list_mailboxes"] {
        let (kept, all) = (client.call(tool, json!({})).await, plain.call(tool, json!({})).await);
        assert!(items(&kept).len() < items(&all).len(), "{tool}");
        let shown = serde_json::to_string(&kept).unwrap();
        assert_lacks(&shown, &["Secret plans", "plans.pdf", "boss@shop.example", &other]);
    }
    let boss = mailbox_id(&fixture, "boss@shop.example").await;
    let orders = mailbox_id(&fixture, "orders@shop.example").await;
    assert_refused(&client.call("list_conversations", json!({ "mailbox": boss })).await, "--mailbox");
    let own = client.call("list_conversations", json!({ "mailbox": orders })).await;
    assert!(text(&own).contains(&fixture.conversation), "{}", text(&own));

    // An id of another inbox is like one that was never there.
    for (tool, more) in [
        ("get_conversation", json!({})),
        ("add_note", json!({ "body": "x" })),
        ("set_status", json!({ "status": "closed" })),
        ("tag_conversation", json!({ "add": ["x"] })),
        ("assign_conversation", json!({ "to": "me" })),
        ("reply", json!({ "body": "x" })),
        ("reply", json!({ "body": "x", "send": true })),
        ("request_documents", json!({ "documents": [{ "label": "x" }] })),
        ("request_documents", json!({ "documents": [{ "label": "x" }], "send": true })),
    ] {
        let with = |id: &str| {
            let mut arguments = more.clone();
            arguments["id"] = id.into();
            arguments
        };
        let (elsewhere, nowhere) =
            (client.call(tool, with(&other)).await, client.call(tool, with("cnv_0000")).await);
        assert!(is_error(&elsewhere) && text(&elsewhere) == text(&nowhere), "{tool}: {}", text(&elsewhere));
    }
    assert_eq!(person.questions().len(), 0, "nobody is asked about a mail that cannot go out");

    for uri in [
        format!("inbox://conversations/{other}"),
        format!("inbox://conversations/{other}/items/1-5"),
        format!("inbox://mailboxes/{boss}/conversations"),
    ] {
        assert!(client.read(&uri).await.is_err(), "{uri}");
    }
    for uri in ["inbox://conversations", "inbox://mailboxes"] {
        let shown = client.read(uri).await.unwrap();
        assert!(!shown.contains("Secret plans") && !shown.contains("boss@") && shown.len() > 60, "{shown}");
    }
    assert!(client.prompt("draft_reply", json!({ "conversation": other })).await.is_err());
    let mailboxes = client.complete(Reference::for_prompt("triage_inbox"), "mailbox", "").await;
    assert_eq!(mailboxes, ["orders@shop.example"]);
    let ids = client.complete(Reference::for_resource("inbox://conversations/{id}"), "id", "").await;
    assert_eq!(ids, [fixture.conversation.as_str()]);

    let untouched = fixture.mock.client().conversation(&other.parse().unwrap()).get().await.unwrap();
    assert_eq!(untouched.timeline.len(), 1, "nothing was done there");
    assert_done(&client.call("add_note", json!({ "id": fixture.conversation, "body": "Here" })).await);
}

#[tokio::test]
async fn several_inboxes_make_one_list_newest_first() {
    let fixture = Fixture::new().await;
    fixture.mock.control().advance(std::time::Duration::from_secs(60)).await.unwrap();
    let boss = another(&fixture, "boss@shop.example").await;
    fixture.mock.control().advance(std::time::Duration::from_secs(60)).await.unwrap();
    let third = another(&fixture, "third@shop.example").await;
    let mut command = fixture.program();
    command.env("SHARED_INBOX_MAILBOX", "orders@shop.example,boss@shop.example");
    let client = crate::fixture::connect(command, &Person::who(Answer::No), Newer).await;
    let list = client.call("list_conversations", json!({})).await;
    let ids: Vec<_> = items(&list).iter().map(|c| &c["id"]).collect();
    assert_eq!(ids, [boss.as_str(), &fixture.conversation]);
    let one = client.call("list_conversations", json!({ "limit": 1 })).await;
    assert!(text(&one).contains(&boss) && !text(&one).contains(&fixture.conversation), "{}", text(&one));
    assert!(is_error(&client.call("get_conversation", json!({ "id": third })).await));
    assert!(!is_error(&client.call("get_conversation", json!({ "id": boss })).await));
}

#[tokio::test]
async fn an_inbox_that_is_not_there_opens_none() {
    let fixture = Fixture::new().await;
    let client =
        fixture.start_program(&Person::who(Answer::No), Newer, &["--mailbox=oders@shop.example"]).await;
    for tool in ["list_conversations", "list_mailboxes"] {
        assert_refused(&client.call(tool, json!({})).await, "--mailbox oders@shop.example");
    }
    assert!(is_error(&client.call("get_conversation", json!({ "id": fixture.conversation })).await));
    let mut doctor = fixture.program();
    doctor.args(["--mailbox=oders@shop.example,orders@shop.example", "doctor"]);
    let doctor = doctor.output().await.unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("FAIL  inbox: the key sees none with the address oders@shop.example"), "{said}");
    assert!(said.contains("ok    inbox: the model is kept to orders@shop.example"), "{said}");
    assert!(!doctor.status.success());
}
