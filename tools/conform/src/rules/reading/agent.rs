//! `GET /me`, and what holds for every response.

use crate::{
    check::fixture_types::Found,
    rule::{READS, Table, WRITE},
    shape::{
        Field,
        Type::{Bool, Id, List, Object, OneOf, Text},
        field,
    },
    wire::reply::Reply,
};

const AGENT: &[Field] = &[
    field("agent", Object),
    field("agent.id", Id("agt_")),
    field("agent.name", Text),
    field("scopes", List(&OneOf(&["read", "write", "draft", "send", "record"]))),
    field("livemode", Bool),
];

fn is_json(reply: &Reply) -> Result<(), crate::rule_abort::RuleAbort> {
    let kind = reply.content_type();
    let named = kind.starts_with("application/json") || kind.contains("+json");
    let body = reply.json().is_some();
    match named && body {
        true => Ok(()),
        false => {
            let what = if body { "a JSON body" } else { "a body that is not JSON" };
            Err(crate::rule_abort::RuleAbort::differs(
                &reply.request,
                "a JSON body with the content type application/json",
                format!("{what} with the content type {kind}"),
            ))
        }
    }
}

pub(crate) fn add(table: &mut Table) {
    table.section("1");
    for (id, path) in [
        ("json.me", "/me"),
        ("json.conversations", "/conversations"),
        ("json.mailboxes", "/mailboxes"),
        ("json.tags", "/tags"),
        ("json.documents", "/documents"),
    ] {
        let says = format!("The response of GET {path} is JSON, and says so");
        table.demand(id, says, READS, move |s| async move { is_json(&s.api().get(path).await?) });
    }
    table.demand("json.created", "The response of a POST is JSON, and says so", WRITE, |s| async move {
        let id = s.conversation().await?;
        is_json(&s.act(&id, "notes", &serde_json::json!({ "body": "A note" })).await?)
    });
    table.demand("json.error", "The response of an error is JSON, and says so", READS, |s| async move {
        is_json(&s.api().get("/conversations/cnv_0").await?)
    });

    table.section("2.2");
    table.fields("me", AGENT, READS, |s| async move {
        let reply = s.api().get("/me").await?;
        Ok(Found { items: vec![reply.done()?.clone()], reply })
    });
    table.demand("me.livemode.test", "`livemode` is false for a test key", WRITE, |s| async move {
        let reply = s.api().get("/me").await?;
        reply.must(reply.done()?["livemode"] == false, "`livemode`: false")
    });
    table.demand(
        "me.scopes.read",
        "`read` is among the scopes of every key that can call this",
        READS,
        |s| async move {
            let reply = s.api().get("/me").await?;
            let scopes = reply.done()?["scopes"].as_array().cloned().unwrap_or_default();
            reply.must(scopes.iter().any(|scope| scope == "read"), "`scopes` with `read`")
        },
    );

    table.section("4.1");
    table.demand("me.status", "GET /me answers 200", READS, |s| async move {
        s.api().get("/me").await?.is(200).map(drop)
    });
}
