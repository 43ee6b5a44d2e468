//! The suite of the API's rules against an implementation of somebody else: Prism, a mock server that answers
//! from the OpenAPI document and keeps nothing.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use shared_inbox_conform::{Conform, Kind, RuleResult};
use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;

#[path = "../../tools/conform/tests/conform/clock.rs"]
#[allow(dead_code, reason = "the tests of the suite use all of it")]
mod clock;

use clock::Leaping;

struct Prism(Child);

impl Drop for Prism {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prism with this document; its address, once it accepts connections.
async fn prism(document: &Value) -> (Prism, String) {
    let (node, modules) = (peers::node22(), peers::npm(&["@stoplight/prism-cli@5.16.0"]));
    let folder = modules.with_file_name(format!("document-{}.json", std::process::id()));
    std::fs::write(&folder, document.to_string()).expect("written");
    let port =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr()).expect("a port").port();
    let child = Command::new(node)
        .arg(modules.join("@stoplight/prism-cli/dist/index.js"))
        .args(["mock", "--host", "127.0.0.1", "--port", &port.to_string()])
        .arg(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("node runs");
    let mut running = Prism(child);
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        assert!(running.0.try_wait().expect("a child").is_none(), "Prism has ended");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    (running, format!("http://127.0.0.1:{port}"))
}

#[tokio::test]
async fn a_stateless_mock_is_told_from_the_service_in_plain_words_without_a_crash_or_a_hang() {
    let mock = MockServer::start().await;
    let document =
        reqwest::Client::new().get(format!("{}/openapi.json", mock.base_url())).bearer_auth(mock.test_key());
    let mut document: Value = document.send().await.expect("an answer").json().await.expect("a document");
    // The key of its example is a live one, which the suite would not use.
    let example = document.to_string().replace(r#""livemode":true"#, r#""livemode":false"#);
    document = serde_json::from_str(&example).expect("JSON");
    let (_prism, url) = prism(&document).await;
    let conform = Conform::new(url, mock.test_key()).clock(Arc::new(Leaping::default()));
    let report = conform.run().await.expect("it runs to its end");
    assert!(!report.conforms());
    let result = |id: &str| report.rules.iter().find(|rule| rule.id == id).map(|rule| rule.result);
    for id in ["me.agent.id", "summary.subject", "notes.status", "notes.ok"] {
        assert_eq!(result(id), Some(RuleResult::Holds), "{id}: {report}");
    }
    for id in ["notes.each", "tags.add", "status.to.waiting", "read.404", "auth.wrong"] {
        assert_eq!(result(id), Some(RuleResult::Differs), "{id}: {report}");
    }
    let notes = report.rules_with(Kind::Demanded, RuleResult::Differs).find(|rule| rule.id == "notes.each");
    let found = json!(notes.expect("there"));
    assert_eq!(found["expected"], "two notes", "{found}");
}
