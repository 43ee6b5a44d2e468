//! Other people's clients list and call every tool, in both eras of the protocol.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use shared_inbox_mock::{InboundMail, MockServer};
use shared_inbox_tests::{peers, root};

use super::calls::calls_of_every_tool;

/// A mock with one conversation that the live key sees.
async fn mock() -> (MockServer, String) {
    let mock = MockServer::builder().manual_clock().empty().no_rate_limit().start().await;
    let inbox = mock.control().mailboxes().await.expect("inboxes")[0].address.clone();
    let mail = InboundMail::new(inbox, "kim@example.com", "Where is my order?");
    let conversation = mock.control().inbound(mail).await.expect("it is taken").conversation_id;
    (mock, conversation.to_string())
}

fn holds_a_result(name: &str, result: &Value) {
    assert_ne!(result["isError"], true, "{name}: {result}");
    assert!(result["structuredContent"].is_object(), "{name}: {result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    assert_eq!(
        serde_json::from_str::<Value>(text).expect("JSON as text"),
        result["structuredContent"],
        "{name}"
    );
}

#[tokio::test]
async fn the_official_python_client_lists_and_calls_every_tool() {
    let python = peers::python(&["mcp==2.3.0"]);
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let (mock, conversation) = mock().await;
        let (url, key) = (mock.mcp_url(), mock.live_key());
        let mut calls: Vec<Value> = calls_of_every_tool(&conversation)
            .into_iter()
            .map(|(name, arguments)| json!({ "name": name, "arguments": arguments }))
            .collect();
        let names: Vec<Value> = calls.iter().map(|call| call["name"].clone()).collect();
        calls.push(json!({ "name": "add_note", "arguments": { "id": "cnv_none", "body": "" } }));
        let job = json!({ "url": url, "key": key, "mode": mode, "calls": calls }).to_string();
        let script = root().join("tests/peers/mock/clients/mcp_client.py");
        let mut client = Command::new(&python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Python starts");
        client.stdin.take().expect("a pipe").write_all(job.as_bytes()).expect("it reads");
        let out = client.wait_with_output().expect("it ends");
        assert!(out.status.success(), "{mode}: {}", String::from_utf8_lossy(&out.stderr));
        let said: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        assert_eq!(said["protocolVersion"], version);
        assert_eq!(said["tools"], Value::from(names.clone()), "{mode}");
        for (result, name) in said["results"].as_array().expect("results").iter().zip(&names) {
            holds_a_result(&format!("{name} ({mode})"), result);
        }
        let refused = &said["results"][names.len()];
        assert_eq!(
            (&refused["isError"], &refused["content"][0]["text"]),
            (&true.into(), &"body: must be at least 1 character".into()),
        );
    }
}

#[tokio::test]
async fn the_inspector_lists_and_calls_every_tool() {
    let node = peers::node22();
    let modules = peers::npm(&["@modelcontextprotocol/inspector@2.12.0"]);
    let cli = modules.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let catalogue = tempfile::tempdir().expect("a directory");
    for era in ["legacy", "modern"] {
        let (mock, conversation) = mock().await;
        let (url, key) = (mock.mcp_url(), mock.live_key());
        let calls = calls_of_every_tool(&conversation);
        let run = |more: Vec<String>| {
            let out = Command::new(&node)
                .arg(&cli)
                .args(["--cli", "-q", "--format", "json", "--protocol-era", era, url])
                .args(["--transport", "http", "--header", &format!("Authorization: Bearer {key}")])
                .args(more)
                // Otherwise it keeps a catalogue of servers in the home of whoever runs the tests.
                .env("MCP_CATALOG_PATH", catalogue.path().join("mcp.json"))
                .output()
                .expect("it starts");
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{era}: {said} {}", String::from_utf8_lossy(&out.stdout));
            serde_json::from_slice::<Value>(&out.stdout).expect("JSON")
        };
        let listed = run(vec!["--method".into(), "tools/list".into(), "--strict".into()]);
        let tools = listed.get("tools").or_else(|| listed["result"].get("tools")).expect("tools");
        let names: Vec<&str> =
            tools.as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, calls.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{era}");
        for (name, arguments) in calls {
            let mut more =
                vec!["--method".into(), "tools/call".into(), "--tool-name".into(), name.to_owned()];
            for (key, value) in arguments {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                more.extend(["--tool-arg".to_owned(), format!("{key}={value}")]);
            }
            let answer = run(more);
            holds_a_result(&format!("{name} ({era})"), answer.get("result").unwrap_or(&answer));
        }
    }
}
