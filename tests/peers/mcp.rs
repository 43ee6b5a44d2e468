//! The bridge, spoken to as a desktop client does.

use std::{
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

/// A bridge that was started, and what it answers.
pub(crate) struct Session {
    bridge: Child,
    input: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    asked: u32,
}

impl Session {
    /// A client that cannot ask its person anything starts the bridge.
    pub(crate) fn start(bridge: &mut Command) -> Self {
        let mut bridge =
            bridge.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the bridge starts");
        let input = bridge.stdin.take().expect("its stdin");
        let answers = BufReader::new(bridge.stdout.take().expect("its stdout")).lines();
        let mut session = Self { bridge, input, answers, asked: 0 };
        session.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "a test", "version": "1" },
            }),
        );
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the bridge listens");
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let line = self.answers.next().expect("an answer").expect("UTF-8");
            let message: Value = serde_json::from_str(&line).expect("stdout carries nothing but JSON");
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }

    /// The names of the tools that a model sees.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let list = self.ask("tools/list", json!({}));
        let tools = list["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// What a call gives a model, in the structured form.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))["structuredContent"].clone()
    }

    /// The client goes, and the bridge with it.
    pub(crate) fn end(mut self) {
        drop(self.input);
        assert!(self.bridge.wait().expect("it ends").success(), "the bridge ends when its client goes");
    }
}
