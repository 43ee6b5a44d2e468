//! What is written: notes, tags, replies, app mail and what the sandbox does.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::{
    Named, READ, arriving, counting, entries, events, items, named, outbox, reminder, status_only, swallowed,
};
use crate::{
    mutants::{after, before, edit, status, success},
    proxy::{Answered, Asked, Changes, Way},
};

pub(super) fn writes() -> Named {
    let mut list = Named::new();
    for (group, what) in [
        ("notes", "POST /conversations/*/notes"),
        ("status", "POST /conversations/*/status"),
        ("tags", "POST /conversations/*/tags"),
        ("assign", "POST /conversations/*/assign"),
    ] {
        list.push((format!("{group}.status"), status_only(what, 202)));
        list.push((format!("{group}.ok"), edit(what, |it| *it = json!({ "ok": "yes" }))));
        list.push((format!("{group}.404"), status(what, 404, 403)));
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
        list.push((rule.into(), swallowed(what)));
    }
    let without = |field: &'static str, what: &'static str| {
        before(what, move |asked| {
            let mut body = asked.json();
            body.as_object_mut().map(|it| it.remove(field));
            asked.set_json(&body);
            Way::On
        })
    };
    list.extend(named([
        (
            "status.to.open",
            before("POST /conversations/*/status", |asked| match asked.json()["status"] == "open" {
                true => Way::Not(Answered::new(200, &success())),
                false => Way::On,
            }),
        ),
        ("status.same", counting(READ)),
        ("status.same.untold", {
            let count = AtomicU32::new(0);
            before("POST /conversations/*/status", move |asked| {
                if count.fetch_add(1, Ordering::Relaxed) > 0 {
                    asked.set_json(&json!({ "status": "open" }));
                }
                Way::On
            })
        }),
        ("notes.each", before("POST /conversations/*/notes", |_| Way::Twice)),
        ("notes.never-mailed", outbox(|it| it.push(reminder()))),
        ("tags.remove", without("remove", "POST /conversations/*/tags")),
        (
            "tags.once",
            edit(READ, |it| {
                let tags = it["tags"].as_array().cloned().unwrap_or_default();
                it["tags"] = json!([tags.clone(), tags].concat());
            }),
        ),
        (
            "tags.no-body",
            before("POST /conversations/*/tags", |asked| match asked.body.is_empty() {
                true => Way::Not(Answered::new(400, &json!({ "error": "body: is required" }))),
                false => Way::On,
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
            before("POST /conversations/*/assign", |asked| match asked.json()["to"] == "none" {
                true => Way::Not(Answered::new(200, &success())),
                false => Way::On,
            }),
        ),
        ("assign.repeat", {
            let count = AtomicU32::new(0);
            before("POST /conversations/*/assign", move |_| match count.fetch_add(1, Ordering::Relaxed) {
                0 => Way::On,
                _ => Way::Not(Answered::new(409, &json!({ "error": "It is assigned already." }))),
            })
        }),
    ]));
    list
}

pub(super) fn replies() -> Named {
    let (reply, request) = ("POST /conversations/*/replies", "POST /conversations/*/document-requests");
    let never_sends = |what| {
        before(what, |asked: &mut Asked| {
            let mut body = asked.json();
            body["send"] = json!(false);
            asked.set_json(&body);
            Way::On
        })
    };
    let says = |what, status: &'static str| edit(what, move |it| it["status"] = json!(status));
    let outbound = |status: &'static str| {
        items("message", move |it| {
            if it["direction"] == "outbound" {
                it["status"] = json!(status);
            }
        })
    };
    let texts = |text: &'static str| items("message", move |it| it["text"] = json!(text));
    let mut list = named([
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
            before("POST /_mock/worlds/*/clock", |asked| {
                if asked.json()["advanceSeconds"] == 1 {
                    asked.set_json(&json!({ "advanceSeconds": 0 }));
                }
                Way::On
            }),
        ),
        ("reply.undo.sandbox.window", outbound("sent")),
        ("reply.undo.live", outbound("scheduled")),
        ("reply.undo.live", outbound("sent")),
        ("reply.sendsAt.live", edit(reply, |it| it["sendsAt"] = json!("2099-01-01T00:00:00.000Z"))),
        (
            "reply.stop",
            before("POST /_mock/worlds/*/messages/*/stop", |_| Way::Not(Answered::new(200, &json!({})))),
        ),
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
        list.push((format!("{group}.status"), status_only(what, 200)));
        list.push((format!("{group}.404"), status(what, 404, 403)));
        list.push((format!("{group}.each"), before(what, |_| Way::Twice)));
        list.push((format!("{group}.checklist"), texts("Hello")));
        list.push((format!("{group}.link.draft"), texts("Hello https://upload.example")));
        list.push((format!("{group}.link.draft"), texts("Hello")));
        list.push((format!("{group}.reminders"), outbox(Vec::clear)));
        list.push((format!("{group}.reminders"), outbox(|it| it.push(reminder()))));
    }
    list
}

pub(super) fn app_mail() -> Named {
    let inbound = "POST /_mock/worlds/*/inbound";
    let mail = |change: fn(&mut Value)| {
        before(inbound, move |asked: &mut Asked| {
            let mut body = asked.json();
            change(&mut body);
            asked.set_json(&body);
            Way::On
        })
    };
    let reference = |value: &'static str| edit(READ, move |it| it["reference"] = json!(value));
    let apart = |it: &mut Value| drop(it.as_object_mut().expect("an object").remove("inReplyTo"));
    let app = "POST /app-mail";
    named([
        ("reference.digit", reference("other")),
        ("reference.lower-case", reference("Order_17")),
        ("reference.max", edit(READ, |it| drop(it.as_object_mut().expect("an object").remove("reference")))),
        ("reference.too-long", reference("a1")),
        ("reference.word", reference("sales")),
        ("reference.characters", reference("order.17")),
        ("reference.none", reference("a1")),
        ("app-mail.repeat", {
            let count = AtomicU32::new(0);
            before(app, move |_| match count.fetch_add(1, Ordering::Relaxed) {
                0 => Way::On,
                _ => Way::Not(Answered::new(409, &json!({ "error": "Recorded already." }))),
            })
        }),
        ("app-mail.answer", swallowed(app)),
        ("app-mail.answer", edit(READ, |it| drop(it.as_object_mut().expect("an object").remove("appSent")))),
        ("app-mail.answer.joins", mail(apart)),
        ("app-mail.answer.stranger", mail(|it| it["from"] = json!("vera@customer.example"))),
        ("app-mail.answer.dmarc", mail(|it| it["dmarc"] = json!("pass"))),
        ("app-mail.answer.participant", mail(apart)),
        ("app-mail.update", {
            let count = AtomicU32::new(0);
            before(app, move |_| match count.fetch_add(1, Ordering::Relaxed) {
                0 => Way::On,
                _ => Way::Not(Answered::new(201, &success())),
            })
        }),
        ("app-mail.fill-in", counting_reference()),
        ("app-mail.sandbox", reference("order-1042")),
        ("app-mail.forgotten", reference("order-1042")),
        ("app-mail.remembered", swallowed(app)),
        ("app-mail.kept", edit(READ, |it| drop(it.as_object_mut().expect("an object").remove("appSent")))),
    ])
}

fn counting_reference() -> Changes {
    let count = AtomicU32::new(0);
    edit(READ, move |it| it["reference"] = json!(format!("a{}", count.fetch_add(1, Ordering::Relaxed))))
}

pub(super) fn sandbox() -> Named {
    let inbound = "POST /sandbox/inbound";
    let outbound = |status: &'static str| {
        items("message", move |it| {
            if it["direction"] == "outbound" {
                it["status"] = json!(status);
            }
        })
    };
    let silent = || {
        edit(READ, |it| {
            let items = it["timeline"].as_array_mut().expect("a timeline");
            let mut came = 0;
            items.retain(|it| {
                came += usize::from(it["direction"] == "inbound");
                it["direction"] != "inbound" || came < 2
            });
        })
    };
    let echo = || {
        edit(READ, |it| {
            let items = it["timeline"].as_array_mut().expect("a timeline");
            items.extend(items.first().cloned());
        })
    };
    named([
        ("inbound.conversation", edit(inbound, |it| *it = json!({ "id": it["conversationId"] }))),
        ("inbound.stored", edit(READ, |it| it["subject"] = json!("Another"))),
        ("inbound.stored", items("message", |it| it["text"] = json!("Another"))),
        ("inbound.new", edit(inbound, |it| it["conversationId"] = json!("cnv_1"))),
        (
            "inbound.joins",
            before(inbound, |asked| {
                let mut body = asked.json();
                body.as_object_mut().map(|it| it.remove("conversationId"));
                asked.set_json(&body);
                Way::On
            }),
        ),
        ("inbound.live", status(inbound, 403, 201)),
        ("inbound.webhook", arriving("client.replied", 0)),
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
        ("magic.delivered.event", arriving("message.sent", 0)),
        ("magic.complaint.told", arriving("message.sent", 0)),
        ("magic.docs.event", arriving("client.replied", 0)),
        ("magic.bounce.event", events("", |it| it["type"] = json!("message.sent"))),
        ("magic.reply.event", arriving("client.replied", 0)),
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
                move |_, answered| {
                    let mut json = answered.json();
                    json[0]["id"] = json!(format!("tag_{}", count.fetch_add(1, Ordering::Relaxed)));
                    answered.set_json(&json);
                }
            }),
        ),
        ("sandbox.drafts", status("POST /_mock/worlds/*/messages/*/approve", 409, 200)),
        ("sandbox.inbox", entries("GET /mailboxes", |it| it["address"] = json!("help@acme.example"))),
    ])
}
