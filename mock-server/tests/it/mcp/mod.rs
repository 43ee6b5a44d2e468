//! The MCP endpoint: what it says on the wire, that it does the same as REST, and that other people's clients
//! get on with it.

mod clients;
mod definitions;
mod same_as_rest;
mod wire;

use serde_json::{Map, Value, json};

/// Where a server is and how to get in.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) mcp: String,
    pub(super) base: String,
    pub(super) control: String,
    pub(super) key: String,
    http: reqwest::Client,
}

/// The two ways in which clients talk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Era {
    /// `initialize` first; then requests that say nothing about themselves.
    Legacy,
    /// 2026-07-28: each request stands for itself.
    Modern,
}

impl Endpoint {
    pub(super) fn new(mock: &shared_inbox_mock::MockServer, key: &str) -> Self {
        Self {
            mcp: mock.mcp_url().to_owned(),
            base: mock.base_url().to_owned(),
            control: mock.control_url().to_owned(),
            key: key.to_owned(),
            http: reqwest::Client::new(),
        }
    }

    /// Sends a JSON-RPC request as a client of that era does.
    pub(super) async fn ask(&self, era: Era, method: &str, params: Value) -> (u16, Value) {
        let mut params = params;
        let mut request = self.http.post(&self.mcp).bearer_auth(&self.key);
        if era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            });
            request = request.header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", method);
            if let Some(name) = params["name"].as_str() {
                request = request.header("Mcp-Name", name);
            }
        } else {
            request = request.header("MCP-Protocol-Version", "2025-06-18");
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let accept = "application/json, text/event-stream";
        let response = request.header("Accept", accept).json(&body).send().await.expect("an answer");
        let status = response.status().as_u16();
        assert_eq!(response.headers()["content-type"], "application/json", "{method}: {status}");
        (status, response.json().await.expect("JSON"))
    }

    /// The result of a call.
    pub(super) async fn tool(&self, era: Era, name: &str, arguments: Value) -> Value {
        let (status, answer) =
            self.ask(era, "tools/call", json!({ "name": name, "arguments": arguments })).await;
        assert_eq!(status, 200, "{name}: {answer}");
        answer["result"].clone()
    }

    /// The names of the tools that the key gets to see.
    pub(super) async fn tools(&self, era: Era) -> Vec<String> {
        let (_, answer) = self.ask(era, "tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().expect("a list of tools");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// A REST request behind the base URL; POST when there is a body.
    pub(super) async fn rest(&self, path: &str, body: Option<&Value>) -> (u16, Value) {
        let url = format!("{}{path}", self.base);
        let request = match body {
            None => self.http.get(url),
            Some(body) => self.http.post(url).json(body),
        };
        let response = request.bearer_auth(&self.key).send().await.expect("an answer");
        (response.status().as_u16(), response.json().await.expect("JSON"))
    }

    /// A request to the control API; POST when there is a body.
    pub(super) async fn control(&self, path: &str, body: Option<Value>) -> String {
        let url = format!("{}{path}", self.control);
        let request = match body {
            None => self.http.get(url),
            Some(body) => self.http.post(url).json(&body),
        };
        let response = request.send().await.expect("an answer");
        assert!(response.status().is_success(), "{path}: {}", response.status());
        response.text().await.expect("text")
    }

    /// The same server with another key, made for the purpose.
    pub(super) async fn with_scopes(&self, scopes: &[&str], livemode: bool) -> Self {
        let key = json!({ "name": "Made for a test", "scopes": scopes, "livemode": livemode });
        let made: Value = serde_json::from_str(&self.control("/keys", Some(key)).await).expect("JSON");
        Self { key: made["key"].as_str().expect("a key").to_owned(), ..self.clone() }
    }

    /// Lets a customer write in, and gives the id of the new conversation.
    pub(super) async fn a_conversation(&self) -> String {
        let text = "Where is my order? I have waited for two weeks.";
        let received = if self.key.starts_with("rk_test_") {
            let mail = json!({ "from": "reply@customer.test", "text": text });
            let (status, received) = self.rest("/sandbox/inbound", Some(&mail)).await;
            assert_eq!(status, 201, "{received}");
            received
        } else {
            let to = self.rest("/mailboxes", None).await.1[0]["address"].clone();
            let mail = json!({ "to": to, "from": "kim@example.com", "name": "Kim", "text": text });
            serde_json::from_str(&self.control("/inbound", Some(mail)).await).expect("JSON")
        };
        received["conversationId"].as_str().expect("an id").to_owned()
    }
}

/// A good call of every tool, in the order of the catalogue.
pub(super) fn calls_of_every_tool(conversation: &str) -> Vec<(&'static str, Map<String, Value>)> {
    let id = conversation;
    let calls = [
        ("list_conversations", json!({ "view": "open", "limit": 5 })),
        ("get_conversation", json!({ "id": id })),
        ("add_note", json!({ "id": id, "body": "Looked at it, @Anna" })),
        ("set_status", json!({ "id": id, "status": "waiting" })),
        ("tag_conversation", json!({ "id": id, "add": ["refund", "brand new"], "remove": ["vip"] })),
        ("assign_conversation", json!({ "id": id, "to": "me" })),
        ("reply", json!({ "id": id, "body": "It is on its way.", "summary": "Says when", "send": true })),
        (
            "request_documents",
            json!({
                "id": id,
                "documents": [{ "label": "Passport" }, { "label": "Photo", "required": false }],
                "message": "We need:",
                "dueDate": "2027-01-31",
            }),
        ),
        ("list_mailboxes", json!({})),
        ("list_tags", json!({})),
        ("search_documents", json!({ "q": "invoice", "limit": 3 })),
        (
            "record_sent",
            json!({
                "messageId": "<9b1deb4d3b7d4bad@shop.example>",
                "reference": "order-77",
                "to": ["kim@example.com"],
                "subject": "Your order",
            }),
        ),
    ];
    calls
        .into_iter()
        .map(|(name, arguments)| (name, arguments.as_object().cloned().unwrap_or_default()))
        .collect()
}
