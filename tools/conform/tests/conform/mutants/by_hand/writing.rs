//! What is written: notes, tags, replies, app mail and what the sandbox does.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::{
    Named, READ, body, count_responses, deliver_times, entries, events, first_only, ignore, items, later,
    list, named, outbound, outbox, reminder, remove, status_only, swallow,
};
use crate::{
    mutants::{after, before, edit, status, success},
    proxy::Route,
};

pub(super) fn writes() -> Named {
    let mut mutants = Named::new();
    for (group, what) in [
        ("notes", "POST /conversations/*/notes"),
        ("status", "POST /conversations/*/status"),
        ("tags", "POST /conversations/*/tags"),
        ("assign", "POST /conversations/*/assign"),
    ] {
        mutants.push((format!("{group}.status"), status_only(what, 202)));
        mutants.push((format!("{group}.ok"), edit(what, |it| *it = json!({ "ok": "yes" }))));
        mutants.push((format!("{group}.404"), status(what, 404, 403)));
    }
    for (rule, what) in [
        ("status.to.waiting", "POST /conversations/*/status"),
        ("status.to.closed", "POST /conversations/*/status"),
        ("status.event", "POST /conversations/*/status"),
        ("notes.each", "POST /conversations/*/notes"),
        ("notes.shown", "POST /conversations/*/notes"),
        ("tags.add", "POST /conversations/*/tags"),
        ("tags.created", "POST /conversations/*/tags"),
        ("tags.once", "POST /conversations/*/tags"),
        ("assign.me", "POST /conversations/*/assign"),
        ("assign.agent", "POST /conversations/*/assign"),
        ("assign.user", "POST /conversations/*/assign"),
    ] {
        mutants.push((rule.into(), swallow(what)));
    }
    mutants.extend(named([
        (
            "status.to.open",
            before("POST /conversations/*/status", |request| match request.json()["status"] == "open" {
                true => Route::respond(200, &success()),
                false => Route::Forward,
            }),
        ),
        ("status.same", count_responses(READ)),
        ("status.same.untold", {
            let count = AtomicU32::new(0);
            before("POST /conversations/*/status", move |request| {
                if count.fetch_add(1, Ordering::Relaxed) > 0 {
                    request.set_json(&json!({ "status": "open" }));
                }
                Route::Forward
            })
        }),
        ("notes.each", before("POST /conversations/*/notes", |_| Route::ForwardTwice)),
        ("notes.never-mailed", outbox(|it| it.push(reminder()))),
        ("tags.remove", body("POST /conversations/*/tags", |it| remove(it, "remove"))),
        (
            "tags.once",
            edit(READ, |it| {
                let tags = it["tags"].as_array().cloned().unwrap_or_default();
                it["tags"] = json!([tags.clone(), tags].concat());
            }),
        ),
        (
            "tags.no-body",
            before("POST /conversations/*/tags", |request| match request.body.is_empty() {
                true => Route::respond(400, &json!({ "error": "body: is required" })),
                false => Route::Forward,
            }),
        ),
        (
            "tags.repeat",
            edit(READ, {
                let count = AtomicU32::new(0);
                move |it| it["tags"] = json!([count.fetch_add(1, Ordering::Relaxed).to_string()])
            }),
        ),
        (
            "assign.none",
            before("POST /conversations/*/assign", |request| match request.json()["to"] == "none" {
                true => Route::respond(200, &success()),
                false => Route::Forward,
            }),
        ),
        (
            "assign.repeat",
            first_only("POST /conversations/*/assign", 409, json!({ "error": "Assigned already." })),
        ),
    ]));
    mutants
}

pub(super) fn replies() -> Named {
    let (reply, request) = ("POST /conversations/*/replies", "POST /conversations/*/document-requests");
    let never_sends = |what| body(what, |it| it["send"] = json!(false));
    let says = |what, status: &'static str| edit(what, move |it| it["status"] = json!(status));
    let texts = |text: &'static str| items("message", move |it| it["text"] = json!(text));
    let mut mutants = named([
        ("reply.is-draft", says(reply, "scheduled")),
        ("reply.is-draft.false", says(reply, "scheduled")),
        ("reply.is-scheduled", never_sends(reply)),
        ("request.is-draft", says(request, "scheduled")),
        ("request.is-scheduled", never_sends(request)),
        ("reply.undo.sandbox", outbound("scheduled")),
        ("reply.undo.sandbox", outbound("sent")),
        ("reply.undo.sandbox.window", outbound("scheduled")),
        (
            "reply.undo.sandbox.window",
            // The window is a second longer.
            body("POST /_mock/worlds/*/clock", |it| {
                if it["advanceSeconds"] == 1 {
                    it["advanceSeconds"] = json!(0);
                }
            }),
        ),
        ("reply.undo.sandbox.window", outbound("sent")),
        ("reply.undo.live", outbound("scheduled")),
        ("reply.undo.live", outbound("sent")),
        ("reply.sendsAt.live", edit(reply, |it| it["sendsAt"] = json!("2099-01-01T00:00:00.000Z"))),
        ("reply.sendsAt.sandbox", later(reply, 1)),
        ("reply.sendsAt.sandbox", later(reply, -1)),
        ("request.sendsAt.live", edit(request, |it| it["sendsAt"] = json!("2099-01-01T00:00:00.000Z"))),
        ("request.sendsAt.live", later(request, -595)),
        ("request.sendsAt.sandbox", later(request, 1)),
        ("request.sendsAt.sandbox", later(request, -1)),
        ("reply.stop", ignore("POST /_mock/worlds/*/messages/*/stop")),
        ("draft.silent", outbox(|it| it.push(reminder()))),
        ("draft.queue", edit("GET /_mock/worlds/*/approvals", |it| *it = json!([]))),
        ("draft.approved", outbound("draft")),
        ("draft.approved", outbound("sent")),
        ("draft.edited", texts("Hello")),
        ("replies.text", texts("Something else")),
        ("replies.documents.optional", edit(reply, |it| it["requestId"] = json!("req_1"))),
        ("requests.message.shown", texts("Passport")),
        ("requests.upload", edit("GET /documents", |it| *it = json!([]))),
        ("requests.reminders.complete", outbox(|it| it.push(reminder()))),
        ("look-back.reply", outbound("sent")),
        ("look-back.note", items("note", |it| it["author"] = json!("Somebody"))),
    ]);
    for (group, what) in [("replies", reply), ("requests", request)] {
        mutants.push((format!("{group}.status"), status_only(what, 200)));
        mutants.push((format!("{group}.404"), status(what, 404, 403)));
        mutants.push((format!("{group}.each"), before(what, |_| Route::ForwardTwice)));
        mutants.push((format!("{group}.checklist"), texts("Hello")));
        mutants.push((format!("{group}.link.draft"), texts("Hello https://upload.example")));
        mutants.push((format!("{group}.link.draft"), texts("Hello")));
        mutants.push((format!("{group}.reminders"), outbox(Vec::clear)));
        mutants.push((format!("{group}.reminders"), outbox(|it| it.push(reminder()))));
    }
    mutants
}

pub(super) fn app_mail() -> Named {
    let mail = |change: fn(&mut Value)| body("POST /_mock/worlds/*/inbound", change);
    let reference = |value: &'static str| edit(READ, move |it| it["reference"] = json!(value));
    let apart = |it: &mut Value| remove(it, "inReplyTo");
    let app = "POST /app-mail";
    named([
        ("reference.digit", reference("other")),
        ("reference.lower-case", reference("Order_17")),
        ("reference.max", edit(READ, |it| remove(it, "reference"))),
        ("reference.too-long", reference("a1")),
        ("reference.word", reference("sales")),
        ("reference.characters", reference("order.17")),
        ("reference.none", reference("a1")),
        ("app-mail.repeat", first_only(app, 409, json!({ "error": "Recorded already." }))),
        ("app-mail.answer", swallow(app)),
        ("app-mail.answer", edit(READ, |it| remove(it, "appSent"))),
        ("app-mail.answer.joins", mail(apart)),
        ("app-mail.answer.stranger", mail(|it| it["from"] = json!("vera@customer.example"))),
        ("app-mail.answer.dmarc", mail(|it| it["dmarc"] = json!("pass"))),
        ("app-mail.answer.participant", mail(apart)),
        ("app-mail.update", first_only(app, 201, success())),
        ("app-mail.fill-in", {
            let count = AtomicU32::new(0);
            edit(READ, move |it| {
                it["reference"] = json!(format!("a{}", count.fetch_add(1, Ordering::Relaxed)))
            })
        }),
        ("app-mail.sandbox", reference("order-1042")),
        ("app-mail.forgotten", reference("order-1042")),
        ("app-mail.remembered", swallow(app)),
        ("app-mail.kept", edit(READ, |it| remove(it, "appSent"))),
    ])
}

pub(super) fn sandbox() -> Named {
    let inbound = "POST /sandbox/inbound";
    let silent = || {
        edit(READ, |it| {
            let mut came = 0;
            list(&mut it["timeline"]).retain(|it| {
                came += usize::from(it["direction"] == "inbound");
                it["direction"] != "inbound" || came < 2
            });
        })
    };
    let echo = || {
        edit(READ, |it| {
            let items = list(&mut it["timeline"]);
            items.extend(items.first().cloned());
        })
    };
    named([
        ("inbound.conversation", edit(inbound, |it| *it = json!({ "id": it["conversationId"] }))),
        ("inbound.stored", edit(READ, |it| it["subject"] = json!("Another"))),
        ("inbound.stored", items("message", |it| it["text"] = json!("Another"))),
        ("inbound.new", edit(inbound, |it| it["conversationId"] = json!("cnv_1"))),
        ("inbound.joins", body(inbound, |it| remove(it, "conversationId"))),
        ("inbound.live", status(inbound, 403, 201)),
        ("inbound.webhook", deliver_times("client.replied", 0)),
        ("inbound.scam", edit(READ, |it| it["risk"] = json!(null))),
        ("inbound.harmless", edit(READ, |it| it["risk"] = json!("phishing"))),
        ("magic.delivered", echo()),
        ("magic.delivered", outbound("failed")),
        ("magic.other", outbound("failed")),
        ("magic.bounce", outbound("sent")),
        ("magic.tag", outbound("sent")),
        ("magic.domain", outbound("sent")),
        ("magic.whole", echo()),
        ("magic.whole", outbound("failed")),
        ("magic.reply.time", silent()),
        ("magic.reply.time", echo()),
        ("magic.reply", silent()),
        ("magic.docs", silent()),
        ("magic.ooo", silent()),
        ("magic.complaint", outbound("failed")),
        ("magic.complaint.event", items("event", |it| it["event"] = json!("complaint"))),
        ("magic.complaint.later", outbound("sent")),
        ("magic.docs.filed", edit("GET /documents", |it| *it = json!([]))),
        ("magic.docs.attached", items("message", |it| it["attachments"] = json!([]))),
        (
            "magic.sendsAt",
            edit("POST /conversations/*/replies", |it| it["sendsAt"] = json!("2099-01-01T00:00:00.000Z")),
        ),
        // An undo window of 6 seconds.
        ("magic.sendsAt", later("POST /conversations/*/replies", 1)),
        ("magic.delivered.event", deliver_times("message.sent", 0)),
        ("magic.complaint.told", deliver_times("message.sent", 0)),
        ("magic.docs.event", deliver_times("client.replied", 0)),
        ("magic.bounce.event", events("", |it| it["type"] = json!("message.sent"))),
        ("magic.reply.event", deliver_times("client.replied", 0)),
        ("magic.ooo.event", events("", |it| it["type"] = json!("client.replied"))),
        ("sandbox.silent", outbox(|it| it.push(reminder()))),
        ("sandbox.helpers.documents", entries("GET /documents", |it| it["kind"] = json!("invoice"))),
        (
            "sandbox.helpers.documents",
            entries("GET /documents", |it| it["fields"] = json!({ "vendor": "Nordwind" })),
        ),
        ("sandbox.people", status("POST /conversations/*/assign", 400, 200)),
        (
            "sandbox.people",
            edit(READ, |it| it["team"]["people"] = json!([{ "id": "user:usr_1", "name": "Anna" }])),
        ),
        ("sandbox.scopes", status("POST /conversations/*/notes", 403, 201)),
        ("sandbox.scopes", status("POST /app-mail", 403, 201)),
        ("sandbox.helpers", edit(READ, |it| it["topic"] = json!("delivery"))),
        (
            "sandbox.tags",
            after("GET /tags", {
                let count = AtomicU32::new(0);
                move |_, response| {
                    let mut json = response.json();
                    json[0]["id"] = json!(format!("tag_{}", count.fetch_add(1, Ordering::Relaxed)));
                    response.set_json(&json);
                }
            }),
        ),
        ("sandbox.drafts", status("POST /_mock/worlds/*/messages/*/approve", 409, 200)),
        ("sandbox.inbox", entries("GET /mailboxes", |it| it["address"] = json!("help@acme.example"))),
    ])
}
