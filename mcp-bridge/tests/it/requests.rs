//! How many requests a tool costs, counted in the mock's journal: the key has 120 a minute.

use serde_json::{Value, json};

use crate::fixture::{Answer, Client, ERAS, Era, Fixture, Person, is_error, text};

const IN_ONE_INBOX: &str = "--mailbox=orders@shop.example";

/// The bridge with what it asks for once: whose key this is, and the inboxes.
async fn warm(fixture: &Fixture, person: &Person, era: Era, arguments: &[&str]) -> Client {
    let client = fixture.start_in_process(person, era, arguments).await;
    client.call("list_mailboxes", json!({})).await;
    fixture.mock.control().clear_requests().await;
    client
}

async fn cost(fixture: &Fixture, client: &Client, tool: &'static str, mut arguments: Value) -> usize {
    arguments["id"] = fixture.conversation.clone().into();
    fixture.mock.control().clear_requests().await;
    let result = client.call(tool, arguments).await;
    assert!(!is_error(&result), "{tool}: {}", text(&result));
    fixture.mock.control().requests().await.len()
}

#[tokio::test]
async fn a_create_costs_one_request_and_more_only_to_know_the_inbox_and_for_a_yes() {
    let reply = ("reply", json!({ "body": "On its way" }));
    let documents = ("request_documents", json!({ "documents": [{ "label": "Invoice" }] }));
    let note = ("add_note", json!({ "body": "Seen" }));
    for (says, send, arguments, requests) in [
        // What was there before must be known, so that a lost item is found: it was not read yet.
        (Answer::No, false, &[][..], 2),
        (Answer::No, false, &[IN_ONE_INBOX], 2),
        // The conversation is read for the question, and again when the yes comes.
        (Answer::Yes, true, &[], 3),
        (Answer::Yes, true, &[IN_ONE_INBOX], 3),
        (Answer::CannotBeAsked, true, &[], 2),
        (Answer::No, true, &["--send=allow"], 2),
        (Answer::No, true, &["--send=allow", IN_ONE_INBOX], 2),
    ] {
        let emails = [&reply, &documents].into_iter();
        for (tool, input) in emails.chain((!send).then_some(&note)) {
            for era in ERAS {
                println!("{era:?} {tool} {says:?} {arguments:?}, send: {send}");
                let fixture = Fixture::new().await;
                let client = warm(&fixture, &Person::who(says), era, arguments).await;
                let mut input = input.clone();
                input["send"] = if send { true.into() } else { Value::Null };
                assert_eq!(cost(&fixture, &client, tool, input).await, requests);
                let sends = send && says != Answer::CannotBeAsked;
                assert_eq!(fixture.mails().await.sent.len(), usize::from(sends));
            }
        }
    }
}

#[tokio::test]
async fn a_change_costs_one_request_and_one_more_the_first_time_with_chosen_inboxes() {
    let changes = [
        ("set_status", json!({ "status": "waiting" })),
        ("tag_conversation", json!({ "add": ["vip"] })),
        ("assign_conversation", json!({ "to": "me" })),
    ];
    for (arguments, first) in [(&[][..], 1), (&[IN_ONE_INBOX], 2)] {
        for (tool, call) in &changes {
            let fixture = Fixture::new().await;
            let client = warm(&fixture, &Person::who(Answer::No), Era::Newer, arguments).await;
            assert_eq!(cost(&fixture, &client, tool, call.clone()).await, first, "{tool} {arguments:?}");
            assert_eq!(cost(&fixture, &client, tool, call.clone()).await, 1, "{tool} {arguments:?}, known");
        }
    }
}

#[tokio::test]
async fn a_list_tells_the_inbox_of_all_that_it_shows() {
    let fixture = Fixture::new().await;
    let client = warm(&fixture, &Person::who(Answer::No), Era::Newer, &[IN_ONE_INBOX]).await;
    client.call("list_conversations", json!({})).await;
    assert_eq!(cost(&fixture, &client, "set_status", json!({ "status": "closed" })).await, 1);
}
