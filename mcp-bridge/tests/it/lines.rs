//! Lines that are no messages, requests that cannot be read, and more of them than can be carried.

use std::time::Duration;

use serde_json::json;
use shared_inbox_mock::{Effect, FaultRule};
use tokio::io::AsyncWriteExt;

use crate::{
    fixture::Fixture,
    wire::{Raw, greeted, under_way},
};

/// Whether this is an error with this code for the request with this id.
fn is_error_of(line: &str, id: &str, code: i32) -> bool {
    line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#))
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
    for greeted in [false, true] {
        if greeted {
            raw.greet().await;
        }
        for line in messages {
            raw.line(line).await;
        }
    }
    raw.call(2, "list_mailboxes", json!({})).await;
    assert_eq!(raw.next().await["id"], 2);
}

#[tokio::test]
async fn requests_of_the_bridge_are_numbered_from_1_and_can_be_withdrawn() {
    let (fixture, mut raw) = greeted().await;
    for id in 1..=3 {
        raw.call(100 + id, "reply", fixture.reply(&format!("Number {id}"))).await;
        let question = raw.next().await;
        assert_eq!((&question["method"], &question["id"]), (&json!("elicitation/create"), &json!(id)));
        if id < 3 {
            raw.cancel(100 + id).await;
            let withdrawn = raw.next().await;
            assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
            assert_eq!(withdrawn["params"]["requestId"], id, "{withdrawn}");
        }
    }
    raw.send(json!({ "jsonrpc": "2.0", "id": 3, "result": { "action": "decline" } })).await;
    let answer = raw.answer(103).await;
    assert_eq!(answer["result"]["structuredContent"]["status"], "draft", "the answer is heard: {answer}");
}

#[tokio::test]
async fn a_line_that_cannot_be_read_gets_an_error_with_its_id_and_one_that_is_no_message_one_without() {
    let fixture = Fixture::new().await;
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
        (br#"{"method":"a","params":{"x":"\ud800"},"jsonrpc":"2.0","id":8}"#.to_vec(), "8", -32700, "JSON"),
        (b"hello".to_vec(), "null", -32700, ""),
        (b"{".to_vec(), "null", -32700, ""),
        (b"\xff\xfe\x00binary".to_vec(), "null", -32700, ""),
        (b"null".to_vec(), "null", -32600, ""),
        (b"[1, 2]".to_vec(), "null", -32600, ""),
        // A batch, which the older of these versions had.
        (br#"[{ "jsonrpc": "2.0", "id": 2 }]"#.to_vec(), "null", -32600, "on a line of its own"),
    ];
    for version in ["2025-03-26", "2025-06-18"] {
        let mut raw = Raw::start(&fixture, &[]);
        for greeted in [false, true] {
            if greeted {
                raw.greet_in(version).await;
            }
            for (line, id, code, said) in &lines {
                raw.line(line).await;
                let answer = raw.next_line().await;
                let is_right = is_error_of(&answer, id, *code) && answer.contains(said);
                assert!(is_right, "{}: {answer}", String::from_utf8_lossy(line));
            }
        }
        raw.assert_works().await;
    }
}

#[tokio::test]
async fn an_id_that_is_in_flight_already_gets_an_error_and_the_first_its_answer() {
    let fixture = Fixture::new().await;
    let slow = FaultRule::new(Effect::delay(Duration::from_millis(500))).path("/tags").times(1);
    fixture.fault(slow).await;
    let mut raw = Raw::start(&fixture, &[]);
    raw.greet().await;
    raw.call(2, "list_tags", json!({})).await;
    under_way(&fixture.mock).await;
    raw.call(2, "list_mailboxes", json!({})).await;
    let refused = raw.answer(2).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("still being worked on"), "{refused}");
    assert!(raw.answer(2).await["result"]["content"].is_array());
    raw.assert_works().await; // An id that was answered can be used again.
}

#[tokio::test]
async fn a_line_of_exactly_16_mib_is_read_and_one_byte_more_is_not_and_the_next_is_in_both_cases() {
    let (_fixture, mut raw) = greeted().await;
    for more in [0, 1] {
        let request = json!({ "jsonrpc": "2.0", "id": 10 + more, "method": "tools/list" }).to_string();
        let padding = " ".repeat((16 << 20) + more - request.len());
        raw.line((request + &padding).as_bytes()).await;
        raw.call(2, "list_mailboxes", json!({})).await;
        let answers = [raw.next_line().await, raw.next_line().await];
        let is_told = |answer: &String| is_error_of(answer, "null", -32600) && answer.contains("16 MiB");
        let is_refused = answers.iter().any(is_told);
        assert_eq!(is_refused, more == 1, "{more}");
        assert!(answers.iter().any(|answer| answer.contains("Orders")), "{more}: the next one is read");
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_client_that_does_not_read_is_not_read_from_either_and_loses_nothing() {
    let (_fixture, mut raw) = greeted().await;
    let mut sent = 0_u64;
    let long = json!({ "_meta": { "long": "x".repeat(8_000) } });
    // Ends when the program takes no more.
    loop {
        let request = json!({ "jsonrpc": "2.0", "id": 100 + sent, "method": "tools/list", "params": long });
        let request = request.to_string() + "\n";
        let written = tokio::time::timeout(Duration::from_secs(2), raw.stdin.write_all(request.as_bytes()));
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
