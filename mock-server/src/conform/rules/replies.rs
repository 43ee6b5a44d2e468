//! Replies and document requests: drafts, the undo window, what goes out and what follows.

use serde_json::{Value, json};

use crate::conform::{
    fixtures::timeline,
    http::Api,
    rule::{DRAFT, Found, Needs, SEND, Table, WORLD},
    session::{Session, text},
    shape::{
        Field,
        Type::{Id, OneOf, Text, Time},
        field, optional, time,
    },
    stop::Stop,
};

const RESULT: &[Field] = &[
    field("messageId", Id("msg_")),
    field("status", OneOf(&["draft", "scheduled"])),
    optional("sendsAt", Time),
    optional("requestId", Id("req_")),
    optional("note", Text),
];

/// The two endpoints, with the least that each takes.
const REPLIES: (&str, fn() -> Value) = ("replies", || json!({ "body": "Hello" }));
const REQUESTS: (&str, fn() -> Value) =
    ("document-requests", || json!({ "documents": [{ "label": "Passport" }] }));

/// The least, and these fields.
fn with((what, least): (&'static str, fn() -> Value), more: Value) -> (&'static str, Value) {
    let mut body = least();
    if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
        body.extend(more.clone());
    }
    (what, body)
}

fn border(
    table: &mut Table,
    id: String,
    says: &str,
    endpoint: (&'static str, fn() -> Value),
    field: &'static str,
    good: impl Fn() -> Value + Send + Sync + 'static,
    bad: impl Fn() -> Value + Send + Sync + 'static,
) {
    table.demand(id, says, DRAFT, move |s| {
        let ((what, good), (_, bad)) = (with(endpoint, good()), with(endpoint, bad()));
        async move {
            let id = s.conversation().await?;
            s.act(&id, what, &good).await?.done()?;
            s.act(&id, what, &bad).await?.names(&[field])
        }
    });
}

fn refused(
    table: &mut Table,
    id: String,
    says: &str,
    what: &'static str,
    field: &'static str,
    bad: fn() -> Value,
) {
    table.demand(id, says, DRAFT, move |s| async move {
        let id = s.conversation().await?;
        s.act(&id, what, &bad()).await?.names(&[field])
    });
}

/// The message in the timeline of a conversation.
async fn message(api: &Api, conversation: &str, id: &str) -> Result<Value, Stop> {
    let read = api.get(format!("/conversations/{conversation}")).await?;
    let found = timeline(&read)?.into_iter().find(|it| it["id"] == id);
    found.ok_or_else(|| read.differs(format!("{id} in the timeline")))
}

/// A live conversation with a reply or request in it; gives the conversation and the answer.
async fn live(s: &Session, what: &str, body: Value) -> Result<(String, Value), Stop> {
    let id = s.live_conversation().await?;
    let made = s.live()?.post(format!("/conversations/{id}/{what}"), &body).await?;
    Ok((id, made.done()?.clone()))
}

fn unlike(request: &str, expected: &str, received: impl std::fmt::Display) -> Stop {
    Stop::differs(request, expected, received.to_string())
}

pub(super) fn add(table: &mut Table) {
    table.section("2.8");
    results(table);
    table.section("3.3");
    states(table);
    for (section, group, endpoint) in [("4.8", "replies", REPLIES), ("4.9", "requests", REQUESTS)] {
        table.section(section);
        common(table, group, endpoint);
        documents(table, group, endpoint);
    }
    table.section("4.8");
    bodies(table);
    table.section("4.9");
    requests(table);
}

fn results(table: &mut Table) {
    for (group, endpoint, send, needs) in [
        ("reply.draft", REPLIES, false, DRAFT),
        ("reply.sent", REPLIES, true, SEND),
        ("request.draft", REQUESTS, false, DRAFT),
        ("request.sent", REQUESTS, true, SEND),
    ] {
        table.fields(group, RESULT, needs, move |s| async move {
            let id = s.conversation().await?;
            let (what, body) = with(endpoint, json!({ "send": send }));
            let reply = s.act(&id, what, &body).await?;
            Ok(Found { items: vec![reply.done()?.clone()], reply })
        });
    }
    for (id, says, name, endpoint, send, needs) in [
        ("reply.sendsAt.presence", "Whether a sent reply has `sendsAt`", "sendsAt", REPLIES, true, SEND),
        ("reply.note.presence", "Whether a draft has `note`", "note", REPLIES, false, DRAFT),
        (
            "request.requestId.presence",
            "Whether a document request has `requestId`",
            "requestId",
            REQUESTS,
            false,
            DRAFT,
        ),
    ] {
        table.observe(id, says, "yes", needs, move |s| async move {
            let id = s.conversation().await?;
            let (what, body) = with(endpoint, json!({ "send": send }));
            let made = s.act(&id, what, &body).await?;
            Ok(if made.done()?.get(name).is_some() { "yes" } else { "no" }.into())
        });
    }
}

fn states(table: &mut Table) {
    for (id, says, endpoint, send, expected, needs) in [
        ("reply.is-draft", "Without `send` a reply is a draft", REPLIES, None, "draft", DRAFT),
        (
            "reply.is-draft.false",
            "With `send: false` a reply is a draft",
            REPLIES,
            Some(false),
            "draft",
            DRAFT,
        ),
        (
            "reply.is-scheduled",
            "With `send: true` a reply is scheduled",
            REPLIES,
            Some(true),
            "scheduled",
            SEND,
        ),
        ("request.is-draft", "Without `send` a document request is a draft", REQUESTS, None, "draft", DRAFT),
        (
            "request.is-scheduled",
            "With `send: true` a document request is scheduled",
            REQUESTS,
            Some(true),
            "scheduled",
            SEND,
        ),
    ] {
        table.demand(id, says, needs, move |s| async move {
            s.api().reserve(4).await?;
            let id = s.conversation().await?;
            let more = send.map_or(json!({}), |send| json!({ "send": send }));
            let (what, body) = with(endpoint, more);
            let made = s.act(&id, what, &body).await?;
            made.equals("/status", &json!(expected))?;
            let item = message(s.api(), &id, &made.text_at("/messageId")?).await?;
            match (item["direction"] == "outbound", item["status"] == expected) {
                (true, true) => Ok(()),
                _ => Err(unlike(
                    &made.request,
                    &format!("an outbound message, {expected}, in the timeline"),
                    item,
                )),
            }
        });
    }
    table.demand(
        "reply.undo.sandbox",
        "A sent reply leaves after 5 seconds in the sandbox",
        SEND,
        |s| async move {
            s.api().reserve(4).await?;
            let id = s.conversation().await?;
            let made = s.act(&id, "replies", &json!({ "body": "Hello", "send": true })).await?;
            let sent = made.text_at("/messageId")?;
            let early = message(s.api(), &id, &sent).await?["status"].clone();
            s.wait(std::time::Duration::from_secs(7)).await;
            let late = message(s.api(), &id, &sent).await?["status"].clone();
            match early == "scheduled" && late == "sent" {
                true => Ok(()),
                false => Err(unlike(
                    &made.request,
                    "scheduled at once, and sent 7 seconds later",
                    format!("{early}, then {late}"),
                )),
            }
        },
    );
    table.demand("reply.undo.live", "A sent reply leaves after 10 minutes", WORLD, |s| async move {
        let (id, made) = live(&s, "replies", json!({ "body": "Hello", "send": true })).await?;
        let (api, sent) = (s.live()?, text(&made["messageId"]));
        s.advance(595).await?;
        let early = message(&api, &id, &sent).await?["status"].clone();
        s.advance(10).await?;
        let late = message(&api, &id, &sent).await?["status"].clone();
        match early == "scheduled" && late == "sent" {
            true => Ok(()),
            false => Err(unlike(
                "POST …/replies with send",
                "scheduled after 9:55, sent after 10:05",
                format!("{early}, then {late}"),
            )),
        }
    });
    table.demand(
        "reply.sendsAt.live",
        "`sendsAt` is the end of the undo window, 10 minutes on",
        WORLD,
        |s| async move {
            let now = time(&text(&s.control()?.get("/clock").await?["now"])).unwrap_or_default();
            let (_, made) = live(&s, "replies", json!({ "body": "Hello", "send": true })).await?;
            let Some(at) = made["sendsAt"].as_str().and_then(time) else { return Ok(()) };
            match (at - now - 600.0).abs() < 2.0 {
                true => Ok(()),
                false => Err(unlike(
                    "POST …/replies with send",
                    "`sendsAt` 600 seconds from now",
                    format!("{} seconds", at - now),
                )),
            }
        },
    );
    table.demand(
        "reply.stop",
        "Anyone on the team can stop a reply during the window",
        WORLD,
        |s| async move {
            let (id, made) = live(&s, "replies", json!({ "body": "Hello", "send": true })).await?;
            let sent = text(&made["messageId"]);
            s.control()?.post(&format!("/messages/{sent}/stop"), json!({})).await?;
            s.advance(86_400).await?;
            let status = message(&s.live()?, &id, &sent).await?["status"].clone();
            match status == "sent" || !s.control()?.list("/outbox").await?.is_empty() {
                false => Ok(()),
                true => Err(unlike(
                    "POST …/replies with send, stopped within the window",
                    "nothing leaves",
                    status,
                )),
            }
        },
    );
    table.demand("draft.silent", "Nothing of a draft reaches the customer", WORLD, |s| async move {
        let (id, made) = live(&s, "replies", json!({ "body": "Hello" })).await?;
        s.advance(8 * 86_400).await?;
        let status = message(&s.live()?, &id, &text(&made["messageId"])).await?["status"].clone();
        match s.control()?.list("/outbox").await?.is_empty() && status == "draft" {
            true => Ok(()),
            false => Err(unlike("POST …/replies, and eight days later", "a draft, and no mail", status)),
        }
    });
    table.demand(
        "draft.queue",
        "A draft waits in the approval queue with its summary",
        WORLD,
        |s| async move {
            let (_, made) = live(&s, "replies", json!({ "body": "Hello", "summary": "Says hello" })).await?;
            let queue = s.control()?.list("/approvals").await?;
            let there =
                queue.iter().any(|it| it["messageId"] == made["messageId"] && it["summary"] == "Says hello");
            if there {
                Ok(())
            } else {
                Err(unlike(
                    "POST …/replies with a summary",
                    "the draft in the queue, with its summary",
                    json!(queue),
                ))
            }
        },
    );
    table.demand(
        "draft.approved",
        "A draft that a person approves goes out after the undo window",
        WORLD,
        |s| async move {
            let (id, made) = live(&s, "replies", json!({ "body": "Hello" })).await?;
            let (api, draft) = (s.live()?, text(&made["messageId"]));
            s.control()?.post(&format!("/messages/{draft}/approve"), json!({})).await?;
            s.advance(595).await?;
            let early = message(&api, &id, &draft).await?["status"].clone();
            s.advance(10).await?;
            let late = message(&api, &id, &draft).await?["status"].clone();
            match early == "scheduled" && late == "sent" {
                true => Ok(()),
                false => Err(unlike(
                    "a draft, approved by a person",
                    "scheduled after 9:55, sent after 10:05",
                    format!("{early}, then {late}"),
                )),
            }
        },
    );
    table.demand("draft.edited", "A person may edit a draft before approving it", WORLD, |s| async move {
        let (id, made) = live(&s, "replies", json!({ "body": "Hello" })).await?;
        let draft = text(&made["messageId"]);
        s.control()?.post(&format!("/messages/{draft}/approve"), json!({ "body": "Good day" })).await?;
        s.advance(600).await?;
        let shown = message(&s.live()?, &id, &draft).await?["text"].clone();
        if shown == "Good day" {
            Ok(())
        } else {
            Err(unlike("a draft, edited and approved", "the edited text", shown))
        }
    });
    table.observe(
        "reply.conversation-status",
        "The status of an open conversation after mail went out",
        "waiting",
        WORLD,
        |s| async move {
            let (id, _) = live(&s, "replies", json!({ "body": "Hello", "send": true })).await?;
            s.advance(605).await?;
            s.live()?.get(format!("/conversations/{id}")).await?.text_at("/status")
        },
    );
    table.observe(
        "reply.stopped.status",
        "The status of a message that was stopped",
        "draft",
        WORLD,
        |s| async move {
            let (id, made) = live(&s, "replies", json!({ "body": "Hello", "send": true })).await?;
            let sent = text(&made["messageId"]);
            s.control()?.post(&format!("/messages/{sent}/stop"), json!({})).await?;
            Ok(text(&message(&s.live()?, &id, &sent).await?["status"]))
        },
    );
}

/// What holds for both endpoints.
fn common(table: &mut Table, group: &'static str, endpoint: (&'static str, fn() -> Value)) {
    let (what, least) = endpoint;
    table.demand(format!("{group}.status"), "It answers 201", DRAFT, move |s| async move {
        let id = s.conversation().await?;
        s.act(&id, what, &least()).await?.is(201).map(drop)
    });
    table.demand(
        format!("{group}.404"),
        "On a conversation that is not there it is a 404",
        DRAFT,
        move |s| async move { s.act("cnv_0", what, &least()).await?.refused(404).map(drop) },
    );
    table.demand(format!("{group}.each"), "Each call makes a new one", DRAFT, move |s| async move {
        let id = s.conversation().await?;
        let first = s.act(&id, what, &least()).await?.text_at("/messageId")?;
        let second = s.act(&id, what, &least()).await?;
        second.must(second.text_at("/messageId")? != first, "another `messageId`")?;
        let read = s.read(&id).await?;
        let drafts = timeline(&read)?.iter().filter(|it| it["direction"] == "outbound").count();
        read.must(drafts == 2, "two outbound messages")
    });
    border(
        table,
        format!("{group}.send.type"),
        "`send` is a boolean",
        endpoint,
        "send",
        || json!({ "send": false }),
        || json!({ "send": "yes" }),
    );
}

/// The documents that are asked for.
fn documents(table: &mut Table, group: &'static str, endpoint: (&'static str, fn() -> Value)) {
    let items = |n: usize| json!({ "documents": vec![json!({ "label": "x" }); n] });
    let one = |item: Value| json!({ "documents": [item] });
    border(
        table,
        format!("{group}.documents.max"),
        "There are at most 20 documents",
        endpoint,
        "documents",
        move || items(20),
        move || items(21),
    );
    border(
        table,
        format!("{group}.label.max"),
        "`label` has at most 120 characters",
        endpoint,
        "documents",
        move || one(json!({ "label": "x".repeat(120) })),
        move || one(json!({ "label": "x".repeat(121) })),
    );
    border(
        table,
        format!("{group}.description.max"),
        "`description` has at most 500 characters",
        endpoint,
        "documents",
        move || one(json!({ "label": "x", "description": "x".repeat(500) })),
        move || one(json!({ "label": "x", "description": "x".repeat(501) })),
    );
    border(
        table,
        format!("{group}.label.required"),
        "`label` is required",
        endpoint,
        "documents",
        move || one(json!({ "label": "x" })),
        move || one(json!({ "description": "x" })),
    );
    border(
        table,
        format!("{group}.required.type"),
        "`required` is a boolean",
        endpoint,
        "documents",
        move || one(json!({ "label": "x", "required": false })),
        move || one(json!({ "label": "x", "required": 1 })),
    );
    border(
        table,
        format!("{group}.documents.type"),
        "`documents` is an array of objects",
        endpoint,
        "documents",
        move || one(json!({ "label": "x" })),
        || json!({ "documents": "Passport" }),
    );
    let request = if group == "replies" {
        json!({ "body": "Hello", "documents": [{ "label": "Passport" }] })
    } else {
        json!({ "documents": [{ "label": "Passport" }] })
    };
    let what = endpoint.0;
    let body = request.clone();
    table.demand(format!("{group}.checklist"), "The checklist stands under the text", DRAFT, move |s| {
        let body = body.clone();
        async move {
            let id = s.conversation().await?;
            let made = s.act(&id, what, &body).await?;
            let item = message(s.api(), &id, &made.text_at("/messageId")?).await?;
            let shown = text(&item["text"]);
            match shown.contains("Passport") {
                true => Ok(()),
                false => Err(unlike(&made.request, "a text with the label of the document", &shown)),
            }
        }
    });
    let body = request.clone();
    table.demand(
        format!("{group}.link.draft"),
        "The upload link of a draft is added when a person approves it",
        WORLD,
        move |s| {
            let body = body.clone();
            async move {
                let (id, made) = live(&s, what, body).await?;
                let (api, draft) = (s.live()?, text(&made["messageId"]));
                let before = text(&message(&api, &id, &draft).await?["text"]).contains("://");
                s.control()?.post(&format!("/messages/{draft}/approve"), json!({})).await?;
                s.advance(600).await?;
                let after = text(&message(&api, &id, &draft).await?["text"]).contains("://");
                match !before && after {
                    true => Ok(()),
                    false => Err(unlike(
                        "a draft with documents, approved",
                        "a link after the approval alone",
                        format!("before: {before}, after: {after}"),
                    )),
                }
            }
        },
    );
    table.demand(format!("{group}.reminders"), "Reminders follow on days 2, 4 and 7", WORLD, move |s| {
        let mut body = request.clone();
        body["send"] = json!(true);
        async move {
            live(&s, what, body).await?;
            s.advance(600).await?;
            let sent = time(&text(&s.control()?.get("/clock").await?["now"])).unwrap_or_default();
            s.advance(12 * 86_400).await?;
            let outbox = s.control()?.list("/outbox").await?;
            let days: Vec<i64> = outbox
                .iter()
                .filter(|it| it["kind"] == "reminder")
                .filter_map(|it| time(&text(&it["at"])))
                .map(|at| ((at - sent) / 86_400.0).round() as i64)
                .collect();
            match days == [2, 4, 7] {
                true => Ok(()),
                false => Err(unlike(
                    "documents asked for, and twelve days later",
                    "reminders on days 2, 4 and 7",
                    format!("days {days:?}"),
                )),
            }
        }
    });
}

fn bodies(table: &mut Table) {
    refused(table, "replies.body.required".into(), "`body` is required", "replies", "body", || json!({}));
    refused(
        table,
        "replies.body.type".into(),
        "`body` is a string",
        "replies",
        "body",
        || json!({ "body": 1 }),
    );
    for (field, most, says) in [
        ("body", 50_000, "`body` has at most 50,000 characters"),
        ("summary", 500, "`summary` has at most 500 characters"),
    ] {
        border(
            table,
            format!("replies.{field}.max"),
            says,
            REPLIES,
            field,
            move || json!({ field: "x".repeat(most) }),
            move || json!({ field: "x".repeat(most + 1) }),
        );
    }
    refused(
        table,
        "replies.summary.type".into(),
        "`summary` is a string",
        "replies",
        "summary",
        || json!({ "body": "x", "summary": 1 }),
    );
    table.demand(
        "replies.text",
        "The reply is in the timeline with the words that were sent",
        DRAFT,
        |s| async move {
            let (id, word) = (s.conversation().await?, s.word("reply"));
            let made = s.act(&id, "replies", &json!({ "body": word })).await?;
            let item = message(s.api(), &id, &made.text_at("/messageId")?).await?;
            match item["text"] == word.as_str() {
                true => Ok(()),
                false => Err(unlike(&made.request, &format!("`text`: {word}"), &item["text"])),
            }
        },
    );
    table.demand(
        "replies.documents.optional",
        "`documents` is optional, and without it nothing is added",
        DRAFT,
        |s| async move {
            let id = s.conversation().await?;
            let made = s.act(&id, "replies", &json!({ "body": "Hello" })).await?;
            made.must(made.done()?.get("requestId").is_none_or(Value::is_null), "no `requestId`")
        },
    );
    table.observe("replies.body.empty", "An empty `body`", "201", DRAFT, |s| async move {
        let id = s.conversation().await?;
        Ok(s.act(&id, "replies", &json!({ "body": "" })).await?.status.to_string())
    });
    table.observe(
        "replies.documents.empty",
        "An empty list of documents in a reply",
        "201",
        DRAFT,
        |s| async move {
            let id = s.conversation().await?;
            Ok(s.act(&id, "replies", &json!({ "body": "x", "documents": [] })).await?.status.to_string())
        },
    );
}

fn requests(table: &mut Table) {
    refused(
        table,
        "requests.documents.required".into(),
        "`documents` is required",
        "document-requests",
        "documents",
        || json!({}),
    );
    border(
        table,
        "requests.message.max".into(),
        "`message` has at most 5,000 characters",
        REQUESTS,
        "message",
        || json!({ "message": "x".repeat(5_000) }),
        || json!({ "message": "x".repeat(5_001) }),
    );
    border(
        table,
        "requests.dueDate.format".into(),
        "`dueDate` is a date alone, four digits, two and two",
        REQUESTS,
        "dueDate",
        || json!({ "dueDate": "2036-03-01" }),
        || json!({ "dueDate": "2036-3-1" }),
    );
    border(
        table,
        "requests.dueDate.time".into(),
        "`dueDate` has no time",
        REQUESTS,
        "dueDate",
        || json!({ "dueDate": "2036-03-01" }),
        || json!({ "dueDate": "2036-03-01T00:00:00Z" }),
    );
    table.demand("requests.message.shown", "`message` stands above the checklist", DRAFT, |s| async move {
        let (id, word) = (s.conversation().await?, s.word("above"));
        let body = json!({ "documents": [{ "label": "Passport" }], "message": word });
        let made = s.act(&id, "document-requests", &body).await?;
        let shown = text(&message(s.api(), &id, &made.text_at("/messageId")?).await?["text"]);
        match shown.find(&word).zip(shown.find("Passport")).is_some_and(|(above, below)| above < below) {
            true => Ok(()),
            false => Err(unlike(&made.request, "the message, then the label", &shown)),
        }
    });
    for (id, says, mock, body) in [
        (
            "requests.documents.empty",
            "An empty list of documents",
            "400",
            (|| json!({ "documents": [] })) as fn() -> Value,
        ),
        (
            "requests.dueDate.missing-day",
            "A due date that does not exist",
            "400",
            || json!({ "documents": [{ "label": "x" }], "dueDate": "2036-02-30" }),
        ),
        (
            "requests.dueDate.past",
            "A due date that has passed",
            "201",
            || json!({ "documents": [{ "label": "x" }], "dueDate": "2001-01-01" }),
        ),
    ] {
        table.observe(id, says, mock, DRAFT as Needs, move |s| async move {
            let id = s.conversation().await?;
            Ok(s.act(&id, "document-requests", &body()).await?.status.to_string())
        });
    }
    table.demand(
        "requests.upload",
        "What the contact uploads is filed as a document",
        WORLD,
        |s| async move {
            let (id, made) = live(
                &s,
                "document-requests",
                json!({ "documents": [{ "label": "Passport" }], "send": true }),
            )
            .await?;
            s.advance(600).await?;
            let upload = json!({ "item": 0, "filename": "passport.pdf" });
            s.control()?
                .post(&format!("/document-requests/{}/uploads", text(&made["requestId"])), upload)
                .await?;
            let list = s.live()?.get("/documents").await?;
            let filed = list
                .list()?
                .iter()
                .any(|it| it["filename"] == "passport.pdf" && it["conversationId"] == id.as_str());
            list.must(filed, "passport.pdf of this conversation")
        },
    );
    table.demand(
        "requests.reminders.complete",
        "No reminder follows when everything is in",
        WORLD,
        |s| async move {
            let (_, made) = live(
                &s,
                "document-requests",
                json!({ "documents": [{ "label": "Passport" }], "send": true }),
            )
            .await?;
            s.advance(600).await?;
            let upload = json!({ "item": 0, "filename": "passport.pdf" });
            s.control()?
                .post(&format!("/document-requests/{}/uploads", text(&made["requestId"])), upload)
                .await?;
            s.advance(10 * 86_400).await?;
            let outbox = s.control()?.list("/outbox").await?;
            let reminders = outbox.iter().filter(|it| it["kind"] == "reminder").count();
            if reminders == 0 {
                Ok(())
            } else {
                Err(unlike(
                    "documents asked for and uploaded",
                    "no reminder",
                    format!("{reminders} reminders"),
                ))
            }
        },
    );
}
