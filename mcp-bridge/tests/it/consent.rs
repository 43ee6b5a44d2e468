//! Sending: nothing leaves without the person, whatever the model says.

use std::{sync::atomic::Ordering, time::Duration};

use rmcp::model::{CallToolResponse, InputResponses};
use serde_json::{Value, json};
use shared_inbox::Scope;
use shared_inbox_mock::{Effect, FaultRule, InboundMail, SortingResult};

use crate::fixture::{ERAS, Fixture, Mails, Newer, Older, Person, Says, is_error, params, text, until};

pub(crate) const BODY: &str = "Hello Kim,\n\nit left today.";

pub(crate) fn reply(fixture: &Fixture) -> Value {
    json!({ "id": fixture.conversation, "body": BODY, "send": true })
}

#[tokio::test]
async fn a_mail_goes_out_after_the_person_saw_it_and_agreed() {
    for era in ERAS {
        let fixture = Fixture::new().await;
        let person = Person::who(Says::Yes);
        let client = fixture.start_in_process(&person, era, &[]).await;
        let result = client.call("reply", reply(&fixture)).await;
        assert!(!is_error(&result), "{era:?}: {}", text(&result));
        assert_eq!(result.structured_content.as_ref().unwrap()["status"], "scheduled", "{era:?}");
        let [question] = person.questions().try_into().unwrap();
        for shown in ["To: kim@customer.example", "Subject: Order 1042", "| Hello Kim,\n|\n| it left today."]
        {
            assert!(question.contains(shown), "{era:?}: {shown} in {question}");
        }
        assert_eq!(fixture.mails().await, Mails { drafts: vec![], sent: vec![BODY.into()] }, "{era:?}");
    }
}

#[tokio::test]
async fn no_means_that_nothing_is_made_and_nobody_is_asked_twice() {
    for era in ERAS {
        for says in [Says::No, Says::YesWithoutTick] {
            let fixture = Fixture::new().await;
            let person = Person::who(says);
            let client = fixture.start_in_process(&person, era, &[]).await;
            let result = client.call("reply", reply(&fixture)).await;
            assert!(
                is_error(&result) && text(&result).contains("declined"),
                "{era:?} {says:?}: {}",
                text(&result)
            );
            let again = client.call("reply", reply(&fixture)).await;
            assert!(is_error(&again) && text(&again).contains("not asked again"), "{}", text(&again));
            assert_eq!(person.questions().len(), 1, "{era:?} {says:?}");
            assert_eq!(fixture.mails().await, Mails::none(), "{era:?} {says:?}");
        }
    }
}

/// What may change in a conversation while a person reads the question.
#[derive(Debug, Clone, Copy)]
enum Change {
    Risk,
    Contact,
    NewEmail,
}

impl Change {
    async fn happen(self, fixture: &Fixture) {
        let control = fixture.mock.control();
        match self {
            Self::Risk => {
                let found = SortingResult::new().risk("phishing", ["New domain"]);
                control.sort(&fixture.conversation, found).await.unwrap();
            }
            Self::Contact => {
                let world =
                    control.state().await.unwrap().replace("kim@customer.example", "eve@evil.example");
                control.restore(world).await.unwrap();
            }
            Self::NewEmail => {
                let text = "Please do not answer, I found it.";
                let mut mail = InboundMail::new("orders@shop.example", "kim@customer.example", text);
                mail.conversation_id = Some(fixture.conversation.clone());
                control.inbound(mail).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_yes_does_not_count_when_the_conversation_changed_while_the_question_was_open() {
    for (era, change) in
        ERAS.into_iter().flat_map(|era| [Change::Risk, Change::Contact, Change::NewEmail].map(|c| (era, c)))
    {
        let fixture = Fixture::new().await;
        let person = Person::who_takes_time(Says::Yes);
        let client = fixture.start_in_process(&person, era, &[]).await;
        let meanwhile = async {
            until(async || person.questions().len() == 1).await;
            change.happen(&fixture).await;
            person.answers.add_permits(1);
        };
        let (result, ()) = tokio::join!(client.call("reply", reply(&fixture)), meanwhile);
        assert!(
            is_error(&result) && text(&result).contains("the conversation changed"),
            "{era:?} {change:?}: {}",
            text(&result)
        );
        assert_eq!(fixture.mails().await, Mails::none(), "{era:?} {change:?}");
        person.answers.add_permits(1);
        client.call("reply", reply(&fixture)).await;
        assert_eq!(person.questions().len(), 2, "{era:?} {change:?}: the person is asked again");
    }
}

#[tokio::test]
async fn a_cancelled_call_takes_its_question_back_and_sends_nothing() {
    let fixture = Fixture::new().await;
    let person = Person::who_takes_time(Says::Yes);
    let client = fixture.start_in_process(&person, Older, &[]).await;
    let call = client.start(params("reply", reply(&fixture))).await;
    until(async || person.questions().len() == 1).await;
    call.cancel(None).await.unwrap();
    until(async || person.withdrawn.load(Ordering::SeqCst) == 1).await;
    client.call("list_tags", json!({})).await;
    assert_eq!(fixture.mails().await, Mails::none());

    person.answers.add_permits(1);
    let result = client.call("reply", reply(&fixture)).await;
    assert!(!is_error(&result), "{}", text(&result));
    assert_eq!(person.questions().len(), 2, "the same call is a new question");
    assert_eq!(fixture.mails().await, Mails { drafts: vec![], sent: vec![BODY.into()] });
}

#[tokio::test]
async fn a_mail_whose_answer_is_lost_goes_out_once() {
    for era in ERAS {
        let fixture = Fixture::new().await;
        let lost = FaultRule::new(Effect::drop_after()).path("/conversations/*/replies");
        fixture.mock.control().add_fault(lost).await.unwrap();
        let client = fixture.start_in_process(&Person::who(Says::Yes), era, &[]).await;
        let result = client.call("reply", reply(&fixture)).await;
        assert!(text(&result).contains("response was lost"), "{era:?}: {}", text(&result));
        assert_eq!(result.structured_content.as_ref().unwrap()["status"], "scheduled", "{era:?}");
        assert_eq!(fixture.mails().await, Mails { drafts: vec![], sent: vec![BODY.into()] }, "{era:?}");
    }
}

#[tokio::test]
async fn a_question_that_is_put_away_makes_nothing() {
    for era in ERAS {
        let fixture = Fixture::new().await;
        let person = Person::who(Says::Nothing);
        let client = fixture.start_in_process(&person, era, &[]).await;
        let result = client.call("reply", reply(&fixture)).await;
        assert!(is_error(&result) && text(&result).contains("no answer"), "{era:?}: {}", text(&result));
        assert_eq!(fixture.mails().await, Mails::none(), "{era:?}");
        client.call("reply", reply(&fixture)).await;
        assert_eq!(person.questions().len(), 2, "{era:?}: it was no refusal, so it can be asked again");
    }
}

#[tokio::test]
async fn a_client_that_cannot_ask_gets_a_draft_and_is_told() {
    for era in ERAS {
        let fixture = Fixture::new().await;
        let client = fixture.start_in_process(&Person::who(Says::CannotBeAsked), era, &[]).await;
        // Whatever else a model may think of is no consent.
        let mut arguments = reply(&fixture);
        for word in ["consent", "confirmed", "force", "allow"] {
            arguments[word] = true.into();
        }
        let result = client.call("reply", arguments).await;
        assert!(
            is_error(&result) && text(&result).contains("Unknown argument `consent`"),
            "{era:?}: {}",
            text(&result)
        );
        let result = client.call("reply", reply(&fixture)).await;
        assert!(!is_error(&result), "{era:?}: {}", text(&result));
        let structured = result.structured_content.as_ref().unwrap();
        assert_eq!(structured["status"], "draft", "{era:?}");
        assert!(structured["note"].as_str().unwrap().contains("cannot ask"), "{era:?}: {structured}");
        assert!(text(&result).contains("cannot ask"), "{era:?}");
        assert_eq!(fixture.mails().await, Mails { drafts: vec![BODY.into()], sent: vec![] }, "{era:?}");
    }
}

#[tokio::test]
async fn a_client_that_fails_to_ask_gets_a_draft() {
    let fixture = Fixture::new().await;
    let client = fixture.start_in_process(&Person::who(Says::Fails), Older, &[]).await;
    let result = client.call("reply", reply(&fixture)).await;
    assert_eq!(result.structured_content.as_ref().unwrap()["status"], "draft", "{}", text(&result));
    assert!(text(&result).contains("failed to ask"), "{}", text(&result));
    assert_eq!(fixture.mails().await, Mails { drafts: vec![BODY.into()], sent: vec![] });
}

#[tokio::test]
async fn a_key_that_may_only_send_sends_nothing_without_consent() {
    let fixture = Fixture::new().await;
    let key = fixture.key(&[Scope::Read, Scope::Send]).await;
    let mut command = fixture.program();
    command.env("SHARED_INBOX_API_KEY", key);
    let client = crate::fixture::connect(command, &Person::who(Says::CannotBeAsked), Newer).await;
    let result = client.call("reply", reply(&fixture)).await;
    assert!(is_error(&result), "{}", text(&result));
    for said in ["Nothing was sent", "cannot ask", "`draft`"] {
        assert!(text(&result).contains(said), "{said} in {}", text(&result));
    }
    assert_eq!(fixture.mails().await, Mails::none());
}

#[tokio::test]
async fn never_makes_drafts_and_allow_does_not_ask() {
    for era in ERAS {
        let fixture = Fixture::new().await;
        let person = Person::who(Says::Yes);
        let client = fixture.start_in_process(&person, era, &["--send=never"]).await;
        let result = client.call("reply", reply(&fixture)).await;
        assert_eq!(result.structured_content.as_ref().unwrap()["status"], "draft", "{era:?}");
        assert!(text(&result).contains("--send=never"), "{era:?}: {}", text(&result));

        let client = fixture.start_in_process(&person, era, &["--send=allow"]).await;
        let result = client.call("reply", reply(&fixture)).await;
        assert_eq!(result.structured_content.as_ref().unwrap()["status"], "scheduled", "{era:?}");
        assert_eq!(person.questions().len(), 0, "{era:?}");
    }
}

#[tokio::test]
async fn a_risk_asks_even_where_sending_is_allowed_and_warns_in_every_read() {
    for era in ERAS {
        let fixture = Fixture::with(|mail| {
            mail.risk = Some("phishing".into());
            mail.risk_reasons = vec!["New domain".into()];
        })
        .await;
        let person = Person::who(Says::No);
        let client = fixture.start_in_process(&person, era, &["--send=allow"]).await;
        for (tool, arguments) in
            [("get_conversation", json!({ "id": fixture.conversation })), ("list_conversations", json!({}))]
        {
            let result = client.call(tool, arguments).await;
            assert!(text(&result).contains("WARNING"), "{era:?} {tool}: {}", text(&result));
        }
        let result = client.call("reply", reply(&fixture)).await;
        assert!(is_error(&result), "{era:?}: {}", text(&result));
        assert!(person.questions()[0].contains("phishing"), "{era:?}");
        assert_eq!(fixture.mails().await, Mails::none(), "{era:?}");

        let cannot =
            fixture.start_in_process(&Person::who(Says::CannotBeAsked), era, &["--send=allow"]).await;
        let result = cannot.call("reply", reply(&fixture)).await;
        assert_eq!(result.structured_content.as_ref().unwrap()["status"], "draft", "{era:?}");
    }
}

#[tokio::test]
async fn a_document_request_asks_with_its_checklist() {
    for era in ERAS {
        let fixture = Fixture::new().await;
        let person = Person::who(Says::Yes);
        let client = fixture.start_in_process(&person, era, &[]).await;
        let arguments = json!({ "id": fixture.conversation, "documents": [{ "label": "Passport" }], "message": "We need this.",
                                "dueDate": "2030-01-01", "send": true });
        let result = client.call("request_documents", arguments).await;
        assert_eq!(
            result.structured_content.as_ref().unwrap()["status"],
            "scheduled",
            "{era:?}: {}",
            text(&result)
        );
        let question = &person.questions()[0];
        for shown in ["Asks for: Passport", "By: 2030-01-01", "| We need this."] {
            assert!(question.contains(shown), "{era:?}: {shown} in {question}");
        }
    }
}

#[tokio::test]
async fn a_key_that_may_not_send_is_not_asked_about() {
    let fixture = Fixture::new().await;
    let key = fixture.key(&[Scope::Read, Scope::Draft]).await;
    let person = Person::who(Says::Yes);
    let mut command = fixture.program();
    command.env("SHARED_INBOX_API_KEY", key);
    let client = crate::fixture::connect(command, &person, Newer).await;
    let result = client.call("reply", reply(&fixture)).await;
    assert!(is_error(&result) && text(&result).contains("`send`"), "{}", text(&result));
    assert_eq!(person.questions().len(), 0);
    assert_eq!(fixture.mails().await, Mails::none());
}

/// The answers that a client brings back with a question of the newer protocol.
fn yes() -> InputResponses {
    [("consent".to_owned(), json!({ "action": "accept", "content": { "send": true } }))].into()
}

#[tokio::test]
async fn consent_is_bound_to_its_mail_and_works_once() {
    let fixture = Fixture::new().await;
    let person = Person::who(Says::Yes);
    let client = fixture.start_in_process(&person, Newer, &[]).await;
    let call =
        |body: &str| params("reply", json!({ "id": fixture.conversation, "body": body, "send": true }));
    let ask = async |body: &str| match client.service.call_tool_once(call(body)).await.unwrap() {
        CallToolResponse::InputRequired(question) => question.request_state.unwrap(),
        other => panic!("expected a question, got {other:?}"),
    };
    let answer = async |body: &str, state: &str| {
        person.clock.forward(Duration::from_secs(2));
        let request = call(body).with_input_responses(yes()).with_request_state(state);
        match client.service.call_tool_once(request).await.unwrap() {
            CallToolResponse::Complete(result) => result,
            other => panic!("expected a result, got {other:?}"),
        }
    };

    let state = ask("first").await;
    let other = answer("second", &state).await;
    assert!(is_error(&other) && text(&other).contains("another email"), "{}", text(&other));
    let spent = answer("first", &state).await;
    assert!(is_error(&spent), "an attempt on another mail spends the consent");

    let forged = answer("first", &"0".repeat(32)).await;
    assert!(is_error(&forged) && text(&forged).contains("never asked for"), "{}", text(&forged));

    let state = ask("first").await;
    let sent = answer("first", &state).await;
    assert!(!is_error(&sent), "{}", text(&sent));
    let replayed = answer("third", &state).await;
    assert!(is_error(&replayed), "{}", text(&replayed));
    assert_eq!(fixture.mails().await, Mails { drafts: vec![], sent: vec!["first".into()] });
}

#[tokio::test]
async fn an_answer_without_a_question_is_worth_nothing() {
    let fixture = Fixture::new().await;
    let client = fixture.start_in_process(&Person::who(Says::Yes), Newer, &[]).await;
    let request = params("reply", reply(&fixture)).with_input_responses(yes());
    match client.service.call_tool_once(request).await.unwrap() {
        CallToolResponse::InputRequired(_) => {}
        other => panic!("expected the question, got {other:?}"),
    }
    assert_eq!(fixture.mails().await, Mails::none());
}
