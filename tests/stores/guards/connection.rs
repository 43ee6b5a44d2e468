//! Connecting to a store: addresses, TLS, and one that does not answer.

use std::time::Duration;

use shared_inbox_tests::stores;
use shared_inbox_webhooks::replay::{PostgresGuard, RedisGuard};
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

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_given_up_after_two_seconds() {
    let start = tokio::time::Instant::now();
    let error = RedisGuard::connect(&format!("redis://{}", silent().await)).await.unwrap_err();
    assert!(start.elapsed() <= Duration::from_secs(2), "{:?}: {error}", start.elapsed());
    let start = tokio::time::Instant::now();
    let error = PostgresGuard::connect(&format!("postgres://a@{}/a", silent().await)).await.unwrap_err();
    assert!(start.elapsed() <= Duration::from_secs(3), "{:?}: {error}", start.elapsed());
}

#[tokio::test]
async fn an_address_that_is_none_is_an_error_and_shows_no_password() {
    for url in
        ["redis://:hunter2@", "nonsense", "redis://:hunter2@127.0.0.1:1", "rediss://:hunter2@127.0.0.1:1"]
    {
        let error = RedisGuard::connect(url).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
    for url in ["nonsense", "postgres://a:hunter2@127.0.0.1:1/a"] {
        let error = PostgresGuard::connect(url).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[tokio::test]
async fn a_connection_that_asks_for_tls_is_made_with_tls_or_not_at_all() {
    if let Some(store) = stores::valkey() {
        let plain = store.url().replace("redis://", "rediss://");
        assert!(RedisGuard::connect(&plain).await.is_err(), "the server speaks no TLS");
    }
    if let Some(store) = stores::postgres() {
        let url = format!("{}?sslmode=require", store.url());
        assert!(PostgresGuard::connect(&url).await.is_err(), "the server speaks no TLS");
    }
}
