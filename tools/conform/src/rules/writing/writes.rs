//! Notes and status, and what the rules about writing have in common.

use serde_json::{Value, json};

use crate::{
    check::fixture_types::timeline,
    check::session::{Session, text},
    rule::{Table, WORLD, WRITE},
    rule_abort::RuleAbort,
    shape::time,
};

/// Returns the items of a conversation's timeline that fit.
pub(crate) async fn count(s: &Session, id: &str, fits: impl Fn(&Value) -> bool) -> Result<usize, RuleAbort> {
    Ok(timeline(&s.read(id).await?)?.iter().filter(|it| fits(it)).count())
}

pub(crate) fn is_event(name: &'static str) -> impl Fn(&Value) -> bool {
    move |it| it["type"] == "event" && it["event"] == name
}

/// That input at the border is taken and beyond it refused, with the field's name.
pub(crate) fn border(
    table: &mut Table,
    id: &str,
    says: &str,
    (what, field): (&'static str, &'static str),
    good: impl Fn() -> Value + Clone + Send + Sync + 'static,
    bad: impl Fn() -> Value + Clone + Send + Sync + 'static,
) {
    table.demand(id, says, WRITE, move |s| {
        let (good, bad) = (good(), bad());
        async move {
            let id = s.conversation().await?;
            s.act(&id, what, &good).await?.done()?;
            s.act(&id, what, &bad).await?.names(&[field])
        }
    });
}

/// That this input is refused, with the field's name.
pub(crate) fn refused(
    table: &mut Table,
    id: &str,
    says: &str,
    what: &'static str,
    field: &'static str,
    bad: fn() -> Value,
) {
    table.demand(id, says, WRITE, move |s| async move {
        let id = s.conversation().await?;
        s.act(&id, what, &bad()).await?.names(&[field])
    });
}

pub(crate) fn not_found(table: &mut Table, id: &str, what: &'static str, body: fn() -> Value) {
    let says = format!("POST …/{what} on a conversation that is not there is a 404");
    table.demand(id, says, WRITE, move |s| async move {
        s.act("cnv_0", what, &body()).await?.refused(404).map(drop)
    });
}

/// Adds the rules of a success: its status, and its body `{ok: true}`.
pub(crate) fn answers(table: &mut Table, group: &str, what: &'static str, status: u16, body: fn() -> Value) {
    table.demand(format!("{group}.status"), format!("It answers {status}"), WRITE, move |s| async move {
        let id = s.conversation().await?;
        s.act(&id, what, &body()).await?.is(status).map(drop)
    });
    table.demand(format!("{group}.ok"), "It answers `{ok: true}`", WRITE, move |s| async move {
        let id = s.conversation().await?;
        s.act(&id, what, &body()).await?.equals("/ok", &json!(true))
    });
}

pub(crate) fn add(table: &mut Table) {
    states(table);
    table.section("4.4");
    notes(table);
    table.section("4.5");
    answers(table, "status", "status", 200, || json!({ "status": "closed" }));
    refused(table, "status.required", "`status` is required", "status", "status", || json!({}));
    refused(
        table,
        "status.values",
        "`status` is open, waiting or closed",
        "status",
        "status",
        || json!({ "status": "snoozed" }),
    );
    refused(table, "status.type", "`status` is a string", "status", "status", || json!({ "status": 1 }));
    not_found(table, "status.404", "status", || json!({ "status": "open" }));
}

fn states(table: &mut Table) {
    table.section("3.1");
    for to in ["open", "waiting", "closed"] {
        let says = format!("Any status can be set to `{to}`");
        table.demand(format!("status.to.{to}"), says, WRITE, move |s| async move {
            let id = s.conversation().await?;
            for from in ["open", "waiting", "closed"] {
                s.act(&id, "status", &json!({ "status": from })).await?.done()?;
                s.act(&id, "status", &json!({ "status": to })).await?.done()?;
                s.read(&id).await?.equals("/status", &json!(to))?;
            }
            Ok(())
        });
    }
    table.demand(
        "status.event",
        "A change of status is recorded as an event of the timeline",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            let before = count(&s, &id, |it| it["type"] == "event").await?;
            s.act(&id, "status", &json!({ "status": "closed" })).await?.done()?;
            let read = s.read(&id).await?;
            let after = timeline(&read)?.iter().filter(|it| it["type"] == "event").count();
            read.must(after == before + 1, "one more event in the timeline")
        },
    );
    table.demand("status.same", "Setting the same status again changes nothing", WRITE, |s| async move {
        let id = s.conversation().await?;
        s.act(&id, "status", &json!({ "status": "closed" })).await?.done()?;
        let before = s.read(&id).await?;
        s.act(&id, "status", &json!({ "status": "closed" })).await?.done()?;
        let after = s.read(&id).await?;
        after.must(after.json() == before.json(), "the same conversation as before")
    });
    table.observe(
        "status.event.name",
        "The name of the event that records a change of status",
        "status",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "status", &json!({ "status": "closed" })).await?.done()?;
            let items = timeline(&s.read(&id).await?)?;
            Ok(items.last().map(|it| text(&it["event"])).unwrap_or_default())
        },
    );
    table.observe(
        "status.event.data",
        "The `data` of the event that records a change of status",
        r#"{"from":"open","to":"closed"}"#,
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "status", &json!({ "status": "closed" })).await?.done()?;
            let items = timeline(&s.read(&id).await?)?;
            Ok(items.last().map(|it| it["data"].to_string()).unwrap_or_default())
        },
    );
    table.observe(
        "status.after-inbound",
        "The status of a closed conversation after the customer wrote again",
        "open",
        WRITE,
        |s| async move {
            let from = s.address("customer");
            let id = s.conversation_with(&from).await?;
            s.act(&id, "status", &json!({ "status": "closed" })).await?.done()?;
            s.inbound(json!({ "from": from, "text": "Again", "conversationId": id })).await?.done()?;
            s.read(&id).await?.text_at("/status")
        },
    );
    table.demand(
        "view.snoozed",
        "The view `snoozed` has the conversations with a `snoozedUntil`",
        WORLD,
        |s| async move {
            let id = s.live_conversation().await?;
            let until = json!({ "until": "2099-01-01T00:00:00Z" });
            s.control()?.post(&format!("/conversations/{id}/snooze"), until).await?;
            let live = s.live()?;
            live.get(format!("/conversations/{id}")).await?.text_at("/snoozedUntil")?;
            let list = live.get("/conversations?view=snoozed").await?;
            list.must(
                list.list()?.iter().any(|it| it["id"] == id.as_str()),
                "the snoozed conversation in the list",
            )
        },
    );
    table.observe(
        "view.snoozed.elsewhere",
        "Whether a snoozed conversation is in the view of its status too",
        "no",
        WORLD,
        |s| async move {
            let id = s.live_conversation().await?;
            let until = json!({ "until": "2099-01-01T00:00:00Z" });
            s.control()?.post(&format!("/conversations/{id}/snooze"), until).await?;
            let live = s.live()?;
            for status in ["open", "waiting", "closed"] {
                live.post(format!("/conversations/{id}/status"), &json!({ "status": status }))
                    .await?
                    .done()?;
                let list = live.get(format!("/conversations?view={status}")).await?;
                if list.list()?.iter().any(|it| it["id"] == id.as_str()) {
                    return Ok("yes".into());
                }
            }
            Ok("no".into())
        },
    );
    for (id, says, mock, written) in [
        ("view.snoozed.inbound", "A closed and snoozed conversation after the customer wrote", "open", true),
        ("view.snoozed.over", "A waiting and snoozed conversation when the time has come", "waiting", false),
    ] {
        table.observe(id, says, mock, WORLD, move |s| async move {
            let (id, live, until) = (s.live_conversation().await?, s.live()?, "2099-01-01T00:00:00Z");
            let status = json!({ "status": if written { "closed" } else { "waiting" } });
            live.post(format!("/conversations/{id}/status"), &status).await?.done()?;
            s.control()?.post(&format!("/conversations/{id}/snooze"), json!({ "until": until })).await?;
            if written {
                s.mail(json!({ "conversationId": id })).await?;
            } else {
                let now = s.control()?.now().await?;
                s.advance((time(until).unwrap_or_default() - now).max(0.0).ceil() as u64).await?;
            }
            let read = live.get(format!("/conversations/{id}")).await?;
            let snoozed = !read.done()?["snoozedUntil"].is_null();
            Ok(format!("{}{}", read.text_at("/status")?, if snoozed { ", snoozed" } else { "" }))
        });
    }
}

fn notes(table: &mut Table) {
    let note = || json!({ "body": "A note" });
    answers(table, "notes", "notes", 201, note);
    refused(table, "notes.body.required", "`body` is required", "notes", "body", || json!({}));
    refused(
        table,
        "notes.body.min",
        "`body` has at least 1 character",
        "notes",
        "body",
        || json!({ "body": "" }),
    );
    refused(table, "notes.body.type", "`body` is a string", "notes", "body", || json!({ "body": 7 }));
    border(
        table,
        "notes.body.max",
        "`body` has at most 10,000 characters",
        ("notes", "body"),
        || json!({ "body": "x".repeat(10_000) }),
        || json!({ "body": "x".repeat(10_001) }),
    );
    not_found(table, "notes.404", "notes", note);
    table.demand("notes.each", "Each call makes a new note", WRITE, |s| async move {
        let id = s.conversation().await?;
        for _ in 0..2 {
            s.act(&id, "notes", &json!({ "body": "The same" })).await?.done()?;
        }
        let read = s.read(&id).await?;
        let notes = timeline(&read)?.iter().filter(|it| it["type"] == "note").count();
        read.must(notes == 2, "two notes")
    });
    table.demand(
        "notes.shown",
        "The note is in the timeline, with the words that were sent",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            let word = s.word("note");
            s.act(&id, "notes", &json!({ "body": word })).await?.done()?;
            let read = s.read(&id).await?;
            let there = timeline(&read)?.iter().any(|it| it["type"] == "note" && it["body"] == word.as_str());
            read.must(there, "a note with these words")
        },
    );
    table.demand("notes.never-mailed", "A note never reaches the customer", WORLD, |s| async move {
        let id = s.live_conversation().await?;
        s.live()?
            .post(format!("/conversations/{id}/notes"), &json!({ "body": "Between us" }))
            .await?
            .done()?;
        s.advance(86_400).await?;
        match s.control()?.list("/outbox").await?.as_slice() {
            [] => Ok(()),
            mails => Err(RuleAbort::differs(
                "POST …/notes, and a day later",
                "no mail",
                format!("{} mails", mails.len()),
            )),
        }
    });
    table.observe(
        "notes.body.characters",
        "Whether characters of several bytes count once",
        "201",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            Ok(s.act(&id, "notes", &json!({ "body": "é".repeat(10_000) })).await?.status.to_string())
        },
    );
    table.observe("notes.unknown-field", "A body field that is not known", "201", WRITE, |s| async move {
        let id = s.conversation().await?;
        Ok(s.act(&id, "notes", &json!({ "body": "x", "color": "red" })).await?.status.to_string())
    });
    table.observe("notes.null", "`body` is null", "400", WRITE, |s| async move {
        let id = s.conversation().await?;
        Ok(s.act(&id, "notes", &json!({ "body": null })).await?.status.to_string())
    });
}
