//! The official Python client in both eras, and the MCP Inspector.

use std::{path::Path, process::Stdio};

use serde_json::Value;
use shared_inbox_tests::{peers, program};
use tokio::process::Command;

use super::{
    fixture::{Fixture, Mails},
    installed,
    models::script,
};

/// Runs the script of the Python client, and gives what it printed.
async fn python(fixture: &Fixture, python: &Path, mode: &str, says: &str) -> Value {
    let mut command = script(python, "asks.py");
    command.arg(program("shared-inbox-mcp")).args([mode, says, &fixture.conversation]);
    command
        .env("SHARED_INBOX_BASE_URL", fixture.mock.base_url())
        .env("SHARED_INBOX_API_KEY", fixture.mock.live_key());
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{mode} {says}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{mode} {says}: {errors}"))
}

#[tokio::test]
async fn the_python_client_reads_asks_and_sends() {
    let interpreter = installed(|| peers::python(&["mcp==2.3.0"])).await;
    for mode in ["auto", "legacy"] {
        for says in ["yes", "no", "nothing", "cannot"] {
            let fixture = Fixture::new().await;
            let seen = python(&fixture, &interpreter, mode, says).await;
            assert_eq!(seen["tools"].as_array().unwrap().len(), 12, "{mode} {says}");
            assert_eq!(seen["subject"], "⟦untrusted⟧ Order 1042", "{mode} {says}");
            assert!(seen["read"].as_str().unwrap().contains("⟦untrusted "), "{mode} {says}");
            assert_eq!(seen["prompts"].as_array().unwrap().len(), 3, "{mode} {says}");
            assert!(seen["resource"].as_str().unwrap().contains("Orders"), "{mode} {says}");
            let asked = seen["asked"].as_array().unwrap();
            let mails = fixture.mails().await;
            match says {
                "yes" => {
                    assert_eq!(seen["status"], "scheduled", "{mode}: {seen}");
                    let question = asked[0].as_str().unwrap();
                    assert!(question.contains("To: kim@customer.example"), "{mode}: {question}");
                    assert_eq!(mails, Mails::sent("From Python"), "{mode}");
                }
                "cannot" => {
                    assert_eq!(seen["status"], "draft", "{mode}: {seen}");
                    assert_eq!(mails, Mails::draft("From Python"), "{mode}");
                }
                _ => {
                    assert_eq!((&seen["error"], asked.len()), (&true.into(), 1), "{mode} {says}: {seen}");
                    assert_eq!(mails, Mails::none(), "{mode} {says}");
                }
            }
        }
    }
}

/// Runs the inspector on the bridge, and gives what it printed.
pub(crate) async fn inspect(fixture: &Fixture, arguments: &[&str]) -> Value {
    let node = installed(peers::node22).await;
    let modules = installed(|| peers::npm(&["@modelcontextprotocol/inspector@2.12.0"])).await;
    let mut command = Command::new(&node);
    command.arg(modules.join(".bin/mcp-inspector")).args(["--cli", "-q", "--format", "json"]);
    // It hands on the environment that it is told to, and no more.
    let (url, key) = (fixture.mock.base_url(), fixture.mock.live_key());
    for (name, value) in [("SHARED_INBOX_BASE_URL", url), ("SHARED_INBOX_API_KEY", key)] {
        command.args(["-e", &format!("{name}={value}")]);
    }
    command.arg(program("shared-inbox-mcp")).args(arguments);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {errors}"))
}
