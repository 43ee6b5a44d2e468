//! Connections as they are on the wire: cut off, cut short, reused, and many at once.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::kit::Kit;

/// What comes back over a connection of its own until the server closes it.
fn exchange(kit: &Kit, request: &str) -> String {
    let address = kit
        .mock
        .base_url()
        .strip_prefix("http://")
        .and_then(|it| it.strip_suffix("/api/v1"))
        .expect("an address");
    let mut stream = std::net::TcpStream::connect(address).expect("a connection");
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an orderly end");
    answer
}

fn get_me(kit: &Kit, more: &str) -> String {
    format!(
        "GET /api/v1/me HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n{more}\r\n",
        kit.mock.live_key()
    )
}

#[tokio::test]
async fn a_truncated_answer_has_its_whole_length_and_only_the_first_bytes() {
    let kit = Kit::start().await;
    let whole = kit.live().get("/me").await.text;
    for bytes in [0, 20, 1_000_000] {
        kit.control("POST", "/faults", json!({ "effect": { "truncate": bytes } })).await.expect(201);
        let answer = exchange(&kit, &get_me(&kit, ""));
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        assert!(head.contains(&format!("content-length: {}", whole.len())), "{head}");
        assert_eq!(body, &whole[..bytes.min(whole.len() - 1)]);
    }
}

#[tokio::test]
async fn a_dropped_connection_sends_not_one_byte() {
    let kit = Kit::start().await;
    for when in ["before", "after"] {
        kit.control("POST", "/faults", json!({ "effect": { "drop": when } })).await.expect(201);
        assert_eq!(exchange(&kit, &get_me(&kit, "")), "");
    }
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let kit = Kit::start().await;
    let answer = exchange(&kit, &format!("{}{}", get_me(&kit, ""), get_me(&kit, "connection: close\r\n")));
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer}");
}

#[tokio::test]
async fn a_request_whose_client_has_gone_took_effect_and_is_in_the_journal() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    kit.control("POST", "/faults", json!({ "method": "POST", "effect": { "delayMs": 600_000 } }))
        .await
        .expect(201);
    let note = kit
        .http()
        .post(format!("{}/conversations/{id}/notes", kit.mock.base_url()))
        .bearer_auth(kit.mock.live_key())
        .header("content-type", "application/json")
        .timeout(std::time::Duration::from_millis(200))
        .body(r#"{"body":"Seen"}"#)
        .send()
        .await;
    assert!(note.is_err_and(|error| error.is_timeout()));
    let noted = || async { kit.live().timeline(&id).await.iter().any(|it| it["type"] == "note") };
    assert!(noted().await);
    loop {
        let journal = kit.look("/requests").await;
        if journal.as_array().expect("a list").iter().any(|it| it["method"] == "POST") {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn half_open_clients_do_not_keep_others_out() {
    let kit = Kit::start().await;
    let address = kit
        .mock
        .base_url()
        .strip_prefix("http://")
        .and_then(|it| it.strip_suffix("/api/v1"))
        .expect("an address");
    let mut idle = Vec::new();
    for i in 0..200 {
        let mut stream = std::net::TcpStream::connect(address).expect("a connection");
        if i % 2 == 0 {
            stream
                .write_all(b"POST /api/v1/app-mail HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
                .expect("written");
        }
        idle.push(stream);
    }
    kit.live().get("/me").await.expect(200);
}

#[tokio::test]
async fn changes_are_followed_as_server_sent_events() {
    let kit = Kit::start().await;
    let id = kit.mail("vera@customer.example", "Hello").await;
    let mut events =
        kit.http().get(format!("{}/events", kit.mock.control_url())).send().await.expect("an answer");
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    // The opening line says that the server listens from here on.
    let mut seen =
        String::from_utf8(events.chunk().await.expect("bytes").expect("a line").to_vec()).expect("text");
    kit.live()
        .post(&format!("/conversations/{id}/replies"), json!({ "body": "Hi", "send": true }))
        .await
        .expect(201);
    kit.advance(600).await;
    kit.control("POST", "/reset", Value::Null).await.expect(200);
    while !seen.contains("\"reset\"") {
        seen.push_str(
            std::str::from_utf8(&events.chunk().await.expect("bytes").expect("an event")).expect("text"),
        );
    }
    let causes: Vec<String> = seen
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| {
            serde_json::from_str::<Value>(data).expect("JSON")["cause"].as_str().expect("a cause").to_owned()
        })
        .collect();
    assert_eq!(causes, ["request", "job", "clock", "state"], "{seen}");
}
