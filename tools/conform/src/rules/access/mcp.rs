//! The MCP server: the same operations as tools.

use serde_json::{Value, json};

use crate::rules::requests::operations::OPERATIONS;
use crate::{
    check::session::text,
    rule::{READS, Table, WORLD, WRITE},
    rule_abort::RuleAbort,
    wire::http::{Api, Call},
    wire::reply::Reply,
};

/// Returns the names of the tools that a key is shown.
async fn tools(api: &Api) -> Result<(Reply, Vec<String>), RuleAbort> {
    let reply = api.mcp("tools/list", json!({})).await?;
    let tools = reply.done()?["result"]["tools"].as_array().cloned();
    let tools = tools.ok_or_else(|| reply.differs("a result with `tools`"))?;
    Ok((reply, tools.iter().map(|tool| text(&tool["name"])).collect()))
}

/// Calls a tool; the reply and its result.
async fn use_tool(api: &Api, name: &str, arguments: &Value) -> Result<(Reply, Value), RuleAbort> {
    let reply = api.mcp("tools/call", json!({ "name": name, "arguments": arguments })).await?;
    let result = reply.done()?["result"].clone();
    match result.is_object() {
        true => Ok((reply, result)),
        false => Err(reply.differs("a result of the tool")),
    }
}

pub(crate) fn add(table: &mut Table) {
    table.section("4.16");
    table.demand("mcp.json", "Each request gets a JSON response", WRITE, |s| async move {
        let reply = s.api().mcp("tools/list", json!({})).await?;
        reply.is(200)?;
        let json = reply.content_type().starts_with("application/json");
        reply.must(json && reply.done()?["id"] == 1, "a JSON-RPC response as application/json")
    });
    table.demand("mcp.sessions", "There are no sessions", WRITE, |s| async move {
        let initialize = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "conform", "version": "1" },
        });
        let reply = s.api().mcp("initialize", initialize).await?;
        reply.done()?;
        reply.must(!reply.headers.contains_key("mcp-session-id"), "no `mcp-session-id`")
    });
    table.demand("mcp.auth", "Without a key it is a 401", WRITE, |s| async move {
        let reply = s.api().with_key(None).mcp("tools/list", json!({})).await?;
        reply.must(reply.status == 401, "401")
    });
    table.demand("mcp.auth.wrong", "With a wrong key it is a 401", WRITE, |s| async move {
        let key = format!("rk_test_{}", "x".repeat(48));
        let reply = s.api().with_key(Some(&key)).mcp("tools/list", json!({})).await?;
        reply.must(reply.status == 401, "401")
    });
    table.demand("mcp.auth.revoked", "With a revoked key it is a 401", WORLD, |s| async move {
        let key = json!({ "name": "Revoked", "scopes": ["read"], "livemode": true });
        let (api, agent) = s.key(key).await?;
        api.mcp("tools/list", json!({})).await?.is(200)?;
        s.control()?.delete(&format!("/keys/{agent}")).await?;
        let reply = api.mcp("tools/list", json!({})).await?;
        reply.must(reply.status == 401, "401")
    });
    table.demand("mcp.inputs", "Tool inputs have the same limits as REST", WRITE, |s| async move {
        let id = s.conversation().await?;
        let long = json!({ "id": id, "body": "x".repeat(10_001) });
        let (reply, result) = use_tool(s.api(), "add_note", &long).await?;
        reply.must(result["isError"] == true, "a result that is an error")
    });
    table.demand("mcp.effect", "A tool does what REST does", WRITE, |s| async move {
        let (id, word) = (s.conversation().await?, s.word("note"));
        let (reply, result) = use_tool(s.api(), "add_note", &json!({ "id": id, "body": word })).await?;
        reply.must(result["isError"] != true, "a result that is no error")?;
        let read = s.read(&id).await?;
        read.must(read.text.contains(&word), "the note in the timeline")
    });
    table.demand("mcp.read", "A tool reads what REST reads", WRITE, |s| async move {
        let id = s.conversation().await?;
        let rest = s.read(&id).await?;
        let (reply, result) = use_tool(s.api(), "get_conversation", &json!({ "id": id })).await?;
        let written = result["content"][0]["text"].as_str().unwrap_or_default();
        let written: Value = serde_json::from_str(written).unwrap_or_default();
        let structured = &result["structuredContent"];
        let read = if structured.is_object() { structured } else { &written };
        for (name, value) in rest.done()?.as_object().into_iter().flatten() {
            if read[name] != *value {
                return Err(reply.differs_in(format!("`{name}` as REST gives it"), name, &read[name]));
            }
        }
        Ok(())
    });
    for operation in OPERATIONS {
        let Some(tool) = operation.tool else { continue };
        let scope = operation.scope;
        table.demand(
            format!("mcp.tool.{tool}"),
            format!("`{tool}` is shown to a key with `{scope}`, and works"),
            WORLD,
            move |s| async move {
                let id = s.live_conversation().await?;
                let api = s.scoped(&[scope], true).await?;
                let (list, names) = tools(&api).await?;
                list.must(names.iter().any(|it| it == tool), format!("`{tool}` in the list"))?;
                let (reply, result) = use_tool(&api, tool, &operation.arguments(&id)).await?;
                reply.must(result["isError"] != true, "a result that is no error")
            },
        );
        if scope == "read" {
            continue;
        }
        table.demand(
            format!("mcp.hidden.{tool}"),
            format!("`{tool}` is not shown to a key without its scope, and refused"),
            WORLD,
            move |s| async move {
                let id = s.live_conversation().await?;
                // `send` alone allows the tools that can send.
                let others: Vec<&str> =
                    ["read", "write", "draft", "record"].into_iter().filter(|it| *it != scope).collect();
                let api = s.scoped(&others, true).await?;
                let (list, names) = tools(&api).await?;
                list.must(!names.iter().any(|it| it == tool), format!("no `{tool}` in the list"))?;
                let before = s.live()?.get(format!("/conversations/{id}")).await?;
                let reply = api
                    .mcp("tools/call", json!({ "name": tool, "arguments": operation.arguments(&id) }))
                    .await?;
                let answer = reply.json().cloned().unwrap_or_default();
                let refused =
                    reply.status >= 400 || answer["error"].is_object() || answer["result"]["isError"] == true;
                reply.must(refused, "a refusal")?;
                let after = s.live()?.get(format!("/conversations/{id}")).await?;
                after.must(after.json() == before.json(), "the same conversation as before")
            },
        );
    }
    table.demand("mcp.send", "Sending by a tool needs `send`", WORLD, |s| async move {
        let id = s.live_conversation().await?;
        let send = json!({ "id": id, "body": "Hello", "send": true });
        let (reply, result) = use_tool(&s.scoped(&["draft"], true).await?, "reply", &send).await?;
        reply.must(result["isError"] == true, "a result that is an error")?;
        let (reply, result) = use_tool(&s.scoped(&["send"], true).await?, "reply", &send).await?;
        reply.must(result["isError"] != true, "a result that is no error")
    });
    table.observe(
        "mcp.send.shown",
        "Tools for mail that a key with `send` and without `draft` is shown",
        "reply, request_documents",
        WORLD,
        |s| async move {
            let (_, names) = tools(&s.scoped(&["send"], true).await?).await?;
            let mail = |it: &&String| ["reply", "request_documents"].contains(&it.as_str());
            Ok(names.iter().filter(mail).cloned().collect::<Vec<_>>().join(", "))
        },
    );
    table.demand(
        "mcp.visibility",
        "What a key does not see, its tools do not see either",
        WORLD,
        |s| async move {
            let id = s.live_conversation().await?;
            let (reply, result) = use_tool(s.api(), "get_conversation", &json!({ "id": id })).await?;
            reply.must(result["isError"] == true, "a result that is an error")
        },
    );
    for (id, says, mock, tool, arguments) in [
        ("mcp.list.structure", "The structured form of a list", "items", "list_tags", json!({})),
        (
            "mcp.ok.structure",
            "The structured form of what has no answer of its own",
            "ok",
            "tag_conversation",
            json!({ "add": [] }),
        ),
    ] {
        table.observe(id, says, mock, WRITE, move |s| {
            let mut arguments = arguments.clone();
            async move {
                if tool == "tag_conversation" {
                    arguments["id"] = json!(s.conversation().await?);
                }
                let (_, result) = use_tool(s.api(), tool, &arguments).await?;
                let names =
                    result["structuredContent"].as_object().map(|it| it.keys().cloned().collect::<Vec<_>>());
                Ok(names.unwrap_or_default().join(", "))
            }
        });
    }
    table.observe(
        "mcp.page",
        "The status of a request of a web page of another site",
        "403",
        WRITE,
        |s| async move {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
            let call = Call::post(format!("{}/mcp", s.http().root()), &body)
                .header("accept", "application/json, text/event-stream")
                .header("origin", "https://conform.example");
            Ok(s.api().send(&call).await?.status.to_string())
        },
    );

    table.section("4.15");
    table.demand(
        "openapi.status",
        "GET /openapi.json answers the OpenAPI 3.1 description",
        READS,
        |s| async move {
            let reply = s.api().get("/openapi.json").await?;
            let version = text(&reply.is(200)?["openapi"]);
            reply.must(version.starts_with("3.1"), "`openapi`: 3.1")
        },
    );
    table.demand("openapi.auth", "GET /openapi.json without a key is a 401", READS, |s| async move {
        s.api().with_key(None).get("/openapi.json").await?.refused(401).map(drop)
    });
    for (method, path) in [
        ("get", "/me"),
        ("get", "/conversations"),
        ("get", "/conversations/{id}"),
        ("post", "/conversations/{id}/notes"),
        ("post", "/conversations/{id}/status"),
        ("post", "/conversations/{id}/tags"),
        ("post", "/conversations/{id}/assign"),
        ("post", "/conversations/{id}/replies"),
        ("post", "/conversations/{id}/document-requests"),
        ("get", "/mailboxes"),
        ("get", "/tags"),
        ("get", "/documents"),
        ("post", "/app-mail"),
        ("post", "/sandbox/inbound"),
    ] {
        let id = format!("openapi.{method}{}", path.replace('/', ".").replace(['{', '}'], ""));
        let says = format!("The description has {} {path}", method.to_uppercase());
        table.demand(id, says, READS, move |s| async move {
            let reply = s.api().get("/openapi.json").await?;
            let paths = reply.done()?["paths"].as_object().cloned().unwrap_or_default();
            let there = paths.iter().any(|(name, it)| {
                // A parameter may have another name, and a path the version's prefix.
                let plain = name.strip_prefix("/api/v1").unwrap_or(name);
                let same = |(one, other): (&str, &str)| {
                    one == other || (one.starts_with('{') && other.starts_with('{'))
                };
                plain.split('/').count() == path.split('/').count()
                    && plain.split('/').zip(path.split('/')).all(same)
                    && it.get(method).is_some()
            });
            if there {
                return Ok(());
            }
            let names: Vec<&str> = paths.keys().map(String::as_str).collect();
            Err(RuleAbort::differs(
                &reply.request,
                format!("{} {path} among the paths", method.to_uppercase()),
                names.join(", "),
            ))
        });
    }
}
