//! Creates are made once: repeats, lost answers, two at a time.

use serde_json::json;
use shared_inbox_mock::{Effect, FaultRule};

use crate::desk::{Desk, ERAS, Mails, Older, Person, Says, is_error, text};

#[tokio::test]
async fn the_same_create_again_gives_the_first_result_and_says_so() {
    for era in ERAS {
        let desk = Desk::new().await;
        let person = Person::who(Says::Yes);
        let client = desk.sit_down(&person, era, &[]).await;
        let note = json!({ "id": desk.conversation, "body": "Refund is approved" });
        let reply = json!({ "id": desk.conversation, "body": "On its way", "send": true });
        for (tool, arguments) in [("add_note", &note), ("reply", &reply)] {
            let first = client.call(tool, arguments.clone()).await;
            let again = client.call(tool, arguments.clone()).await;
            assert!(!is_error(&again), "{era:?} {tool}: {}", text(&again));
            assert!(text(&again).contains("repeats a call"), "{era:?} {tool}: {}", text(&again));
            let (first, again) = (first.structured_content.unwrap(), again.structured_content.unwrap());
            assert_eq!(again["messageId"], first["messageId"], "{era:?} {tool}");
            assert!(again["note"].as_str().unwrap().contains("repeats a call"), "{era:?} {tool}: {again}");
        }
        assert_eq!(person.questions().len(), 1, "{era:?}: the repeat is not asked about");
        assert_eq!(desk.notes().await, ["Refund is approved"], "{era:?}");
        assert_eq!(desk.mails().await, Mails { drafts: vec![], sent: vec!["On its way".into()] }, "{era:?}");

        let other = client.call("add_note", json!({ "id": desk.conversation, "body": "Another" })).await;
        assert!(!text(&other).contains("repeats"), "{era:?}");
        assert_eq!(desk.notes().await.len(), 2, "{era:?}");
    }
}

#[tokio::test]
async fn the_same_create_twice_at_a_time_is_made_once() {
    let desk = Desk::new().await;
    let client = desk.sit_down(&Person::who(Says::No), Older, &[]).await;
    let note = || client.call("add_note", json!({ "id": desk.conversation, "body": "Twice" }));
    let (one, other) = tokio::join!(note(), note());
    let repeats = [&one, &other].into_iter().filter(|result| text(result).contains("repeats a call")).count();
    assert_eq!(repeats, 1, "{} / {}", text(&one), text(&other));
    assert_eq!(desk.notes().await, ["Twice"]);
}

#[tokio::test]
async fn a_draft_made_for_want_of_consent_is_made_once_too() {
    let desk = Desk::new().await;
    let client = desk.sit_down(&Person::who(Says::CannotBeAsked), Older, &[]).await;
    for send in [true, true, false] {
        client.call("reply", json!({ "id": desk.conversation, "body": "Hello", "send": send })).await;
    }
    assert_eq!(desk.mails().await.drafts, ["Hello"]);
}

#[tokio::test]
async fn a_lost_answer_does_not_make_a_second_note() {
    let desk = Desk::new().await;
    let lost = FaultRule::new(Effect::drop_after()).method("POST").path("/conversations/*/notes");
    desk.mock.control().add_fault(lost).await.unwrap();
    let client = desk.sit_down(&Person::who(Says::No), Older, &[]).await;
    let result = client.call("add_note", json!({ "id": desk.conversation, "body": "Once" })).await;
    assert!(!is_error(&result), "{}", text(&result));
    assert!(text(&result).contains("answer was lost"), "{}", text(&result));
    assert_eq!(desk.notes().await, ["Once"]);
}
