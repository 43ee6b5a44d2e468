//! A create whose fate is unknown: it is never called unsent, never forgotten and never repeated.

mod any_order;
mod late_answers;
mod several_bridges;
mod state_folder;

use std::{path::Path, time::Duration};

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult};
use serde_json::{Value, json};
use shared_inbox::{Status, clock::Clock as _, once::FileStore, rate_limit::MemoryLimiter};
use shared_inbox_mock::Effect;

use crate::{
    audit::AuditFile,
    fixture::{
        Answer, Client, ERAS, Fixture, LeapingClock, Mails, Newer, Older, Person, assert_done, assert_lacks,
        assert_says, creates, hanging, is_error, leaping, params, reads, run, structured, text, until,
    },
    window::{Window, ask_on_page, link},
};

/// Lets the response to the next create be lost, and the reads after it fail.
async fn lose(fixture: &Fixture, lost: Effect, failing: Effect) {
    fixture.fault(creates(lost)).await;
    fixture.fault(reads(failing).skip(1)).await;
}

/// Fails where a text speaks of Rust, promises what is not so, or does not say how to look.
#[track_caller]
fn assert_says_how_to_look(result: &CallToolResult) {
    let said = text(result);
    assert!(is_error(result), "{said}");
    assert_lacks(
        said,
        &[
            "Client::",
            "Verification",
            "Try again shortly",
            "could not be made",
            "Not sent",
            "Nothing was sent",
        ],
    );
    assert_says(said, &["not known", "get_conversation", "same call again", "nothing twice"]);
}

#[track_caller]
fn assert_repeats(result: &CallToolResult) {
    assert!(!is_error(result) && text(result).contains("repeats a call"), "{}", text(result));
}

#[track_caller]
fn assert_page_does_not_know(page: &str, body: &str) {
    assert_says(
        page,
        &["not known whether the email was sent", "Look in the app", "kim@customer.example", body],
    );
    assert!(!page.contains("was not sent") && !page.contains("Nothing was sent"), "{page}");
}

#[tokio::test]
async fn the_page_says_that_it_is_not_known_whenever_it_is_not() {
    for lost in [Effect::drop_after(), Effect::status_after(500), Effect::body("<html>")] {
        for failing in [Effect::status(404), Effect::status(503), Effect::drop_before()] {
            let file = AuditFile::new();
            let person = Person::who_follows_links(Answer::Yes);
            let (fixture, person, client) = leaping(person, Newer, &[&file.option()]).await;
            let call = params("reply", fixture.reply("Once"));
            let (state, window) = ask_on_page(&client, &person, call.clone()).await;
            lose(&fixture, lost.clone(), failing).await;
            window.press("send").await;
            assert_says_how_to_look(&collect(&fixture, &client, &state).await);
            assert_page_does_not_know(&window.again().await, "Once");
            assert_eq!(file.lines().last().unwrap()["outcome"], "unknown");
            let mails = fixture.mails().await;
            assert_eq!(mails, Mails::sent("Once"), "it was sent all the same");

            fixture.mock.control().clear_faults().await;
            let again = client.call_once(call).await;
            assert!(text(&again).contains("has gone out already"), "{}", text(&again));
            let page = window.again().await;
            assert!(page.contains("has left already"), "the window learns it too: {page}");
            assert_eq!(fixture.mails().await, mails);
        }
    }
}

#[tokio::test]
async fn an_unknown_create_is_looked_for_however_late_the_same_call_comes() {
    for era in ERAS {
        let (fixture, person, client) = leaping(Person::who(Answer::Yes), era, &[]).await;
        let id = &fixture.conversation;
        let request = json!({ "id": id, "documents": [{ "label": "Passport" }], "message": "A request" });
        for (tool, arguments) in [
            ("add_note", json!({ "id": id, "body": "A note" })),
            ("reply", json!({ "id": id, "body": "A draft" })),
            ("request_documents", request),
            ("reply", fixture.reply("An email")),
        ] {
            let before = items(&fixture).await;
            let asks = arguments["send"] == true;
            client.call("get_conversation", json!({ "id": id })).await;
            fixture.fault(creates(Effect::drop_after())).await;
            // For the question, and again when the yes comes.
            fixture.fault(reads(Effect::status(503)).skip(if asks { 2 } else { 0 })).await;
            assert_says_how_to_look(&client.call(tool, arguments.clone()).await);
            person.clock.forward(Duration::from_secs(3600));
            let still = client.call(tool, arguments.clone()).await;
            assert!(
                is_error(&still) && (asks || text(&still).contains("still not clear")),
                "{era:?} {tool}: {}",
                text(&still)
            );
            fixture.mock.control().clear_faults().await;
            for _ in 0..2 {
                assert_repeats(&client.call(tool, arguments.clone()).await);
            }
            assert_eq!(items(&fixture).await, before + 1, "{era:?} {tool}");
        }
        let asked = person.questions().len();
        assert_eq!(asked, 1, "{era:?}: a person is not asked about what may have been sent");
    }
}

/// How many items the fixture's conversation has.
async fn items(fixture: &Fixture) -> usize {
    fixture.now().await.timeline.len()
}

#[tokio::test]
async fn a_draft_in_place_of_an_email_that_may_have_been_made_is_not_said_to_have_failed() {
    let (fixture, _, client) = leaping(Person::who(Answer::CannotBeAsked), Older, &[]).await;
    client.call("get_conversation", json!({ "id": fixture.conversation })).await;
    fixture.fault(creates(Effect::drop_after())).await;
    fixture.fault(reads(Effect::status(503))).await;
    let result = client.call("reply", fixture.reply("Hello")).await;
    assert_says_how_to_look(&result);
    assert!(text(&result).contains("whether the draft was made"), "{}", text(&result));
    assert_eq!(fixture.mails().await, Mails::draft("Hello"));
}

/// Calls the program's tool, and ends it once the service has carried the call out, before its response
/// comes: by a kill, or by SIGTERM and the eight seconds that a create is given after it.
async fn ended_midway(fixture: &Fixture, is_killed: bool, tool: &'static str, call: Value) {
    fixture.fault(creates(hanging())).await;
    let client = fixture.start_program(&Person::who(Answer::No), Older, &["--send=allow"]).await;
    let _call = client.start(params(tool, call)).await;
    crate::wire::under_way(&fixture.mock).await;
    if is_killed {
        client.kill().await;
    } else {
        client.terminate().await;
    }
    fixture.mock.control().clear_faults().await;
}

/// `ONCE_KILLS` lets a program also take its eight seconds.
#[tokio::test]
async fn a_bridge_that_was_killed_midway_makes_nothing_twice_after_its_restart_and_doctor_says_so() {
    let fixture = Fixture::new().await;
    let id = &fixture.conversation;
    let mut ends = vec![
        (true, "add_note", json!({ "id": id, "body": "Once" })),
        (true, "reply", json!({ "id": id, "body": "Once" })),
        (true, "reply", fixture.reply("Once, sent")),
    ];
    if std::env::var_os("ONCE_KILLS").is_some() {
        ends.push((false, "reply", fixture.reply("Once more, sent")));
    }
    for (is_killed, tool, call) in ends {
        let before = items(&fixture).await;
        ended_midway(&fixture, is_killed, tool, call.clone()).await;
        assert_eq!(items(&fixture).await, before + 1, "{tool}: it was made");
        for key in [fixture.mock.live_key(), &format!("rk_live_{}", "0".repeat(48))] {
            let mut doctor = fixture.program();
            let said = run(doctor.env("SHARED_INBOX_API_KEY", key).arg("doctor"), "").await.1;
            assert!(said.contains(&format!("unresolved: something in {id}")), "{said}");
        }

        let client = fixture.start_program(&Person::who(Answer::No), Older, &["--send=allow"]).await;
        let again = client.call(tool, call).await;
        assert!(!is_error(&again), "{tool}: {}", text(&again));
        assert_eq!(items(&fixture).await, before + 1, "{tool}: it is not made again: {}", text(&again));
        let said = run(fixture.program().arg("doctor"), "").await.1;
        assert!(said.contains("nothing that may have been made is unresolved"), "{said}");
    }
}

/// A bridge in this process that keeps its state in this folder, as every bridge of a machine does.
async fn remembering(fixture: &Fixture, person: &Person, folder: &Path, arguments: &[&str]) -> Client {
    let client = with_store(fixture, folder, LeapingClock::new());
    fixture.start_over(Some(client), person, Newer, arguments).await
}

fn with_store(fixture: &Fixture, folder: &Path, clock: LeapingClock) -> shared_inbox::Client {
    let client = fixture.client().clock(clock).visibility_timeout(Duration::ZERO);
    let client = client.once_store(FileStore::open(folder).unwrap());
    client.once_retention(Duration::from_secs(120)).build().unwrap()
}

/// Brings the answer that was given on the page, and returns what the model is told.
async fn collect(fixture: &Fixture, client: &Client, state: &str) -> CallToolResult {
    client.answer(params("reply", fixture.reply("Once")), state, json!({ "action": "accept" })).await
}

#[tokio::test]
async fn a_change_whose_response_was_lost_is_not_said_to_be_undone_when_the_rate_limit_refuses_its_repeat() {
    let fixture = Fixture::new().await;
    let service = fixture.client().rate_limiter(MemoryLimiter::new(2)).deadline(Duration::from_secs(5));
    let service = service.build().unwrap();
    let client = fixture.start_over(Some(service), &Person::who(Answer::No), Older, &[]).await;
    fixture.fault(creates(Effect::drop_after())).await;
    let change = json!({ "id": fixture.conversation, "status": "closed" });
    let result = client.call("set_status", change).await;
    assert!(is_error(&result) && !text(&result).contains("Nothing was done"), "{}", text(&result));
    assert_eq!(fixture.now().await.status, Status::Closed);
}

#[tokio::test]
async fn a_window_and_an_answer_that_learn_late_that_the_email_was_made_promise_nothing() {
    let (fixture, person, client) = leaping(Person::who_follows_links(Answer::Yes), Newer, &[]).await;
    let call = params("reply", fixture.reply("Once"));
    let (state, window) = ask_on_page(&client, &person, call.clone()).await;
    lose(&fixture, Effect::drop_after(), Effect::status(503)).await;
    window.press("send").await;
    until(async || window.again().await.contains("not known whether")).await;
    fixture.mock.control().clear_faults().await;
    assert_repeats(&client.call_once(call).await);
    let page = window.again().await;
    assert!(page.contains("may have gone out by now") && !page.contains("goes out"), "{page}");
    assert_repeats(&collect(&fixture, &client, &state).await);
}
