//! What is no such service: the suite gives up, and says why and what it has made.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use serde_json::json;
use shared_inbox_conform::Conform;
use shared_inbox_mock::MockServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    clock::Leaping,
    proxy::{Answered, Changes, Proxy, Way},
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
            before: Some(Arc::new(move |asked| {
                if asked.path.starts_with("/_mock") || count.fetch_add(1, Ordering::Relaxed) > 20 {
                    return Way::Not(Answered::new(status, &json!({ "error": "Away." })));
                }
                Way::On
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
            // Every request is answered, so that each rule says for itself what came.
            (502, Ok(report)) => assert!(!report.conforms()),
            (status, run) => panic!("{status}: {run:?}"),
        }
    }
}

#[tokio::test]
async fn a_service_that_stops_answering_ends_the_run() {
    let mock = MockServer::builder().manual_clock().no_rate_limit().start().await;
    let target = mock.base_url().trim_start_matches("http://").trim_end_matches("/api/v1").to_owned();
    // Passes ten connections on, then closes every one.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/api/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let mut passed = 0;
        while let Ok((mut stream, _)) = listener.accept().await {
            passed += 1;
            if passed > 1 {
                continue;
            }
            let target = target.clone();
            tokio::spawn(async move {
                let mut head = vec![0; 65536];
                for _ in 0..6 {
                    let Ok(read @ 1..) = stream.read(&mut head).await else { return };
                    let Ok(mut to) = tokio::net::TcpStream::connect(&target).await else { return };
                    let text = String::from_utf8_lossy(&head[..read]).into_owned();
                    let own = text
                        .lines()
                        .find(|it| it.to_lowercase().starts_with("host:"))
                        .unwrap_or_default()
                        .to_owned();
                    let text = text.replace(&own, &format!("host: {target}"));
                    let _ = to.write_all(text.as_bytes()).await;
                    let Ok(read @ 1..) = to.read(&mut head).await else { return };
                    let _ = stream.write_all(&head[..read]).await;
                }
            });
        }
    });
    let run = Conform::new(url, mock.test_key()).sandbox_only().only(["2.2", "4.4"]).run().await;
    let error = run.expect_err("it cannot go on").to_string();
    assert!(error.contains("stopped answering"), "{error}");
}
