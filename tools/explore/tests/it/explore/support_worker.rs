//! The example `support_worker`, explored: kills, lost responses, repeated and overlapping webhooks.

use std::time::Duration;

use shared_inbox::{
    Client,
    once::{Begun, FileStore, LeaseStatus, OnceRecord, OnceStore, StoreFuture, StoredRecord},
};
use shared_inbox_explore::explore::{AppContext, Explore, Oracle, Scenario};
use shared_inbox_webhooks::{Receiver, Secret};
use tokio::net::TcpListener;

use crate::explore::{
    apps::AppResult,
    assert_replay,
    correct::{LeapingClock, holds},
    long_schedules,
};

#[allow(dead_code, reason = "its `main` is for the example")]
#[path = "../../../../../examples/support_worker.rs"]
mod app;

fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken"]).server()
}

async fn serve<S: OnceStore>(context: AppContext, open: fn(&AppContext) -> S) -> AppResult {
    let message = |error: &dyn std::error::Error| error.to_string();
    let builder = Client::builder(&context.base_url, &context.key).clock(LeapingClock::new());
    let inbox = builder.once_store(open(&context)).build().map_err(|error| message(&error))?;
    let secret =
        Secret::parse(&context.webhook_secret.expect("a secret")).map_err(|error| message(&error))?;
    let receiver = Receiver::builder().secrets([secret]).build();
    let listener = TcpListener::bind(("127.0.0.1", context.port.expect("a port"))).await;
    let listener = listener.map_err(|error| message(&error))?;
    axum::serve(listener, app::router(inbox, receiver)).await.map_err(|error| message(&error))
}

fn with_a_store() -> Explore {
    let open = |context: &AppContext| FileStore::open(context.state_dir.join("once")).expect("a store");
    Explore::function(scenario(), move |context| serve(context, open))
}

/// The same app without `once`: its store grants everything and remembers nothing.
fn without() -> Explore {
    Explore::function(scenario(), |context| serve(context, |_| Forgetful))
}

struct Forgetful;

impl OnceStore for Forgetful {
    fn begin<'a>(&'a self, _: &'a OnceRecord, _: Duration) -> StoreFuture<'a, Begun> {
        Box::pin(async { Ok(Begun::Granted { fence: 1, previous: None }) })
    }

    fn update<'a>(
        &'a self,
        _: &'a str,
        _: u64,
        _: Option<&'a OnceRecord>,
        _: Duration,
    ) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async { Ok(LeaseStatus::Held) })
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn remove<'a>(&'a self, _: &'a str, _: u64) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async { Ok(LeaseStatus::Held) })
    }
}

#[tokio::test]
async fn nothing_is_found_in_the_support_worker() {
    holds(with_a_store()).await;
}

/// A person takes the conversation over right before the read by which `once` looks for what a killed process
/// made. The app has decided before, and does not see that read.
#[tokio::test]
async fn what_once_reads_to_find_a_create_of_a_killed_process_is_not_held_against_the_app() {
    for token in
        ["1_0_kill@add_note.0_assign:0@get_conversation.2", "1_0_kill@reply.0_assign:0@get_conversation.2"]
    {
        assert_replay(with_a_store(), token, None).await;
    }
}

/// A handler has read that a person took the conversation over, while another one is still writing. In the
/// worker, one waits for the other.
#[tokio::test]
async fn what_one_handler_has_read_another_does_not_write_against() {
    let token = "1_0_slow@add_note.0_mail:0@add_note.0_assign:0@add_note.0";
    // A slow response takes as long as an app may.
    assert_replay(with_a_store().app_timeout(Duration::from_secs(2)), token, None).await;
}

/// The note of the killed handler is there, and beside it one of another key about the same customer.
#[tokio::test]
async fn a_note_of_another_key_does_not_keep_the_killed_one_from_being_settled() {
    assert_replay(with_a_store(), "1_0_other:0@get_conversation.0_kill@add_note.1", None).await;
}

/// A kill between the note and the end of its handler.
const KILLED: &str = "1_1_kill@reply.0";

#[tokio::test]
async fn without_once_a_kill_makes_the_support_worker_write_twice_and_with_it_not() {
    let report = without().replay(KILLED).await.expect("it ran");
    let finding = report.findings.first().unwrap_or_else(|| panic!("nothing found: {report}"));
    assert!(matches!(finding.oracle, Oracle::NeverTwice | Oracle::SameEnd), "{finding}");
    assert_replay(with_a_store(), KILLED, None).await;
    if long_schedules().is_some() {
        let report = without().run().await.expect("it ran");
        assert!(!report.findings.is_empty(), "{report}");
    }
}
