//! What is no such service: the suite gives up, and says why and what it has made.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use serde_json::json;
use shared_inbox_conform::Conform;
use shared_inbox_mock::MockServer;
use tokio::net::TcpListener;

use crate::{
    clock::Leaping,
    proxy::{Changes, Proxy, Route},
};

const KEY: &str = "rk_test_000000000000000000000000000000000000000000000000";

/// A server that takes a request and never responds.
async fn hanging() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/api/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            open.push(stream);
        }
    });
    url
}

/// The time is the runtime's own, which moves on where there is nothing to do but wait.
#[tokio::test(start_paused = true)]
async fn a_service_that_hangs_is_given_up_on() {
    let url = hanging().await;
    let error = Conform::new(url, KEY).run().await.expect_err("there is no response");
    assert!(error.to_string().contains("no response within 15 seconds"), "{error}");
}

#[tokio::test]
async fn a_service_that_goes_away_ends_the_run_with_a_word_about_what_was_made() {
    let mock = MockServer::builder().manual_clock().no_rate_limit().start().await;
    for (status, words) in [(429, "429"), (502, "")] {
        let proxy = Proxy::start(mock.base_url()).await;
        let count = AtomicU32::new(0);
        proxy.change(Changes {
            before: Some(Arc::new(move |request| {
                if request.path.starts_with("/_mock") || count.fetch_add(1, Ordering::Relaxed) > 20 {
                    return Route::respond(status, &json!({ "error": "Away." }));
                }
                Route::Forward
            })),
            ..Changes::default()
        });
        let clock = Arc::new(Leaping::default());
        let run = Conform::new(proxy.base_url(), mock.test_key()).only(["4.4"]).clock(clock).run().await;
        match (status, run) {
            (429, Err(error)) => {
                let error = error.to_string();
                assert!(error.contains(words) && error.contains("conversations marked `conform-"), "{error}");
            }
            // Every request gets a response, so that each rule says for itself what came.
            (502, Ok(report)) => assert!(!report.conforms()),
            (status, run) => panic!("{status}: {run:?}"),
        }
    }
}

#[tokio::test]
async fn a_service_that_stops_answering_ends_the_run() {
    let mock = MockServer::builder().manual_clock().no_rate_limit().start().await;
    let proxy = Proxy::start(mock.base_url()).await;
    let (count, enough) = (AtomicU32::new(0), Arc::new(tokio::sync::Notify::new()));
    let counted = Arc::clone(&enough);
    proxy.change(Changes {
        before: Some(Arc::new(move |_| {
            if count.fetch_add(1, Ordering::Relaxed) == 6 {
                counted.notify_one();
            }
            Route::Forward
        })),
        ..Changes::default()
    });
    let conform = Conform::new(proxy.base_url(), mock.test_key()).sandbox_only().only(["2.2", "4.4"]);
    let (run, ()) = tokio::join!(conform.run(), async {
        enough.notified().await;
        drop(proxy);
    });
    let error = run.expect_err("it cannot go on").to_string();
    assert!(error.contains("stopped answering"), "{error}");
}
