//! Creates are made once: repeats, lost answers, two at a time.

use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox::create::Verification;
use shared_inbox_mock::{Effect, FaultRule};

use crate::fixture::{
    Answer, Client, ERAS, Fixture, Mails, Older, Person, creates, in_process, is_error, leaping, params,
    structured, text, until,
};

#[tokio::test]
async fn the_same_create_again_gives_the_first_result_and_says_so() {
    for era in ERAS {
        let (fixture, person, client) = in_process(Person::who(Answer::Yes), era, &[]).await;
        let note = json!({ "id": fixture.conversation, "body": "Refund is approved" });
        for (tool, arguments) in [("add_note", note), ("reply", fixture.reply("On its way"))] {
            let first = client.call(tool, arguments.clone()).await;
            let again = client.call(tool, arguments).await;
            assert!(!is_error(&again) && text(&again).contains("repeats a call"), "{}", text(&again));
            assert_eq!(structured(&again)["messageId"], structured(&first)["messageId"]);
            let id = structured(&first)["messageId"].as_str();
            assert!(id.is_none_or(|id| text(&again).contains(id)), "{}", text(&again));
            let said = &structured(&again)["note"];
            assert!(said.as_str().unwrap().contains("repeats a call"), "{said}");
        }
        assert_eq!(person.questions().len(), 1, "{era:?}: the repeat is not asked about");
        assert_eq!(fixture.notes().await, ["Refund is approved"], "{era:?}");
        assert_eq!(fixture.mails().await, Mails::sent("On its way"), "{era:?}");

        let other = client.call("add_note", json!({ "id": fixture.conversation, "body": "Another" })).await;
        assert!(!text(&other).contains("repeats"), "{era:?}");
        assert_eq!(fixture.notes().await.len(), 2, "{era:?}");
    }
}

#[tokio::test]
async fn the_same_create_twice_at_a_time_is_made_once() {
    let fixture = Fixture::new().await;
    let client = fixture.start_program(&Person::who(Answer::No), Older, &[]).await;
    let note = || client.call("add_note", json!({ "id": fixture.conversation, "body": "Twice" }));
    let (one, other) = tokio::join!(note(), note());
    let repeats = [&one, &other].into_iter().filter(|result| text(result).contains("repeats a call")).count();
    assert_eq!(repeats, 1, "{} / {}", text(&one), text(&other));
    assert_eq!(fixture.notes().await, ["Twice"]);
}

#[tokio::test]
async fn a_draft_made_for_want_of_consent_is_made_once_too() {
    let fixture = Fixture::new().await;
    let client = fixture.start_program(&Person::who(Answer::CannotBeAsked), Older, &[]).await;
    for send in [true, true, false] {
        let reply = json!({ "id": fixture.conversation, "body": "Hello", "send": send });
        let result = client.call("reply", reply).await;
        assert_eq!(text(&result).contains("cannot ask"), send, "{}", text(&result));
    }
    assert_eq!(fixture.mails().await.drafts, ["Hello"]);
}

#[tokio::test]
async fn a_lost_response_makes_neither_a_second_note_nor_a_second_email() {
    for era in ERAS {
        let (fixture, _, client) = leaping(Person::who(Answer::Yes), era, &[]).await;
        let note = json!({ "id": fixture.conversation, "body": "Once" });
        for (tool, arguments) in [("add_note", note), ("reply", fixture.reply("Once"))] {
            fixture.fault(creates(Effect::drop_after())).await;
            let result = client.call(tool, arguments).await;
            let is_told = text(&result).contains("response was lost");
            assert!(!is_error(&result) && is_told, "{era:?} {tool}: {}", text(&result));
        }
        assert_eq!(fixture.notes().await, ["Once"], "{era:?}");
        assert_eq!(fixture.mails().await, Mails::sent("Once"), "{era:?}");
    }
}

/// Asks for a note whose answer never comes, and cancels the call once the service has it.
async fn cancelled_note(fixture: &Fixture, client: &Client, effect: Effect) -> Value {
    let rule = FaultRule::new(effect.delayed(Duration::from_secs(60))).path("/conversations/*/notes");
    fixture.fault(rule).await;
    let note = json!({ "id": fixture.conversation, "body": "Once" });
    let call = client.start(params("add_note", note.clone())).await;
    until(async || fixture.mock.control().faults().await.iter().any(|fault| fault.fired > 0)).await;
    call.cancel(None).await.unwrap();
    note
}

/// Lets the time pass for which a cancelled call waits for its create, and the next one for that call.
async fn give_up(person: &Person, client: &Client) {
    until(async || person.clock.waiting() == 4).await;
    client.service.list_all_resources().await.unwrap();
    person.clock.forward(Duration::from_secs(8));
}

#[tokio::test]
async fn a_repeat_of_a_cancelled_call_makes_nothing_new_if_that_took_effect_and_is_made_if_it_did_not() {
    for (effect, is_repeat) in [(Effect::delay(Duration::ZERO), true), (Effect::drop_before(), false)] {
        let (fixture, person, client) = in_process(Person::who(Answer::No), Older, &[]).await;
        let note = cancelled_note(&fixture, &client, effect).await;
        let (again, ()) = tokio::join!(client.call("add_note", note), give_up(&person, &client));
        assert!(!is_error(&again) && text(&again).contains("repeats") == is_repeat, "{}", text(&again));
        assert_eq!(fixture.notes().await, ["Once"]);
    }
}

#[tokio::test]
async fn a_repeat_of_a_cancelled_call_waits_for_an_effect_that_shows_late() {
    let fixture = Fixture::new().await;
    let person = Person::who(Answer::No);
    let service = fixture.client().build().unwrap();
    let client = fixture.start_over(Some(service), &person, Older, &[]).await;
    let note = cancelled_note(&fixture, &client, Effect::drop_before()).await;
    fixture.mock.control().clear_requests().await;
    let late = async {
        give_up(&person, &client).await;
        let looked = |path: &str| path.ends_with(&fixture.conversation);
        until(async || fixture.mock.control().requests().await.iter().any(|entry| looked(&entry.path))).await;
        let id = fixture.conversation.parse().unwrap();
        let service = fixture.mock.client();
        service.conversation(&id).add_note("Once").verification(Verification::Never).await.unwrap();
    };
    let (again, ()) = tokio::join!(client.call("add_note", note), late);
    assert!(text(&again).contains("repeats a call"), "{}", text(&again));
    assert_eq!(fixture.notes().await, ["Once"]);
}
