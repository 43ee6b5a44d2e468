//! The bridge shows what the service's own MCP server shows, for every set of scopes.

use serde_json::{Value, json};
use shared_inbox::Scope;

use crate::fixture::{Answer, Fixture, Older, Person};

/// The tools of the service's own MCP server.
async fn service_tools(fixture: &Fixture, key: &str) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let answer = reqwest::Client::new()
        .post(fixture.mock.mcp_url())
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .body(request.to_string())
        .send()
        .await
        .unwrap();
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    answer["result"]["tools"].clone()
}

async fn bridge_tools(fixture: &Fixture, key: &str) -> Value {
    let client = fixture.start_with_key(key, &Person::who(Answer::No), Older).await;
    serde_json::to_value(client.service.list_all_tools().await.unwrap()).unwrap()
}

#[tokio::test]
async fn tools_are_those_of_the_service_for_every_set_of_scopes() {
    let fixture = Fixture::new().await;
    let optional = [Scope::Write, Scope::Draft, Scope::Send, Scope::Record];
    for set in 0..1_u32 << optional.len() {
        let chosen =
            optional.iter().enumerate().filter(|(i, _)| set & (1 << i) != 0).map(|(_, scope)| scope.clone());
        let scopes: Vec<_> = [Scope::Read].into_iter().chain(chosen).collect();
        let key = fixture.key(&scopes).await;
        let (service, bridge) = (service_tools(&fixture, &key).await, bridge_tools(&fixture, &key).await);
        assert!(service.as_array().is_some_and(|tools| tools.len() >= 5), "{scopes:?}: {service}");
        let names = |tools: &Value| -> Vec<_> {
            tools.as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect()
        };
        assert_eq!(names(&bridge), names(&service), "{scopes:?}");
        for (ours, theirs) in bridge.as_array().unwrap().iter().zip(service.as_array().unwrap()) {
            let (ours, theirs) = (&ours["inputSchema"], &theirs["inputSchema"]);
            assert_eq!(ours["required"], theirs["required"], "{scopes:?}: {ours}");
            for name in theirs["properties"].as_object().unwrap().keys() {
                assert!(ours["properties"][name].is_object(), "{scopes:?}: {name}");
            }
        }
    }
}

#[tokio::test]
async fn the_list_of_tools_is_the_reviewed_one_but_for_what_sending_does() {
    let fixture = Fixture::new().await;
    let mut reviewed: Value = serde_json::from_str(include_str!("../../documents/tools.json")).unwrap();
    let mut shown = bridge_tools(&fixture, fixture.mock.live_key()).await;
    for tools in [&mut reviewed, &mut shown] {
        for tool in tools.as_array_mut().unwrap() {
            if let Some(send) = tool["inputSchema"]["properties"].get_mut("send") {
                send["description"] = Value::Null;
            }
        }
    }
    assert_eq!(shown, reviewed);
}
