//! Notes, status, tags and assignment.

use serde_json::{Value, json};

use crate::conform::{
    fixtures::timeline,
    http::{Api, Call},
    reply::Reply,
    rule::{Table, WORLD, WRITE},
    session::{Session, text},
    stop::Stop,
};

/// The items of a conversation's timeline that fit.
async fn count(s: &Session, id: &str, fits: impl Fn(&Value) -> bool) -> Result<usize, Stop> {
    Ok(timeline(&s.read(id).await?)?.iter().filter(|it| fits(it)).count())
}

fn is_event(name: &'static str) -> impl Fn(&Value) -> bool {
    move |it| it["type"] == "event" && it["event"] == name
}

/// That input at the border is taken and beyond it refused, with the field's name.
fn border(
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
fn refused(
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

fn not_found(table: &mut Table, id: &str, what: &'static str, body: fn() -> Value) {
    let says = format!("POST …/{what} on a conversation that is not there is a 404");
    table.demand(id, says, WRITE, move |s| async move {
        s.act("cnv_0", what, &body()).await?.refused(404).map(drop)
    });
}

/// The status of a response that was a success, and its body `{ok: true}`.
fn answers(table: &mut Table, group: &str, what: &'static str, status: u16, body: fn() -> Value) {
    table.demand(format!("{group}.status"), format!("It answers {status}"), WRITE, move |s| async move {
        let id = s.conversation().await?;
        s.act(&id, what, &body()).await?.is(status).map(drop)
    });
    table.demand(format!("{group}.ok"), "It answers `{ok: true}`", WRITE, move |s| async move {
        let id = s.conversation().await?;
        s.act(&id, what, &body()).await?.equals("/ok", &json!(true))
    });
}

pub(super) fn add(table: &mut Table) {
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
    table.section("4.6");
    tags(table);
    table.section("4.7");
    assignment(table);
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
            let list = s.live()?.get("/conversations?view=open").await?;
            Ok(if list.list()?.iter().any(|it| it["id"] == id.as_str()) { "yes" } else { "no" }.into())
        },
    );
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
            mails => Err(Stop::differs(
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

fn tags(table: &mut Table) {
    answers(table, "tags", "tags", 200, || json!({ "add": [] }));
    table.demand("tags.no-body", "The body itself is optional", WRITE, |s| async move {
        let id = s.conversation().await?;
        let call = Call {
            method: reqwest::Method::POST,
            path: format!("/conversations/{id}/tags"),
            ..Call::default()
        };
        s.api().send(&call).await?.is(200).map(drop)
    });
    table.demand("tags.add", "`add` gives the conversation these tags", WRITE, |s| async move {
        let (id, tag) = (s.conversation().await?, s.word("tag"));
        s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
        let read = s.read(&id).await?;
        has_tag(&read, &tag, 1)
    });
    table.demand("tags.remove", "`remove` takes them away", WRITE, |s| async move {
        let (id, tag) = (s.conversation().await?, s.word("tag"));
        s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
        s.act(&id, "tags", &json!({ "remove": [tag] })).await?.done()?;
        has_tag(&s.read(&id).await?, &tag, 0)
    });
    table.demand("tags.created", "Unknown names are created", WRITE, |s| async move {
        let (id, tag) = (s.conversation().await?, s.word("tag"));
        s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
        let list = s.api().get("/tags").await?;
        list.must(list.list()?.iter().any(|it| it["name"] == tag.as_str()), "the new name in GET /tags")
    });
    table.demand("tags.once", "A tag already present is not added twice", WRITE, |s| async move {
        let (id, tag) = (s.conversation().await?, s.word("tag"));
        for _ in 0..2 {
            s.act(&id, "tags", &json!({ "add": [tag, tag] })).await?.done()?;
        }
        has_tag(&s.read(&id).await?, &tag, 1)
    });
    let names = |n: usize| (0..n).map(|i| format!("conform{i}")).collect::<Vec<_>>();
    for (id, list) in [("tags.add.max", "add"), ("tags.remove.max", "remove")] {
        let says = format!("`{list}` has at most 10 items");
        border(
            table,
            id,
            &says,
            ("tags", list),
            move || json!({ list: if list == "add" { vec![names(1)[0].clone(); 10] } else { names(10) } }),
            move || json!({ list: names(11) }),
        );
    }
    border(
        table,
        "tags.name.max",
        "A name has at most 40 characters",
        ("tags", "add"),
        || json!({ "add": ["x".repeat(40)], "remove": [] }),
        || json!({ "add": ["x".repeat(41)] }),
    );
    refused(
        table,
        "tags.name.min",
        "A name has at least 1 character",
        "tags",
        "add",
        || json!({ "add": [""] }),
    );
    refused(
        table,
        "tags.remove.name.max",
        "A name in `remove` has at most 40 characters",
        "tags",
        "remove",
        || json!({ "remove": ["x".repeat(41)] }),
    );
    refused(
        table,
        "tags.remove.name.min",
        "A name in `remove` has at least 1 character",
        "tags",
        "remove",
        || json!({ "remove": [""] }),
    );
    refused(table, "tags.add.type", "`add` is an array of strings", "tags", "add", || json!({ "add": "x" }));
    refused(table, "tags.add.item.type", "Each name is a string", "tags", "add", || json!({ "add": [1] }));
    refused(
        table,
        "tags.remove.type",
        "`remove` is an array of strings",
        "tags",
        "remove",
        || json!({ "remove": {} }),
    );
    not_found(table, "tags.404", "tags", || json!({ "add": ["conform"] }));
    table.demand("tags.repeat", "Repeating the same request is harmless", WRITE, |s| async move {
        let (id, tag) = (s.conversation().await?, s.word("tag"));
        s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
        let before = s.read(&id).await?.done()?["tags"].clone();
        s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
        s.read(&id).await?.equals("/tags", &before)
    });
    table.observe(
        "tags.remove.unknown",
        "Removing a name that the conversation does not have",
        "200",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            Ok(s.act(&id, "tags", &json!({ "remove": [s.word("tag")] })).await?.status.to_string())
        },
    );
    table.observe(
        "tags.event",
        "The event of the timeline that records a tag",
        r#"tags {"added":["conform"],"removed":[]}"#,
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "tags", &json!({ "add": ["conform"] })).await?.done()?;
            let items = timeline(&s.read(&id).await?)?;
            s.act(&id, "tags", &json!({ "remove": ["conform"] })).await?;
            let event = items.iter().rfind(|it| it["type"] == "event");
            Ok(event.map_or("none".into(), |it| format!("{} {}", text(&it["event"]), it["data"])))
        },
    );
    table.observe(
        "tags.repeat.event",
        "Adding a tag again: events of the timeline",
        "none",
        WRITE,
        |s| async move {
            let (id, tag) = (s.conversation().await?, s.word("tag"));
            s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
            let before = count(&s, &id, |it| it["type"] == "event").await?;
            s.act(&id, "tags", &json!({ "add": [tag] })).await?.done()?;
            let after = count(&s, &id, |it| it["type"] == "event").await?;
            Ok(if after == before { "none".into() } else { format!("{} more", after - before) })
        },
    );
}

fn has_tag(read: &Reply, tag: &str, times: usize) -> Result<(), Stop> {
    let tags = &read.done()?["tags"];
    let count = tags.as_array().map_or(0, |tags| tags.iter().filter(|it| *it == tag).count());
    match count == times {
        true => Ok(()),
        false => Err(read.differs_in(format!("the tag {times} times"), "tags", tags)),
    }
}

fn assignment(table: &mut Table) {
    answers(table, "assign", "assign", 200, || json!({ "to": "none" }));
    refused(table, "assign.to.required", "`to` is required", "assign", "to", || json!({}));
    refused(table, "assign.to.type", "`to` is a string", "assign", "to", || json!({ "to": null }));
    refused(
        table,
        "assign.to.max",
        "`to` has at most 80 characters",
        "assign",
        "to",
        || json!({ "to": format!("agent:agt_{}", "x".repeat(71)) }),
    );
    refused(
        table,
        "assign.to.form",
        "`to` is `user:usr_…`, `agent:agt_…`, `me` or `none`",
        "assign",
        "to",
        || json!({ "to": "anna" }),
    );
    for (id, to) in [("assign.user.unknown", "user:usr_0"), ("assign.agent.unknown", "agent:agt_0")] {
        table.demand(id, "Someone who is not on the team is a 400", WRITE, move |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "assign", &json!({ "to": to })).await?.refused(400).map(drop)
        });
    }
    not_found(table, "assign.404", "assign", || json!({ "to": "me" }));
    table.demand("assign.me", "`me` is the agent of the key", WRITE, |s| async move {
        let id = s.conversation().await?;
        let me = s.api().get("/me").await?.text_at("/agent/id")?;
        s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
        s.read(&id).await?.equals("/assignee/id", &json!(me))
    });
    table.demand("assign.none", "`none` takes the assignee away", WRITE, |s| async move {
        let id = s.conversation().await?;
        s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
        s.act(&id, "assign", &json!({ "to": "none" })).await?.done()?;
        s.read(&id).await?.equals("/assignee", &Value::Null)
    });
    table.demand(
        "assign.agent",
        "An id from `team.agents` can be assigned to, as it is",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            give_to(s.api(), &id, "agents", "agent").await
        },
    );
    table.demand(
        "assign.user",
        "An id from `team.people` can be assigned to, as it is",
        WORLD,
        |s| async move {
            let id = s.live_conversation().await?;
            give_to(&s.live()?, &id, "people", "user").await
        },
    );
    table.demand("assign.repeat", "Repeating the same request is harmless", WRITE, |s| async move {
        let id = s.conversation().await?;
        s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
        let before = s.read(&id).await?.done()?["assignee"].clone();
        s.act(&id, "assign", &json!({ "to": "me" })).await?.is(200)?;
        s.read(&id).await?.equals("/assignee", &before)
    });
    table.demand("assign.cannot-see", "Someone who cannot see the inbox is a 400", WORLD, |s| async move {
        let control = s.control()?;
        let owner = text(&control.post("/users", json!({ "name": "Ben" })).await?["id"]);
        let other = text(&control.post("/users", json!({ "name": "Cleo" })).await?["id"]);
        let inbox = json!({ "address": "ben@acme.example", "name": "Ben", "owner": owner });
        control.post("/mailboxes", inbox).await?;
        let id = text(&s.mail(json!({ "to": "ben@acme.example" })).await?["conversationId"]);
        let key = json!({ "name": "Ben's", "scopes": ["write"], "livemode": true, "createdBy": owner });
        let (api, _) = s.key(key).await?;
        let to = json!({ "to": format!("user:{other}") });
        api.post(format!("/conversations/{id}/assign"), &to).await?.refused(400)?;
        let to = json!({ "to": format!("user:{owner}") });
        api.post(format!("/conversations/{id}/assign"), &to).await?.is(200).map(drop)
    });
    table.observe(
        "assign.event",
        "The event of the timeline that records an assignment",
        "assigned",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
            let items = timeline(&s.read(&id).await?)?;
            Ok(items.iter().rfind(|it| it["type"] == "event").map_or("none".into(), |it| text(&it["event"])))
        },
    );
    table.observe(
        "assign.same.event",
        "Assigning to the same one again: events of the timeline",
        "none",
        WRITE,
        |s| async move {
            let id = s.conversation().await?;
            s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
            let before = count(&s, &id, is_event("assigned")).await?;
            s.act(&id, "assign", &json!({ "to": "me" })).await?.done()?;
            let after = count(&s, &id, is_event("assigned")).await?;
            Ok(if after == before { "none".into() } else { format!("{} more", after - before) })
        },
    );
}

/// Assigns a conversation to the first of its team.
async fn give_to(api: &Api, id: &str, part: &str, kind: &str) -> Result<(), Stop> {
    let read = api.get(format!("/conversations/{id}")).await?;
    let member = read.done()?["team"][part][0]["id"].clone();
    if member.is_null() {
        return Err(read.differs(format!("somebody in `team.{part}`")));
    }
    api.post(format!("/conversations/{id}/assign"), &json!({ "to": member })).await?.done()?;
    let read = api.get(format!("/conversations/{id}")).await?;
    read.equals("/assignee/type", &json!(kind))?;
    read.equals("/assignee/id", &json!(text(&member).replace(&format!("{kind}:"), "")))
}
