//! `GET /conversations` and `GET /conversations/{id}`.

use serde_json::{Value, json};

use crate::{
    check::session::text,
    rule::{READS, Table, WORLD, WRITE},
    rule_abort::{RuleAbort, must},
    shape::time,
    wire::reply::Reply,
};

pub(crate) fn ids(list: &Reply) -> Result<Vec<String>, RuleAbort> {
    Ok(list.list()?.iter().map(|it| text(&it["id"])).collect())
}

pub(crate) fn contains(list: &Reply, id: &str, expected: bool) -> Result<(), RuleAbort> {
    let words = if expected { "the conversation in the list" } else { "a list without the conversation" };
    list.must(ids(list)?.iter().any(|it| it == id) == expected, format!("{words} ({id})"))
}

/// That a query parameter is refused by its name.
fn refused(table: &mut Table, id: &str, says: &str, path: fn() -> String, field: &'static str) {
    table.demand(id, says, READS, move |s| async move { s.api().get(path()).await?.names(&[field]) });
}

/// The status of a request that the document does not speak of.
fn seen(table: &mut Table, id: &str, says: &str, mock: &'static str, path: &'static str) {
    table.observe(
        id,
        says,
        mock,
        READS,
        move |s| async move { Ok(s.api().get(path).await?.status.to_string()) },
    );
}

/// Adds what the service does with requests that the document does not speak of: each status once.
pub(crate) fn statuses(
    table: &mut Table,
    id: &str,
    says: &str,
    mock: &'static str,
    paths: fn() -> Vec<String>,
) {
    table.observe(id, says, mock, READS, move |s| async move {
        let mut seen = std::collections::BTreeSet::new();
        for path in paths() {
            seen.insert(s.api().get(path).await?.status.to_string());
        }
        Ok(seen.into_iter().collect::<Vec<_>>().join(", "))
    });
}

pub(crate) fn add(table: &mut Table) {
    table.section("4.2");
    table.demand("list.status", "GET /conversations answers 200 with an array", READS, |s| async move {
        let list = s.api().get("/conversations").await?;
        list.must(list.is(200)?.is_array(), "an array")
    });
    views(table);
    narrowed(table);
    limits(table);

    table.section("4.3");
    table.demand(
        "read.status",
        "GET /conversations/{id} answers 200 with that conversation",
        READS,
        |s| async move {
            let populated = s.populated_conversation().await?;
            populated.read.must(populated.read.status == 200, "200")?;
            let id = populated.read.text_at("/id")?;
            populated.read.must(populated.read.request.ends_with(&id), "the conversation that was asked for")
        },
    );
    table.demand("read.404", "A conversation that is not there is a 404", READS, |s| async move {
        s.api().get("/conversations/cnv_0").await?.refused(404).map(drop)
    });
    statuses(table, "read.bad-id", "An id of another form in a path", "404", || {
        ["nobody", "msg_1", "cnv_", "cnv_UPPER", "cnv_%2F", "%00", "cnv_1%20"]
            .map(|id| format!("/conversations/{id}"))
            .to_vec()
    });
}

fn views(table: &mut Table) {
    for view in ["open", "waiting", "closed"] {
        let says = format!("`view={view}` has conversations with the status `{view}` and no others");
        table.demand(format!("list.view.{view}"), says, WRITE, move |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "status", &json!({ "status": view })).await?.done()?;
            for other in ["open", "waiting", "closed"] {
                let list = s.api().get(format!("/conversations?view={other}&limit=100")).await?;
                contains(&list, &id, other == view)?;
            }
            Ok(())
        });
    }
    table.demand("list.view.default", "`view` is `open` unless said", WRITE, |s| async move {
        let (open, closed) = (s.conversation().await?, s.conversation().await?);
        s.act(&closed, "status", &json!({ "status": "closed" })).await?.done()?;
        let list = s.api().get("/conversations?limit=100").await?;
        contains(&list, &open, true)?;
        contains(&list, &closed, false)
    });
    table.demand("list.view.snoozed", "`view=snoozed` is accepted", READS, |s| async move {
        s.api().get("/conversations?view=snoozed").await?.is(200).map(drop)
    });
    refused(
        table,
        "list.view.values",
        "`view` is one of its values",
        || "/conversations?view=all-of-them".into(),
        "view",
    );
    seen(table, "list.view.all", "`view=all` without a reference", "400", "/conversations?view=all");
    seen(table, "list.view.case", "A `view` in capitals", "400", "/conversations?view=OPEN");
    table.demand(
        "list.reference",
        "`reference` with `view=all` lists in every status",
        WORLD,
        |s| async move {
            let inbox = s.inbox().await?.replace('@', "+order-17@");
            let id = text(&s.mail(json!({ "to": inbox })).await?["conversationId"]);
            let other = s.live_conversation().await?;
            let live = s.live()?;
            for status in ["open", "waiting", "closed"] {
                live.post(format!("/conversations/{id}/status"), &json!({ "status": status }))
                    .await?
                    .done()?;
                let list = live.get("/conversations?view=all&reference=order-17").await?;
                contains(&list, &id, true)?;
                contains(&list, &other, false)?;
            }
            Ok(())
        },
    );
    for (id, says, snoozed, reference) in [
        (
            "list.reference.case",
            "Whether a `reference` in capitals finds its conversation",
            false,
            "ORDER-17",
        ),
        (
            "list.reference.snoozed",
            "Whether `reference` with `view=all` lists what is snoozed",
            true,
            "order-17",
        ),
    ] {
        table.observe(id, says, "yes", WORLD, move |s| async move {
            let inbox = s.inbox().await?.replace('@', "+order-17@");
            let id = text(&s.mail(json!({ "to": inbox })).await?["conversationId"]);
            if snoozed {
                let until = json!({ "until": "2099-01-01T00:00:00Z" });
                s.control()?.post(&format!("/conversations/{id}/snooze"), until).await?;
            }
            let list = s.live()?.get(format!("/conversations?view=all&reference={reference}")).await?;
            Ok(if ids(&list)?.contains(&id) { "yes" } else { "no" }.into())
        });
    }
}

fn narrowed(table: &mut Table) {
    table.demand("list.mailbox", "`mailbox` narrows to one inbox", WORLD, |s| async move {
        let sales = json!({ "address": "sales@acme.example", "name": "Sales" });
        let sales = s.control()?.post_for("/mailboxes", sales, "id").await?;
        let inside = text(&s.mail(json!({ "to": "sales@acme.example" })).await?["conversationId"]);
        let outside = s.live_conversation().await?;
        let list = s.live()?.get(format!("/conversations?mailbox={sales}")).await?;
        contains(&list, &inside, true)?;
        contains(&list, &outside, false)
    });
    table.demand(
        "list.mailbox.own",
        "`mailbox` takes the id of an inbox from GET /mailboxes",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            let inbox = s.api().get("/mailboxes").await?.text_at("/0/id")?;
            contains(&s.api().get(format!("/conversations?mailbox={inbox}&limit=100")).await?, &id, true)
        },
    );
    table.demand(
        "list.assigned.me",
        "`assigned=me` has what is assigned to this agent",
        WRITE,
        |s| async move {
            let (mine, nobodys) = (s.conversation().await?, s.conversation().await?);
            s.act(&mine, "assign", &json!({ "to": "me" })).await?.done()?;
            let list = s.api().get("/conversations?assigned=me&limit=100").await?;
            contains(&list, &mine, true)?;
            contains(&list, &nobodys, false)
        },
    );
    table.demand(
        "list.assigned.unassigned",
        "`assigned=unassigned` has what is assigned to nobody",
        WRITE,
        |s| async move {
            let (mine, nobodys) = (s.conversation().await?, s.conversation().await?);
            s.act(&mine, "assign", &json!({ "to": "me" })).await?.done()?;
            let list = s.api().get("/conversations?assigned=unassigned&limit=100").await?;
            contains(&list, &mine, false)?;
            contains(&list, &nobodys, true)
        },
    );
    refused(
        table,
        "list.assigned.values",
        "`assigned` is `me` or `unassigned`",
        || "/conversations?assigned=you".into(),
        "assigned",
    );
    table.demand("list.newest-first", "The newest conversation comes first", READS, |s| async move {
        let found = s.summaries().await?;
        let times: Vec<f64> = found.items.iter().filter_map(|it| time(&text(&it["lastMessageAt"]))).collect();
        must(
            times.is_sorted_by(|one, next| one >= next),
            &found.reply.request,
            "`lastMessageAt` falling",
            format!("{times:?}"),
        )
    });
    table.demand(
        "list.latest-message",
        "The latest message decides the order, the snippet, the time and the count",
        WORLD,
        |s| async move {
            let first = s.live_conversation().await?;
            s.advance(1).await?;
            let second = s.live_conversation().await?;
            s.advance(1).await?;
            s.mail(json!({ "conversationId": first, "text": "Once more" })).await?;
            let list = s.live()?.get("/conversations").await?;
            list.must(
                ids(&list)? == [first.as_str(), second.as_str()],
                "the one with the latest message first",
            )?;
            list.equals("/0/snippet", &json!("Once more"))?;
            list.equals("/0/messageCount", &json!(2))?;
            let read = s.live()?.get(format!("/conversations/{first}")).await?;
            list.equals("/0/lastMessageAt", &json!(read.text_at("/timeline/1/at")?))
        },
    );
    table.observe(
        "list.mailbox.unknown",
        "An inbox that the key does not see",
        "200, and nothing",
        READS,
        |s| async move {
            let list = s.api().get("/conversations?mailbox=mbx_0").await?;
            let found = list.json().and_then(Value::as_array).is_none_or(|it| !it.is_empty());
            Ok(format!("{}{}", list.status, if found { "" } else { ", and nothing" }))
        },
    );
    seen(table, "list.mailbox.malformed", "A `mailbox` that is no id", "400", "/conversations?mailbox=help");
    seen(table, "list.unknown-parameter", "A parameter that is not known", "200", "/conversations?color=red");
    seen(table, "list.twice", "A parameter that is given twice", "400", "/conversations?limit=1&limit=2");
    seen(table, "list.q.empty", "A parameter that is there and empty", "400", "/conversations?q=");
    statuses(table, "list.empty", "Any other parameter that is there and empty", "400", || {
        ["view", "mailbox", "assigned", "limit", "reference"]
            .map(|it| format!("/conversations?{it}="))
            .to_vec()
    });
}

fn limits(table: &mut Table) {
    table.demand("list.limit", "A list has `limit` items where there are more", WRITE, |s| async move {
        for _ in 0..3 {
            s.conversation().await?;
        }
        let list = s.api().get("/conversations?limit=2").await?;
        list.must(list.list()?.len() == 2, "two conversations")
    });
    table.demand("list.limit.max", "`limit` is at most 100", READS, |s| async move {
        s.api().get("/conversations?limit=100").await?.is(200)?;
        s.api().get("/conversations?limit=101").await?.names(&["limit"])
    });
    refused(table, "list.limit.min", "`limit` is at least 1", || "/conversations?limit=0".into(), "limit");
    refused(table, "list.limit.type", "`limit` is an integer", || "/conversations?limit=ten".into(), "limit");
    table.demand("list.limit.default", "`limit` is 25 unless said", WORLD, |s| async move {
        for _ in 0..26 {
            s.live_conversation().await?;
        }
        let list = s.live()?.get("/conversations").await?;
        list.must(list.list()?.len() == 25, "25 of 26 conversations")?;
        let list = s.live()?.get("/conversations?limit=100").await?;
        list.must(list.list()?.len() == 26, "26 conversations")
    });
}
