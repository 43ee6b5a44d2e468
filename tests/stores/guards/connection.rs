//! Connecting to a store: addresses, TLS, and one that does not answer.

use std::time::Duration;

use shared_inbox_stores::{Postgres, Redis};
use shared_inbox_tests::stores;
use tokio::net::{TcpListener, TcpStream};

/// A store that takes connections and answers nothing.
async fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held: Vec<TcpStream> = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    address.to_string()
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_given_up_after_two_seconds() {
    let start = tokio::time::Instant::now();
    let error = Redis::connect(&format!("redis://{}", silent().await)).await.unwrap_err();
    assert!(start.elapsed() <= Duration::from_secs(2), "{:?}: {error}", start.elapsed());
    let start = tokio::time::Instant::now();
    let error = Postgres::connect(&format!("postgres://a@{}/a", silent().await)).await.unwrap_err();
    assert!(start.elapsed() <= Duration::from_secs(3), "{:?}: {error}", start.elapsed());
}

#[tokio::test]
async fn an_address_that_is_none_is_an_error_and_shows_no_password() {
    for url in
        ["redis://:hunter2@", "nonsense", "redis://:hunter2@127.0.0.1:1", "rediss://:hunter2@127.0.0.1:1"]
    {
        let error = Redis::connect(url).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
    for url in ["nonsense", "postgres://a:hunter2@127.0.0.1:1/a"] {
        let error = Postgres::connect(url).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[tokio::test]
async fn a_connection_that_asks_for_tls_is_made_with_tls_or_not_at_all() {
    let (valkey, postgres) = (stores::valkey(), stores::postgres());
    let plain = valkey.url().replace("redis://", "rediss://");
    assert!(Redis::connect(&plain).await.is_err(), "the server speaks no TLS");
    let url = format!("{}?sslmode=require", postgres.url());
    assert!(Postgres::connect(&url).await.is_err(), "the server speaks no TLS");
}
