//! One core behind two doors: what is done by a tool leaves the same world behind as what is done by REST.

use serde_json::{Map, Value, json};
use shared_inbox::{Method, Operation, Timestamp};
use shared_inbox_mock::MockServer;

use super::{Endpoint, Era, calls_of_every_tool};

async fn server() -> MockServer {
    let start = Timestamp::parse("2026-03-02T09:00:00.000Z").expect("a time");
    MockServer::builder().manual_clock().start_at(start).start().await
}

/// The call as a REST request: the id in the path, the rest in the query or the body.
async fn by_rest(at: &Endpoint, operation: Operation, mut arguments: Map<String, Value>) -> Value {
    let mut path = operation.path().to_owned();
    if let Some(Value::String(id)) = arguments.remove("id") {
        path = path.replace("{id}", &id);
    }
    let (status, answer) = if operation.method() == Method::Get {
        let pairs = arguments.iter().map(|(name, value)| {
            format!("{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        });
        let query = pairs.collect::<Vec<_>>().join("&");
        at.rest(&format!("{path}?{query}"), None).await
    } else {
        at.rest(&path, Some(&arguments.into())).await
    };
    assert_eq!(status, operation.success(), "{operation:?}: {answer}");
    answer
}

async fn by_tool(at: &Endpoint, era: Era, operation: Operation, arguments: Map<String, Value>) -> Value {
    let name = operation.tool_name().expect("a tool");
    let result = at.tool(era, name, arguments.into()).await;
    assert_eq!(result["isError"], false, "{name}: {result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    let said: Value = serde_json::from_str(text).expect("JSON as text");
    assert_eq!(said, result["structuredContent"], "{name}: text and structure say the same");
    if operation.is_list() { said["items"].clone() } else { said }
}

#[tokio::test]
async fn every_operation_leaves_the_same_world_behind_by_rest_and_by_mcp() {
    for (era, live) in [(Era::Modern, true), (Era::Legacy, false)] {
        let (one, other) = (server().await, server().await);
        let key = if live { one.live_key().to_owned() } else { one.test_key().to_owned() };
        let (rest, mcp) = (Endpoint::new(&one, &key), Endpoint::new(&other, &key));
        let id = rest.a_conversation().await;
        assert_eq!(id, mcp.a_conversation().await);
        let mut before = rest.control("/state", None).await;
        assert_eq!(before, mcp.control("/state", None).await, "equal worlds to begin with");
        let mut ran = 0;
        for (name, arguments) in calls_of_every_tool(&id) {
            let operation = Operation::from_tool_name(name).expect("a tool of the catalogue");
            let answer = by_rest(&rest, operation, arguments.clone()).await;
            assert_eq!(answer, by_tool(&mcp, era, operation, arguments).await, "{name}: the same answer");
            let after = rest.control("/state", None).await;
            assert_eq!(after, mcp.control("/state", None).await, "{name}: the same world");
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
            let step = json!({ "advanceSeconds": minutes * 60 });
            assert_eq!(
                rest.control("/clock", Some(step.clone())).await,
                mcp.control("/clock", Some(step)).await
            );
            assert_eq!(rest.control("/state", None).await, mcp.control("/state", None).await, "and later on");
        }
    }
}
