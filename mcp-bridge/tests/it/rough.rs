//! Rough treatment: a service that goes away, a client that goes away, lines that are no messages.

use std::{
    process::Stdio,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shared_inbox_mock::{Effect, FaultRule, MockServer};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStdin, ChildStdout},
};

use crate::desk::{Desk, Older, Person, Says, connect, is_error, params, text, until};

/// The program without a library at the other end.
struct Raw {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Raw {
    fn start(desk: &Desk, arguments: &[&str]) -> Self {
        let mut command = desk.program();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, stdout: BufReader::new(stdout).lines() }
    }

    async fn line(&mut self, line: &[u8]) {
        self.stdin.write_all(line).await.unwrap();
        self.stdin.write_all(b"\n").await.unwrap();
    }

    async fn send(&mut self, message: Value) {
        self.line(message.to_string().as_bytes()).await;
    }

    /// The answer with this id; other messages are passed over.
    async fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.stdout.next_line().await.unwrap().expect("the program is still there");
            let message: Value = serde_json::from_str(&line).expect("stdout belongs to the protocol");
            if message["id"] == id {
                return message;
            }
        }
    }

    async fn greet(&mut self) {
        self.greet_with(json!({})).await;
    }

    async fn greet_with(&mut self, capabilities: Value) {
        let client = json!({ "name": "raw", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client });
        self.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })).await;
        assert_eq!(self.answer(1).await["result"]["serverInfo"]["name"], "shared-inbox-mcp");
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }

    async fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).await;
    }

    /// Closes stdin; gives how long the program took to end, its status and what it said on stderr.
    async fn hang_up(self) -> (Duration, Option<i32>, String) {
        let Self { mut child, stdin, .. } = self;
        let begun = Instant::now();
        drop(stdin);
        let status = child.wait().await.unwrap();
        let took = begun.elapsed();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        (took, status.code(), said)
    }
}

async fn slow(desk: &Desk, path: &str) {
    let slow = FaultRule::new(Effect::delay(Duration::from_secs(30))).path(path).always();
    desk.mock.control().add_fault(slow).await.unwrap();
}

/// Waits until a fault is at work.
async fn under_way(mock: &MockServer) {
    until(async || mock.control().faults().await.iter().any(|fault| fault.fired > 0)).await;
}

#[tokio::test]
async fn a_closed_stdin_ends_the_program_within_a_second() {
    let desk = Desk::new().await;
    let mut before_hello = Raw::start(&desk, &[]);
    before_hello.line(b"").await;
    let (took, status, _) = before_hello.hang_up().await;
    assert!(took < Duration::from_secs(1) && status == Some(0), "{took:?} {status:?}");

    let mut idle = Raw::start(&desk, &[]);
    idle.greet().await;
    let (took, status, _) = idle.hang_up().await;
    assert!(took < Duration::from_secs(1) && status == Some(0), "{took:?} {status:?}");
}

#[tokio::test]
async fn a_closed_stdin_ends_the_program_even_in_the_middle_of_a_call() {
    let desk = Desk::new().await;
    slow(&desk, "/tags").await;
    let mut busy = Raw::start(&desk, &[]);
    busy.greet().await;
    busy.call(2, "list_tags", json!({})).await;
    under_way(&desk.mock).await;
    let (took, status, _) = busy.hang_up().await;
    assert!(took < Duration::from_secs(1) && status == Some(0), "{took:?} {status:?}");
}

#[tokio::test]
#[cfg(unix)]
async fn a_signal_to_end_ends_the_program_cleanly() {
    let desk = Desk::new().await;
    for signal in ["-TERM", "-INT"] {
        let mut raw = Raw::start(&desk, &[]);
        raw.greet().await;
        let pid = raw.child.id().unwrap().to_string();
        assert!(tokio::process::Command::new("kill").args([signal, &pid]).status().await.unwrap().success());
        assert_eq!(raw.child.wait().await.unwrap().code(), Some(0), "{signal}");
    }
}

#[tokio::test]
async fn what_was_asked_before_stdin_closed_is_still_answered() {
    let desk = Desk::new().await;
    let mut raw = Raw::start(&desk, &[]);
    raw.greet().await;
    raw.call(2, "list_mailboxes", json!({})).await;
    let Raw { mut child, stdin, mut stdout } = raw;
    drop(stdin);
    let line = stdout.next_line().await.unwrap().expect("an answer");
    assert!(line.contains("Orders"), "{line}");
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn garbage_is_passed_over() {
    let desk = Desk::new().await;
    let mut raw = Raw::start(&desk, &[]);
    let garbage: [&[u8]; 9] = [
        b"hello",
        b"{",
        b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": {\"requestId\": 9}}",
        b"{\"jsonrpc\": \"2.0\", \"id\": 7, \"result\": {}}",
        b"null",
        b"[1, 2]",
        b"\xff\xfe\x00binary",
        b"{\"jsonrpc\": \"1.0\", \"id\": 5}",
        b"",
    ];
    for line in garbage {
        raw.line(line).await;
    }
    raw.greet().await;
    for line in garbage {
        raw.line(line).await;
    }
    raw.call(2, "list_mailboxes", json!({})).await;
    assert!(raw.answer(2).await.to_string().contains("Orders"));
}

/// The next message, whatever it is.
async fn next(raw: &mut Raw) -> String {
    let line = tokio::time::timeout(Duration::from_secs(20), raw.stdout.next_line());
    line.await.expect("there is an answer").unwrap().expect("the program is still there")
}

#[tokio::test]
async fn a_request_that_cannot_be_read_gets_an_error_with_its_id() {
    let desk = Desk::new().await;
    let mut raw = Raw::start(&desk, &[]);
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
            let answer = next(&mut raw).await;
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
    let desk = Desk::new().await;
    let slow = FaultRule::new(Effect::delay(Duration::from_millis(500))).path("/tags").times(1);
    desk.mock.control().add_fault(slow).await.unwrap();
    let mut raw = Raw::start(&desk, &[]);
    raw.greet().await;
    raw.call(2, "list_tags", json!({})).await;
    under_way(&desk.mock).await;
    raw.call(2, "list_mailboxes", json!({})).await;
    let refused = raw.answer(2).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("still being worked on"), "{refused}");
    assert!(raw.answer(2).await["result"]["content"].is_array());
    raw.call(2, "list_mailboxes", json!({})).await;
    assert!(raw.answer(2).await.to_string().contains("Orders"), "an id that was answered can be used again");
}

#[tokio::test]
async fn a_line_of_20_mib_gets_an_error_wherever_its_id_stands() {
    let desk = Desk::new().await;
    let mut raw = Raw::start(&desk, &[]);
    raw.greet().await;
    let body = "x".repeat(20 << 20);
    let params = json!({ "name": "add_note", "arguments": { "id": desk.conversation, "body": body } });
    for line in [
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{params}}}"#),
        format!(r#"{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":2}}"#),
    ] {
        raw.line(line.as_bytes()).await;
        let answer = raw.answer(2).await;
        assert!(answer["error"]["message"].as_str().unwrap().contains("16 MiB"), "{answer}");
    }
    raw.call(3, "list_mailboxes", json!({})).await;
    assert!(raw.answer(3).await.to_string().contains("Orders"));
    assert_eq!(desk.notes().await.len(), 0);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_client_that_does_not_read_is_not_read_from_either_and_loses_nothing() {
    let desk = Desk::new().await;
    let mut raw = Raw::start(&desk, &[]);
    raw.greet().await;
    let mut sent = 0_u64;
    // Ends when the program takes no more.
    loop {
        let request =
            json!({ "jsonrpc": "2.0", "id": 100 + sent, "method": "tools/list" }).to_string() + "\n";
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

#[tokio::test]
async fn a_persons_answer_does_not_wait_behind_the_requests_that_the_bridge_has_no_place_for() {
    let desk = Desk::new().await;
    slow(&desk, "/tags").await;
    let mut raw = Raw::start(&desk, &[]);
    raw.greet_with(json!({ "elicitation": {} })).await;
    raw.call(2, "reply", json!({ "id": desk.conversation, "body": "On its way", "send": true })).await;
    let question: Value = serde_json::from_str(&next(&mut raw).await).unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    for id in 100..150 {
        raw.call(id, "list_tags", json!({})).await;
    }
    raw.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } })).await;
    // Sooner than any of the slow calls: `next` has less patience than they take.
    let answer: Value = serde_json::from_str(&next(&mut raw).await).unwrap();
    assert_eq!(answer["id"], 2, "{answer}");
    assert_eq!(
        answer["result"]["structuredContent"]["status"], "draft",
        "no person answers so soon: {answer}"
    );
}

#[tokio::test]
async fn a_call_is_answered_within_55_seconds_and_told_what_to_do() {
    let desk = Desk::new().await;
    slow(&desk, "/tags").await;
    slow(&desk, "/conversations/*/notes").await;
    let person = Person::who(Says::No);
    let client = desk.sit_down_inside(&person, Older, &[]).await;
    for (tool, arguments) in
        [("list_tags", json!({})), ("add_note", json!({ "id": desk.conversation, "body": "Once" }))]
    {
        let late = async {
            let path = if tool == "list_tags" { "/tags" } else { "notes" };
            let hangs = |fault: &shared_inbox_mock::Fault| {
                fault.fired > 0 && fault.rule.path.as_deref().is_some_and(|p| p.ends_with(path))
            };
            until(async || desk.mock.control().faults().await.iter().any(hangs)).await;
            person.clock.forward(Duration::from_secs(54));
            client.service.list_all_resources().await.unwrap();
            person.clock.forward(Duration::from_secs(1));
        };
        let (result, ()) = tokio::join!(client.call(tool, arguments), late);
        assert!(
            is_error(&result) && text(&result).contains("within 55 seconds"),
            "{tool}: {}",
            text(&result)
        );
        assert!(text(&result).contains("Try again"), "{tool}: {}", text(&result));
    }
}

#[tokio::test]
async fn a_service_that_dies_in_the_middle_of_a_call_is_explained() {
    let desk = Desk::new().await;
    slow(&desk, "/conversations/*/status").await;
    let mut raw = Raw::start(&desk, &[]);
    raw.greet().await;
    raw.call(2, "list_tags", json!({})).await;
    raw.answer(2).await;
    raw.call(3, "add_note", json!({ "id": desk.conversation, "body": "Before" })).await;
    raw.answer(3).await;
    let Desk { mock, conversation } = desk;
    raw.call(4, "set_status", json!({ "id": conversation, "status": "closed" })).await;
    under_way(&mock).await;
    drop(mock);
    let answer = raw.answer(4).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("connection"), "{answer}");
    raw.send(json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/list" })).await;
    assert!(
        raw.answer(5).await["result"]["tools"].as_array().unwrap().len() > 5,
        "the bridge is still there"
    );
    let (took, status, _) = raw.hang_up().await;
    assert!(took < Duration::from_secs(1) && status == Some(0), "{took:?} {status:?}");
}

#[tokio::test]
async fn a_broken_answer_is_explained_and_the_next_call_works() {
    let desk = Desk::new().await;
    let broken = FaultRule::new(Effect::body("<html>".to_owned())).path("/tags").times(1);
    desk.mock.control().add_fault(broken).await.unwrap();
    let client = desk.sit_down(&Person::who(Says::No), Older, &[]).await;
    let result = client.call("list_tags", json!({})).await;
    assert!(is_error(&result) && text(&result).contains("not the JSON"), "{}", text(&result));
    assert!(!is_error(&client.call("list_tags", json!({})).await));
}

/// A service that says whose key it is, and then never answers again. Gives the connection of the second request.
async fn silent_service(listener: TcpListener) -> TcpStream {
    let me = r#"{"agent":{"id":"agt_1","name":"Bridge"},"scopes":["read"],"livemode":true}"#;
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut heard = String::new();
    while !heard.contains("GET /api/v1/tags") {
        let mut bytes = [0; 1024];
        let n = stream.read(&mut bytes).await.unwrap();
        heard.push_str(&String::from_utf8_lossy(&bytes[..n]));
        if heard.contains("GET /api/v1/me") && heard.ends_with("\r\n\r\n") {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                me.len()
            );
            stream.write_all(format!("{head}{me}").as_bytes()).await.unwrap();
            heard.clear();
        }
    }
    stream
}

#[tokio::test]
async fn a_long_wait_sends_progress_and_a_cancelled_call_ends_its_request() {
    let desk = Desk::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut command = desk.program();
    command.env("SHARED_INBOX_BASE_URL", format!("http://{}/api/v1", listener.local_addr().unwrap()));
    let person = Person::who(Says::No);
    let service = tokio::spawn(silent_service(listener));
    let client = connect(command, &person, Older).await;
    let call = client.start(params("list_tags", json!({}))).await;
    let mut request = service.await.unwrap();
    until(async || person.progress.load(Ordering::SeqCst) >= 2).await;
    call.cancel(Some("enough".into())).await.unwrap();
    // The bridge lets go of the connection: the service reads its end.
    let mut bytes = [0; 1024];
    let ended = async { while request.read(&mut bytes).await.is_ok_and(|n| n > 0) {} };
    tokio::time::timeout(Duration::from_secs(5), ended).await.expect("the request goes on");
    assert_eq!(client.tools().await.len(), 5, "the bridge is still there");
}

#[tokio::test]
async fn logs_hold_no_mail_no_names_and_no_key() {
    let desk = Desk::new().await;
    let mut raw = Raw::start(&desk, &["-vv"]);
    raw.greet().await;
    raw.call(2, "get_conversation", json!({ "id": desk.conversation })).await;
    raw.answer(2).await;
    raw.call(3, "reply", json!({ "id": desk.conversation, "body": "A secret word: xylophone" })).await;
    raw.answer(3).await;
    raw.call(4, "add_note", json!({ "id": desk.conversation })).await;
    raw.answer(4).await;
    raw.call(5, "xylophone", json!({})).await;
    raw.answer(5).await;
    raw.send(json!({ "jsonrpc": "2.0", "id": 6, "method": "xylophone/list" })).await;
    raw.answer(6).await;
    let key = desk.mock.live_key().to_owned();
    let (_, _, said) = raw.hang_up().await;
    for request in ["tools/call get_conversation", "tools/call reply", "initialize", "how=\"result\""] {
        assert!(said.contains(request), "{request} is logged: {said}");
    }
    for word in ["Where is my order", "Kim", "kim@", "1042", "xylophone", &key[12..]] {
        assert!(!said.contains(word), "{word} is in the logs:\n{said}");
    }
}
