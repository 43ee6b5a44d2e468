//! Replies: their results, limits and texts, and what document requests have in common with them.

use serde_json::{Value, json};

use crate::{
    check::fixture_types::Found,
    check::fixture_types::timeline,
    check::session::Session,
    rule::{DRAFT, SEND, Table},
    rule_abort::{RuleAbort, must},
    shape::{
        Field,
        Type::{Id, OneOf, Text, Time},
        field, optional,
    },
    wire::http::Api,
};

const RESULT: &[Field] = &[
    field("messageId", Id("msg_")),
    field("status", OneOf(&["draft", "scheduled"])),
    optional("sendsAt", Time),
    optional("requestId", Id("req_")),
    optional("note", Text),
];

/// The two endpoints, with the least that each takes.
pub(crate) const REPLIES: (&str, fn() -> Value) = ("replies", || json!({ "body": "Hello" }));

pub(crate) const REQUESTS: (&str, fn() -> Value) =
    ("document-requests", || json!({ "documents": [{ "label": "Passport" }] }));

/// Returns the smallest body, with these fields added.
pub(crate) fn with((what, least): (&'static str, fn() -> Value), more: Value) -> (&'static str, Value) {
    let mut body = least();
    if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
        body.extend(more.clone());
    }
    (what, body)
}

pub(crate) fn border(
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

pub(crate) fn refused(
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

/// Returns the message in the timeline of a conversation.
pub(crate) async fn message(api: &Api, conversation: &str, id: &str) -> Result<Value, RuleAbort> {
    let read = api.get(format!("/conversations/{conversation}")).await?;
    let found = timeline(&read)?.into_iter().find(|it| it["id"] == id);
    found.ok_or_else(|| read.differs(format!("{id} in the timeline")))
}

/// Returns a live conversation with a reply or request in it; gives the conversation and the answer.
pub(crate) async fn live(s: &Session, what: &str, body: Value) -> Result<(String, Value), RuleAbort> {
    let id = s.live_conversation().await?;
    let made = s.live()?.post(format!("/conversations/{id}/{what}"), &body).await?;
    Ok((id, made.done()?.clone()))
}

pub(crate) fn add(table: &mut Table) {
    table.section("2.8");
    results(table);
    for (section, group, endpoint) in [("4.8", "replies", REPLIES), ("4.9", "requests", REQUESTS)] {
        table.section(section);
        common(table, group, endpoint);
    }
    table.section("4.8");
    bodies(table);
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

/// Adds the rules that hold for both endpoints.
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
            must(item["text"] == word.as_str(), &made.request, format!("`text`: {word}"), &item["text"])
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
