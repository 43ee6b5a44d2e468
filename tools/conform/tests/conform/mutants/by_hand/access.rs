//! Keys and visibility, refusals and limits, and the tools.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json};

use super::{LIST, Named, READ, as_text, count_responses, first_only, ignore, items, list, named, remove};
use crate::{
    mutants::{after, before, edit, rules_below, status, success},
    proxy::{ProxyRequest, ProxyResponse, Route},
};

pub(super) fn access() -> Named {
    let me = "GET /me";
    let seen = |what| edit(what, |it: &mut Value| list(it).push(json!({ "address": "ben@acme.example" })));
    named([
        ("auth.wrong", status(me, 401, 200)),
        ("auth.malformed", status(me, 401, 400)),
        ("auth.scheme", status(me, 401, 200)),
        ("auth.revoked", status(me, 401, 200)),
        ("auth.form", edit("POST /_mock/worlds/*/keys", |it| it["key"] = json!("sk_live_1"))),
        ("auth.agent", edit(me, |it| it["agent"]["name"] = json!("Bot"))),
        ("auth.author", items("note", |it| it["author"] = json!("Somebody"))),
        ("auth.actor", items("event", |it| it["actor"] = json!("Somebody"))),
        ("auth.drafter", items("message", |it| it["from"]["name"] = json!("Somebody"))),
        ("auth.livemode", edit(me, |it| it["livemode"] = json!(false))),
        ("auth.scopes", edit(me, |it| it["scopes"] = json!(["read", "write", "draft", "send"]))),
        ("scope.read.enough", status("GET /documents", 200, 403)),
        ("scope.read.needed", status(me, 403, 200)),
        ("scope.read.needed", status("GET /documents", 403, 200)),
        ("scope.no-effect", count_responses(READ)),
        ("private.no-effect", count_responses(READ)),
        ("private.lists.filters", seen(LIST)),
        ("private.own", status(READ, 200, 404)),
        ("private.team", status(READ, 200, 404)),
        ("private.lists.conversations", seen(LIST)),
        ("private.lists.search", seen(LIST)),
        ("private.lists.documents", seen("GET /documents")),
        ("private.lists.document-search", seen("GET /documents")),
        ("private.lists.mailboxes", seen("GET /mailboxes")),
        ("sandbox.lists", seen(LIST)),
        ("sandbox.invisible", status(READ, 404, 200)),
        ("sandbox.invisible", seen("GET /documents")),
        (
            "browser.origin",
            after(me, |_, response| {
                response.headers.insert("access-control-allow-origin", "*".parse().expect("a header"));
            }),
        ),
        ("plan.free", status(me, 403, 200)),
        ("plan.free.mcp", status("POST /mcp", 403, 200)),
    ])
}

pub(super) fn errors() -> Named {
    let more = |what, status: u16| {
        after(what, move |_: &ProxyRequest, response: &mut ProxyResponse| {
            if response.status == status {
                response.set_json(&json!({ "error": "Not so.", "code": 7 }));
            }
        })
    };
    let first_problem = |what| {
        after(what, |_: &ProxyRequest, response: &mut ProxyResponse| {
            if response.status == 400 {
                let json = response.json();
                let first = json["error"].as_str().and_then(|sentence| sentence.split(';').next());
                response.set_json(&json!({ "error": first }));
            }
        })
    };
    let early = || {
        let count = AtomicU32::new(0);
        before("GET /me", move |_| match count.fetch_add(1, Ordering::Relaxed) {
            // The first is the suite's own look at the key.
            0..=105 => Route::Forward,
            _ => Route::respond(429, &json!({ "error": "Slow down to 120 a minute." })),
        })
    };
    named([
        ("error.400", more(LIST, 400)),
        ("error.401", more("GET /me", 401)),
        ("error.404", more(READ, 404)),
        ("error.403", more("POST /conversations/*/notes", 403)),
        ("input.all-problems.body", first_problem("POST /conversations/*/replies")),
        ("input.all-problems.query", first_problem(LIST)),
        ("input.no-effect", count_responses(READ)),
        ("no-idempotency-header", first_only("POST /conversations/*/notes", 201, success())),
        ("rate.limited", status("GET /me", 429, 200)),
        ("rate.limited", early()),
        ("rate.body", more("GET /me", 429)),
        ("rate.per-key", {
            let refused = AtomicU32::new(0);
            after("GET /me", move |_, response| {
                if response.status == 429 {
                    refused.store(1, Ordering::Relaxed);
                } else if refused.load(Ordering::Relaxed) == 1 {
                    *response = ProxyResponse::new(429, &json!({ "error": "Slow down." }));
                }
            })
        }),
        ("rate.minute", ignore("POST /_mock/worlds/*/clock")),
        ("rate.shared", status("POST /mcp", 429, 200)),
        ("rate.shared.tools", {
            let count = AtomicU32::new(0);
            // The count starts anew after the calls of tools.
            after("GET /me", move |_, response| {
                if response.status == 429 && count.fetch_add(1, Ordering::Relaxed) < 60 {
                    *response = ProxyResponse::new(200, &json!({}));
                }
            })
        }),
        ("rate.inbound", status("POST /sandbox/inbound", 429, 201)),
        ("openapi.auth", status("GET /openapi.json", 401, 200)),
        ("openapi.status", edit("GET /openapi.json", |it| it["openapi"] = json!("3.0.3"))),
    ])
}

pub(super) fn mcp() -> Named {
    let endpoint = "POST /mcp";
    let result = |change: fn(&mut Value)| edit(endpoint, move |it: &mut Value| change(&mut it["result"]));
    let mut mutants = named([
        ("mcp.json", as_text(endpoint)),
        (
            "mcp.sessions",
            after(endpoint, |_, response| {
                response.headers.insert("mcp-session-id", "1".parse().expect("a header"));
            }),
        ),
        ("mcp.auth", status(endpoint, 401, 200)),
        ("mcp.auth.wrong", status(endpoint, 401, 200)),
        ("mcp.auth.revoked", status(endpoint, 401, 200)),
        ("mcp.inputs", result(|it| it["isError"] = json!(false))),
        (
            "mcp.effect",
            before(endpoint, |request| match request.json()["method"] == "tools/call" {
                true => {
                    Route::respond(200, &json!({ "jsonrpc": "2.0", "id": 1, "result": { "isError": false } }))
                }
                false => Route::Forward,
            }),
        ),
        ("mcp.read", result(|it| it["structuredContent"]["subject"] = json!("Another"))),
        ("mcp.send", result(|it| it["isError"] = json!(false))),
        ("mcp.visibility", result(|it| it["isError"] = json!(false))),
    ]);
    let tools = |change: fn(&mut Vec<Value>, &str), tool: String| {
        edit(endpoint, move |it| {
            it["result"]["tools"].as_array_mut().into_iter().for_each(|tools| change(tools, &tool));
        })
    };
    let hidden: HashMap<String, String> =
        rules_below("mcp.hidden.").into_iter().map(|(rule, tool)| (tool, rule)).collect();
    for (rule, tool) in rules_below("mcp.tool.") {
        mutants.push((rule, tools(|tools, tool| tools.retain(|it| it["name"] != tool), tool.clone())));
        if let Some(rule) = hidden.get(&tool) {
            mutants.push((rule.clone(), tools(|tools, tool| tools.push(json!({ "name": tool })), tool)));
        }
    }
    for (rule, operation) in rules_below("openapi.") {
        // The other rules about the document are above.
        let Some((method @ ("get" | "post"), path)) = operation.split_once('.') else { continue };
        let path = format!("/{}", path.replace('.', "/").replace("conversations/id", "conversations/{id}"));
        let method = method.to_owned();
        mutants.push((rule, edit("GET /openapi.json", move |it| remove(&mut it["paths"][&path], &method))));
    }
    mutants
}
