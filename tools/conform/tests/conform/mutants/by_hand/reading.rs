//! What is read: the form of responses, lists, inboxes, tags and documents.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::{
    LIST, Named, READ, as_text, entries, events, items, list, named, remove, status_only, without_parameter,
};
use crate::{
    mutants::{after, before, edit, rules_below, status},
    proxy::{Changes, Route},
};

pub(super) fn forms() -> Named {
    let mut mutants = named([
        ("json.me", as_text("GET /me")),
        ("json.conversations", as_text(LIST)),
        ("json.mailboxes", as_text("GET /mailboxes")),
        ("json.tags", as_text("GET /tags")),
        ("json.documents", as_text("GET /documents")),
        ("json.created", as_text("POST /conversations/*/notes")),
        ("json.error", as_text(READ)),
        ("me.status", status_only("GET /me", 202)),
        ("me.scopes", edit("GET /me", |it| it["scopes"] = json!(["read", "admin"]))),
        ("me.agent", edit("GET /me", |it| remove(it, "agent"))),
        (
            "summary.assignee.prefix",
            entries(LIST, |it| it["assignee"] = json!({ "id": "x_1", "name": "X", "type": "agent" })),
        ),
        ("summary.mailbox.name", entries(LIST, |it| it["mailbox"] = json!("sandbox@acme.test"))),
        ("conversation.mailbox.address", edit(READ, |it| it["mailbox"] = json!("Sandbox"))),
        (
            "conversation.assignee.prefix",
            edit(READ, |it| it["assignee"] = json!({ "id": "x_1", "name": "X", "type": "user" })),
        ),
        ("conversation.riskReasons.max", edit(READ, |it| it["riskReasons"] = json!(["a", "b", "c", "d"]))),
        ("conversation.sorting", edit(READ, |it| it["topic"] = json!("other"))),
        ("conversation.sorting", edit(READ, |it| it["riskReasons"] = json!(["a", "b", "c", "d"]))),
        ("team.visible", edit(READ, |it| it["team"]["people"] = json!([]))),
        (
            "team.visible",
            edit(READ, |it| {
                list(&mut it["team"]["agents"]).push(json!({ "id": "agent:agt_1", "name": "Unknown" }))
            }),
        ),
        ("conversation.all.summary.fields", edit(READ, |it| it["subject"] = json!("Another"))),
        ("timeline.order", edit(READ, |it| it["timeline"][0]["at"] = json!("2099-01-01T00:00:00.000Z"))),
        ("timeline.order", edit(READ, |it| list(&mut it["timeline"]).reverse())),
        ("attachment.filename", attached("filename", json!(7))),
        ("attachment.contentType", attached("contentType", json!(null))),
        ("attachment.size", attached("size", json!("7"))),
        ("timeline.types", items("note", |it| it["type"] = json!("letter"))),
        ("message.status.inbound", items("message", |it| it["status"] = json!("sent"))),
        ("message.text.max", items("message", |it| it["text"] = json!("x".repeat(9_000)))),
        (
            "message.text.quoted",
            items("message", |it| it["text"] = json!("that works. Have you tried to turn it off?")),
        ),
        (
            "team.people.id",
            edit(READ, |it| it["team"]["people"] = json!([{ "id": "usr_1", "name": "Anna" }])),
        ),
        ("team.agents.id", edit(READ, |it| it["team"]["agents"] = json!([{ "id": "agt_1", "name": "Bot" }]))),
        (
            "version.unknown-parameter",
            after("GET /mailboxes", |request, response| {
                if request.path.contains("cursor") {
                    response.set_json(&json!({ "items": [] }));
                }
            }),
        ),
    ]);
    for (kind, fields) in [
        ("message", &["id", "at", "direction", "from", "status", "text", "attachments"][..]),
        ("note", &["id", "at", "author", "body"]),
        ("event", &["at", "actor", "event", "data"]),
    ] {
        for field in fields {
            mutants.push((format!("{kind}.{field}"), items(kind, |it| remove(it, field))));
            mutants.push((format!("{kind}.{field}"), items(kind, |it| it[*field] = json!(7))));
        }
    }
    // Fields that are there only now and then: they come, and in another type.
    let reply = "POST /conversations/*/replies";
    let request = "POST /conversations/*/document-requests";
    for (group, what) in [("reply.draft", reply), ("request.draft", request)] {
        for field in ["messageId", "status", "sendsAt", "requestId", "note"] {
            mutants.push((format!("{group}.{field}"), edit(what, move |it| it[field] = json!([7]))));
        }
    }
    mutants.push(("reply.sent.requestId".into(), edit(reply, |it| it["requestId"] = json!([7]))));
    for field in ["vendor", "amount", "currency", "date", "dueDate", "reference"] {
        let changes = entries("GET /documents", move |it| it["fields"][field] = json!([7]));
        mutants.push((format!("document.fields.{field}"), changes));
    }
    mutants.push(("summary.reference".into(), entries(LIST, |it| it["reference"] = json!([7]))));
    mutants.push(("conversation.reference".into(), edit(READ, |it| it["reference"] = json!([7]))));
    mutants.push(("conversation.appSent".into(), edit(READ, |it| it["appSent"] = json!([7]))));
    let event = events("client.replied", |it| it["data"]["reference"] = json!([7]));
    mutants.push(("client.replied.reference".into(), event));
    for field in ["name", "email"] {
        let changes = items("message", move |it| it["from"][field] = json!(7));
        mutants.push((format!("message.from.{field}"), changes));
    }
    mutants
}

pub(super) fn lists() -> Named {
    let unfiltered =
        |rule: &str, parameter: &'static str| (rule.to_owned(), without_parameter(LIST, parameter));
    let mut mutants = named([
        ("list.status", status_only(LIST, 206)),
        (
            "list.view.default",
            before(LIST, |request| {
                if !request.path.contains("view=") {
                    request.path = request.path.replace('?', "?view=closed&");
                }
                Route::Forward
            }),
        ),
        ("list.view.snoozed", status(LIST, 200, 400)),
        ("list.mailbox.own", edit(LIST, |it| *it = json!([]))),
        ("list.q.beyond-cut", edit(LIST, |it| *it = json!([]))),
        (
            "list.newest-first",
            entries(LIST, {
                let place = AtomicU32::new(10);
                move |it| {
                    let year = 2010 + place.fetch_add(1, Ordering::Relaxed) % 90;
                    it["lastMessageAt"] = json!(format!("{year}-01-01T00:00:00.000Z"));
                }
            }),
        ),
        ("list.latest-message", entries(LIST, |it| it["messageCount"] = json!(1))),
        ("list.latest-message", entries(LIST, |it| it["lastMessageAt"] = json!("2001-01-01T00:00:00.000Z"))),
        ("list.q.outbound", edit(LIST, |it| *it = json!([]))),
        (
            "list.limit.default",
            before(LIST, |request| {
                request.path = format!("{}?limit=100", request.path);
                Route::Forward
            }),
        ),
        ("read.status", status_only(READ, 203)),
        ("read.404", status(READ, 404, 410)),
        ("view.snoozed", edit(LIST, |it| *it = json!([]))),
    ]);
    mutants.extend([
        unfiltered("list.view.waiting", "view"),
        unfiltered("list.view.closed", "view"),
        unfiltered("list.reference", "reference"),
        unfiltered("list.mailbox", "mailbox"),
        unfiltered("list.q", "q"),
        unfiltered("list.together", "q"),
        unfiltered("list.together", "assigned"),
        unfiltered("list.together", "view"),
        unfiltered("list.assigned.me", "assigned"),
        unfiltered("list.assigned.unassigned", "assigned"),
        unfiltered("list.limit", "limit"),
    ]);
    mutants.push(("list.limit".into(), edit(LIST, |it| list(it).truncate(1))));
    mutants.push(("list.view.open".into(), edit(LIST, |it| *it = json!([]))));
    mutants
}

/// A field of each attachment is this.
fn attached(field: &'static str, value: Value) -> Changes {
    items("message", move |it| {
        for file in it["attachments"].as_array_mut().into_iter().flatten() {
            file[field] = value.clone();
        }
    })
}

pub(super) fn library() -> Named {
    let mut mutants = named([
        ("mailbox.open.count", entries("GET /mailboxes", |it| it["open"] = json!(1))),
        ("tag.count.of", entries("GET /tags", |it| it["count"] = json!(1))),
        ("tag.name.length", entries("GET /tags", |it| it["name"] = json!("x".repeat(41)))),
        ("document.read", entries("GET /documents", |it| it["kind"] = json!("other"))),
        ("mailboxes.status", status_only("GET /mailboxes", 206)),
        ("tags.list.status", edit("GET /tags", |it| *it = json!({ "items": it }))),
        ("documents.status", edit("GET /documents", |it| *it = json!({ "items": it }))),
        ("mailboxes.all", edit("GET /mailboxes", |it| list(it).truncate(25))),
        ("tags.list.all", edit("GET /tags", |it| list(it).truncate(100))),
        ("documents.attachments", edit("GET /documents", |it| *it = json!([]))),
        ("documents.kind", without_parameter("GET /documents", "kind")),
        ("documents.q", without_parameter("GET /documents", "q")),
        ("documents.together", without_parameter("GET /documents", "q")),
        ("documents.together", without_parameter("GET /documents", "kind")),
        ("documents.newest-first", edit("GET /documents", |it| list(it).reverse())),
        ("documents.limit.default", without_parameter("GET /documents", "limit")),
    ]);
    for (rule, _) in rules_below("documents.kind.").into_iter().filter(|(_, kind)| kind != "values") {
        mutants.push((rule, status("GET /documents", 200, 400)));
    }
    mutants
}
