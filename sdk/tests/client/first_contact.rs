//! A service that cannot be connected to: a mistake in the settings until it was reached once, an outage afterwards.

use std::time::Duration;

use shared_inbox::{Certainty, Client, ErrorKind, clock::Clock, retry::RetryPolicy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{LeapClock, conversation_id, key};

/// A port that answers so many requests with an empty list, and then refuses connections.
async fn answers(requests: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = async move {
        for _ in 0..requests {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]";
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    };
    if requests > 0 {
        tokio::spawn(serve);
    }
    address
}

struct NoSuchHost;

impl reqwest::dns::Resolve for NoSuchHost {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        Box::pin(async { Err("no such host".into()) })
    }
}

#[tokio::test]
async fn a_service_that_was_never_reached_is_given_up_after_three_seconds() {
    let address = answers(0).await;
    let unknown = "inbox.example:443".to_owned();
    let no_such_host = reqwest::Client::builder().dns_resolver(NoSuchHost).build().unwrap();
    for (url, address, http) in [
        (format!("http://{address}/api/v1"), address, reqwest::Client::new()),
        (format!("https://{unknown}/api/v1"), unknown, no_such_host),
    ] {
        for create in [false, true] {
            let clock = LeapClock::new();
            let client = Client::builder(&url, key()).clock(clock.clone()).http_client(http.clone());
            let client = client.build().unwrap();
            let started = clock.now();
            let error = match create {
                false => client.tags().await.unwrap_err(),
                true => client.conversation(&conversation_id()).add_note("Hello").await.unwrap_err(),
            };
            assert_eq!(
                (error.kind(), error.certainty()),
                (ErrorKind::Connect, Certainty::NotSent),
                "{error}"
            );
            assert!(clock.now() - started < Duration::from_secs(3), "{:?}", clock.slept());
            assert!(error.attempts() > 1, "{error:?}");
            assert!(error.to_string().contains(&address), "{error}");
            assert!(!error.to_string().contains("cnv_1"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_service_that_was_reached_before_is_tried_to_the_end() {
    let address = answers(1).await;
    let clock = LeapClock::new();
    let client =
        Client::builder(format!("http://{address}/api/v1"), key()).clock(clock.clone()).build().unwrap();
    client.tags().await.unwrap();
    let error = client.tags().await.unwrap_err();
    assert!(error.is_connect(), "{error}");
    assert_eq!(error.attempts(), 5);
    assert!(error.is_retryable());
}

#[tokio::test]
async fn how_long_a_service_that_was_never_reached_is_tried_can_be_set() {
    let address = answers(0).await;
    let clock = LeapClock::new();
    let client = Client::builder(format!("http://{address}/api/v1"), key()).clock(clock.clone());
    let client = client.first_connection_timeout(Duration::from_secs(60)).build().unwrap();
    let error = client.tags().retry(RetryPolicy::default().attempts(7)).await.unwrap_err();
    assert!(error.is_connect(), "{error}");
    assert_eq!(error.attempts(), 7, "{:?}", clock.slept());
}

#[tokio::test]
async fn main_prints_the_sentence_and_the_alternate_form_the_fields() {
    let address = answers(0).await;
    let client =
        Client::builder(format!("http://{address}/api/v1"), key()).clock(LeapClock::new()).build().unwrap();
    let error = client.tags().await.unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    let fields = format!("{error:#?}");
    for part in ["kind: Connect", "certainty: NotSent", "attempts", "refused", &error.to_string()] {
        assert!(fields.contains(part), "{part} in {fields}");
    }
}
