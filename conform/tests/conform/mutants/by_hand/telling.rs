//! What webhooks tell: requests, tries and events.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json};

use super::{Named, arriving, events, header, heard, ignoring, named, outbox};
use crate::{
    mutants::{before, edit, relay, status},
    proxy::{Answered, Asked, Changes, Way},
};

pub(super) fn webhooks() -> Named {
    let log = "GET /_mock/worlds/*/webhooks/*/deliveries";
    let mut list = named([
        ("webhook.json", header("content-type", |_| "text/plain".into())),
        ("webhook.id", header("webhook-id", |_| "evt_other".into())),
        ("webhook.timestamp", header("webhook-timestamp", |it| format!("{it}000"))),
        ("webhook.signature", header("webhook-signature", |_| "v1,AAAA".into())),
        ("webhook.signature", header("webhook-signature", |it| it.replace("v1,", "v2,"))),
        (
            "webhook.signature",
            relay(|asked| {
                // The same JSON in other bytes.
                asked.body = [&b" "[..], &asked.body].concat().into();
                1
            }),
        ),
        (
            "webhook.post",
            relay(|asked| {
                asked.method = http::Method::PUT;
                1
            }),
        ),
        ("webhook.timestamp.attempt", header("webhook-timestamp", |_| "1800000000".into())),
        ("webhook.redirect", relay(|_| 2)),
        ("webhook.url.private", status("POST /_mock/worlds/*/webhooks", 400, 201)),
        ("webhook.url.link-local", status("POST /_mock/worlds/*/webhooks", 400, 201)),
        ("webhook.url.http", status("POST /_mock/worlds/*/webhooks", 400, 201)),
        ("secret.form", edit("POST /_mock/worlds/*/webhooks", |it| it["secret"] = json!("secret"))),
        ("secret.rotated", header("webhook-signature", |it| it.split(' ').next().unwrap_or_default().into())),
        (
            "secret.rotated.day",
            header("webhook-signature", |it| it.split(' ').next().unwrap_or_default().into()),
        ),
        (
            "secret.rotated.retry",
            header("webhook-signature", |it| it.split(' ').next().unwrap_or_default().into()),
        ),
        ("secret.rotated.over", header("webhook-signature", |it| format!("{it} {it}"))),
        ("delivered.late", relay(|_| 0)),
        ("retry.varies", header("webhook-timestamp", |_| "1800000000".into())),
        ("retry.schedule", relay(|_| 2)),
        ("retry.schedule", heard(|_| 200)),
        (
            "retry.dropped",
            before("POST /_mock/worlds/*/clock", |asked| match asked.json()["advanceSeconds"] == 144_000 {
                // So that tries are still to come.
                true => Way::Not(Answered::new(200, &json!({}))),
                false => Way::On,
            }),
        ),
        ("retry.same", {
            let count = AtomicU32::new(0);
            header("webhook-id", move |_| format!("evt_{}", count.fetch_add(1, Ordering::Relaxed)))
        }),
        ("retry.signed", header("webhook-timestamp", |_| "1800000000".into())),
        ("retry.until", heard(|_| 500)),
        ("redelivery", {
            let count = AtomicU32::new(0);
            events("", move |it| it["again"] = json!(count.fetch_add(1, Ordering::Relaxed)))
        }),
        ("redelivery", {
            let count = AtomicU32::new(0);
            relay(move |_| usize::from(count.fetch_add(1, Ordering::Relaxed) == 0))
        }),
        ("log.attempts", edit(log, |it| it[0]["attempts"] = json!([]))),
        ("log.filter", ignoring(log, "outcome")),
        ("log.kept", edit(log, |it| *it = json!([]))),
        ("log.dropped", edit(log, |it| *it = json!([{}]))),
        ("gone.off", heard(|status| if status == 410 { 500 } else { status })),
        ("gone.notice", outbox(Vec::clear)),
        ("day.paused", heard(|_| 200)),
        // The mock turns it off at the first try.
        ("day.early", heard(|_| 410)),
        ("day.notice", outbox(Vec::clear)),
        ("day.resumed", relay(|_| 2)),
        ("day.success", heard(|_| 500)),
        ("scoping.private", to_team()),
        ("scoping.team", to_private()),
        ("scoping.other", to("cleo@acme.example", "ben@acme.example")),
        ("scoping.other", to("cleo@acme.example", "help@acme.example")),
        ("scoping.new", to_team()),
        ("scoping.bookings.private", relay(|_| 2)),
        ("scoping.bookings", relay(|_| 2)),
        ("scoping.sandbox", events("", |it| it["livemode"] = json!(true))),
        ("scoping.live", events("", |it| it["livemode"] = json!(false))),
        ("scoping.plan", before("PUT /_mock/worlds/*/plan", |_| Way::Not(Answered::new(200, &json!({}))))),
        ("created_at", events("", |it| it["created_at"] = json!("2001-01-01T00:00:00.000Z"))),
        ("envelope.version.one", events("", |it| it["version"] = json!(2))),
        ("envelope.livemode.live", events("", |it| it["livemode"] = json!(false))),
        ("data.thin", with_words()),
    ]);
    for status in [200, 201, 204, 299] {
        list.push((format!("delivered.{status}"), heard(|_| 500)));
    }
    for status in [300, 302, 304, 400, 401, 404, 418, 429, 500, 503, 599] {
        list.push((format!("retried.{status}"), heard(|_| 200)));
    }
    list
}

/// Every event tells the words of the mail that came in last.
fn with_words() -> Changes {
    let said = Arc::new(std::sync::Mutex::new(String::new()));
    let heard = Arc::clone(&said);
    let before = move |asked: &mut Asked| {
        if asked.is("POST /_mock/worlds/*/inbound") {
            *heard.lock().unwrap() = asked.json()["text"].as_str().unwrap_or_default().to_owned();
        }
        Way::On
    };
    let told = events("", move |it| it["data"]["summary"] = json!(said.lock().unwrap().clone()));
    Changes { before: Some(Arc::new(before)), ..told }
}

/// Mail to a private inbox lands in the team's.
fn to_team() -> Changes {
    to("ben@acme.example", "help@acme.example")
}

fn to_private() -> Changes {
    to("help@acme.example", "ben@acme.example")
}

fn to(from: &'static str, to: &'static str) -> Changes {
    before("POST /_mock/worlds/*/inbound", move |asked| {
        let mut body = asked.json();
        if body["to"] == from {
            body["to"] = json!(to);
        }
        asked.set_json(&body);
        Way::On
    })
}

pub(super) fn occasions() -> Named {
    let mut list = Named::new();
    for kind in [
        "ask.completed",
        "client.replied",
        "conversation.assigned",
        "turn.changed",
        "draft.approved",
        "message.sent",
        "booking.created",
        "booking.cancelled",
        "scout.held",
        "webhook.test",
    ] {
        list.push((format!("{kind}.told"), arriving(kind, 0)));
        list.push((
            format!("{kind}.summary"),
            events(kind, |it| it["data"]["summary"] = json!("x".repeat(201))),
        ));
        list.push((format!("{kind}.url"), events(kind, |it| it["data"]["url"] = json!(7))));
    }
    let data = |kind: &'static str, field: &'static str, value: Value| {
        events(kind, move |it| it["data"][field] = value.clone())
    };
    list.extend(named([
        (
            "client.replied.auto",
            before("POST /_mock/worlds/*/inbound", |asked| {
                let mut body = asked.json();
                body.as_object_mut().map(|it| it.remove("autoReply"));
                asked.set_json(&body);
                Way::On
            }),
        ),
        ("client.replied.once", arriving("client.replied", 2)),
        ("assigned.once", arriving("conversation.assigned", 2)),
        ("assigned.none", arriving("conversation.assigned", 0)),
        ("draft.approved.then-sent", arriving("message.sent", 0)),
        ("draft.approved.then-sent", arriving("draft.approved", 0)),
        (
            "message.sent.stopped",
            before("POST /_mock/worlds/*/messages/*/stop", |_| Way::Not(Answered::new(200, &json!({})))),
        ),
        ("message.sent.once", arriving("message.sent", 2)),
        ("message.sent.once", arriving("message.sent", 0)),
        ("ask.completed.all", arriving("ask.completed", 2)),
        ("ask.completed.all", data("ask.completed", "kind", json!("files"))),
        ("ask.completed.optional", arriving("ask.completed", 0)),
        ("client.replied.values", data("client.replied", "message_id", json!("msg_1"))),
        ("client.replied.values", data("client.replied", "mailbox_id", json!("mbx_1"))),
        ("client.replied.insecure", data("client.replied", "secure", json!(true))),
        ("client.replied.reference.carried", data("client.replied", "reference", json!("Order-17"))),
        (
            "assigned.values",
            data(
                "conversation.assigned",
                "assigned_by",
                json!({ "type": "system", "id": null, "name": "X" }),
            ),
        ),
        (
            "draft.approved.values",
            data("draft.approved", "approved_by", json!({ "type": "user", "id": "usr_1", "name": "X" })),
        ),
        ("draft.approved.edited.true", data("draft.approved", "edited", json!(false))),
        ("message.sent.values", data("message.sent", "author", json!(null))),
        ("message.sent.values", data("message.sent", "mailbox_id", json!("mbx_1"))),
        ("turn.changed.values", data("turn.changed", "assignee", json!(null))),
        ("turn.changed.values.previous", data("turn.changed", "previous", json!("theirs"))),
        ("webhook.test.values", data("webhook.test", "endpoint_id", json!("whk_1"))),
        ("webhook.test.values", events("webhook.test", |it| it["livemode"] = json!(true))),
        ("booking.values", data("booking.cancelled", "host_user_id", json!("usr_1"))),
        ("booking.outside", data("booking.created", "conversation_id", json!("cnv_1"))),
        ("scout.held.values", data("scout.held", "conversation_id", json!("cnv_1"))),
        ("booking.values", data("booking.created", "starts_at", json!("2001-01-01T00:00:00.000Z"))),
        (
            "draft.untold",
            before("POST /conversations/*/replies", |asked| {
                let mut body = asked.json();
                body["send"] = json!(true);
                asked.set_json(&body);
                Way::On
            }),
        ),
    ]));
    list
}
