//! How many requests a tool costs, counted in the mock's journal: the key has 120 a minute.

use serde_json::{Value, json};

use crate::fixture::{Client, ERAS, Era, Fixture, Person, Says, is_error, text};

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

fn mails() -> [(&'static str, Value); 2] {
    [
        ("reply", json!({ "body": "On its way" })),
        ("request_documents", json!({ "documents": [{ "label": "Invoice" }] })),
    ]
}

#[tokio::test]
async fn a_note_and_a_draft_cost_one_request_and_one_more_to_know_the_inbox() {
    for era in ERAS {
        for (arguments, most) in [(&[][..], 1), (&[IN_ONE_INBOX], 2)] {
            let calls = [("add_note", json!({ "body": "Seen" }))].into_iter().chain(mails());
            for (tool, call) in calls {
                let fixture = Fixture::new().await;
                let client = warm(&fixture, &Person::who(Says::No), era, arguments).await;
                assert_eq!(cost(&fixture, &client, tool, call).await, most, "{era:?} {tool} {arguments:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_email_that_a_person_agreed_to_costs_three_requests_because_it_is_read_again_when_the_yes_comes() {
    for era in ERAS {
        for arguments in [&[][..], &[IN_ONE_INBOX]] {
            for (tool, mut call) in mails() {
                let fixture = Fixture::new().await;
                let client = warm(&fixture, &Person::who(Says::Yes), era, arguments).await;
                call["send"] = true.into();
                assert_eq!(cost(&fixture, &client, tool, call).await, 3, "{era:?} {tool} {arguments:?}");
                assert_eq!(fixture.mails().await.sent.len(), 1, "{era:?} {tool} {arguments:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_mail_without_a_question_costs_two_requests() {
    for arguments in [&["--send=allow"][..], &["--send=allow", IN_ONE_INBOX]] {
        for (tool, mut call) in mails() {
            let fixture = Fixture::new().await;
            let client = warm(&fixture, &Person::who(Says::No), Era::Older, arguments).await;
            call["send"] = true.into();
            assert_eq!(cost(&fixture, &client, tool, call).await, 2, "{tool} {arguments:?}");
        }
    }
}

#[tokio::test]
async fn a_draft_made_for_want_of_consent_costs_one_request() {
    let fixture = Fixture::new().await;
    let client = warm(&fixture, &Person::who(Says::CannotBeAsked), Era::Newer, &[]).await;
    assert_eq!(cost(&fixture, &client, "reply", json!({ "body": "x", "send": true })).await, 1);
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
            let client = warm(&fixture, &Person::who(Says::No), Era::Newer, arguments).await;
            assert_eq!(cost(&fixture, &client, tool, call.clone()).await, first, "{tool} {arguments:?}");
            assert_eq!(cost(&fixture, &client, tool, call.clone()).await, 1, "{tool} {arguments:?}, known");
        }
    }
}

#[tokio::test]
async fn a_list_tells_the_inbox_of_all_that_it_shows() {
    let fixture = Fixture::new().await;
    let client = warm(&fixture, &Person::who(Says::No), Era::Newer, &[IN_ONE_INBOX]).await;
    client.call("list_conversations", json!({})).await;
    assert_eq!(cost(&fixture, &client, "add_note", json!({ "body": "Seen" })).await, 1);
}

#[tokio::test]
async fn every_status_costs_four_requests() {
    let fixture = Fixture::new().await;
    let client = warm(&fixture, &Person::who(Says::No), Era::Newer, &[]).await;
    fixture.mock.control().clear_requests().await;
    client.call("list_conversations", json!({ "view": "any", "q": "order" })).await;
    assert_eq!(fixture.mock.control().requests().await.len(), 4);
}
