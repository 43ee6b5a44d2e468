//! Keys, scopes, and who may call at all.

use serde_json::json;

use crate::rules::requests::operations::OPERATIONS;
use crate::{
    rule::{DRAFT, READS, Table, WORLD, WRITE},
    rule_abort::RuleAbort,
    wire::http::Call,
};

pub(crate) fn add(table: &mut Table) {
    table.section("5");
    keys(table);
    scopes(table);
    around(table);
}

fn keys(table: &mut Table) {
    for operation in OPERATIONS.iter().filter(|it| !it.name.ends_with(".send")) {
        let needs = if operation.body.is_some() { WRITE } else { READS };
        let says = format!("{} without a key is a 401", operation.path.replace("{}", "{id}"));
        table.demand(format!("auth.none.{}", operation.name), says, needs, move |s| async move {
            s.api().with_key(None).send(&operation.call("cnv_0")).await?.refused(401).map(drop)
        });
    }
    for (id, says, key) in [
        ("auth.wrong", "A wrong key is a 401", format!("rk_test_{}", "x".repeat(48))),
        ("auth.malformed", "What is no key is a 401", "hello".to_owned()),
    ] {
        table.demand(id, says, READS, move |s| {
            let key = key.clone();
            async move { s.api().with_key(Some(&key)).get("/me").await?.refused(401).map(drop) }
        });
    }
    table.demand("auth.scheme", "The key is a Bearer token", READS, |s| async move {
        let call = Call::get("/me").header("authorization", format!("Basic {}", s.api().key()));
        s.api().with_key(None).send(&call).await?.refused(401).map(drop)
    });
    table.demand("auth.revoked", "A revoked key is a 401 at once", WORLD, |s| async move {
        let key = json!({ "name": "Revoked", "scopes": ["read"], "livemode": false });
        let (api, agent) = s.key(key).await?;
        api.get("/me").await?.is(200)?;
        s.control()?.delete(&format!("/keys/{agent}")).await?;
        api.get("/me").await?.refused(401).map(drop)
    });
    table.demand(
        "auth.form",
        "A key is `rk_live_` or `rk_test_`, or `rk_`, and 48 letters and digits",
        WORLD,
        |s| async move {
            for (livemode, prefix) in [(true, "rk_live_"), (false, "rk_test_")] {
                let api = s.scoped(&["read"], livemode).await?;
                let rest = api.key().strip_prefix(prefix).unwrap_or_default();
                if rest.len() != 48 || !rest.chars().all(|c| c.is_ascii_alphanumeric()) {
                    return Err(RuleAbort::differs(
                        "a new key",
                        format!("{prefix} and 48 letters and digits"),
                        "another form",
                    ));
                }
            }
            Ok(())
        },
    );
    table.demand(
        "auth.agent",
        "Each key acts as its own agent, named after the key",
        WORLD,
        |s| async move {
            let key = json!({ "name": "Robin", "scopes": ["write", "draft"], "livemode": true });
            let (api, agent) = s.key(key).await?;
            let me = api.get("/me").await?;
            me.equals("/agent/id", &json!(agent))?;
            me.equals("/agent/name", &json!("Robin"))
        },
    );
    table.demand("auth.author", "Its notes show under that name", WRITE, |s| async move {
        let id = s.conversation().await?;
        let name = s.api().get("/me").await?.text_at("/agent/name")?;
        s.act(&id, "notes", &json!({ "body": "A note" })).await?.done()?;
        let read = s.read(&id).await?;
        let items = crate::check::fixture_types::timeline(&read)?;
        let author =
            items.iter().find(|it| it["type"] == "note").map(|it| it["author"].clone()).unwrap_or_default();
        read.must_in(author == name.as_str(), format!("`author`: {name}"), "author", &author)
    });
    for (id, says, what, body, needs) in [
        ("auth.actor", "Its tags show under that name", "tags", json!({ "add": ["conform"] }), WRITE),
        ("auth.drafter", "Its drafts show under that name", "replies", json!({ "body": "A draft" }), DRAFT),
    ] {
        table.demand(id, says, needs, move |s| {
            let body = body.clone();
            async move {
                let id = s.conversation().await?;
                let name = s.api().get("/me").await?.text_at("/agent/name")?;
                s.act(&id, what, &body).await?.done()?;
                let read = s.read(&id).await?;
                let items = crate::check::fixture_types::timeline(&read)?;
                let last = items.last().cloned().unwrap_or_default();
                let shown = if what == "tags" { &last["actor"] } else { &last["from"]["name"] };
                read.must_in(*shown == name.as_str(), format!("the name {name}"), "the last item", &last)
            }
        });
    }
    table.observe("auth.challenge", "`WWW-Authenticate` of a 401", "Bearer", READS, |s| async move {
        let reply = s.api().with_key(None).get("/me").await?;
        let header = reply.headers.get("www-authenticate").and_then(|it| it.to_str().ok());
        Ok(header.unwrap_or("none").to_owned())
    });
    table.demand("auth.livemode", "`livemode` is true for a live key", WORLD, |s| async move {
        s.live()?.get("/me").await?.equals("/livemode", &json!(true))
    });
    table.demand("auth.scopes", "`scopes` are those of the key, with `read`", WORLD, |s| async move {
        let api = s.scoped(&["draft"], true).await?;
        let me = api.get("/me").await?;
        let has = |scope: &str| {
            me.json().is_some_and(|it| it["scopes"].as_array().is_some_and(|it| it.contains(&json!(scope))))
        };
        me.must(has("read") && has("draft") && !has("write") && !has("send"), "read and draft")
    });
}

fn scopes(table: &mut Table) {
    for operation in OPERATIONS {
        if operation.scope == "read" {
            continue;
        }
        let scope = operation.scope;
        let others: Vec<&'static str> =
            ["read", "write", "draft", "send", "record"].into_iter().filter(|it| *it != scope).collect();
        let livemode = operation.name != "inbound";
        let says = format!(
            "{} without the scope `{scope}` is a 403 that names it",
            operation.path.replace("{}", "{id}")
        );
        table.demand(format!("scope.{}.needed", operation.name), says, WORLD, move |s| {
            let others = others.clone();
            async move {
                let id = s.live_conversation().await?;
                let reply = s.scoped(&others, livemode).await?.send(&operation.call(&id)).await?;
                let sentence = reply.refused(403)?;
                reply.must(sentence.contains(scope), format!("403 with `{scope}` in the sentence"))
            }
        });
        let says =
            format!("{} is allowed with the scope `{scope}` alone", operation.path.replace("{}", "{id}"));
        table.demand(format!("scope.{}.enough", operation.name), says, WORLD, move |s| async move {
            let id = s.live_conversation().await?;
            let api = s.scoped(&[scope], livemode).await?;
            api.send(&operation.call(&id)).await?.done().map(drop)
        });
    }
    table.demand("scope.read.enough", "Everything that is read needs `read` alone", WORLD, |s| async move {
        let id = s.live_conversation().await?;
        let api = s.scoped(&["read"], true).await?;
        for operation in OPERATIONS.iter().filter(|it| it.scope == "read") {
            api.send(&operation.call(&id)).await?.is(200)?;
        }
        Ok(())
    });
    table.demand(
        "scope.read.needed",
        "Everything that is read is a 403 that names `read` for a key without any scope",
        WORLD,
        |s| async move {
            let id = s.live_conversation().await?;
            let api = s.scoped(&[], true).await?;
            for operation in OPERATIONS.iter().filter(|it| it.scope == "read") {
                let reply = api.send(&operation.call(&id)).await?;
                reply.must(reply.refused(403)?.contains("read"), "403 with `read` in the sentence")?;
            }
            Ok(())
        },
    );
    table.demand("scope.no-effect", "What is refused for a scope has no effect", WORLD, |s| async move {
        let id = s.live_conversation().await?;
        // A new key is a new teammate, so it comes first.
        let api = s.scoped(&["read"], true).await?;
        let before = s.live()?.get(format!("/conversations/{id}")).await?;
        for operation in OPERATIONS.iter().filter(|it| it.scope != "read") {
            api.send(&operation.call(&id)).await?;
        }
        let after = s.live()?.get(format!("/conversations/{id}")).await?;
        after.must(after.json() == before.json(), "the same conversation as before")
    });
}

fn around(table: &mut Table) {
    table.demand(
        "browser.origin",
        "Requests of web pages of other sites are not accepted",
        READS,
        |s| async move {
            let call = Call::get("/me").header("origin", "https://conform.example");
            let reply = s.api().send(&call).await?;
            let allowed = reply.headers.get("access-control-allow-origin").and_then(|it| it.to_str().ok());
            let readable = matches!(allowed, Some("*" | "https://conform.example"));
            reply.must(!readable, "no leave for a page of another site to read the response")
        },
    );
    table.observe(
        "browser.status",
        "The status of a request of a web page of another site",
        "403",
        READS,
        |s| async move {
            let call = Call::get("/me").header("origin", "https://conform.example");
            Ok(s.api().send(&call).await?.status.to_string())
        },
    );
    table.demand("plan.free", "The API is available on the Pro and Team plans", WORLD, |s| async move {
        for (plan, allowed) in [("pro", true), ("team", true), ("free", false)] {
            s.control()?.put("/plan", json!({ "plan": plan })).await?;
            let reply = s.live()?.get("/me").await?;
            reply.must((reply.status == 200) == allowed, if allowed { "200" } else { "a refusal" })?;
        }
        Ok(())
    });
    table.demand(
        "plan.free.mcp",
        "The MCP server is available on the Pro and Team plans",
        WORLD,
        |s| async move {
            for (plan, allowed) in [("pro", true), ("free", false)] {
                s.control()?.put("/plan", json!({ "plan": plan })).await?;
                let reply = s.live()?.mcp("tools/list", json!({})).await?;
                reply.must((reply.status == 200) == allowed, if allowed { "200" } else { "a refusal" })?;
            }
            Ok(())
        },
    );
}
