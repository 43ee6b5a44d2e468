//! `--mailbox`: the model is kept to chosen inboxes, in everything that it can reach.

use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, GetPromptRequestParams, ReadResourceRequestParams, Reference,
};
use serde_json::{Value, json};
use shared_inbox_mock::{InboundMail, NewMailbox};

use crate::fixture::{Client, Fixture, Newer, Older, Person, Says, is_error, text};

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

async fn complete(client: &Client, to: Reference, name: &str) -> Vec<String> {
    let argument: ArgumentInfo = serde_json::from_value(json!({ "name": name, "value": "" })).unwrap();
    client.service.complete(CompleteRequestParams::new(to, argument)).await.unwrap().completion.values
}

#[tokio::test]
async fn nothing_of_another_inbox_can_be_read_listed_changed_or_completed() {
    let fixture = Fixture::new().await;
    let other = another(&fixture, "boss@shop.example").await;
    let person = Person::who(Says::Yes);
    let client = fixture.start_program(&person, Older, &["--mailbox", "ORDERS@shop.example"]).await;
    let plain = fixture.start_program(&person, Older, &[]).await;

    // The same tools, but for the one that belongs to no inbox.
    let tools = client.tools().await;
    assert!(tools.len() == 11 && !tools.contains(&"record_sent".into()), "{tools:?}");

    for tool in ["list_conversations", "search_documents", "list_mailboxes"] {
        let (kept, all) = (client.call(tool, json!({})).await, plain.call(tool, json!({})).await);
        let count = |result: &rmcp::model::CallToolResult| {
            result.structured_content.as_ref().unwrap()["items"].as_array().unwrap().len()
        };
        assert!(count(&kept) < count(&all), "{tool}");
        let shown = serde_json::to_string(&kept).unwrap();
        for secret in ["Secret plans", "plans.pdf", "boss@shop.example", &other] {
            assert!(!shown.contains(secret), "{tool}: {secret} in {shown}");
        }
    }
    let listed = client
        .call("list_conversations", json!({ "mailbox": mailbox_id(&fixture, "boss@shop.example").await }))
        .await;
    assert!(is_error(&listed) && text(&listed).contains("--mailbox"), "{}", text(&listed));
    let own = client
        .call("list_conversations", json!({ "mailbox": mailbox_id(&fixture, "orders@shop.example").await }))
        .await;
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
        format!("inbox://mailboxes/{}/conversations", mailbox_id(&fixture, "boss@shop.example").await),
    ] {
        assert!(
            client.service.read_resource(ReadResourceRequestParams::new(uri.as_str())).await.is_err(),
            "{uri}"
        );
    }
    for uri in ["inbox://conversations", "inbox://mailboxes"] {
        let read = client.service.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
        let shown = serde_json::to_string(&read).unwrap();
        assert!(!shown.contains("Secret plans") && !shown.contains("boss@") && shown.len() > 60, "{shown}");
    }
    let Value::Object(arguments) = json!({ "conversation": other }) else { panic!("an object") };
    let request = GetPromptRequestParams::new("draft_reply").with_arguments(arguments);
    assert!(client.service.get_prompt(request).await.is_err());
    let triage = || Reference::for_prompt("triage_inbox");
    assert_eq!(complete(&client, triage(), "mailbox").await, ["orders@shop.example"]);
    let ids = complete(&client, Reference::for_resource("inbox://conversations/{id}"), "id").await;
    assert_eq!(ids, [fixture.conversation.as_str()]);

    let untouched = fixture.mock.client().conversation(&other.parse().unwrap()).get().await.unwrap();
    assert_eq!(untouched.timeline.len(), 1, "nothing was done there");
    let note = client.call("add_note", json!({ "id": fixture.conversation, "body": "Here" })).await;
    assert!(!is_error(&note), "{}", text(&note));
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
    let client = crate::fixture::connect(command, &Person::who(Says::No), Newer).await;
    let list = client.call("list_conversations", json!({})).await;
    let ids: Vec<_> = list.structured_content.as_ref().unwrap()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["id"])
        .collect();
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
        fixture.start_program(&Person::who(Says::No), Newer, &["--mailbox=oders@shop.example"]).await;
    for tool in ["list_conversations", "list_mailboxes"] {
        let result = client.call(tool, json!({})).await;
        assert!(
            is_error(&result) && text(&result).contains("--mailbox oders@shop.example"),
            "{}",
            text(&result)
        );
    }
    assert!(is_error(&client.call("get_conversation", json!({ "id": fixture.conversation })).await));
    let doctor = fixture
        .program()
        .args(["--mailbox=oders@shop.example,orders@shop.example", "doctor"])
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("FAIL  inbox: the key sees none with the address oders@shop.example"), "{said}");
    assert!(
        said.contains("ok    inbox: the model is kept to orders@shop.example") && !doctor.status.success(),
        "{said}"
    );
    let wrong = fixture.program().args(["--mailbox", "orders"]).output().await.unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        wrong.status.code() == Some(2) && said.contains("--mailbox") && said.contains("address"),
        "{said}"
    );
}
