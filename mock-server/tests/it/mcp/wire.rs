//! What goes over the wire: keys, scopes, limits, errors, both eras of the protocol.

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;

use super::{Endpoint, Era};

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

async fn server() -> (MockServer, Endpoint) {
    let mock = MockServer::builder().manual_clock().start().await;
    let at = Endpoint::new(&mock, mock.live_key());
    (mock, at)
}

fn sentence(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().expect("a sentence")
}

#[tokio::test]
async fn without_a_good_key_the_answer_is_401_as_in_rest() {
    let (_mock, at) = server().await;
    let stranger = Endpoint { key: format!("rk_live_{}", "x".repeat(48)), ..at.clone() };
    for era in ERAS {
        let (status, answer) = stranger.ask(era, "tools/list", json!({})).await;
        assert_eq!((status, &answer), (401, &stranger.rest("/me", None).await.1), "{era:?}");
    }
}

#[tokio::test]
async fn a_revoked_key_is_401() {
    let (_mock, at) = server().await;
    let made = at.with_scopes(&["read"], true).await;
    assert_eq!(made.ask(Era::Modern, "tools/list", json!({})).await.0, 200);
    let me = made.rest("/me", None).await.1;
    let agent = me["agent"]["id"].as_str().expect("an id");
    let gone = reqwest::Client::new()
        .delete(format!("{}/keys/{agent}", at.control))
        .send()
        .await
        .expect("an answer");
    assert_eq!(gone.status(), 204);
    assert_eq!(made.ask(Era::Modern, "tools/list", json!({})).await.0, 401);
}

#[tokio::test]
async fn the_scopes_decide_which_tools_there_are() {
    let (_mock, at) = server().await;
    let read = ["list_conversations", "get_conversation", "list_mailboxes", "list_tags", "search_documents"];
    let with = |more: &[&'static str]| {
        let order = [
            "list_conversations",
            "get_conversation",
            "add_note",
            "set_status",
            "tag_conversation",
            "assign_conversation",
            "reply",
            "request_documents",
            "list_mailboxes",
            "list_tags",
            "search_documents",
            "record_sent",
        ];
        order.into_iter().filter(|tool| read.contains(tool) || more.contains(tool)).collect::<Vec<_>>()
    };
    let write = ["add_note", "set_status", "tag_conversation", "assign_conversation"];
    let mail = ["reply", "request_documents"];
    for (scopes, more) in [
        (&["read"][..], &[][..]),
        (&["read", "write"], &write),
        (&["read", "draft"], &mail),
        (&["read", "send"], &mail),
        (&["read", "record"], &["record_sent"]),
    ] {
        let key = at.with_scopes(scopes, true).await;
        for era in ERAS {
            assert_eq!(key.tools(era).await, with(more), "{scopes:?} {era:?}");
        }
    }
    assert_eq!(at.tools(Era::Modern).await.len(), 12);
}

#[tokio::test]
async fn the_list_of_tools_is_private_to_caches() {
    let (_mock, at) = server().await;
    let (_, answer) = at.ask(Era::Modern, "tools/list", json!({})).await;
    assert_eq!(answer["result"]["cacheScope"], "private");
    assert!(answer["result"]["ttlMs"].as_u64().is_some_and(|ms| ms > 0));
}

#[tokio::test]
async fn a_refused_scope_is_a_tool_error_that_names_the_scope() {
    let (_mock, at) = server().await;
    let id = at.a_conversation().await;
    let reader = at.with_scopes(&["read"], true).await;
    let sender = at.with_scopes(&["read", "send"], true).await;
    let drafter = at.with_scopes(&["read", "draft"], true).await;
    let reply = |send: bool| json!({ "id": id, "body": "Hello", "send": send });
    for era in ERAS {
        let note = reader.tool(era, "add_note", json!({ "id": id, "body": "x" })).await;
        assert!(sentence(&note).contains("write"), "{note}");
        let record = reader.tool(era, "record_sent", json!({})).await;
        assert!(sentence(&record).contains("record"), "{record}");
        assert!(sentence(&sender.tool(era, "reply", reply(false)).await).contains("draft"));
        assert!(sentence(&drafter.tool(era, "reply", reply(true)).await).contains("send"));
        assert_eq!(sender.tool(era, "reply", reply(true)).await["isError"], false);
        assert_eq!(drafter.tool(era, "reply", reply(false)).await["isError"], false);
    }
}

#[tokio::test]
async fn bad_arguments_are_a_tool_error_that_names_every_problem() {
    let (_mock, at) = server().await;
    for era in ERAS {
        let note = at.tool(era, "add_note", json!({})).await;
        assert_eq!(sentence(&note), "id: is required; body: is required");
        let list = at.tool(era, "list_conversations", json!({ "view": "all", "limit": 101, "q": 7 })).await;
        let problems = sentence(&list);
        for field in ["q: ", "limit: ", "view: "] {
            assert!(problems.contains(field), "{field} in {problems}");
        }
        let id = at.tool(era, "get_conversation", json!({ "id": 5 })).await;
        assert_eq!(sentence(&id), "id: must be a string");
    }
}

#[tokio::test]
async fn the_problems_are_those_that_rest_names() {
    let (_mock, at) = server().await;
    let id = at.a_conversation().await;
    let body = json!({ "documents": [{ "label": "x".repeat(121) }, 5], "message": 1, "dueDate": "2026-02-30", "send": "yes" });
    let (status, by_rest) = at.rest(&format!("/conversations/{id}/document-requests"), Some(&body)).await;
    assert_eq!(status, 400);
    let mut arguments = body;
    arguments["id"] = id.into();
    let by_tool = at.tool(Era::Modern, "request_documents", arguments).await;
    assert_eq!(sentence(&by_tool), by_rest["error"].as_str().expect("a sentence"));
}

#[tokio::test]
async fn a_conversation_that_is_not_there_is_a_tool_error() {
    let (_mock, at) = server().await;
    let (_, by_rest) = at.rest("/conversations/cnv_none", None).await;
    for id in ["cnv_none", "../me", ""] {
        let result = at.tool(Era::Modern, "get_conversation", json!({ "id": id })).await;
        assert_eq!(sentence(&result), by_rest["error"], "{id}");
    }
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_a_protocol_error() {
    let (_mock, at) = server().await;
    for era in ERAS {
        for name in ["me", "sandbox_inbound", "delete_everything"] {
            let (_, answer) = at.ask(era, "tools/call", json!({ "name": name, "arguments": {} })).await;
            assert_eq!(answer["error"]["code"], -32602, "{name}");
        }
        let (_, answer) = at.ask(era, "tools/call", json!({ "name": "list_tags", "arguments": [1] })).await;
        assert_eq!(answer["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn rest_and_mcp_share_one_count_of_requests() {
    let (_mock, at) = server().await;
    for turn in 0..40 {
        assert_eq!(at.rest("/me", None).await.0, 200, "{turn}");
        assert_eq!(at.tool(Era::Modern, "list_tags", json!({})).await["isError"], false, "{turn}");
        assert_eq!(at.ask(Era::Legacy, "tools/list", json!({})).await.0, 200, "{turn}: lists count too");
    }
    let (status, by_rest) = at.rest("/me", None).await;
    assert_eq!(status, 429);
    for era in ERAS {
        let call = json!({ "name": "list_tags", "arguments": {} });
        assert_eq!(at.ask(era, "tools/call", call).await, (429, by_rest.clone()), "{era:?}");
        assert_eq!(at.ask(era, "tools/list", json!({})).await, (429, by_rest.clone()), "{era:?}");
    }
    at.control("/clock", Some(json!({ "advanceSeconds": 60 }))).await;
    assert_eq!(at.ask(Era::Modern, "tools/list", json!({})).await.0, 200);
}

#[tokio::test]
async fn on_the_free_plan_the_answer_is_403() {
    let (_mock, at) = server().await;
    let plan = reqwest::Client::new().put(format!("{}/plan", at.control)).json(&json!({ "plan": "free" }));
    assert_eq!(plan.send().await.expect("an answer").status(), 200);
    let by_rest = at.rest("/me", None).await;
    assert_eq!(by_rest.0, 403);
    for era in ERAS {
        assert_eq!(at.ask(era, "tools/list", json!({})).await, by_rest);
    }
}

#[tokio::test]
async fn every_version_with_initialize_is_spoken_without_a_session() {
    let (_mock, at) = server().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } },
        });
        // A client that lists only JSON, and one that says nothing, are answered as well.
        let http = reqwest::Client::new();
        let response = http.post(&at.mcp).bearer_auth(&at.key).json(&hello).send().await.expect("an answer");
        assert_eq!(response.status(), 200, "{version}");
        assert!(response.headers().get("mcp-session-id").is_none());
        let answer: Value = response.json().await.expect("JSON");
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "shared-inbox-mock");
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let response =
            http.post(&at.mcp).bearer_auth(&at.key).json(&initialized).send().await.expect("an answer");
        assert_eq!((response.status().as_u16(), response.text().await.expect("text").as_str()), (202, ""));
    }
}

#[tokio::test]
async fn the_newest_version_is_discovered() {
    let (_mock, at) = server().await;
    let (status, answer) = at.ask(Era::Modern, "server/discover", json!({})).await;
    assert_eq!(status, 200);
    let versions = answer["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&"2026-07-28".into()) && versions.contains(&"2025-06-18".into()), "{answer}");
    assert!(answer["result"]["capabilities"]["tools"].is_object());
}

#[tokio::test]
async fn what_is_not_declared_is_not_answered() {
    let (_mock, at) = server().await;
    let (_, hello) = at.ask(Era::Modern, "server/discover", json!({})).await;
    assert_eq!(hello["result"]["capabilities"], json!({ "tools": {} }));
    for method in
        ["prompts/list", "resources/list", "resources/templates/list", "logging/setLevel", "no/such"]
    {
        let (_, answer) = at.ask(Era::Legacy, method, json!({ "level": "info" })).await;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

#[tokio::test]
async fn what_is_no_json_rpc_is_refused_in_json() {
    let (_mock, at) = server().await;
    let http = reqwest::Client::new();
    for (body, code) in [("{", -32700), ("[]", -32600), ("{}", -32600), ("5", -32600)] {
        let request =
            http.post(&at.mcp).bearer_auth(&at.key).header("Content-Type", "application/json").body(body);
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 400, "{body}");
        let answer: Value = response.json().await.expect("JSON");
        assert_eq!(answer["error"]["code"], code, "{body}");
    }
    let other = http.post(&at.mcp).bearer_auth(&at.key).header("Content-Type", "text/plain").body("{}");
    let response = other.send().await.expect("an answer");
    assert_eq!(response.status(), 415);
    assert!(response.json::<Value>().await.expect("JSON")["error"].is_string());
    for method in [reqwest::Method::GET, reqwest::Method::DELETE] {
        let response = http.request(method, &at.mcp).bearer_auth(&at.key).send().await.expect("an answer");
        assert_eq!(
            (response.status().as_u16(), &response.headers()["allow"]),
            (405, &"POST".parse().expect("a header"))
        );
        assert!(response.json::<Value>().await.expect("JSON")["error"].is_string());
    }
}

#[tokio::test]
async fn calls_stand_in_the_journal_with_the_tool_and_without_the_key() {
    let (_mock, at) = server().await;
    let me = at.rest("/me", None).await.1;
    at.tool(Era::Modern, "list_tags", json!({})).await;
    at.tool(Era::Legacy, "get_conversation", json!({ "id": "cnv_none" })).await;
    let text = at.control("/requests", None).await;
    assert!(!text.contains(&at.key));
    let journal: Value = serde_json::from_str(&text).expect("JSON");
    for (entry, tool) in [(1, "list_tags"), (2, "get_conversation")] {
        let entry = &journal[entry];
        assert_eq!(
            (&entry["transport"], &entry["tool"], &entry["agentId"], &entry["status"], &entry["path"]),
            (&"mcp".into(), &tool.into(), &me["agent"]["id"], &200.into(), &"/mcp".into()),
        );
    }
}

#[tokio::test]
async fn a_call_takes_effect_and_the_connection_closes_without_an_answer() {
    let (_mock, at) = server().await;
    let id = at.a_conversation().await;
    at.control("/faults", Some(json!({ "path": "/mcp", "effect": { "drop": "after" } }))).await;
    let notes = |conversation: &Value| {
        let timeline = conversation["timeline"].as_array().expect("a timeline");
        timeline.iter().filter(|item| item["body"] == "Only once").count()
    };
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "add_note", "arguments": { "id": id, "body": "Only once" } },
    });
    let sent = reqwest::Client::builder().retry(reqwest::retry::never()).build().expect("a client");
    assert!(sent.post(&at.mcp).bearer_auth(&at.key).json(&body).send().await.is_err());
    let (_, conversation) = at.rest(&format!("/conversations/{id}"), None).await;
    assert_eq!(notes(&conversation), 1);
    at.control("/faults", Some(json!({ "path": "/mcp", "effect": { "status": 500 } }))).await;
    let (status, answer) = at.ask(Era::Modern, "tools/list", json!({})).await;
    assert_eq!(status, 500);
    assert!(answer["error"].is_string());
}
