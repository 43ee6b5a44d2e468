//! A service that cannot be connected to: a mistake in the settings until it was reached once, an outage
//! afterwards.

use std::sync::Arc;
use std::time::Duration;

use shared_inbox::create::Verification;
use shared_inbox::{Certainty, Client, ClientBuilder, ErrorKind, Status, retry::RetryPolicy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{LeapClock, conversation_id, key, unreachable_url};

/// Names that do not exist, or are never found.
struct Resolver {
    responds: bool,
}

impl reqwest::dns::Resolve for Resolver {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        match self.responds {
            true => Box::pin(async { Err("no such host".into()) }),
            false => Box::pin(std::future::pending()),
        }
    }
}

fn resolved_by(resolver: Resolver) -> reqwest::Client {
    let http = reqwest::Client::builder().no_proxy().dns_resolver(Arc::new(resolver));
    http.connect_timeout(Duration::from_millis(5)).build().unwrap()
}

async fn unreachable(clock: &Arc<LeapClock>) -> ClientBuilder {
    Client::builder(unreachable_url(), key()).clock(clock.clone())
}

#[tokio::test]
async fn a_service_that_was_never_reached_is_given_up_after_three_seconds_and_nothing_was_sent() {
    let unknown = || "https://inbox.example/api/v1".to_owned();
    for (url, http) in [
        (unreachable_url(), reqwest::Client::new()),
        (unknown(), resolved_by(Resolver { responds: true })),
        (unknown(), resolved_by(Resolver { responds: false })),
    ] {
        let address = url.split('/').nth(2).unwrap();
        let clocks = [(); 5].map(|()| LeapClock::new());
        let [one, two, three, four, five] = clocks.each_ref().map(|clock| {
            let client = Client::builder(&url, key()).clock(clock.clone()).http_client(http.clone());
            client.build().unwrap()
        });
        let [three, four, five] = [three, four, five].map(|client| client.conversation(&conversation_id()));
        let errors = [
            one.tags().await.unwrap_err(),
            two.sandbox_inbound("kim@customer.test", "Hello").await.unwrap_err(),
            three.set_status(Status::Open).await.unwrap_err(),
            four.add_note("Hello").await.unwrap_err(),
            five.reply("Hello").and_send().verification(Verification::Never).await.unwrap_err(),
        ];
        for (error, clock) in errors.into_iter().zip(clocks) {
            let outcome = (error.kind(), error.certainty(), error.unconfirmed().is_none());
            assert_eq!(outcome, (ErrorKind::Connect, Certainty::NotSent, true), "{error}");
            assert!(error.is_connect() && error.attempts() > 1, "{error:?}");
            let text = error.to_string();
            assert!(text.contains(address) && !text.contains("cnv_1"), "{text}");
            let waited: Duration = clock.slept().iter().sum();
            assert!(waited < Duration::from_secs(3), "{:?}", clock.slept());
        }
    }
}

/// A port that responds to one request with an empty list, and then refuses connections.
async fn responds_once() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
        let response = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]";
        let _ = stream.write_all(response.as_bytes()).await;
        let _ = stream.shutdown().await;
    });
    url
}

#[tokio::test]
async fn a_service_that_was_never_reached_ends_streams_and_waits_with_an_error() {
    let clocks = [(); 4].map(|()| LeapClock::new());
    let [swept, followed, replied, referred] = [&clocks[0], &clocks[1], &clocks[2], &clocks[3]]
        .map(async |clock| unreachable(clock).await.build().unwrap());
    let (mut sweep, mut changes) = (swept.await.sweep(), followed.await.changes());
    let thread = replied.await.conversation(&conversation_id());
    let errors = [
        sweep.next().await.unwrap().unwrap_err(),
        changes.next().await.unwrap().unwrap_err(),
        thread.wait_for_reply(&"msg_1".parse().unwrap()).await.unwrap_err(),
        referred.await.wait_for_reference("order-1").await.unwrap_err(),
    ];
    for (error, clock) in errors.into_iter().zip(clocks) {
        assert!(error.is_connect(), "{error}");
        let waited: Duration = clock.slept().iter().sum();
        assert!(waited < Duration::from_secs(3), "{:?}", clock.slept());
    }
    assert!(sweep.next().await.is_none() && changes.next().await.is_none());
}

#[tokio::test]
async fn a_service_that_was_reached_before_ends_no_stream() {
    let clock = LeapClock::new();
    let client = Client::builder(responds_once().await, key()).clock(clock.clone()).build().unwrap();
    client.tags().await.unwrap();
    let mut changes = client.changes();
    let goes_on = async {
        while clock.slept().iter().sum::<Duration>() < Duration::from_secs(600) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = changes.next() => panic!("{ended:?}"),
        () = goes_on => {}
    }
}

#[tokio::test]
async fn a_service_that_was_reached_before_is_tried_to_the_end() {
    let client = Client::builder(responds_once().await, key()).clock(LeapClock::new()).build().unwrap();
    client.tags().await.unwrap();
    let error = client.tags().await.unwrap_err();
    assert!(error.is_connect(), "{error}");
    assert_eq!(error.attempts(), 5);
    assert!(error.is_retryable());
}

#[tokio::test]
async fn how_long_a_service_that_was_never_reached_is_tried_can_be_set() {
    let clock = LeapClock::new();
    let client = unreachable(&clock).await;
    let client = client.first_connection_timeout(Duration::from_secs(60)).build().unwrap();
    let error = client.tags().retry(RetryPolicy::default().attempts(7)).await.unwrap_err();
    assert!(error.is_connect(), "{error}");
    assert_eq!(error.attempts(), 7, "{:?}", clock.slept());
}

#[tokio::test]
async fn main_prints_the_sentence_and_the_alternate_form_the_fields() {
    let client = unreachable(&LeapClock::new()).await.build().unwrap();
    let error = client.tags().await.unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    let fields = format!("{error:#?}");
    for part in ["kind: Connect", "certainty: NotSent", "attempts", "refused", &error.to_string()] {
        assert!(fields.contains(part), "{part} in {fields}");
    }
}
