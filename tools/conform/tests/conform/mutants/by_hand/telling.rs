//! What webhooks tell: requests, tries and events.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json};

use super::{
    Named, body, deliver_times, events, header, ignore, named, outbox, receiver_status, remove,
    without_parameter,
};
use crate::{
    mutants::{before, edit, relay, rules_below, status},
    proxy::{Changes, ProxyRequest, Route},
};

const TEAM: &str = "help@acme.example";
const BEN: &str = "ben@acme.example";

pub(super) fn webhooks() -> Named {
    let one_signature =
        || header("webhook-signature", |it| it.split(' ').next().unwrap_or_default().to_owned());
    let log = "GET /_mock/worlds/*/webhooks/*/deliveries";
    let mut list = named([
        ("webhook.json", header("content-type", |_| "text/plain".into())),
        ("webhook.id", header("webhook-id", |_| "evt_other".into())),
        ("webhook.timestamp", header("webhook-timestamp", |it| format!("{it}000"))),
        ("webhook.signature", header("webhook-signature", |_| "v1,AAAA".into())),
        ("webhook.signature", header("webhook-signature", |it| it.replace("v1,", "v2,"))),
        (
            "webhook.signature",
            relay(|request| {
                // The same JSON in other bytes.
                request.body = [&b" "[..], &request.body].concat().into();
                1
            }),
        ),
        (
            "webhook.post",
            relay(|request| {
                request.method = http::Method::PUT;
                1
            }),
        ),
        ("webhook.timestamp.attempt", header("webhook-timestamp", |_| "1800000000".into())),
        ("webhook.redirect", relay(|_| 2)),
        ("webhook.url.private", status("POST /_mock/worlds/*/webhooks", 400, 201)),
        ("webhook.url.link-local", status("POST /_mock/worlds/*/webhooks", 400, 201)),
        ("webhook.url.http", status("POST /_mock/worlds/*/webhooks", 400, 201)),
        ("secret.form", edit("POST /_mock/worlds/*/webhooks", |it| it["secret"] = json!("secret"))),
        ("secret.rotated", one_signature()),
        ("secret.rotated.day", one_signature()),
        ("secret.rotated.retry", one_signature()),
        ("secret.rotated.over", header("webhook-signature", |it| format!("{it} {it}"))),
        ("delivered.late", relay(|_| 0)),
        ("retry.varies", header("webhook-timestamp", |_| "1800000000".into())),
        ("retry.schedule", relay(|_| 2)),
        ("retry.schedule", receiver_status(|_| 200)),
        (
            "retry.dropped",
            before("POST /_mock/worlds/*/clock", |request| {
                match request.json()["advanceSeconds"] == 144_000 {
                    // So that tries are still to come.
                    true => Route::respond(200, &json!({})),
                    false => Route::Forward,
                }
            }),
        ),
        ("retry.same", {
            let count = AtomicU32::new(0);
            header("webhook-id", move |_| format!("evt_{}", count.fetch_add(1, Ordering::Relaxed)))
        }),
        ("retry.signed", header("webhook-timestamp", |_| "1800000000".into())),
        ("retry.until", receiver_status(|_| 500)),
        ("redelivery", {
            let count = AtomicU32::new(0);
            events("", move |it| it["again"] = json!(count.fetch_add(1, Ordering::Relaxed)))
        }),
        ("redelivery", {
            let count = AtomicU32::new(0);
            relay(move |_| usize::from(count.fetch_add(1, Ordering::Relaxed) == 0))
        }),
        ("log.attempts", edit(log, |it| it[0]["attempts"] = json!([]))),
        ("log.filter", without_parameter(log, "outcome")),
        ("log.kept", edit(log, |it| *it = json!([]))),
        ("log.dropped", edit(log, |it| *it = json!([{}]))),
        ("gone.off", receiver_status(|status| if status == 410 { 500 } else { status })),
        ("gone.notice", outbox(Vec::clear)),
        ("day.paused", receiver_status(|_| 200)),
        // The mock turns it off at the first try.
        ("day.early", receiver_status(|_| 410)),
        ("day.notice", outbox(Vec::clear)),
        ("day.resumed", relay(|_| 2)),
        ("day.success", receiver_status(|_| 500)),
        ("scoping.private", to(BEN, TEAM)),
        ("scoping.team", to(TEAM, BEN)),
        ("scoping.other", to("cleo@acme.example", BEN)),
        ("scoping.other", to("cleo@acme.example", TEAM)),
        ("scoping.new", to(BEN, TEAM)),
        ("scoping.bookings.private", relay(|_| 2)),
        ("scoping.bookings", relay(|_| 2)),
        ("scoping.sandbox", events("", |it| it["livemode"] = json!(true))),
        ("scoping.live", events("", |it| it["livemode"] = json!(false))),
        ("scoping.plan", ignore("PUT /_mock/worlds/*/plan")),
        ("created_at", events("", |it| it["created_at"] = json!("2001-01-01T00:00:00.000Z"))),
        ("envelope.version.one", events("", |it| it["version"] = json!(2))),
        ("envelope.livemode.live", events("", |it| it["livemode"] = json!(false))),
        ("data.thin", with_words()),
    ]);
    for (rule, _) in rules_below("delivered.").into_iter().filter(|(_, answer)| answer != "late") {
        list.push((rule, receiver_status(|_| 500)));
    }
    for (rule, _) in rules_below("retried.") {
        list.push((rule, receiver_status(|_| 200)));
    }
    list
}

/// Every event tells the words of the mail that came in last.
fn with_words() -> Changes {
    let text = Arc::new(std::sync::Mutex::new(String::new()));
    let last = Arc::clone(&text);
    let before = move |request: &mut ProxyRequest| {
        if request.is("POST /_mock/worlds/*/inbound") {
            *last.lock().unwrap() = request.json()["text"].as_str().unwrap_or_default().to_owned();
        }
        Route::Forward
    };
    let summaries = events("", move |it| it["data"]["summary"] = json!(text.lock().unwrap().clone()));
    Changes { before: Some(Arc::new(before)), ..summaries }
}

/// Mail to one inbox lands in another.
fn to(from: &'static str, to: &'static str) -> Changes {
    body("POST /_mock/worlds/*/inbound", move |mail| {
        if mail["to"] == from {
            mail["to"] = json!(to);
        }
    })
}

pub(super) fn occasions() -> Named {
    let mut list = Named::new();
    for kind in rules_below("").iter().filter_map(|(rule, _)| rule.strip_suffix(".summary")) {
        let long = events(kind, |it| it["data"]["summary"] = json!("x".repeat(201)));
        list.extend([
            (format!("{kind}.told"), deliver_times(kind, 0)),
            (format!("{kind}.summary"), long),
            (format!("{kind}.url"), events(kind, |it| it["data"]["url"] = json!(7))),
        ]);
    }
    let data = |kind: &'static str, field: &'static str, value: Value| {
        events(kind, move |it| it["data"][field] = value.clone())
    };
    list.extend(named([
        ("client.replied.auto", body("POST /_mock/worlds/*/inbound", |it| remove(it, "autoReply"))),
        ("client.replied.once", deliver_times("client.replied", 2)),
        ("assigned.once", deliver_times("conversation.assigned", 2)),
        ("assigned.none", deliver_times("conversation.assigned", 0)),
        ("draft.approved.then-sent", deliver_times("message.sent", 0)),
        ("draft.approved.then-sent", deliver_times("draft.approved", 0)),
        ("message.sent.stopped", ignore("POST /_mock/worlds/*/messages/*/stop")),
        ("message.sent.once", deliver_times("message.sent", 2)),
        ("message.sent.once", deliver_times("message.sent", 0)),
        ("ask.completed.all", deliver_times("ask.completed", 2)),
        ("ask.completed.all", data("ask.completed", "kind", json!("files"))),
        ("ask.completed.optional", deliver_times("ask.completed", 0)),
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
        // Right after reopening, and wrong everywhere else.
        ("turn.changed.values.previous", data("turn.changed", "previous", json!("done"))),
        ("turn.changed.values.previous", data("turn.changed", "previous", json!("ours"))),
        ("turn.changed.values.previous", data("turn.changed", "previous", json!(null))),
        (
            // Wrong after the customer's answer alone.
            "turn.changed.values.previous",
            events("turn.changed", |it| {
                if it["data"]["previous"] == "theirs" {
                    it["data"]["previous"] = json!("done");
                }
            }),
        ),
        ("webhook.test.values", data("webhook.test", "endpoint_id", json!("whk_1"))),
        ("webhook.test.values", events("webhook.test", |it| it["livemode"] = json!(true))),
        ("booking.values", data("booking.cancelled", "host_user_id", json!("usr_1"))),
        ("booking.outside", data("booking.created", "conversation_id", json!("cnv_1"))),
        ("scout.held.values", data("scout.held", "conversation_id", json!("cnv_1"))),
        ("booking.values", data("booking.created", "starts_at", json!("2001-01-01T00:00:00.000Z"))),
        ("draft.untold", body("POST /conversations/*/replies", |it| it["send"] = json!(true))),
    ]));
    list
}
