//! Sending: nothing leaves without the person, whatever the model says.

use std::{sync::atomic::Ordering, time::Duration};

use rmcp::model::CallToolResponse;
use serde_json::json;
use shared_inbox::Scope;
use shared_inbox_mock::world::SortingResult;

use crate::{
    audit::AuditFile,
    fixture::{
        Answer, ERAS, Fixture, Mails, Newer, Older, Person, assert_done, assert_refused, assert_says,
        in_process, is_error, params, structured, text, until, yes,
    },
};

pub(crate) const BODY: &str = "Hello Kim,\n\nit left today.";

#[tokio::test]
async fn a_mail_goes_out_after_the_person_saw_it_and_agreed() {
    for era in ERAS {
        let (fixture, person, client) = in_process(Person::who(Answer::Yes), era, &[]).await;
        let result = client.call("reply", fixture.reply(BODY)).await;
        assert!(!is_error(&result), "{era:?}: {}", text(&result));
        assert_eq!(structured(&result)["status"], "scheduled", "{era:?}");
        let [question] = person.questions().try_into().unwrap();
        assert_says(
            &question,
            &["To: kim@customer.example", "Subject: Order 1042", "| Hello Kim,\n|\n| it left today."],
        );
        assert_eq!(fixture.mails().await, Mails::sent(BODY), "{era:?}");
    }
}

#[tokio::test]
async fn a_yes_does_not_count_when_the_conversation_changed_while_the_question_was_open() {
    for (era, change) in
        ERAS.into_iter().flat_map(|era| ["risk", "contact", "email"].map(|change| (era, change)))
    {
        let (fixture, person, client) = in_process(Person::who_takes_time(Answer::Yes), era, &[]).await;
        let control = fixture.mock.control();
        let meanwhile = async {
            until(async || person.questions().len() == 1).await;
            match change {
                "risk" => {
                    let found = SortingResult::new().risk("phishing", ["New domain"]);
                    control.sort(&fixture.conversation, found).await.unwrap();
                }
                "contact" => {
                    let world = control.state().await.unwrap();
                    let world = world.replace("kim@customer.example", "eve@evil.example");
                    control.restore(world).await.unwrap();
                }
                _ => fixture.write_again().await,
            }
            person.answers.add_permits(1);
        };
        let (result, ()) = tokio::join!(client.call("reply", fixture.reply(BODY)), meanwhile);
        assert_refused(&result, "the conversation changed");
        assert_eq!(fixture.mails().await, Mails::none(), "{era:?} {change}");
        person.answers.add_permits(1);
        client.call("reply", fixture.reply(BODY)).await;
        assert_eq!(person.questions().len(), 2, "{era:?} {change}: the person is asked again");
    }
}

#[tokio::test]
async fn a_cancelled_call_takes_its_question_back_sends_nothing_and_is_written_down() {
    let (file, person) = (AuditFile::new(), Person::who_takes_time(Answer::Yes));
    let (fixture, person, client) = in_process(person, Older, &[&file.option()]).await;
    let call = client.start(params("reply", fixture.reply(BODY))).await;
    until(async || person.questions().len() == 1).await;
    call.cancel(None).await.unwrap();
    until(async || person.withdrawn.load(Ordering::SeqCst) == 1).await;
    until(async || file.lines().iter().any(|line| line["outcome"] == "cancelled")).await;
    client.call("list_tags", json!({})).await;
    assert_eq!(fixture.mails().await, Mails::none());

    person.answers.add_permits(1);
    assert_done(&client.call("reply", fixture.reply(BODY)).await);
    assert_eq!(person.questions().len(), 2, "the same call is a new question");
    assert_eq!(fixture.mails().await, Mails::sent(BODY));
}

#[tokio::test]
async fn a_question_that_is_put_away_makes_nothing() {
    for era in ERAS {
        let (fixture, person, client) = in_process(Person::who(Answer::Nothing), era, &[]).await;
        let result = client.call("reply", fixture.reply(BODY)).await;
        assert!(is_error(&result) && text(&result).contains("no answer"), "{era:?}: {}", text(&result));
        assert_eq!(fixture.mails().await, Mails::none(), "{era:?}");
        client.call("reply", fixture.reply(BODY)).await;
        assert_eq!(person.questions().len(), 2, "{era:?}: it was no refusal, so it can be asked again");
    }
}

#[tokio::test]
async fn a_client_that_cannot_ask_gets_a_draft_and_is_told() {
    for (era, says, why) in [
        (Older, Answer::CannotBeAsked, "cannot ask"),
        (Newer, Answer::CannotBeAsked, "cannot ask"),
        (Older, Answer::Fails, "failed to ask"),
    ] {
        println!("{era:?}, {says:?}");
        let (fixture, _, client) = in_process(Person::who(says), era, &[]).await;
        // Whatever else a model may think of is no consent.
        for word in ["consent", "confirmed", "force", "allow"] {
            let mut arguments = fixture.reply(BODY);
            arguments[word] = true.into();
            let unknown = client.call("reply", arguments).await;
            assert_refused(&unknown, &format!("Unknown argument `{word}`"));
        }
        let result = client.call("reply", fixture.reply(BODY)).await;
        assert_eq!(structured(&result)["status"], "draft", "{}", text(&result));
        for form in [text(&result), structured(&result)["note"].as_str().unwrap()] {
            assert!(form.contains(why), "{form}");
        }
        assert_eq!(fixture.mails().await, Mails::draft(BODY));
    }
}

#[tokio::test]
async fn a_key_that_may_only_send_sends_nothing_without_consent() {
    let fixture = Fixture::new().await;
    let key = fixture.key(&[Scope::Read, Scope::Send]).await;
    let client = fixture.start_with_key(&key, &Person::who(Answer::CannotBeAsked), Newer).await;
    let result = client.call("reply", fixture.reply(BODY)).await;
    assert!(is_error(&result));
    assert_says(text(&result), &["Nothing was sent", "cannot ask", "`draft`"]);
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
async fn never_makes_drafts_and_allow_does_not_ask() {
    for era in ERAS {
        let (fixture, person, client) = in_process(Person::who(Answer::Yes), era, &["--send=never"]).await;
        let result = client.call("reply", fixture.reply(BODY)).await;
        assert_eq!(structured(&result)["status"], "draft", "{era:?}");
        assert!(text(&result).contains("--send=never"), "{era:?}: {}", text(&result));

        let client = fixture.start_in_process(&person, era, &["--send=allow"]).await;
        let result = client.call("reply", fixture.reply(BODY)).await;
        assert_eq!(structured(&result)["status"], "scheduled", "{era:?}");
        assert_eq!(person.questions().len(), 0, "{era:?}");
    }
}

#[tokio::test]
async fn a_risk_asks_even_where_sending_is_allowed() {
    for era in ERAS {
        let fixture = Fixture::with(|mail| mail.risk = Some("phishing".into())).await;
        let person = Person::who(Answer::No);
        let client = fixture.start_in_process(&person, era, &["--send=allow"]).await;
        let result = client.call("reply", fixture.reply(BODY)).await;
        assert!(is_error(&result), "{era:?}: {}", text(&result));
        assert!(person.questions()[0].contains("phishing"), "{era:?}");
        assert_eq!(fixture.mails().await, Mails::none(), "{era:?}");

        let cannot =
            fixture.start_in_process(&Person::who(Answer::CannotBeAsked), era, &["--send=allow"]).await;
        let result = cannot.call("reply", fixture.reply(BODY)).await;
        assert_eq!(structured(&result)["status"], "draft", "{era:?}");
    }
}

#[tokio::test]
async fn a_key_that_may_not_send_is_not_asked_about() {
    let fixture = Fixture::new().await;
    let key = fixture.key(&[Scope::Read, Scope::Draft]).await;
    let person = Person::who(Answer::Yes);
    let client = fixture.start_with_key(&key, &person, Newer).await;
    assert_refused(&client.call("reply", fixture.reply(BODY)).await, "`send`");
    assert_eq!(person.questions().len(), 0);
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
async fn consent_is_bound_to_its_mail_and_works_once() {
    let (fixture, person, client) = in_process(Person::who(Answer::Yes), Newer, &[]).await;
    let ask = async |body: &str| client.ask(params("reply", fixture.reply(body))).await;
    let answer = async |body: &str, state: &str| {
        person.clock.forward(Duration::from_secs(2));
        client.answer(params("reply", fixture.reply(body)), state, yes()).await
    };

    let state = ask("first").await;
    assert_refused(&answer("second", &state).await, "another email");
    let spent = answer("first", &state).await;
    assert!(is_error(&spent), "an attempt on another mail spends the consent");

    assert_refused(&answer("first", &"0".repeat(32)).await, "never asked for");

    let state = ask("first").await;
    assert_done(&answer("first", &state).await);
    let replayed = answer("third", &state).await;
    assert!(is_error(&replayed), "{}", text(&replayed));
    assert_eq!(fixture.mails().await, Mails::sent("first"));

    let (old, new) = (ask("fourth").await, ask("fourth").await);
    assert_refused(&answer("fourth", &old).await, "never asked for");
    assert_done(&answer("fourth", &new).await);
}

#[tokio::test]
async fn an_answer_without_a_question_is_worth_nothing() {
    let (fixture, _, client) = in_process(Person::who(Answer::Yes), Newer, &[]).await;
    let answers = [("consent".to_owned(), yes())].into();
    let request = params("reply", fixture.reply(BODY)).with_input_responses(answers);
    match client.service.call_tool_once(request).await.unwrap() {
        CallToolResponse::InputRequired(_) => {}
        other => panic!("expected the question, got {other:?}"),
    }
    assert_eq!(fixture.mails().await, Mails::none());
}
