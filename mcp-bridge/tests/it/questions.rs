//! Questions over time: how many there are, how long they are open, and how long their answers hold.

use std::{sync::atomic::Ordering, time::Duration};

use rmcp::model::CallToolResponse;
use serde_json::json;

use crate::{
    consent::{BODY, reply},
    fixture::{ERAS, Fixture, Mails, Newer, Older, Person, Says, is_error, params, text, until},
};

#[tokio::test]
async fn an_answer_within_a_second_is_nobodys_and_makes_a_draft() {
    for era in ERAS {
        for says in [Says::Yes, Says::No, Says::YesWithoutTick, Says::Nothing] {
            let fixture = Fixture::new().await;
            let person = Person::who_is_not_there(says);
            let client = fixture.start_in_process(&person, era, &[]).await;
            let result = client.call("reply", reply(&fixture)).await;
            assert!(!is_error(&result), "{era:?} {says:?}: {}", text(&result));
            let structured = result.structured_content.as_ref().unwrap();
            assert_eq!(structured["status"], "draft", "{era:?} {says:?}");
            assert!(structured["note"].as_str().unwrap().contains("less than a second"), "{structured}");
            assert_eq!(
                fixture.mails().await,
                Mails { drafts: vec![BODY.into()], sent: vec![] },
                "{era:?} {says:?}"
            );

            let other = json!({ "id": fixture.conversation, "body": "Another mail", "send": true });
            client.call("reply", other).await;
            assert_eq!(person.questions().len(), 2, "{era:?} {says:?}: nothing is blocked");
        }
    }
}

#[tokio::test]
async fn a_no_holds_for_what_the_person_saw_however_it_is_dressed() {
    for era in ERAS {
        let fixture = Fixture::new().await;
        let person = Person::who(Says::No);
        let client = fixture.start_in_process(&person, era, &[]).await;
        client.call("reply", reply(&fixture)).await;
        for variant in [
            json!({ "body": BODY, "summary": "Please" }),
            json!({ "body": format!("{BODY} ") }),
            json!({ "body": format!("{BODY}\n\n") }),
            json!({ "body": BODY.replace("\n\n", "\n\n\n") }),
            json!({ "body": BODY.replace("left", "le\u{200b}ft") }),
            json!({ "body": BODY.to_uppercase() }),
        ] {
            let mut call = variant;
            call["id"] = fixture.conversation.clone().into();
            call["send"] = true.into();
            let again = client.call("reply", call).await;
            assert!(
                is_error(&again) && text(&again).contains("not asked again"),
                "{era:?}: {}",
                text(&again)
            );
        }
        assert_eq!(person.questions().len(), 1, "{era:?}");
        assert_eq!(fixture.mails().await, Mails::none(), "{era:?}");

        for body in ["Second try", "Third try", "Fourth try", "Fifth try"] {
            client.call("reply", json!({ "id": fixture.conversation, "body": body, "send": true })).await;
        }
        assert_eq!(person.questions().len(), 3, "{era:?}: three refusals in a conversation are enough");
        person.clock.forward(Duration::from_secs(120));
        client.call("reply", reply(&fixture)).await;
        assert_eq!(person.questions().len(), 4, "{era:?}: after two minutes it can be asked again");
    }
}

#[tokio::test]
async fn a_hundred_variants_open_three_questions() {
    let fixture = Fixture::new().await;
    let person = Person::who_takes_time(Says::Yes);
    let client = fixture.start_in_process(&person, Older, &[]).await;
    let call = |i: usize| json!({ "id": fixture.conversation, "body": format!("Variant {i}"), "send": true });
    let mut open = Vec::new();
    for i in 0..3 {
        open.push(client.start(params("reply", call(i))).await);
        until(async || person.questions().len() == i + 1).await;
    }
    for i in 3..20 {
        let result = client.call("reply", call(i)).await;
        assert!(is_error(&result) && text(&result).contains("three other questions"), "{}", text(&result));
    }
    person.answers.add_permits(3);
    for handle in open {
        handle.await_response().await.unwrap();
    }
    assert_eq!(person.questions().len(), 3);
    assert_eq!(fixture.mails().await.sent.len(), 3);

    let fixture = Fixture::new().await;
    let client = fixture.start_in_process(&Person::who(Says::Yes), Newer, &[]).await;
    for i in 0..5 {
        let call = json!({ "id": fixture.conversation, "body": format!("Variant {i}"), "send": true });
        match client.service.call_tool_once(params("reply", call)).await.unwrap() {
            CallToolResponse::InputRequired(_) => assert!(i < 3),
            CallToolResponse::Complete(result) => {
                assert!(i >= 3 && text(&result).contains("three other questions"))
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn calls_that_look_the_same_wait_for_one_answer() {
    let fixture = Fixture::new().await;
    let person = Person::who_takes_time(Says::Yes);
    let client = fixture.start_in_process(&person, Older, &[]).await;
    let first = client.start(params("reply", reply(&fixture))).await;
    until(async || person.clock.waiting() == 3).await;
    let mut same = reply(&fixture);
    same["summary"] = "Again".into();
    let second = async {
        // The question waits for the clock once, and each call twice.
        until(async || person.clock.waiting() == 5).await;
        first.cancel(None).await.unwrap();
        until(async || person.clock.waiting() == 3).await;
        person.answers.add_permits(1);
    };
    let (result, ()) = tokio::join!(client.call("reply", same), second);
    assert!(!is_error(&result), "{}", text(&result));
    assert_eq!((person.questions().len(), person.withdrawn.load(Ordering::SeqCst)), (1, 0));
    assert_eq!(fixture.mails().await, Mails { drafts: vec![], sent: vec![BODY.into()] });
}

#[tokio::test]
async fn a_question_outlives_the_minute_that_a_client_waits_and_its_yes_counts() {
    let fixture = Fixture::new().await;
    let person = Person::who_takes_time(Says::Yes);
    let client = fixture.start_in_process(&person, Older, &[]).await;
    let later = async {
        until(async || person.questions().len() == 1).await;
        until(async || person.clock.waiting() == 3).await;
        person.clock.forward(Duration::from_secs(45));
    };
    let (result, ()) = tokio::join!(client.call("reply", reply(&fixture)), later);
    assert!(is_error(&result) && text(&result).contains("has not answered"), "{}", text(&result));
    assert_eq!(fixture.mails().await, Mails::none());
    person.answers.add_permits(1);
    until(async || !fixture.mock.control().jobs().await.is_empty()).await;
    let again = client.call("reply", reply(&fixture)).await;
    assert!(!is_error(&again) && text(&again).contains("repeats a call"), "{}", text(&again));
    assert_eq!(person.questions().len(), 1);
    assert_eq!(fixture.mails().await, Mails { drafts: vec![], sent: vec![BODY.into()] });
}

#[tokio::test]
async fn a_question_that_nobody_answers_ends_after_five_minutes() {
    let fixture = Fixture::new().await;
    let person = Person::who_takes_time(Says::Yes);
    let client = fixture.start_in_process(&person, Older, &[]).await;
    let later = async {
        until(async || person.clock.waiting() == 3).await;
        person.clock.forward(Duration::from_secs(45));
    };
    tokio::join!(client.call("reply", reply(&fixture)), later);
    person.clock.forward(Duration::from_secs(255));
    until(async || person.withdrawn.load(Ordering::SeqCst) == 1).await;
    assert_eq!(fixture.mails().await, Mails::none());
}
