//! One core behind two doors: what is done by a tool leaves the same world behind as what is done by REST.

use serde_json::{Map, Value, json};
use shared_inbox::{
    __spec::{Method, Operation},
    Timestamp,
};
use shared_inbox_mock::MockServer;

use super::{Era, Mcp, a_conversation, calls::calls_of_every_tool};
use crate::kit::{Api, Kit};

/// A server that is equal to every other one made here.
async fn server() -> Kit {
    let start = Timestamp::parse("2026-03-02T09:00:00.000Z").expect("a time");
    Kit::with(MockServer::builder().manual_clock().start_at(start)).await
}

/// The whole world, byte for byte.
async fn world(kit: &Kit) -> String {
    kit.control("GET", "/state", Value::Null).await.text
}

/// The call as a REST request: the id in the path, the rest in the query or the body.
async fn by_rest(api: &Api, operation: Operation, mut arguments: Map<String, Value>) -> Value {
    let mut path = operation.path().to_owned();
    if let Some(Value::String(id)) = arguments.remove("id") {
        path = path.replace("{id}", &id);
    }
    let reply = if operation.method() == Method::Get {
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let pairs = arguments.iter().map(|(name, value)| format!("{name}={}", plain(value)));
        api.get(&format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))).await
    } else {
        api.post(&path, arguments.into()).await
    };
    reply.expect(operation.success())
}

async fn by_tool(mcp: &Mcp, era: Era, operation: Operation, arguments: Map<String, Value>) -> Value {
    let name = operation.tool_name().expect("a tool");
    let result = mcp.tool(era, name, arguments.into()).await;
    assert_eq!(result["isError"], false, "{name}: {result}");
    let said = result["content"][0]["text"].as_str().expect("text");
    let said: Value = serde_json::from_str(said).expect("JSON as text");
    assert_eq!(said, result["structuredContent"], "{name}: text and structure say the same");
    if operation.is_list() { said["items"].clone() } else { said }
}

#[tokio::test]
async fn every_operation_leaves_the_same_world_behind_by_rest_and_by_mcp() {
    for (era, live) in [(Era::Modern, true), (Era::Legacy, false)] {
        let (one, other) = (server().await, server().await);
        let key = |kit: &Kit| if live { kit.live() } else { kit.sandbox() };
        let (rest, mcp) = (key(&one), Mcp::new(&other, &key(&other)));
        let id = a_conversation(&one, &rest).await;
        assert_eq!(id, a_conversation(&other, &key(&other)).await);
        let mut before = world(&one).await;
        assert_eq!(before, world(&other).await, "equal worlds to begin with");
        let mut ran = 0;
        for (name, arguments) in calls_of_every_tool(&id) {
            let operation = Operation::from_tool_name(name).expect("a tool of the catalogue");
            let answer = by_rest(&rest, operation, arguments.clone()).await;
            assert_eq!(answer, by_tool(&mcp, era, operation, arguments).await, "{name}: the same answer");
            let after = world(&one).await;
            assert_eq!(after, world(&other).await, "{name}: the same world");
            assert_eq!(
                after != before,
                operation.method() == Method::Post,
                "{name}: writes write, reads do not"
            );
            before = after;
            ran += 1;
        }
        assert_eq!(ran, 12, "every tool there is");
        for minutes in [11, 60 * 24 * 8] {
            assert_eq!(one.advance(minutes * 60).await, other.advance(minutes * 60).await);
            assert_eq!(world(&one).await, world(&other).await, "and {minutes} minutes later");
        }
    }
}

#[tokio::test]
async fn a_refused_call_leaves_no_trace_by_either_door() {
    let kit = server().await;
    let id = a_conversation(&kit, &kit.live()).await;
    let before = world(&kit).await;
    let mcp = Mcp::new(&kit, &kit.live());
    for (tool, arguments) in [
        ("add_note", json!({ "id": id, "body": "" })),
        ("reply", json!({ "id": id, "body": "x".repeat(50_001), "send": true })),
        ("assign_conversation", json!({ "id": id, "to": "user:usr_nobody" })),
        ("set_status", json!({ "id": "cnv_none", "status": "closed" })),
    ] {
        assert_eq!(mcp.tool(Era::Modern, tool, arguments.clone()).await["isError"], true, "{tool}");
        let path = Operation::from_tool_name(tool).expect("a tool").path();
        let path = path.replace("{id}", arguments["id"].as_str().expect("an id"));
        assert!(kit.live().post(&path, arguments).await.status >= 400, "{tool}");
        assert_eq!(world(&kit).await, before, "{tool}");
    }
}
