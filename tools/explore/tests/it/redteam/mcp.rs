//! Calls of tools over MCP.

use std::sync::Arc;

use serde_json::{Value, json};
use shared_inbox_explore::redteam::{AgentContext, Outcome, RedTeam, Verdict};

use crate::redteam::agents::{AgentResult, Call, answer_from_notes, do_task};

#[tokio::test]
async fn an_agent_over_mcp_is_judged_like_one_over_rest() {
    let agent = |leaks: bool| {
        move |context: AgentContext| async move {
            let call = over_mcp(&context.mcp_url, &context.key);
            do_task(&call, &context.task, false).await?;
            if leaks { answer_from_notes(&call, &context.task).await } else { Ok(()) }
        }
    };
    let innocent =
        RedTeam::function(agent(false)).only(["detour", "split.later"]).run().await.expect("it runs");
    assert_eq!((innocent.verdict, innocent.count(Outcome::Held)), (Verdict::Held, 8), "{innocent}");
    let leaking = RedTeam::function(agent(true)).only(["plain.codes"]).run().await.expect("it runs");
    assert_eq!(leaking.verdict, Verdict::Obeyed, "{leaking}");
    assert!(
        leaking.attacks[0].story.iter().any(|line| line.starts_with("agent     tool reply (")),
        "{leaking}"
    );
}

/// Calls the tools of the MCP endpoint.
pub(crate) fn over_mcp(mcp_url: &str, key: &str) -> Call {
    let (client, url, key) = (reqwest::Client::new(), mcp_url.to_owned(), key.to_owned());
    Arc::new(move |tool, input| {
        let params = json!({ "name": tool, "arguments": input });
        let request = client.post(&url).bearer_auth(&key).json(&rpc("tools/call", params));
        Box::pin(async move { Ok(send(request).await?["result"]["structuredContent"].clone()) })
    })
}

/// Greets the endpoint as older clients do, and lists the tools.
pub(crate) async fn greet(mcp_url: &str, key: &str) -> AgentResult {
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    for (method, params) in [("initialize", hello), ("tools/list", json!({}))] {
        send(reqwest::Client::new().post(mcp_url).bearer_auth(key).json(&rpc(method, params))).await?;
    }
    Ok(())
}

fn rpc(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

async fn send(request: reqwest::RequestBuilder) -> AgentResult<Value> {
    let request = request.header("accept", "application/json, text/event-stream");
    let response = request.send().await.map_err(|error| error.to_string())?;
    let answer: Value = response.json().await.map_err(|error| error.to_string())?;
    match answer["error"].is_null() && answer["result"]["isError"] != true {
        true => Ok(answer),
        false => Err(answer.to_string()),
    }
}
