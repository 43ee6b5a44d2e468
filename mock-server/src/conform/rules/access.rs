//! Keys, scopes and what each key sees.

use serde_json::{Value, json};

use crate::conform::{
    http::{Api, Call},
    reply::Reply,
    rule::{READS, Table, WORLD, WRITE},
    session::{Session, text},
    stop::Stop,
};

/// An operation: its name in ids, its method and path (`{}` stands for a conversation), its body, and its scope.
pub(super) struct Operation {
    pub(super) name: &'static str,
    path: &'static str,
    body: Option<fn() -> Value>,
    pub(super) scope: &'static str,
    pub(super) tool: Option<&'static str>,
}

const fn get(name: &'static str, path: &'static str, tool: Option<&'static str>) -> Operation {
    Operation { name, path, body: None, scope: "read", tool }
}

const fn post(
    name: &'static str,
    path: &'static str,
    scope: &'static str,
    tool: Option<&'static str>,
    body: fn() -> Value,
) -> Operation {
    Operation { name, path, body: Some(body), scope, tool }
}

/// Every operation, with input that is right.
pub(super) const OPERATIONS: &[Operation] = &[
    get("me", "/me", None),
    get("list", "/conversations", Some("list_conversations")),
    get("read", "/conversations/{}", Some("get_conversation")),
    post("notes", "/conversations/{}/notes", "write", Some("add_note"), || json!({ "body": "A note" })),
    post("status", "/conversations/{}/status", "write", Some("set_status"), || json!({ "status": "open" })),
    post(
        "tags",
        "/conversations/{}/tags",
        "write",
        Some("tag_conversation"),
        || json!({ "add": ["conform"] }),
    ),
    post(
        "assign",
        "/conversations/{}/assign",
        "write",
        Some("assign_conversation"),
        || json!({ "to": "me" }),
    ),
    post("replies", "/conversations/{}/replies", "draft", Some("reply"), || json!({ "body": "Hello" })),
    post(
        "replies.send",
        "/conversations/{}/replies",
        "send",
        None,
        || json!({ "body": "Hello", "send": true }),
    ),
    post(
        "requests",
        "/conversations/{}/document-requests",
        "draft",
        Some("request_documents"),
        || json!({ "documents": [{ "label": "Passport" }] }),
    ),
    post(
        "requests.send",
        "/conversations/{}/document-requests",
        "send",
        None,
        || json!({ "documents": [{ "label": "Passport" }], "send": true }),
    ),
    get("mailboxes", "/mailboxes", Some("list_mailboxes")),
    get("tags.list", "/tags", Some("list_tags")),
    get("documents", "/documents", Some("search_documents")),
    post(
        "app-mail",
        "/app-mail",
        "record",
        Some("record_sent"),
        || json!({ "messageId": "<a1b2c3d4@shop.example>", "reference": "a1", "to": ["kim@customer.test"], "subject": "Hi" }),
    ),
    post(
        "inbound",
        "/sandbox/inbound",
        "write",
        None,
        || json!({ "from": "kim@customer.test", "text": "Hello" }),
    ),
];

impl Operation {
    pub(super) fn call(&self, conversation: &str) -> Call {
        let path = self.path.replace("{}", conversation);
        match self.body {
            Some(body) => Call::post(path, &body()),
            None => Call::get(path),
        }
    }

    fn takes_conversation(&self) -> bool {
        self.path.contains("{}")
    }

    /// The arguments of the tool.
    pub(super) fn arguments(&self, conversation: &str) -> Value {
        let mut arguments = self.body.map_or_else(|| json!({}), |body| body());
        if self.takes_conversation() {
            arguments["id"] = json!(conversation);
        }
        arguments
    }
}

pub(super) fn add(table: &mut Table) {
    table.section("5");
    keys(table);
    scopes(table);
    visibility(table);
    sandbox(table);
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
                    return Err(Stop::differs(
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
        let items = crate::conform::fixtures::timeline(&read)?;
        let author =
            items.iter().find(|it| it["type"] == "note").map(|it| it["author"].clone()).unwrap_or_default();
        if author == name.as_str() {
            Ok(())
        } else {
            Err(read.differs_in(format!("`author`: {name}"), "author", &author))
        }
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

/// A private inbox with a mail in it: the conversation, its owner, and a key of that person.
async fn private(s: &Session) -> Result<(String, String, Api), Stop> {
    let control = s.control()?;
    let owner = text(&control.post("/users", json!({ "name": "Ben" })).await?["id"]);
    let inbox = json!({ "address": "ben@acme.example", "name": "Ben", "owner": owner });
    control.post("/mailboxes", inbox).await?;
    let attached = json!([{ "filename": "xyzzy.pdf", "contentType": "application/pdf", "size": 7 }]);
    let mail = json!({ "to": "ben@acme.example", "text": "Between us: xyzzy", "attachments": attached });
    let id = text(&s.mail(mail).await?["conversationId"]);
    let scopes = ["write", "draft", "send", "record"];
    let key = json!({ "name": "Ben's", "scopes": scopes, "livemode": true, "createdBy": owner });
    let (api, _) = s.key(key).await?;
    Ok((id, owner, api))
}

fn same(hidden: &Reply, never: &Reply) -> Result<(), Stop> {
    hidden.refused(404)?;
    match hidden.status == never.status && hidden.text == never.text {
        true => Ok(()),
        false => {
            Err(hidden.differs(format!("the same as for an id that was never there: {}", never.described())))
        }
    }
}

fn visibility(table: &mut Table) {
    for operation in OPERATIONS.iter().filter(|it| it.takes_conversation()) {
        let says = format!(
            "{} in another person's private inbox is a 404 like that of an id that was never there",
            operation.path.replace("{}", "{id}")
        );
        table.demand(format!("private.{}", operation.name), says, WORLD, move |s| async move {
            let (id, ..) = private(&s).await?;
            let live = s.live()?;
            same(&live.send(&operation.call(&id)).await?, &live.send(&operation.call("cnv_0")).await?)
        });
    }
    table.demand(
        "private.own",
        "A key sees the private inboxes of the person who made it",
        WORLD,
        |s| async move {
            let (id, _, own) = private(&s).await?;
            own.get(format!("/conversations/{id}")).await?.is(200)?;
            let list = own.get("/conversations?q=xyzzy").await?;
            list.must(list.list()?.len() == 1, "the conversation")
        },
    );
    table.demand("private.team", "A key sees every team inbox", WORLD, |s| async move {
        let id = s.live_conversation().await?;
        let (_, _, own) = private(&s).await?;
        for api in [own, s.live()?, s.scoped(&["read"], true).await?] {
            api.get(format!("/conversations/{id}")).await?.is(200)?;
        }
        Ok(())
    });
    for (id, path) in [
        ("private.lists.conversations", "/conversations"),
        ("private.lists.search", "/conversations?q=xyzzy"),
        ("private.lists.documents", "/documents"),
        ("private.lists.document-search", "/documents?q=xyzzy"),
    ] {
        let says = format!("Another person's private inbox is not in GET {path}");
        table.demand(id, says, WORLD, move |s| async move {
            private(&s).await?;
            let list = s.live()?.get(path).await?;
            list.must(list.list()?.is_empty(), "an empty list")
        });
    }
    table.demand(
        "private.lists.mailboxes",
        "Another person's private inbox is not in GET /mailboxes",
        WORLD,
        |s| async move {
            let (_, _, own) = private(&s).await?;
            let (theirs, ours) = (own.get("/mailboxes").await?, s.live()?.get("/mailboxes").await?);
            theirs.must(theirs.text.contains("ben@acme.example"), "the owner's private inbox")?;
            ours.must(!ours.text.contains("ben@acme.example"), "no private inbox of another person")
        },
    );
}

fn sandbox(table: &mut Table) {
    table.demand(
        "sandbox.inbox",
        "A test key sees the sandbox inbox only, `sandbox@….test`",
        WRITE,
        |s| async move {
            let list = s.api().get("/mailboxes").await?;
            let only = list.list()?.iter().all(|it| {
                let address = text(&it["address"]);
                address.starts_with("sandbox@") && address.ends_with(".test")
            });
            list.must(list.list()?.len() == 1 && only, "the sandbox inbox alone")
        },
    );
    for operation in OPERATIONS.iter().filter(|it| it.takes_conversation()) {
        let says = format!(
            "{} of a real conversation is a 404 for a test key",
            operation.path.replace("{}", "{id}")
        );
        table.demand(format!("sandbox.hidden.{}", operation.name), says, WORLD, move |s| async move {
            let id = s.live_conversation().await?;
            let api = s.api();
            same(&api.send(&operation.call(&id)).await?, &api.send(&operation.call("cnv_0")).await?)
        });
    }
    table.demand("sandbox.lists", "A test key sees nothing real in any list", WORLD, |s| async move {
        let attached = json!([{ "filename": "xyzzy.pdf", "contentType": "application/pdf", "size": 7 }]);
        s.mail(json!({ "text": "xyzzy", "attachments": attached })).await?;
        for path in ["/conversations", "/conversations?q=xyzzy", "/documents"] {
            let list = s.api().get(path).await?;
            list.must(list.list()?.is_empty(), "an empty list")?;
        }
        Ok(())
    });
    table.demand("sandbox.invisible", "Live keys never see the sandbox", WORLD, |s| async move {
        let id = s.conversation().await?;
        let live = s.live()?;
        live.get(format!("/conversations/{id}")).await?.refused(404)?;
        let list = live.get("/conversations").await?;
        list.must(list.list()?.is_empty(), "an empty list")?;
        let list = live.get("/mailboxes").await?;
        list.must(!list.text.contains("sandbox@"), "no sandbox inbox")
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
}
