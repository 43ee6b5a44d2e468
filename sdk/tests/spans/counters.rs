//! The counters of the feature `metrics`, read by a recorder as a program would install one.

use std::time::Duration;

use metrics_util::debugging::DebuggingRecorder;
use shared_inbox::{Client, create::Verification, once::MemoryStore};
use shared_inbox_tests::counted;

use super::Log;
use super::support::{Outcome, Service, conversation_id, key};

#[tokio::test]
async fn requests_retries_429s_waits_and_creates_are_counted() {
    let (_log, _logging) = Log::of_this_thread();
    let recorder = DebuggingRecorder::new();
    let recording = metrics::set_default_local_recorder(&recorder);
    let service = Service::start().await;
    let client = service.builder().rate_limit(4).once_store(MemoryStore::new()).build().unwrap();
    let thread = client.conversation(&conversation_id());
    // A 500, then a 429, then a response.
    service.next_gets([Outcome::Before(500), Outcome::Before(429)]);
    client.conversations().await.unwrap();
    service.next_posts([Outcome::LostAfter]);
    assert!(thread.reply("Our words").await.unwrap().recovered());
    assert!(!thread.add_note("Our words").once("greeting").await.unwrap().replayed());
    assert!(thread.add_note("Our words").once("greeting").await.unwrap().replayed());
    service.next_posts([Outcome::LostAfter]);
    let unknown = thread.add_note("Other words").verification(Verification::Never).await;
    unknown.unwrap_err();
    let nobody = Client::builder(super::support::unreachable_url(), key());
    nobody.first_connection_timeout(Duration::ZERO).build().unwrap().tags().await.unwrap_err();
    drop(recording);

    let counted = counted(&recorder);
    let counter = |name: &str| counted.get(name).copied().unwrap_or_default();
    let list = "http.request.method=GET url.template=/conversations";
    for (name, expected) in [
        (
            "shared_inbox.requests http.request.method=GET http.response.status_code=200 url.template=/conversations",
            1,
        ),
        (
            "shared_inbox.requests error.type=500 http.request.method=GET http.response.status_code=500 url.template=/conversations",
            1,
        ),
        (
            "shared_inbox.requests error.type=429 http.request.method=GET http.response.status_code=429 url.template=/conversations",
            1,
        ),
        ("shared_inbox.requests error.type=connect http.request.method=GET url.template=/tags", 1),
        (&format!("shared_inbox.retries {list}"), 2),
        (&format!("shared_inbox.rate_limit.throttled {list}"), 1),
        ("shared_inbox.creates shared_inbox.outcome=received", 1),
        ("shared_inbox.creates shared_inbox.outcome=recovered", 1),
        ("shared_inbox.creates shared_inbox.outcome=replayed", 1),
        ("shared_inbox.creates shared_inbox.outcome=unknown", 1),
    ] {
        assert_eq!(counter(name), expected, "{name} in {counted:#?}");
    }
    // Eight requests and more by a client that may send four a minute.
    assert!(counter("shared_inbox.rate_limit.long_waits") >= 1, "{counted:#?}");
    assert!(counter("shared_inbox.rate_limit.wait_ms") >= 1_000, "{counted:#?}");
    let all = format!("{counted:?}");
    for secret in [&key()[8..], "words", "cnv_1", "127.0.0.1"] {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
}
