//! A fuzzer reads the OpenAPI document and tries to catch the server at doing something else: a server error,
//! an answer outside the document, a request accepted that the document forbids, or refused that it allows.

use std::{
    fs,
    process::{Command, Output},
};

use shared_inbox::Client;
use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;

/// Requests of each kind for each operation: enough to meet every limit, few enough for every build.
const EXAMPLES: &str = "15";

async fn fuzz(key: fn(&MockServer) -> &str, client: fn(&MockServer) -> Client) {
    let python = peers::python(&["schemathesis==4.32.5"]);
    let mock = MockServer::builder().no_rate_limit().start().await;
    let inbox = client(&mock);
    let (base, key) = (mock.base_url(), key(&mock));
    if key.starts_with("rk_test_") {
        inbox.sandbox_inbound("reply@customer.test", "Where is my order?").await.expect("it is taken");
    }
    let listed = inbox.conversations().await.expect("a list");
    // Each in quotation marks, as its dictionaries have them.
    let ids: Vec<_> = listed.iter().map(|it| format!("{:?}", it.id.as_str())).collect();
    assert!(!ids.is_empty());
    let here = tempfile::tempdir().expect("a directory");
    fs::write(here.path().join("schemathesis.toml"), include_str!("clients/schemathesis.toml"))
        .expect("a file");
    fs::write(here.path().join("conversations.txt"), ids.join("\n")).expect("a file");
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

#[tokio::test]
async fn a_fuzzer_with_a_live_key_finds_nothing_outside_the_document() {
    fuzz(MockServer::live_key, MockServer::client).await;
}

#[tokio::test]
async fn a_fuzzer_with_a_test_key_finds_nothing_outside_the_document() {
    fuzz(MockServer::test_key, MockServer::test_client).await;
}
