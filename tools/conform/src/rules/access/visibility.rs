//! What each key sees: private inboxes, and the sandbox.

use serde_json::json;

use crate::rules::requests::operations::OPERATIONS;
use crate::{
    check::session::{Session, text},
    rule::{Table, WORLD, WRITE},
    rule_abort::RuleAbort,
    wire::http::Api,
    wire::reply::Reply,
};

pub(crate) fn add(table: &mut Table) {
    table.section("5");
    visibility(table);
    sandbox(table);
}

/// Returns a private inbox with a mail in it: the conversation, its owner, and a key of that person.
async fn private(s: &Session) -> Result<(String, String, Api), RuleAbort> {
    let control = s.control()?;
    let owner = control.post_for("/users", json!({ "name": "Ben" }), "id").await?;
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

fn same(hidden: &Reply, never: &Reply) -> Result<(), RuleAbort> {
    hidden.refused(404)?;
    hidden.must(
        hidden.status == never.status && hidden.text == never.text,
        format!("the same as for an id that was never there: {}", never.described()),
    )
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
    table.demand(
        "private.no-effect",
        "What is tried in another person's private inbox has no effect",
        WORLD,
        |s| async move {
            let (id, _, own) = private(&s).await?;
            let before = own.get(format!("/conversations/{id}")).await?;
            for operation in OPERATIONS.iter().filter(|it| it.takes_conversation()) {
                s.live()?.send(&operation.call(&id)).await?;
            }
            let after = own.get(format!("/conversations/{id}")).await?;
            after.must(after.json() == before.json(), "the same conversation as before")
        },
    );
    table.demand(
        "private.lists.filters",
        "Another person's private inbox is not found by its id or by a reference in it",
        WORLD,
        |s| async move {
            let (_, _, own) = private(&s).await?;
            s.mail(json!({ "to": "ben+order-17@acme.example" })).await?;
            let inboxes = own.get("/mailboxes").await?;
            let inbox = inboxes.list()?.iter().find(|it| it["address"] == "ben@acme.example").cloned();
            let inbox = text(&inbox.ok_or_else(|| inboxes.differs("the owner's private inbox"))?["id"]);
            for query in [format!("mailbox={inbox}"), "view=all&reference=order-17".to_owned()] {
                let path = format!("/conversations?{query}");
                let (theirs, ours) = (own.get(&path).await?, s.live()?.get(&path).await?);
                theirs.must(!theirs.list()?.is_empty(), "the owner's conversation")?;
                ours.must(ours.list()?.is_empty(), "an empty list")?;
            }
            Ok(())
        },
    );
    table.observe(
        "private.lists.tags",
        "What GET /tags shows others of a tag that is used in a private inbox alone, and once it is used elsewhere",
        "nothing, then 1",
        WORLD,
        |s| async move {
            let (id, _, own) = private(&s).await?;
            let (open, live, tag) = (s.live_conversation().await?, s.live()?, json!({ "add": ["xyzzy"] }));
            own.post(format!("/conversations/{id}/tags"), &tag).await?.done()?;
            let mut shown = Vec::new();
            for _ in 0..2 {
                let list = live.get("/tags").await?;
                let entry = list.list()?.iter().find(|it| it["name"] == "xyzzy");
                shown.push(entry.map_or("nothing".to_owned(), |it| it["count"].to_string()));
                live.post(format!("/conversations/{open}/tags"), &tag).await?.done()?;
            }
            Ok(shown.join(", then "))
        },
    );
    team(table);
    table.section("5");
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

/// Who is on the team of a conversation.
fn team(table: &mut Table) {
    table.section("2.4");
    table.demand(
        "team.visible",
        "`team` has those who can see the inbox, and nobody else",
        WORLD,
        |s| async move {
            let (id, owner, own) = private(&s).await?;
            let agent = own.get("/me").await?.text_at("/agent/id")?;
            let read = own.get(format!("/conversations/{id}")).await?;
            for (part, only) in [("people", format!("user:{owner}")), ("agents", format!("agent:{agent}"))] {
                let members = read.done()?["team"][part].as_array().cloned().unwrap_or_default();
                let ids: Vec<String> = members.iter().map(|it| text(&it["id"])).collect();
                if ids != [only.as_str()] {
                    return Err(read.differs_in(format!("{only} alone in `team.{part}`"), part, &json!(ids)));
                }
            }
            let open = s.live_conversation().await?;
            let read = own.get(format!("/conversations/{open}")).await?;
            let team = &read.done()?["team"];
            let has = |part: &str, id: String| {
                team[part].as_array().is_some_and(|it| it.iter().any(|it| it["id"] == id))
            };
            let everyone = has("people", format!("user:{}", s.person().await?))
                && has("people", format!("user:{owner}"))
                && has("agents", format!("agent:{agent}"));
            read.must(everyone, "everyone in the team of a team inbox")
        },
    );
    table.observe(
        "team.revoked",
        "Whether the agent of a revoked key is on the team, and what assigning to it answers",
        "no, 400",
        WORLD,
        |s| async move {
            let id = s.live_conversation().await?;
            let (_, agent) = s.key(json!({ "name": "Gone", "scopes": ["read"], "livemode": true })).await?;
            s.control()?.delete(&format!("/keys/{agent}")).await?;
            let live = s.live()?;
            let there =
                live.get(format!("/conversations/{id}")).await?.done()?["team"].to_string().contains(&agent);
            let to = json!({ "to": format!("agent:{agent}") });
            let status = live.post(format!("/conversations/{id}/assign"), &to).await?.status;
            Ok(format!("{}, {status}", if there { "yes" } else { "no" }))
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
        let id = s.conversation_with(&s.address("docs")).await?;
        s.act(&id, "replies", &json!({ "body": "Hello", "send": true })).await?.done()?;
        s.advance(30).await?;
        let live = s.live()?;
        for operation in OPERATIONS.iter().filter(|it| it.takes_conversation()) {
            same(&live.send(&operation.call(&id)).await?, &live.send(&operation.call("cnv_0")).await?)?;
        }
        for path in ["/conversations", "/conversations?q=order", "/documents"] {
            let list = live.get(path).await?;
            list.must(list.list()?.is_empty(), "an empty list")?;
        }
        let list = live.get("/mailboxes").await?;
        list.must(!list.text.contains("sandbox@"), "no sandbox inbox")
    });
    table.demand(
        "sandbox.people",
        "People never see the sandbox, so that nothing there can be assigned to them, nor live mail to a test key",
        WORLD,
        |s| async move {
            let (test, live) = (s.conversation().await?, s.live_conversation().await?);
            let people = s.read(&test).await?;
            people.equals("/team/people", &json!([]))?;
            let to = json!({ "to": format!("user:{}", s.person().await?) });
            s.act(&test, "assign", &to).await?.refused(400)?;
            let to = json!({ "to": format!("agent:{}", s.api().get("/me").await?.text_at("/agent/id")?) });
            s.live()?.post(format!("/conversations/{live}/assign"), &to).await?.refused(400).map(drop)
        },
    );
    table.section("8.3");
    table.demand("sandbox.scopes", "The same scopes apply to test keys", WORLD, |s| async move {
        let id = s.conversation().await?;
        for operation in OPERATIONS.iter().filter(|it| it.scope != "read") {
            let all = ["read", "write", "draft", "send", "record"];
            let others: Vec<&str> = all.into_iter().filter(|it| *it != operation.scope).collect();
            s.scoped(&others, false).await?.send(&operation.call(&id)).await?.refused(403)?;
            s.scoped(&[operation.scope], false).await?.send(&operation.call(&id)).await?.done()?;
        }
        Ok(())
    });
}
