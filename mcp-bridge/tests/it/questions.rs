//! Questions over time: how many there are, how long they are open, and how long their answers hold.

use std::{sync::atomic::Ordering, time::Duration};

use rmcp::model::CallToolResponse;
use serde_json::json;
use shared_inbox::clock::Clock as _;
use shared_inbox_mock::{Effect, FaultRule};

use crate::{
    audit::AuditFile,
    consent::BODY,
    fixture::{
        Answer, ERAS, Fixture, LeapingClock, Mails, Newer, Older, Person, assert_done, assert_refused,
        call_gives_up, hanging, in_process, is_error, params, structured, text, until,
    },
    wire::under_way,
};

#[tokio::test]
async fn an_answer_within_a_second_is_nobodys_and_makes_a_draft() {
    for era in ERAS {
        for says in [Answer::Yes, Answer::No, Answer::YesWithoutTick, Answer::Nothing] {
            let (fixture, person, client) =
                in_process(Person { thinks: Duration::from_millis(900), ..Person::who(says) }, era, &[])
                    .await;
            let result = client.call("reply", fixture.reply(BODY)).await;
            assert!(!is_error(&result), "{era:?} {says:?}: {}", text(&result));
            assert_eq!(structured(&result)["status"], "draft", "{era:?} {says:?}");
            let note = structured(&result)["note"].as_str().unwrap();
            assert!(note.contains("less than a second"), "{note}");
            assert_eq!(fixture.mails().await, Mails::draft(BODY), "{era:?} {says:?}");

            client.call("reply", fixture.reply("Another mail")).await;
            assert_eq!(person.questions().len(), 2, "{era:?} {says:?}: nothing is blocked");
        }
    }
}

#[tokio::test]
async fn a_no_holds_for_what_the_person_saw_however_it_is_dressed() {
    for (era, says) in ERAS.into_iter().flat_map(|era| [(era, Answer::No), (era, Answer::YesWithoutTick)]) {
        println!("{era:?}, {says:?}");
        let (fixture, person, client) = in_process(Person::who(says), era, &[]).await;
        assert_refused(&client.call("reply", fixture.reply(BODY)).await, "declined");
        let mut with_summary = fixture.reply(BODY);
        with_summary["summary"] = "Please".into();
        let bodies = [
            BODY.to_owned(),
            format!("{BODY} "),
            format!("{BODY}\n\n"),
            BODY.replace("\n\n", "\n\n\n"),
            BODY.replace("left", "le\u{200b}ft"),
            BODY.to_uppercase(),
        ];
        for variant in bodies.iter().map(|body| fixture.reply(body)).chain([with_summary]) {
            assert_refused(&client.call("reply", variant).await, "not asked again");
        }
        assert_eq!(person.questions().len(), 1, "{era:?} {says:?}");
        assert_eq!(fixture.mails().await, Mails::none(), "{era:?} {says:?}");

        for body in ["Second try", "Third try", "Fourth try", "Fifth try"] {
            client.call("reply", fixture.reply(body)).await;
        }
        assert_eq!(person.questions().len(), 3, "{era:?}: three refusals in a conversation are enough");
        person.clock.forward(Duration::from_secs(120));
        client.call("reply", fixture.reply(BODY)).await;
        assert_eq!(person.questions().len(), 4, "{era:?}: after two minutes it can be asked again");
    }
}

#[tokio::test]
async fn a_hundred_variants_open_three_questions() {
    let (fixture, person, client) = in_process(Person::who_takes_time(Answer::Yes), Older, &[]).await;
    let variant = |fixture: &Fixture, i: usize| params("reply", fixture.reply(&format!("Variant {i}")));
    let mut open = Vec::new();
    for i in 0..3 {
        open.push(client.start(variant(&fixture, i)).await);
        until(async || person.questions().len() == i + 1).await;
    }
    for i in 3..20 {
        let result = client.service.call_tool(variant(&fixture, i)).await.unwrap();
        assert_refused(&result, "three other questions");
    }
    person.answers.add_permits(3);
    for handle in open {
        handle.await_response().await.unwrap();
    }
    assert_eq!(person.questions().len(), 3);
    assert_eq!(fixture.mails().await.sent.len(), 3);

    let (fixture, _, client) = in_process(Person::who(Answer::Yes), Newer, &[]).await;
    for i in 0..5 {
        match client.service.call_tool_once(variant(&fixture, i)).await.unwrap() {
            CallToolResponse::InputRequired(_) => assert!(i < 3),
            CallToolResponse::Complete(result) => {
                assert!(i >= 3 && text(&result).contains("three other questions"))
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn calls_that_look_the_same_wait_for_one_answer_and_make_one_line_that_says_scheduled() {
    let (file, person) = (AuditFile::new(), Person::who_takes_time(Answer::Yes));
    let (fixture, person, client) = in_process(person, Older, &[&file.option()]).await;
    let first = client.start(params("reply", fixture.reply(BODY))).await;
    until(async || person.clock.waiting() == 4).await;
    let same =
        |summary: &str| json!({ "id": fixture.conversation, "body": BODY, "summary": summary, "send": true });
    let meanwhile = async {
        // The question waits for the clock once, and each call three times.
        until(async || person.clock.waiting() == 10).await;
        first.cancel(None).await.unwrap();
        until(async || person.clock.waiting() == 7).await;
        person.answers.add_permits(1);
    };
    let (a, b, ()) =
        tokio::join!(client.call("reply", same("a")), client.call("reply", same("b")), meanwhile);
    assert_done(&a);
    assert_done(&b);
    assert_eq!((person.questions().len(), person.withdrawn.load(Ordering::SeqCst)), (1, 0));
    assert_eq!(fixture.mails().await, Mails::sent(BODY));
    until(async || file.lines().len() == 5).await;
    let mut outcomes: Vec<_> = file.lines().iter().map(|line| line["outcome"].to_string()).collect();
    outcomes.sort();
    assert_eq!(outcomes.join(" "), r#""cancelled" "intent" "repeat" "repeat" "scheduled""#);
}

#[tokio::test]
async fn a_call_that_ends_while_a_yes_is_acted_upon_does_not_say_that_nobody_answered() {
    let (file, fixture) = (AuditFile::new(), Fixture::new().await);
    let person = Person::who_takes_time(Answer::Yes);
    let client = fixture.start_in_process(&person, Older, &[&file.option()]).await;
    let later = async {
        until(async || person.clock.waiting() == 4).await;
        let hanging = FaultRule::new(hanging()).method("GET").path("/conversations/*");
        fixture.fault(hanging).await;
        person.answers.add_permits(1);
        under_way(&fixture.mock).await;
        person.clock.forward(Duration::from_secs(45));
    };
    let (result, ()) = tokio::join!(client.call("reply", fixture.reply(BODY)), later);
    assert_refused(&result, "question is over");
    assert!(text(&result).contains("may be on its way"), "{}", text(&result));
    let line = file.lines().pop().unwrap();
    assert_eq!((&line["outcome"], &line["answer"]), (&"unknown".into(), &"yes".into()), "{line}");
}

#[tokio::test]
async fn a_question_that_was_asked_late_outlives_its_call_too() {
    let fixture = Fixture::new().await;
    let person = Person::who_takes_time(Answer::Yes);
    let service = fixture.client().visibility_timeout(Duration::ZERO).deadline(Duration::from_secs(60));
    let service = service.clock(LeapingClock::over(&person.clock)).build().unwrap();
    let client = fixture.start_over(Some(service), &person, Older, &[]).await;
    client.call("list_mailboxes", json!({})).await;
    let busy = Effect::status(503).header("retry-after", "20");
    let busy = FaultRule::new(busy).method("GET").path("/conversations/*");
    fixture.fault(busy).await;
    let begun = person.clock.now();
    let later = async {
        until(async || person.clock.waiting() == 4).await;
        let spent = person.clock.now() - begun;
        assert!((20..30).contains(&spent.as_secs()), "{spent:?}");
        // Until the client gives up.
        person.clock.forward(Duration::from_secs(55) - spent);
    };
    let (result, ()) = tokio::join!(client.call("reply", fixture.reply(BODY)), later);
    assert_refused(&result, "has not answered");
    person.answers.add_permits(1);
    until(async || !fixture.mock.control().jobs().await.is_empty()).await;
    assert_eq!(fixture.mails().await, Mails::sent(BODY));
}

#[tokio::test]
async fn a_question_that_nobody_answers_ends_after_five_minutes() {
    let (fixture, person, client) = in_process(Person::who_takes_time(Answer::Yes), Older, &[]).await;
    tokio::join!(client.call("reply", fixture.reply(BODY)), call_gives_up(&person));
    person.clock.forward(Duration::from_secs(255));
    until(async || person.withdrawn.load(Ordering::SeqCst) == 1).await;
    assert_eq!(fixture.mails().await, Mails::none());
}
