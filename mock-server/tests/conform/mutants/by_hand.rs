//! Mutants of what operations do, one for each rule that no table gives one.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json};

use super::{Mutant, after, before, edit, mutant, relay, status, success};
use crate::proxy::{Answered, Asked, Changes, Way};

const READ: &str = "GET /conversations/*";
const LIST: &str = "GET /conversations";

/// Changes each item of a timeline that is of this type.
fn items(kind: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Changes {
    edit(READ, move |json| {
        let timeline = json["timeline"].as_array_mut().into_iter().flatten();
        timeline.filter(|it| it["type"] == kind).for_each(&change);
    })
}

/// Changes each entry of a list.
fn entries(what: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Changes {
    edit(what, move |json| json.as_array_mut().into_iter().flatten().for_each(&change))
}

/// Such a request is answered and does nothing.
fn swallowed(what: &'static str) -> Changes {
    before(what, |_| Way::Not(Answered::new(201, &success())))
}

/// A request comes without this parameter.
fn ignoring(what: &'static str, parameter: &'static str) -> Changes {
    before(what, move |asked| {
        asked.drop_parameter(parameter);
        Way::On
    })
}

/// Events of this kind are changed.
fn events(kind: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Changes {
    relay(move |asked| {
        let mut event = asked.json();
        if kind.is_empty() || event["type"] == kind {
            change(&mut event);
            asked.set_json(&event);
        }
        1
    })
}

/// Events of this kind arrive so often.
fn arriving(kind: &'static str, times: usize) -> Changes {
    relay(move |asked| if asked.json()["type"] == kind { times } else { 1 })
}

/// The mock hears another answer than the receiver gave.
fn heard(change: impl Fn(u16) -> u16 + Send + Sync + 'static) -> Changes {
    Changes { heard: Some(Arc::new(change)), ..Changes::default() }
}

fn header(name: &'static str, change: impl Fn(&str) -> String + Send + Sync + 'static) -> Changes {
    relay(move |asked| {
        let value = asked.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
        asked.headers.insert(name, change(&value).parse().expect("a header"));
        1
    })
}

/// What the control API shows of mails that left.
fn outbox(change: impl Fn(&mut Vec<Value>) + Send + Sync + 'static) -> Changes {
    edit("GET /_mock/worlds/*/outbox", move |json| change(json.as_array_mut().expect("a list")))
}

fn reminder() -> Value {
    json!({ "kind": "reminder", "at": "2036-01-01T00:00:00.000Z", "to": "kim@customer.example" })
}

pub(super) fn all() -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (group, list) in [
        ("form", forms()),
        ("lists", lists()),
        ("writes", writes()),
        ("replies", replies()),
        ("library", library()),
        ("app mail", app_mail()),
        ("sandbox", sandbox()),
        ("access", access()),
        ("webhooks", webhooks()),
        ("events", occasions()),
        ("errors", errors()),
        ("mcp", mcp()),
    ] {
        let named = list.into_iter().map(|(rule, changes)| mutant(format!("{group}: {rule}"), rule, changes));
        mutants.extend(named);
    }
    mutants
}

type Named = Vec<(String, Changes)>;

fn named<const N: usize>(list: [(&str, Changes); N]) -> Named {
    list.into_iter().map(|(rule, changes)| (rule.to_owned(), changes)).collect()
}

/// A media type that is not JSON's.
fn as_text(what: &'static str) -> Changes {
    after(what, |_, answered| {
        drop(answered.headers.insert("content-type", "text/plain".parse().expect("a type")))
    })
}

fn forms() -> Named {
    let mut list = named([
        ("json.me", as_text("GET /me")),
        ("json.conversations", as_text(LIST)),
        ("json.mailboxes", as_text("GET /mailboxes")),
        ("json.tags", as_text("GET /tags")),
        ("json.documents", as_text("GET /documents")),
        ("json.created", as_text("POST /conversations/*/notes")),
        ("json.error", as_text(READ)),
        ("me.status", status_only("GET /me", 202)),
        ("me.scopes", edit("GET /me", |it| it["scopes"] = json!(["read", "admin"]))),
        ("me.agent", edit("GET /me", |it| drop(it.as_object_mut().expect("an object").remove("agent")))),
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
                let agents = it["team"]["agents"].as_array_mut().expect("a team");
                agents.push(json!({ "id": "agent:agt_1", "name": "Stranger" }));
            }),
        ),
        ("conversation.all.summary.fields", edit(READ, |it| it["subject"] = json!("Another"))),
        (
            "timeline.order",
            edit(READ, |it| {
                let items = it["timeline"].as_array_mut().expect("a timeline");
                items[0]["at"] = json!("2099-01-01T00:00:00.000Z");
            }),
        ),
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
            after("GET /mailboxes", |asked, answered| {
                if asked.path.contains("cursor") {
                    answered.set_json(&json!({ "items": [] }));
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
            list.push((
                format!("{kind}.{field}"),
                items(kind, |it| drop(it.as_object_mut().expect("an object").remove(*field))),
            ));
            list.push((format!("{kind}.{field}"), items(kind, |it| it[*field] = json!(7))));
        }
    }
    // Fields that are there only now and then: they come, and in another type.
    let reply = "POST /conversations/*/replies";
    let request = "POST /conversations/*/document-requests";
    for (group, what) in [("reply.draft", reply), ("request.draft", request)] {
        for field in ["messageId", "status", "sendsAt", "requestId", "note"] {
            list.push((format!("{group}.{field}"), edit(what, move |it| it[field] = json!([7]))));
        }
    }
    list.push(("reply.sent.requestId".into(), edit(reply, |it| it["requestId"] = json!([7]))));
    for field in ["vendor", "amount", "currency", "date", "dueDate", "reference"] {
        let changes = entries("GET /documents", move |it| it["fields"][field] = json!([7]));
        list.push((format!("document.fields.{field}"), changes));
    }
    list.push(("summary.reference".into(), entries(LIST, |it| it["reference"] = json!([7]))));
    list.push(("conversation.reference".into(), edit(READ, |it| it["reference"] = json!([7]))));
    list.push(("conversation.appSent".into(), edit(READ, |it| it["appSent"] = json!([7]))));
    let told = events("client.replied", |it| it["data"]["reference"] = json!([7]));
    list.push(("client.replied.reference".into(), told));
    for field in ["name", "email"] {
        list.push((
            format!("message.from.{field}"),
            items("message", move |it| it["from"][field] = json!(7)),
        ));
    }
    list
}

fn status_only(what: &'static str, to: u16) -> Changes {
    after(what, move |_, answered| {
        if answered.status < 300 {
            answered.status = to;
        }
    })
}

fn lists() -> Named {
    let unfiltered = |rule: &str, parameter: &'static str| (rule.to_owned(), ignoring(LIST, parameter));
    let mut list = named([
        ("list.status", status_only(LIST, 206)),
        (
            "list.view.default",
            before(LIST, |asked| {
                if !asked.path.contains("view=") {
                    asked.path = asked.path.replace('?', "?view=closed&");
                }
                Way::On
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
                    it["lastMessageAt"] = json!(format!(
                        "20{}-01-01T00:00:00.000Z",
                        place.fetch_add(1, Ordering::Relaxed) % 90 + 10
                    ))
                }
            }),
        ),
        ("list.latest-message", entries(LIST, |it| it["messageCount"] = json!(1))),
        ("list.latest-message", entries(LIST, |it| it["lastMessageAt"] = json!("2001-01-01T00:00:00.000Z"))),
        ("list.q.outbound", edit(LIST, |it| *it = json!([]))),
        (
            "list.limit.default",
            before(LIST, |asked| {
                asked.path = format!("{}?limit=100", asked.path);
                Way::On
            }),
        ),
        ("read.status", status_only(READ, 203)),
        ("read.404", status(READ, 404, 410)),
        ("view.snoozed", edit(LIST, |it| *it = json!([]))),
    ]);
    list.extend([
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
    list.push(("list.view.open".into(), edit(LIST, |it| *it = json!([]))));
    list
}

fn writes() -> Named {
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

/// Every response is another.
fn counting(what: &'static str) -> Changes {
    let count = AtomicU32::new(0);
    edit(what, move |it| it["changed"] = json!(count.fetch_add(1, Ordering::Relaxed)))
}

fn replies() -> Named {
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

fn library() -> Named {
    let mut list = named([
        ("mailbox.open.count", entries("GET /mailboxes", |it| it["open"] = json!(1))),
        ("tag.count.of", entries("GET /tags", |it| it["count"] = json!(1))),
        ("tag.name.length", entries("GET /tags", |it| it["name"] = json!("x".repeat(41)))),
        ("document.read", entries("GET /documents", |it| it["kind"] = json!("other"))),
        ("mailboxes.status", status_only("GET /mailboxes", 206)),
        ("tags.list.status", edit("GET /tags", |it| *it = json!({ "items": it }))),
        ("documents.status", edit("GET /documents", |it| *it = json!({ "items": it }))),
        ("mailboxes.all", edit("GET /mailboxes", |it| it.as_array_mut().expect("a list").truncate(25))),
        ("tags.list.all", edit("GET /tags", |it| it.as_array_mut().expect("a list").truncate(100))),
        ("documents.attachments", edit("GET /documents", |it| *it = json!([]))),
        ("documents.kind", ignoring("GET /documents", "kind")),
        ("documents.q", ignoring("GET /documents", "q")),
        ("documents.together", ignoring("GET /documents", "q")),
        ("documents.together", ignoring("GET /documents", "kind")),
        ("documents.newest-first", edit("GET /documents", |it| it.as_array_mut().expect("a list").reverse())),
        ("documents.limit.default", ignoring("GET /documents", "limit")),
    ]);
    for kind in ["invoice", "receipt", "statement", "contract", "id", "tax", "photo", "other"] {
        list.push((format!("documents.kind.{kind}"), status("GET /documents", 200, 400)));
    }
    list
}

fn app_mail() -> Named {
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

fn sandbox() -> Named {
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

fn access() -> Named {
    let me = "GET /me";
    let seen = |what| {
        edit(what, |it: &mut Value| {
            it.as_array_mut().expect("a list").push(json!({ "address": "ben@acme.example" }))
        })
    };
    named([
        ("auth.wrong", status(me, 401, 200)),
        ("auth.malformed", status(me, 401, 400)),
        ("auth.scheme", status(me, 401, 200)),
        ("auth.revoked", status(me, 401, 200)),
        ("auth.form", edit("POST /_mock/worlds/*/keys", |it| it["key"] = json!("sk_live_1"))),
        ("auth.agent", edit(me, |it| it["agent"]["name"] = json!("Bot"))),
        ("auth.author", items("note", |it| it["author"] = json!("Somebody"))),
        ("auth.actor", items("event", |it| it["actor"] = json!("Somebody"))),
        ("auth.drafter", items("message", |it| it["from"]["name"] = json!("Somebody"))),
        ("auth.livemode", edit(me, |it| it["livemode"] = json!(false))),
        ("auth.scopes", edit(me, |it| it["scopes"] = json!(["read", "write", "draft", "send"]))),
        ("scope.read.enough", status("GET /documents", 200, 403)),
        ("scope.read.needed", status(me, 403, 200)),
        ("scope.read.needed", status("GET /documents", 403, 200)),
        ("scope.no-effect", counting(READ)),
        ("private.no-effect", counting(READ)),
        ("private.lists.filters", seen(LIST)),
        ("private.own", status(READ, 200, 404)),
        ("private.team", status(READ, 200, 404)),
        ("private.lists.conversations", seen(LIST)),
        ("private.lists.search", seen(LIST)),
        ("private.lists.documents", seen("GET /documents")),
        ("private.lists.document-search", seen("GET /documents")),
        ("private.lists.mailboxes", seen("GET /mailboxes")),
        ("sandbox.lists", seen(LIST)),
        ("sandbox.invisible", status(READ, 404, 200)),
        ("sandbox.invisible", seen("GET /documents")),
        (
            "browser.origin",
            after(me, |_, answered| {
                answered.headers.insert("access-control-allow-origin", "*".parse().expect("a header"));
            }),
        ),
        ("plan.free", status(me, 403, 200)),
        ("plan.free.mcp", status("POST /mcp", 403, 200)),
    ])
}

fn webhooks() -> Named {
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
        ("webhook.timestamp.try", header("webhook-timestamp", |_| "1800000000".into())),
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
        ("log.tries", edit(log, |it| it[0]["tries"] = json!([]))),
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

fn occasions() -> Named {
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

fn errors() -> Named {
    let more = |what, status: u16| {
        after(what, move |_: &Asked, answered: &mut Answered| {
            if answered.status == status {
                answered.set_json(&json!({ "error": "Not so.", "code": 7 }));
            }
        })
    };
    let first_problem = |what| {
        after(what, |_: &Asked, answered: &mut Answered| {
            if answered.status == 400 {
                let sentence = answered.json()["error"]
                    .as_str()
                    .unwrap_or_default()
                    .split(';')
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                answered.set_json(&json!({ "error": sentence }));
            }
        })
    };
    let early = || {
        let count = AtomicU32::new(0);
        before("GET /me", move |_| match count.fetch_add(1, Ordering::Relaxed) {
            // The first is the suite's own look at the key.
            0..=60 => Way::On,
            _ => Way::Not(Answered::new(429, &json!({ "error": "Slow down to 120 a minute." }))),
        })
    };
    named([
        ("error.400", more(LIST, 400)),
        ("error.401", more("GET /me", 401)),
        ("error.404", more(READ, 404)),
        ("error.403", more("POST /conversations/*/notes", 403)),
        ("input.all-problems.body", first_problem("POST /conversations/*/replies")),
        ("input.all-problems.query", first_problem(LIST)),
        ("input.no-effect", counting(READ)),
        ("no-idempotency-header", {
            let count = AtomicU32::new(0);
            before("POST /conversations/*/notes", move |_| match count.fetch_add(1, Ordering::Relaxed) {
                0 => Way::On,
                _ => Way::Not(Answered::new(201, &success())),
            })
        }),
        ("rate.limited", status("GET /me", 429, 200)),
        ("rate.limited", early()),
        ("rate.body", more("GET /me", 429)),
        ("rate.per-key", {
            let refused = AtomicU32::new(0);
            after("GET /me", move |_, answered| {
                if answered.status == 429 {
                    refused.store(1, Ordering::Relaxed);
                } else if refused.load(Ordering::Relaxed) == 1 {
                    *answered = Answered::new(429, &json!({ "error": "Slow down." }));
                }
            })
        }),
        ("rate.minute", before("POST /_mock/worlds/*/clock", |_| Way::Not(Answered::new(200, &json!({}))))),
        ("rate.shared", status("POST /mcp", 429, 200)),
        ("rate.shared.tools", {
            let count = AtomicU32::new(0);
            // The count starts anew after the calls of tools.
            after("GET /me", move |_, answered| {
                if answered.status == 429 && count.fetch_add(1, Ordering::Relaxed) < 60 {
                    *answered = Answered::new(200, &json!({}));
                }
            })
        }),
        ("rate.inbound", status("POST /sandbox/inbound", 429, 201)),
        ("openapi.auth", status("GET /openapi.json", 401, 200)),
        ("openapi.status", edit("GET /openapi.json", |it| it["openapi"] = json!("3.0.3"))),
    ])
}

fn mcp() -> Named {
    let endpoint = "POST /mcp";
    let result = |change: fn(&mut Value)| edit(endpoint, move |it: &mut Value| change(&mut it["result"]));
    let mut list = named([
        ("mcp.json", as_text(endpoint)),
        (
            "mcp.sessions",
            after(endpoint, |_, answered| {
                answered.headers.insert("mcp-session-id", "1".parse().expect("a header"));
            }),
        ),
        ("mcp.auth", status(endpoint, 401, 200)),
        ("mcp.auth.wrong", status(endpoint, 401, 200)),
        ("mcp.auth.revoked", status(endpoint, 401, 200)),
        ("mcp.inputs", result(|it| it["isError"] = json!(false))),
        (
            "mcp.effect",
            before(endpoint, |asked| match asked.json()["method"] == "tools/call" {
                true => Way::Not(Answered::new(
                    200,
                    &json!({ "jsonrpc": "2.0", "id": 1, "result": { "isError": false } }),
                )),
                false => Way::On,
            }),
        ),
        ("mcp.send", result(|it| it["isError"] = json!(false))),
        ("mcp.visibility", result(|it| it["isError"] = json!(false))),
    ]);
    for tool in [
        "list_conversations",
        "get_conversation",
        "add_note",
        "set_status",
        "tag_conversation",
        "assign_conversation",
        "reply",
        "request_documents",
        "list_mailboxes",
        "list_tags",
        "search_documents",
        "record_sent",
    ] {
        list.push((
            format!("mcp.tool.{tool}"),
            edit(endpoint, move |it| {
                if let Some(tools) = it["result"]["tools"].as_array_mut() {
                    tools.retain(|it| it["name"] != tool);
                }
            }),
        ));
        if !tool.starts_with("list") && !tool.starts_with("get") && !tool.starts_with("search") {
            list.push((
                format!("mcp.hidden.{tool}"),
                edit(endpoint, move |it| {
                    if let Some(tools) = it["result"]["tools"].as_array_mut() {
                        tools.push(json!({ "name": tool }));
                    }
                }),
            ));
        }
    }
    for path in [
        "get.me",
        "get.conversations",
        "get.conversations.id",
        "post.conversations.id.notes",
        "post.conversations.id.status",
        "post.conversations.id.tags",
        "post.conversations.id.assign",
        "post.conversations.id.replies",
        "post.conversations.id.document-requests",
        "get.mailboxes",
        "get.tags",
        "get.documents",
        "post.app-mail",
        "post.sandbox.inbound",
    ] {
        list.push((
            format!("openapi.{path}"),
            edit("GET /openapi.json", move |it| {
                let (_, name) = path.split_once('.').expect("a method");
                let name =
                    format!("/{}", name.replace('.', "/").replace("conversations/id", "conversations/{id}"));
                it["paths"].as_object_mut().expect("paths").remove(&name);
            }),
        ));
    }
    list
}
