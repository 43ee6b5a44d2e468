//! What each key sees: private inboxes, and the sandbox.

use serde_json::json;

use super::operations::OPERATIONS;
use crate::conform::{
    http::Api,
    reply::Reply,
    rule::{Table, WORLD, WRITE},
    session::{Session, text},
    stop::Stop,
};

pub(super) fn add(table: &mut Table) {
    table.section("5");
    visibility(table);
    sandbox(table);
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
