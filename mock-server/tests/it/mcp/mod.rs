//! The MCP endpoint: what it says on the wire, and that it does the same as REST.

mod arguments;
mod calls;
mod definitions;
mod same_as_rest;
mod wire;

use serde_json::{Value, json};

use crate::kit::{Api, Kit, Reply};

/// The two ways in which clients talk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Era {
    /// `initialize` first; then requests that say nothing about themselves.
    Legacy,
    /// 2026-07-28: each request stands for itself.
    Modern,
}

/// The MCP endpoint as one key sees it.
pub(crate) struct Mcp {
    http: reqwest::Client,
    url: String,
    key: String,
}

impl Mcp {
    pub(crate) fn new(kit: &Kit, api: &Api) -> Self {
        Self { http: kit.http().clone(), url: kit.mock.mcp_url().to_owned(), key: api.key().to_owned() }
    }

    /// A JSON-RPC request as a client of that era sends it.
    fn request(&self, era: Era, method: &str, mut params: Value) -> reqwest::RequestBuilder {
        let mut request = self.http.post(&self.url).bearer_auth(&self.key);
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
        request.header("Accept", "application/json, text/event-stream").json(&body)
    }

    pub(crate) async fn ask(&self, era: Era, method: &str, params: Value) -> Reply {
        let reply = Reply::read(self.request(era, method, params).send().await.expect("an answer")).await;
        assert_eq!(reply.headers["content-type"], "application/json", "{method}: {}", reply.status);
        reply
    }

    /// The answer to a message that was taken.
    async fn answer(&self, era: Era, method: &str, params: Value) -> Value {
        self.ask(era, method, params).await.expect(200)
    }

    /// The result of a call.
    pub(crate) async fn tool(&self, era: Era, name: &str, arguments: Value) -> Value {
        self.answer(era, "tools/call", json!({ "name": name, "arguments": arguments })).await["result"]
            .clone()
    }
}

/// Lets a customer write in where the key can see it, and gives the id of the new conversation.
async fn a_conversation(kit: &Kit, api: &Api) -> String {
    match api.key().starts_with("rk_test_") {
        true => kit.sandbox_mail("reply@customer.test").await,
        false => kit.mail("kim@example.com", "Where is my order?").await,
    }
}
