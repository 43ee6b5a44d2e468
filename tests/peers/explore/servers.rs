//! Servers in Python and Node, with nothing but their standard libraries.

use shared_inbox_explore::explore::{Explore, Oracle};
use shared_inbox_tests::peers;

use crate::{correct::holds, other_languages::app, servers::scenario};

#[tokio::test]
#[ignore = "needs Python"]
async fn nothing_is_found_in_a_correct_python_server() {
    let Some(python) = peers::python(&["pytest==9.2.0"]) else { return };
    let command = [python.to_str().expect("text").to_owned(), app("server.py"), "correct".to_owned()];
    holds(Explore::command(scenario(), command)).await;
}

#[tokio::test]
#[ignore = "needs Node"]
async fn nothing_is_found_in_a_correct_node_server() {
    holds(Explore::command(scenario(), ["node".to_owned(), app("server.mjs"), "correct".to_owned()])).await;
}

/// The fault of both: an event that comes again is handled again.
async fn is_found(command: &[&str]) {
    let explore = Explore::command(scenario(), command.iter().copied()).seconds(3600.0).max_schedules(400);
    let report = explore.run().await.expect("it ran");
    let [finding] = &report.findings[..] else { panic!("{report}") };
    assert_eq!((finding.oracle, finding.steps.len()), (Oracle::NeverTwice, 1), "{report}");
}

#[tokio::test]
#[ignore = "needs Python"]
async fn an_event_that_a_python_server_handles_twice_is_found() {
    let Some(python) = peers::python(&["pytest==9.2.0"]) else { return };
    is_found(&[python.to_str().expect("text"), &app("server.py"), "no_dedupe"]).await;
}

#[tokio::test]
#[ignore = "needs Node"]
async fn an_event_that_a_node_server_handles_twice_is_found() {
    is_found(&["node", &app("server.mjs"), "noDedupe"]).await;
}
