//! What a program's logs show: enough to follow a call, and no key, address or words of a mail.
//!
//! In a process of its own: what is logged is decided once for all threads, and tests that log nothing would
//! decide it too.

mod counters;
#[path = "../client/support/mod.rs"]
mod support;

use std::io::Write;
use std::sync::{Arc, Mutex};

use support::{Outcome, Service, conversation_id, key};
use tracing_subscriber::fmt::format::FmtSpan;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// All that is logged on this thread, on which the runtime of the test runs, until the guard is dropped.
    fn of_this_thread() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
            .with_span_events(FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing_subscriber::util::SubscriberInitExt::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn spans_are_named_by_the_conventions_and_hold_no_secret() {
    let (log, guard) = Log::of_this_thread();
    let service = Service::start().await;
    service.add_message("inbound", None, "The words of a mail");
    service.next_gets([Outcome::Before(500)]);
    service.next_posts([Outcome::LostAfter]);
    let client = service.client();
    client.conversations().search("words of a search").await.unwrap();
    let thread = client.conversation(&conversation_id());
    thread.reply("Our own words").summary("Our summary").await.unwrap();
    service.next_gets([Outcome::Says("{\"secret\":\"kim@example.com\"}")]);
    let error = client.me().await.unwrap_err();
    service.builder().max_response_bytes(8).build().unwrap().me().await.unwrap_err();
    drop(guard);

    let log = log.text();
    for expected in [
        "shared_inbox.call",
        "http.client.request",
        "otel.name=GET /conversations",
        "http.request.method=POST",
        "url.template=\"/conversations/{id}/replies\"",
        "server.address=\"127.0.0.1\"",
        "server.port=",
        "http.response.status_code=500",
        "http.request.resend_count=1",
        "error.type=\"connection_dropped\"",
        "trying again wait_ms=",
        "error.type=500",
        "error.type=\"unreadable\"",
    ] {
        assert!(log.contains(expected), "{expected} is missing in:\n{log}");
    }
    let ours: Vec<_> = log.lines().filter(|line| line.contains("shared_inbox")).collect();
    assert!(!ours.is_empty());
    let shown = format!("{} {error} {error:?} {client:?} {:?}", ours.join("\n"), service.builder());
    for secret in [&key()[8..], "words", "Our summary", "kim@", "help@", "cnv_1"] {
        assert!(!shown.contains(secret), "{secret} is shown in:\n{shown}");
    }
    for secret in [&key()[8..], "words", "search", "help@"] {
        assert!(!log.contains(secret), "{secret} is shown by a crate below");
    }
}

#[tokio::test]
async fn the_span_of_a_call_says_how_it_ended_and_a_long_wait_is_an_event() {
    let (log, guard) = Log::of_this_thread();
    let service = Service::start().await;
    let client = service.builder().rate_limit(2).build().unwrap();
    let thread = client.conversation(&conversation_id());
    client.conversations().await.unwrap();
    service.next_gets([Outcome::Before(500)]);
    thread.get().await.unwrap();
    service.next_posts([Outcome::LostAfter]);
    thread.reply("Our own words").await.unwrap();
    service.next_posts([Outcome::Before(404)]);
    thread.close().await.unwrap_err();
    service.next_gets([Outcome::Says("[]")]);
    client.me().await.unwrap_err();
    drop(guard);

    let log = log.text();
    let ended = |call: &str| {
        let is_end = |line: &&str| line.contains(&format!("{{otel.name={call} ")) && line.contains(": close");
        let is_outermost = |line: &&str| line.matches("{otel.name=").count() == 1;
        log.lines().filter(is_end).find(is_outermost).unwrap_or_else(|| panic!("{call} in:\n{log}"))
    };
    for (call, expected) in [
        ("GET /conversations", &["shared_inbox.outcome=\"received\"", "shared_inbox.attempts=1"][..]),
        ("GET /conversations/{id}", &["outcome=\"received\"", "attempts=2", "rate_limit.wait_ms="]),
        ("POST /conversations/{id}/replies", &["outcome=\"recovered\"", "attempts=1"]),
        (
            "POST /conversations/{id}/status",
            &["outcome=\"rejected\"", "error.type=\"404\"", "otel.status_code=\"ERROR\""],
        ),
        ("GET /me", &["outcome=\"no_effect\"", "error.type=\"unreadable\""]),
    ] {
        let line = ended(call);
        expected.iter().for_each(|part| assert!(line.contains(part), "{part} is missing in {line}"));
    }
    assert!(log.contains("a request has waited for the rate limit"), "{log}");
    assert!(log.contains("priority=Interactive"), "{log}");
}

#[tokio::test]
async fn the_first_failed_connection_is_a_warning_with_host_and_port() {
    let (log, guard) = Log::of_this_thread();
    let url = support::unreachable_url();
    let address = url.split('/').nth(2).unwrap();
    let client = shared_inbox::Client::builder(&url, key()).clock(support::LeapClock::new()).build().unwrap();
    for _ in 0..2 {
        client.tags().await.unwrap_err();
    }
    drop(guard);
    let text = log.text();
    let warnings: Vec<&str> = text.lines().filter(|line| line.contains(" WARN ")).collect();
    let [warning] = warnings[..] else { panic!("{warnings:?}") };
    assert!(address.split(':').all(|part| warning.contains(part)), "{warning}");
    assert!(!text.contains(&key()));
}
