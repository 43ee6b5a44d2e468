//! The program without a library at the other end, and a service that is slow.

use std::{process::Stdio, time::Duration};

use serde_json::{Value, json};
use shared_inbox_mock::{Effect, FaultRule, MockServer};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
};

use crate::fixture::{Fixture, until};

/// The program without a library at the other end.
pub(crate) struct Raw {
    pub(crate) child: Child,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: Lines<BufReader<ChildStdout>>,
}

impl Raw {
    pub(crate) fn start(fixture: &Fixture, arguments: &[&str]) -> Self {
        let mut command = fixture.program();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, stdout: BufReader::new(stdout).lines() }
    }

    pub(crate) async fn line(&mut self, line: &[u8]) {
        self.stdin.write_all(line).await.unwrap();
        self.stdin.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.line(message.to_string().as_bytes()).await;
    }

    /// The answer with this id; other messages are passed over.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The next line, whatever it is.
    pub(crate) async fn next_line(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_secs(20), self.stdout.next_line());
        line.await.expect("there is an answer").unwrap().expect("the program is still there")
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_line().await).expect("stdout belongs to the protocol")
    }

    pub(crate) async fn greet(&mut self) {
        self.greet_in("2025-06-18").await;
    }

    /// Greets as a client that can ask a person.
    pub(crate) async fn greet_in(&mut self, version: &str) {
        let client = json!({ "name": "raw", "version": "1" });
        let capabilities = json!({ "elicitation": {} });
        let params =
            json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
        self.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })).await;
        assert_eq!(self.answer(1).await["result"]["serverInfo"]["name"], "shared-inbox-mcp");
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }

    pub(crate) async fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id });
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    }

    pub(crate) async fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).await;
    }

    /// Fails where a call has no result.
    pub(crate) async fn assert_works(&mut self) {
        self.call(2, "list_mailboxes", json!({})).await;
        assert!(self.answer(2).await.to_string().contains("Orders"));
    }

    /// Closes stdin; gives the status that the program ends with at once, and what it said on stderr.
    pub(crate) async fn hang_up(self) -> (Option<i32>, String) {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        // A third of what a slow call takes: it is not waited for.
        let ended = tokio::time::timeout(SLOW / 3, child.wait()).await.expect("it ends at once");
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        (ended.unwrap().code(), said)
    }
}

/// A mock, and the program, which was greeted.
pub(crate) async fn greeted() -> (Fixture, Raw) {
    let fixture = Fixture::new().await;
    let mut raw = Raw::start(&fixture, &[]);
    raw.greet().await;
    (fixture, raw)
}

const SLOW: Duration = Duration::from_secs(30);

pub(crate) async fn slow(fixture: &Fixture, path: &str) {
    let slow = FaultRule::new(Effect::delay(SLOW)).path(path).always();
    fixture.fault(slow).await;
}

/// Waits until a fault is at work.
pub(crate) async fn under_way(mock: &MockServer) {
    until(async || mock.control().faults().await.iter().any(|fault| fault.fired > 0)).await;
}
