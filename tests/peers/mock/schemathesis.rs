//! A fuzzer reads the OpenAPI document and tries to catch the server at doing something else: a server error, an
//! answer outside the document, a request accepted that the document forbids, or refused that it allows.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;

/// Requests of each kind for each operation: enough to meet every limit, few enough for every build.
const EXAMPLES: &str = "15";

async fn fuzz(key: fn(&MockServer) -> &str) {
    let Some(python) = peers::python(&["schemathesis==4.32.5"]) else { return };
    let mock = MockServer::builder().no_rate_limit().start().await;
    let (base, key) = (mock.base_url(), key(&mock));
    let here = tempfile::tempdir().expect("a directory");
    fs::write(here.path().join("schemathesis.toml"), include_str!("peers/schemathesis.toml"))
        .expect("a file");
    fs::write(here.path().join("conversations.txt"), conversations(base, key).await).expect("a file");
    let mut command = Command::new(python.with_file_name("schemathesis"));
    command
        .args(["--config-file", "schemathesis.toml", "run", &format!("{base}/openapi.json"), "--url", base])
        .args(["-H", &format!("Authorization: Bearer {key}"), "--checks", "all", "--continue-on-failure"])
        .args(["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", EXAMPLES, "--seed", "1"])
        // It keeps what it learns beside where it runs.
        .current_dir(here.path());
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let (said, also) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{said}\n{also}");
    assert!(said.contains("Tested: 14") && said.contains("No issues found"), "{said}\n{also}");
}

/// The ids of some conversations that the key can see, one a line.
async fn conversations(base: &str, key: &str) -> String {
    let http = crate::kit::requests();
    if key.starts_with("rk_test_") {
        let mail = json!({ "from": "reply@customer.test", "text": "Where is my order?" });
        let sent = http.post(format!("{base}/sandbox/inbound")).bearer_auth(key).json(&mail).send().await;
        assert_eq!(sent.expect("an answer").status(), 201);
    }
    let list = http.get(format!("{base}/conversations")).bearer_auth(key).send().await.expect("an answer");
    let list: Vec<Value> = list.json().await.expect("a list");
    assert!(!list.is_empty());
    list.iter().map(|conversation| format!("{}\n", conversation["id"])).collect()
}

#[tokio::test]
#[ignore = "needs Python"]
async fn a_fuzzer_with_a_live_key_finds_nothing_outside_the_document() {
    fuzz(MockServer::live_key).await;
}

#[tokio::test]
#[ignore = "needs Python"]
async fn a_fuzzer_with_a_test_key_finds_nothing_outside_the_document() {
    fuzz(MockServer::test_key).await;
}
