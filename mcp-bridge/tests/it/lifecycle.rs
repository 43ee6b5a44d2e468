//! A service that goes away, and a client that goes away.

use std::{sync::atomic::Ordering, time::Duration};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    fixture::{
        Answer, Fixture, Older, Person, assert_done, assert_lacks, assert_refused, assert_says, leaping,
        params, until,
    },
    wire::{Raw, greeted, slow, under_way},
};

#[tokio::test]
async fn a_closed_stdin_ends_the_program_at_once_even_in_the_middle_of_a_call_and_with_a_full_queue() {
    let fixture = Fixture::new().await;
    let mut before_hello = Raw::start(&fixture, &[]);
    before_hello.line(b"").await;
    assert_eq!(before_hello.hang_up().await.0, Some(0));

    slow(&fixture, "/tags").await;
    // None, one, and as many as run and wait, and what a pipe holds behind them.
    for calls in [0, 1, if cfg!(unix) { 800 } else { 1 }] {
        let mut raw = Raw::start(&fixture, &[]);
        raw.greet().await;
        for id in 2..2 + calls {
            raw.call(id, "list_tags", json!({})).await;
        }
        if calls > 0 {
            under_way(&fixture.mock).await;
        }
        assert_eq!(raw.hang_up().await.0, Some(0), "{calls} calls");
    }
}

/// Sends requests that are refused, whose answers are more than a pipe holds.
async fn refuse(raw: &mut Raw, requests: usize) {
    for number in 0..requests {
        let id = format!("{number}-{}", "x".repeat(10_000));
        raw.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": [] })).await;
    }
}

#[tokio::test]
async fn a_closed_stdin_ends_the_program_although_nobody_reads_its_refusals_and_whoever_reads_gets_all() {
    for is_read in [cfg!(not(target_os = "linux")), true] {
        let (_fixture, mut raw) = greeted().await;
        refuse(&mut raw, 18).await;
        let Raw { mut child, stdin, mut stdout } = raw;
        drop(stdin);
        let mut answers = 0;
        while is_read && let Some(line) = stdout.next_line().await.unwrap() {
            assert!(line.contains("`params` must be an object"), "{line}");
            answers += 1;
        }
        let ended = tokio::time::timeout(Duration::from_secs(10), child.wait()).await.expect("it ends");
        assert_eq!((answers, ended.unwrap().code()), (if is_read { 18 } else { 0 }, Some(0)));
    }
}

#[tokio::test]
async fn what_was_asked_before_stdin_closed_is_still_answered() {
    let (_fixture, mut raw) = greeted().await;
    raw.call(2, "list_mailboxes", json!({})).await;
    let Raw { mut child, stdin, mut stdout } = raw;
    drop(stdin);
    let line = stdout.next_line().await.unwrap().expect("an answer");
    assert!(line.contains("Orders"), "{line}");
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_call_is_answered_within_55_seconds_and_told_what_to_do() {
    let fixture = Fixture::new().await;
    slow(&fixture, "/tags").await;
    slow(&fixture, "/conversations/*/notes").await;
    let person = Person::who(Answer::No);
    let client = fixture.start_in_process(&person, Older, &[]).await;
    let note = json!({ "id": fixture.conversation, "body": "Once" });
    for (hanging, (tool, arguments)) in (1..).zip([("list_tags", json!({})), ("add_note", note)]) {
        let late = async {
            let hangs = |fault: &&shared_inbox_mock::faults::Fault| fault.fired > 0;
            let faults = async || fixture.mock.control().faults().await;
            until(async || faults().await.iter().filter(hangs).count() == hanging).await;
            person.clock.forward(Duration::from_secs(54));
            client.service.list_all_resources().await.unwrap();
            person.clock.forward(Duration::from_secs(1));
        };
        let (result, ()) = tokio::join!(client.call(tool, arguments), late);
        assert_refused(&result, "within 55 seconds");
        assert_refused(&result, "Try again");
    }
}

#[tokio::test]
async fn a_service_that_dies_in_the_middle_of_a_call_is_explained() {
    let (fixture, _, client) = leaping(Person::who(Answer::No), Older, &[]).await;
    slow(&fixture, "/conversations/*/status").await;
    assert_done(&client.call("list_tags", json!({})).await);
    let note = json!({ "id": fixture.conversation, "body": "Before" });
    assert_done(&client.call("add_note", note).await);
    let Fixture { mock, conversation } = fixture;
    let dies = async {
        under_way(&mock).await;
        drop(mock);
    };
    let close = client.call("set_status", json!({ "id": conversation, "status": "closed" }));
    let (result, ()) = tokio::join!(close, dies);
    assert_refused(&result, "connection");
    assert!(client.tools().await.len() > 5, "the bridge is still there");
}

/// A service that says whose key it is, and never answers again. Gives the second request's connection.
async fn silent_service(listener: TcpListener) -> TcpStream {
    let me = r#"{"agent":{"id":"agt_1","name":"Bridge"},"scopes":["read"],"livemode":true}"#;
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut heard = String::new();
    while !heard.contains("GET /api/v1/tags") {
        let mut bytes = [0; 1024];
        let n = stream.read(&mut bytes).await.unwrap();
        heard.push_str(&String::from_utf8_lossy(&bytes[..n]));
        if heard.contains("GET /api/v1/me") && heard.ends_with("\r\n\r\n") {
            let head = format!("content-type: application/json\r\ncontent-length: {}", me.len());
            stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{me}").as_bytes()).await.unwrap();
            heard.clear();
        }
    }
    stream
}

#[tokio::test]
async fn a_long_wait_sends_progress_and_a_cancelled_call_ends_its_request() {
    let fixture = Fixture::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/api/v1", listener.local_addr().unwrap());
    let service = shared_inbox::Client::builder(&address, fixture.mock.live_key()).build().unwrap();
    let person = Person::who(Answer::No);
    let silent = tokio::spawn(silent_service(listener));
    let client = fixture.start_over(Some(service), &person, Older, &[]).await;
    let call = client.start(params("list_tags", json!({}))).await;
    let mut request = silent.await.unwrap();
    for reports in 1..=2 {
        person.clock.forward(Duration::from_secs(1));
        until(async || person.progress.load(Ordering::SeqCst) == reports).await;
    }
    let told = person.progress_messages.lock().unwrap().clone();
    assert_eq!(told, ["Still waiting after 1 s", "Still waiting after 2 s"]);
    call.cancel(Some("enough".into())).await.unwrap();
    // The bridge lets go of the connection: the service reads its end.
    let mut bytes = [0; 1024];
    let ended = async { while request.read(&mut bytes).await.is_ok_and(|n| n > 0) {} };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("the request goes on");
    assert_eq!(client.tools().await.len(), 5, "the bridge is still there");
}

#[tokio::test]
async fn logs_hold_no_mail_no_names_and_no_key() {
    let fixture = Fixture::new().await;
    let mut raw = Raw::start(&fixture, &["-vv"]);
    raw.greet().await;
    let id = &fixture.conversation;
    for (number, (tool, arguments)) in (2..).zip([
        ("get_conversation", json!({ "id": id })),
        ("reply", json!({ "id": id, "body": "A secret word: xylophone" })),
        ("add_note", json!({ "id": id })),
        ("xylophone", json!({})),
    ]) {
        raw.call(number, tool, arguments).await;
        raw.answer(number).await;
    }
    raw.send(json!({ "jsonrpc": "2.0", "id": 6, "method": "xylophone/list" })).await;
    raw.answer(6).await;
    let key = fixture.mock.live_key().to_owned();
    let (_, said) = raw.hang_up().await;
    assert_says(&said, &["tools/call get_conversation", "tools/call reply", "initialize", "how=\"result\""]);
    assert_lacks(&said, &["Where is my order", "Kim", "kim@", "1042", "xylophone", &key[12..]]);
}
