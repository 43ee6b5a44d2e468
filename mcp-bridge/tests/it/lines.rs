//! Lines that are no messages, requests that cannot be read, and more of them than can be carried.

use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox_mock::{Effect, FaultRule};
use tokio::io::AsyncWriteExt;

use crate::{
    fixture::Fixture,
    wire::{Raw, slow, under_way},
};

/// An error that names no request.
fn of_nobody(answer: &str, code: i32) -> bool {
    answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"#))
}

#[tokio::test]
async fn a_line_that_is_no_message_gets_an_error_without_an_id() {
    let fixture = Fixture::new().await;
    let mut raw = Raw::start(&fixture, &[]);
    let garbage: [(&[u8], i32); 6] = [
        (b"hello", -32700),
        (b"{", -32700),
        (b"\xff\xfe\x00binary", -32700),
        (b"null", -32600),
        (b"{\"jsonrpc\": \"1.0\", \"id\": 5}", -32600),
        (b"[1, 2]", -32600),
    ];
    for greeted in [false, true] {
        if greeted {
            raw.greet().await;
        }
        for (line, code) in garbage {
            raw.line(line).await;
            let answer = raw.next().await;
            assert!(of_nobody(&answer, code), "{}: {answer}", String::from_utf8_lossy(line));
        }
    }
    raw.call(2, "list_mailboxes", json!({})).await;
    assert!(raw.answer(2).await.to_string().contains("Orders"));
}

#[tokio::test]
async fn messages_that_nobody_waits_for_are_passed_over() {
    let fixture = Fixture::new().await;
    let mut raw = Raw::start(&fixture, &[]);
    let messages: [&[u8]; 4] = [
        b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": {\"requestId\": 9}}",
        b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/of_ours\"}",
        b"{\"jsonrpc\": \"2.0\", \"id\": 7, \"result\": {}}",
        b"",
    ];
    for line in messages {
        raw.line(line).await;
    }
    raw.greet().await;
    for line in messages {
        raw.line(line).await;
    }
    raw.call(2, "list_mailboxes", json!({})).await;
    let answer: Value = serde_json::from_str(&raw.next().await).unwrap();
    assert_eq!(answer["id"], 2, "{answer}");
}

#[tokio::test]
async fn a_batch_gets_one_error_in_every_session() {
    let fixture = Fixture::new().await;
    for version in ["2025-03-26", "2025-06-18"] {
        let mut raw = Raw::start(&fixture, &[]);
        for greeted in [false, true] {
            if greeted {
                raw.greet_in(version, json!({})).await;
            }
            raw.send(json!([{ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }])).await;
            let answer = raw.next().await;
            assert!(of_nobody(&answer, -32600) && answer.contains("on a line of its own"), "{answer}");
        }
    }
}

#[tokio::test]
async fn requests_of_the_bridge_are_numbered_from_1_and_can_be_withdrawn() {
    let fixture = Fixture::new().await;
    let mut raw = Raw::start(&fixture, &[]);
    raw.greet_with(json!({ "elicitation": {} })).await;
    for id in 1..=2 {
        let body = format!("Number {id}");
        raw.call(100 + id, "reply", json!({ "id": fixture.conversation, "body": body, "send": true })).await;
        let question: Value = serde_json::from_str(&raw.next().await).unwrap();
        assert_eq!((&question["method"], &question["id"]), (&json!("elicitation/create"), &json!(id)));
        let cancelled = json!({ "requestId": 100 + id });
        raw.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;
        let withdrawn: Value = serde_json::from_str(&raw.next().await).unwrap();
        assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
        assert_eq!(withdrawn["params"]["requestId"], id, "{withdrawn}");
    }
    raw.call(200, "reply", json!({ "id": fixture.conversation, "body": "Number 3", "send": true })).await;
    let question: Value = serde_json::from_str(&raw.next().await).unwrap();
    raw.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } })).await;
    assert_eq!(
        raw.answer(200).await["result"]["structuredContent"]["status"],
        "draft",
        "the answer is heard"
    );
}

#[tokio::test]
async fn a_request_that_cannot_be_read_gets_an_error_with_its_id() {
    let fixture = Fixture::new().await;
    let mut raw = Raw::start(&fixture, &[]);
    let call = |id: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#).into_bytes()
    };
    let named = |arguments: &str| format!(r#"{{"name":"list_tags","arguments":{arguments}}}"#);
    let deep = named(&format!(r#"{{"a":{}{}}}"#, "[".repeat(200), "]".repeat(200)));
    let mut broken = call("7", &named(r#"{"a":"?"}"#));
    *broken.iter_mut().find(|byte| **byte == b'?').unwrap() = 0xff;
    let digits = "9".repeat(400);
    let lines = [
        (call("7", &named(r#"{"a":"\ud800"}"#)), "7", -32700, "JSON"),
        (broken, "7", -32700, "UTF-8"),
        (call("7", &deep), "7", -32700, "recursion"),
        (call("7", &named(r#"{"a":1e400}"#)), "7", -32700, "number out of range"),
        (call("7", "\"text\""), "7", -32602, "`params` must be an object"),
        (call("7", "[1,2]"), "7", -32602, "`params` must be an object"),
        (call(&digits, &named("{}")), digits.as_str(), -32700, "number"),
        (call("1.5", &named("{}")), "1.5", -32600, "whole number"),
        (call("null", &named("{}")), "null", -32600, "whole number"),
        (br#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#.to_vec(), "\"a\"", -32600, "2.0"),
        (
            br#"{"method":"ping","params":{"x":"\ud800"},"jsonrpc":"2.0","id":8}"#.to_vec(),
            "8",
            -32700,
            "JSON",
        ),
    ];
    // Before the first greeting, and after it.
    for greeted in [false, true] {
        if greeted {
            raw.greet().await;
        }
        for (line, id, code, said) in &lines {
            raw.line(line).await;
            let answer = raw.next().await;
            let shown = String::from_utf8_lossy(line);
            assert!(
                answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#)),
                "{shown}: {answer}"
            );
            assert!(answer.contains(said), "{shown}: {answer}");
        }
    }
    raw.call(2, "list_mailboxes", json!({})).await;
    assert!(raw.answer(2).await.to_string().contains("Orders"));
}

#[tokio::test]
async fn an_id_that_is_in_flight_already_gets_an_error_and_the_first_its_answer() {
    let fixture = Fixture::new().await;
    let slow = FaultRule::new(Effect::delay(Duration::from_millis(500))).path("/tags").times(1);
    fixture.mock.control().add_fault(slow).await.unwrap();
    let mut raw = Raw::start(&fixture, &[]);
    raw.greet().await;
    raw.call(2, "list_tags", json!({})).await;
    under_way(&fixture.mock).await;
    raw.call(2, "list_mailboxes", json!({})).await;
    let refused = raw.answer(2).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("still being worked on"), "{refused}");
    assert!(raw.answer(2).await["result"]["content"].is_array());
    raw.call(2, "list_mailboxes", json!({})).await;
    assert!(raw.answer(2).await.to_string().contains("Orders"), "an id that was answered can be used again");
}

#[tokio::test]
async fn a_line_of_20_mib_gets_an_error_and_does_nothing() {
    let fixture = Fixture::new().await;
    let mut raw = Raw::start(&fixture, &[]);
    raw.greet().await;
    raw.call(2, "add_note", json!({ "id": fixture.conversation, "body": "x".repeat(20 << 20) })).await;
    let answer = raw.next().await;
    assert!(of_nobody(&answer, -32600) && answer.contains("16 MiB"), "{answer}");
    raw.call(3, "list_mailboxes", json!({})).await;
    assert!(raw.answer(3).await.to_string().contains("Orders"));
    assert_eq!(fixture.notes().await.len(), 0);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_client_that_does_not_read_is_not_read_from_either_and_loses_nothing() {
    let fixture = Fixture::new().await;
    let mut raw = Raw::start(&fixture, &[]);
    raw.greet().await;
    let mut sent = 0_u64;
    let long = json!({ "_meta": { "long": "x".repeat(8_000) } });
    // Ends when the program takes no more.
    loop {
        let request = json!({ "jsonrpc": "2.0", "id": 100 + sent, "method": "tools/list", "params": long });
        let request = request.to_string() + "\n";
        let written = tokio::time::timeout(Duration::from_secs(1), raw.stdin.write_all(request.as_bytes()));
        match written.await {
            Ok(written) => written.unwrap(),
            Err(_) => break,
        }
        sent += 1;
        assert!(sent < 20_000, "the program takes everything");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", raw.child.id().unwrap())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().to_owned();
    let peak: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    assert!(peak < 128 << 10, "{peak} KiB");
    for id in 0..sent {
        let answer = raw.answer(100 + id).await;
        assert!(answer["result"]["tools"].is_array(), "{answer}");
    }
}

#[tokio::test]
async fn a_persons_answer_does_not_wait_behind_the_requests_that_the_bridge_has_no_place_for() {
    let fixture = Fixture::new().await;
    slow(&fixture, "/tags").await;
    let mut raw = Raw::start(&fixture, &[]);
    raw.greet_with(json!({ "elicitation": {} })).await;
    raw.call(2, "reply", json!({ "id": fixture.conversation, "body": "On its way", "send": true })).await;
    let question: Value = serde_json::from_str(&raw.next().await).unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    for id in 100..150 {
        raw.call(id, "list_tags", json!({})).await;
    }
    raw.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } })).await;
    // Sooner than any of the slow calls: `next` has less patience than they take.
    let answer: Value = serde_json::from_str(&raw.next().await).unwrap();
    assert_eq!(answer["id"], 2, "{answer}");
    assert_eq!(
        answer["result"]["structuredContent"]["status"], "draft",
        "no person answers so soon: {answer}"
    );
}
