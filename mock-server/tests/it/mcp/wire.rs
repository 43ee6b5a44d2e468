//! What goes over the wire: keys, scopes, limits, errors, both eras of the protocol.

use serde_json::{Value, json};

use super::{Era, Mcp, a_conversation};
use crate::kit::{Kit, Reply, text, texts};

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

async fn server() -> (Kit, Mcp) {
    let kit = Kit::start().await;
    let mcp = Mcp::new(&kit, &kit.live());
    (kit, mcp)
}

fn sentence(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().expect("a sentence")
}

#[tokio::test]
async fn the_key_decides_which_world_a_tool_works_in() {
    let (kit, mcp) = server().await;
    kit.mail("kim@example.com", "Hello").await;
    let other = kit.act("/worlds", json!({ "empty": true })).await;
    let there = Mcp::new(&kit, &kit.api(&text(&other["keys"]["live"])));
    let count = |result: Value| result["structuredContent"]["items"].as_array().map(Vec::len);
    assert_eq!(count(mcp.tool(Era::Modern, "list_conversations", json!({})).await), Some(1));
    assert_eq!(count(there.tool(Era::Modern, "list_conversations", json!({})).await), Some(0));
}

#[tokio::test]
async fn bad_arguments_are_a_tool_error_that_names_every_problem() {
    let (_kit, mcp) = server().await;
    for era in ERAS {
        let note = mcp.tool(era, "add_note", json!({})).await;
        assert_eq!(sentence(&note), "id: is required; body: is required");
        let list = mcp.tool(era, "list_conversations", json!({ "view": "all", "limit": 101, "q": 7 })).await;
        let problems = sentence(&list);
        for field in ["q: ", "limit: ", "view: "] {
            assert!(problems.contains(field), "{field} in {problems}");
        }
        let id = mcp.tool(era, "get_conversation", json!({ "id": 5 })).await;
        assert_eq!(sentence(&id), "id: must be a string");
    }
}

#[tokio::test]
async fn the_problems_are_those_that_rest_names() {
    let (kit, mcp) = server().await;
    let id = a_conversation(&kit, &kit.live()).await;
    let documents = json!([{ "label": "x".repeat(121) }, 5]);
    let mut body = json!({ "documents": documents, "message": 1, "dueDate": "2026-02-30", "send": "yes" });
    let path = format!("/conversations/{id}/document-requests");
    let by_rest = kit.live().post(&path, body.clone()).await.error(400);
    body["id"] = id.into();
    assert_eq!(sentence(&mcp.tool(Era::Modern, "request_documents", body).await), by_rest);
}

#[tokio::test]
async fn a_conversation_that_is_not_there_is_a_tool_error() {
    let (kit, mcp) = server().await;
    let by_rest = kit.live().get("/conversations/cnv_none").await.error(404);
    for id in ["cnv_none", "../me", ""] {
        let result = mcp.tool(Era::Modern, "get_conversation", json!({ "id": id })).await;
        assert_eq!(sentence(&result), by_rest, "{id}");
    }
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_a_protocol_error() {
    let (_kit, mcp) = server().await;
    for era in ERAS {
        for name in ["me", "sandbox_inbound", "delete_everything"] {
            let answer = mcp.answer(era, "tools/call", json!({ "name": name, "arguments": {} })).await;
            assert_eq!(answer["error"]["code"], -32602, "{name}");
        }
        let answer = mcp.answer(era, "tools/call", json!({ "name": "list_tags", "arguments": [1] })).await;
        assert_eq!(answer["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn every_version_with_initialize_is_spoken_without_a_session() {
    let (_kit, mcp) = server().await;
    // Without an `Accept` header: the answer is JSON in any case.
    let post = |body: Value| mcp.http.post(&mcp.url).bearer_auth(&mcp.key).json(&body).send();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let reply = Reply::read(post(hello).await.expect("an answer")).await;
        assert!(reply.headers.get("mcp-session-id").is_none());
        let answer = reply.expect(200);
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "shared-inbox-mock");
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let reply = Reply::read(post(initialized).await.expect("an answer")).await;
        assert_eq!((reply.status, reply.text.as_str()), (202, ""));
    }
}

#[tokio::test]
async fn the_newest_version_is_discovered_and_what_is_not_declared_is_not_answered() {
    let (_kit, mcp) = server().await;
    let hello = mcp.answer(Era::Modern, "server/discover", json!({})).await;
    let versions = hello["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&"2026-07-28".into()) && versions.contains(&"2025-06-18".into()), "{hello}");
    assert_eq!(hello["result"]["capabilities"], json!({ "tools": {} }));
    for method in
        ["prompts/list", "resources/list", "resources/templates/list", "logging/setLevel", "no/such"]
    {
        let answer = mcp.answer(Era::Legacy, method, json!({ "level": "info" })).await;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

#[tokio::test]
async fn what_is_no_json_rpc_is_refused_in_json() {
    let (_kit, mcp) = server().await;
    let send = async |method: &str, kind: &str, body: &'static str| {
        let method = method.parse().expect("a method");
        let request = mcp.http.request(method, &mcp.url).bearer_auth(&mcp.key).header("Content-Type", kind);
        Reply::read(request.body(body).send().await.expect("an answer")).await
    };
    for (body, code) in [("{", -32700), ("", -32700), ("[]", -32600), ("{}", -32600), ("5", -32600)] {
        let answer = send("POST", "application/json", body).await.expect(400);
        assert_eq!(answer["error"]["code"], code, "{body}");
    }
    send("POST", "text/plain", "{}").await.error(415);
    for method in ["GET", "DELETE"] {
        let reply = send(method, "application/json", "").await;
        assert_eq!(reply.headers["allow"], "POST");
        reply.error(405);
    }
}

#[tokio::test]
async fn calls_stand_in_the_journal_with_the_tool_and_without_the_key() {
    let (kit, mcp) = server().await;
    let me = kit.live().get("/me").await.expect(200);
    mcp.tool(Era::Modern, "list_tags", json!({})).await;
    mcp.tool(Era::Legacy, "get_conversation", json!({ "id": "cnv_none" })).await;
    let journal = kit.list("/requests").await;
    assert!(!json!(journal).to_string().contains(&mcp.key));
    let calls = journal.iter().filter(|entry| entry["transport"] == "mcp");
    let shown: Vec<Value> =
        calls.map(|entry| json!([entry["tool"], entry["agentId"], entry["status"], entry["path"]])).collect();
    let expected = |tool: &str| json!([tool, me["agent"]["id"], 200, "/mcp"]);
    assert_eq!(shown, [expected("list_tags"), expected("get_conversation")]);
}

#[tokio::test]
async fn a_call_takes_effect_and_the_connection_closes_without_an_answer() {
    let (kit, mcp) = server().await;
    let id = a_conversation(&kit, &kit.live()).await;
    kit.act("/faults", json!({ "path": "/mcp", "effect": { "drop": "after" } })).await;
    let note = json!({ "name": "add_note", "arguments": { "id": id, "body": "Only once" } });
    assert!(mcp.request(Era::Legacy, "tools/call", note).send().await.is_err());
    let timeline = kit.live().timeline(&id).await;
    assert_eq!(timeline.iter().filter(|item| item["body"] == "Only once").count(), 1);
    kit.act("/faults", json!({ "path": "/mcp", "effect": { "status": 500 } })).await;
    kit.live().get("/me").await.expect(200);
    mcp.ask(Era::Modern, "tools/list", json!({})).await.error(500);
}

#[tokio::test]
async fn a_key_is_shown_the_tools_of_its_scopes_and_told_which_one_it_lacks() {
    let (kit, _) = server().await;
    let id = a_conversation(&kit, &kit.live()).await;
    let with = async |scopes: &[&str]| Mcp::new(&kit, &kit.key("Made for a test", scopes).await.0);
    let (reader, drafter) = (with(&["read"]).await, with(&["read", "draft"]).await);
    let read = ["list_conversations", "get_conversation", "list_mailboxes", "list_tags", "search_documents"];
    for era in ERAS {
        let answer = reader.answer(era, "tools/list", json!({})).await;
        assert_eq!(texts(&answer["result"]["tools"], "name"), read, "{era:?}");
        let note = reader.tool(era, "add_note", json!({ "id": id, "body": "x" })).await;
        assert!(sentence(&note).contains("write"), "{note}");
        let send = drafter.tool(era, "reply", json!({ "id": id, "body": "x", "send": true })).await;
        assert!(sentence(&send).contains("send"), "{send}");
    }
}
