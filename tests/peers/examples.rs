//! Every example runs to its end: against the mock that it brings along, and against a service that the
//! environment names.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use shared_inbox::Direction;
use shared_inbox_mock::{Effect, FaultRule, MockServer};

use crate::run::{command, example, finish, output, text};

/// The example, with a service of ours in the environment.
fn against(mock: &MockServer, name: &str) -> Command {
    named(mock, example(name))
}

fn named(mock: &MockServer, mut program: Command) -> Command {
    program.env("SHARED_INBOX_BASE_URL", mock.base_url()).env("SHARED_INBOX_API_KEY", mock.test_key());
    program
}

/// A service for the examples: the mock with nothing in it and time running.
async fn service() -> MockServer {
    MockServer::builder().empty().start().await
}

/// Examples are programs of their own, so that waiting for one must not stop the server in this process.
async fn finished(mut command: Command) -> String {
    tokio::task::spawn_blocking(move || finish(&mut command)).await.expect("the example succeeds")
}

#[test]
fn triage_drafts_and_never_sends() {
    let said = finish(&mut example("triage"));
    assert!(said.contains("tagged refund, draft msg_"), "{said}");
    assert!(said.contains("tagged careful\n"), "{said}");
    assert!(said.contains("no rule fits"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn triage_works_in_a_named_inbox_and_does_not_look_twice() {
    let mock = service().await;
    let first = finished(against(&mock, "triage")).await;
    assert!(first.contains("4 open, 4 of them new"), "{first}");
    let second = finished(against(&mock, "triage")).await;
    assert!(second.contains("8 open, 4 of them new"), "{second}");
    assert!(mock.control().outbox().await.is_empty(), "triage never sends");
}

/// Kills the worker while the response to one request is held back, each request in turn, and lets the last
/// worker finish.
#[tokio::test(flavor = "multi_thread")]
async fn triage_can_be_killed_at_any_point() {
    let mock = MockServer::builder().empty().no_rate_limit().start().await;
    let control = mock.control();
    for request in 4..18 {
        let held = FaultRule::new(Effect::drop_after().delayed(Duration::from_secs(3600)));
        control.add_fault(held.skip(request).times(1)).await.unwrap();
        let mut worker = against(&mock, "triage").stdout(Stdio::null()).spawn().expect("the worker starts");
        while control.faults().await[0].fired == 0 && worker.try_wait().expect("a child").is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        worker.kill().expect("it is killed, or has ended");
        worker.wait().expect("a child");
        control.clear_faults().await;
    }
    finished(against(&mock, "triage")).await;
    let mut sweep = mock.test_client().sweep();
    while let Some(summary) = sweep.next().await {
        let summary = summary.unwrap();
        let conversation = mock.test_client().conversation(&summary.id).get().await.unwrap();
        let messages = conversation.timeline.iter().filter_map(|item| item.as_message());
        let drafts = messages.filter(|message| message.direction == Direction::Outbound).count();
        let wanted = summary.tags.iter().any(|tag| ["refund", "billing"].contains(&tag.as_str()));
        assert_eq!(drafts, usize::from(wanted), "{}: {:?}", summary.id, summary.tags);
        assert!(summary.tags.iter().any(|tag| tag == "triaged"), "{} was forgotten", summary.id);
    }
}

#[test]
fn webhook_receiver_handles_a_redelivered_event_once() {
    for server in ["webhook_receiver", "webhook_hyper", "webhook_actix"] {
        let said = finish(&mut example(server));
        assert_eq!(said.matches(": reply in cnv_").count(), 1, "{server}: {said}");
        assert!(said.contains("try 1: answered with 200\ntry 2: answered with 200\n"), "{server}: {said}");
    }
}

#[test]
fn app_mail_comes_back_with_its_reference() {
    let said = finish(&mut example("app_mail"));
    assert!(said.contains(" is about order-"), "{said}");
    assert!(said.contains("written by the customer of that order"), "{said}");
}

#[test]
fn document_chase_ends_with_a_filed_document() {
    let said = finish(&mut example("document_chase"));
    assert!(said.contains("filed doc_"), "{said}");
    assert!(said.ends_with("closed\n"), "{said}");
}

#[test]
fn follow_tells_what_happens_in_order() {
    let said = finish(&mut example("follow"));
    let kinds: Vec<_> = said.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(kinds, ["new", "changed", "left"], "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn follow_works_in_a_named_inbox() {
    let mock = service().await;
    let mut follow = against(&mock, "follow");
    follow.arg("1");
    let said = finished(follow).await;
    assert!(said.starts_with("new "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn follow_fails_when_its_key_is_revoked() {
    let mock = service().await;
    let agent = mock.client().me().await.unwrap().agent.id;
    mock.control().revoke_key(&agent).await.unwrap();
    let mut follow = against(&mock, "follow");
    follow.env("SHARED_INBOX_API_KEY", mock.live_key());
    let ended = tokio::task::spawn_blocking(move || output(&mut follow)).await.unwrap();
    let why = text(&ended.stderr);
    assert!(!ended.status.success() && why.contains("401"), "{why}");
}

#[test]
fn the_nightly_report_has_a_row_for_every_conversation() {
    let said = finish(&mut example("nightly_report"));
    let (head, rows) = said.split_once('\n').expect("a head");
    assert!(head.starts_with("id,status,snoozed,assignee,"), "{head}");
    assert_eq!(rows.lines().filter(|row| row.contains(",open,false,nobody,")).count(), 8, "{said}");
    assert_eq!(rows.lines().filter(|row| row.contains(",waiting,false,nobody,")).count(), 4, "{said}");
    assert_eq!(rows.matches(",delivery,").count(), 4, "{said}");
    assert!(rows.contains(r#","'=Order ""7"", again""#), "no formula, and quoted: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_of_a_sandbox_shows_what_a_test_key_can_do() {
    let mock = service().await;
    let said = finished(against(&mock, "tour")).await;
    assert!(said.contains("Another one is sent, and the customer answers"), "{said}");
    assert!(said.contains("What to try next"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_refuses_a_live_key() {
    let mock = service().await;
    let mut tour = against(&mock, "tour");
    tour.env("SHARED_INBOX_API_KEY", mock.live_key());
    let ended = tokio::task::spawn_blocking(move || output(&mut tour)).await.expect("it ends");
    assert_eq!(ended.status.code(), Some(1));
    assert!(text(&ended.stderr).contains("use a test key"), "{}", text(&ended.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_app_works_in_a_named_inbox() {
    let mock = service().await;
    mock.test_client().sandbox_inbound("kim@customer.test", "Where is my order 1042?").await.expect("a mail");
    let mut python = named(&mock, command("python3"));
    python.args(["-B", "examples/ci_test.py"]);
    assert_eq!(finished(python).await, "drafts made: 1\n");
}
