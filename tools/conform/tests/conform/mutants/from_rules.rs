//! Mutants of checks: a key, a scope, a limit or a visibility that is not looked at, or looked at too
//! strictly.

use serde_json::{Value, json};

use super::{Mutant, after, before, mutant, status};
use crate::proxy::{Changes, ProxyResponse, Route};

/// Operations by the name that rules give them, and their request.
const OPERATIONS: &[(&str, &str)] = &[
    ("me", "GET /me"),
    ("list", "GET /conversations"),
    ("read", "GET /conversations/*"),
    ("notes", "POST /conversations/*/notes"),
    ("status", "POST /conversations/*/status"),
    ("tags", "POST /conversations/*/tags"),
    ("assign", "POST /conversations/*/assign"),
    ("replies", "POST /conversations/*/replies"),
    ("replies.send", "POST /conversations/*/replies"),
    ("requests", "POST /conversations/*/document-requests"),
    ("requests.send", "POST /conversations/*/document-requests"),
    ("mailboxes", "GET /mailboxes"),
    ("tags.list", "GET /tags"),
    ("documents", "GET /documents"),
    ("app-mail", "POST /app-mail"),
    ("inbound", "POST /sandbox/inbound"),
];

/// Limits: the rule, the request, the field, and the longest that it takes.
const LENGTHS: &[(&str, &str, &str, usize)] = &[
    ("notes.body.max", "POST /conversations/*/notes", "body", 10_000),
    ("replies.body.max", "POST /conversations/*/replies", "body", 50_000),
    ("replies.summary.max", "POST /conversations/*/replies", "summary", 500),
    ("requests.message.max", "POST /conversations/*/document-requests", "message", 5_000),
    ("tags.name.max", "POST /conversations/*/tags", "add", 40),
    ("tags.add.max", "POST /conversations/*/tags", "add", 10),
    ("tags.remove.max", "POST /conversations/*/tags", "remove", 10),
    ("replies.documents.max", "POST /conversations/*/replies", "documents", 20),
    ("replies.label.max", "POST /conversations/*/replies", "documents", 120),
    ("replies.description.max", "POST /conversations/*/replies", "documents", 500),
    ("requests.documents.max", "POST /conversations/*/document-requests", "documents", 20),
    ("requests.label.max", "POST /conversations/*/document-requests", "documents", 120),
    ("requests.description.max", "POST /conversations/*/document-requests", "documents", 500),
];

/// Input that must be refused: the request, and the rules about it.
const REFUSED: &[(&str, &str)] = &[
    ("POST /conversations/*/notes", "notes.body.required notes.body.min notes.body.type"),
    ("POST /conversations/*/status", "status.required status.values status.type"),
    (
        "POST /conversations/*/tags",
        "tags.name.min tags.remove.name.max tags.remove.name.min tags.add.type tags.add.item.type tags.remove.type",
    ),
    (
        "POST /conversations/*/assign",
        "assign.to.required assign.to.type assign.to.max assign.to.form assign.user.unknown \
         assign.agent.unknown assign.cannot-see",
    ),
    (
        "POST /conversations/*/replies",
        "replies.body.required replies.body.type replies.summary.type replies.send.type replies.label.required \
         replies.required.type replies.documents.type",
    ),
    (
        "POST /conversations/*/document-requests",
        "requests.documents.required requests.label.required requests.required.type requests.documents.type \
         requests.send.type requests.dueDate.format requests.dueDate.time",
    ),
    ("POST /app-mail", "app-mail.to.type app-mail.subject.type app-mail.messageId.type"),
    ("POST /sandbox/inbound", "inbound.from.domain inbound.from.required"),
    (
        "GET /conversations",
        "list.view.values list.q.max list.assigned.values list.limit.max list.limit.min list.limit.type",
    ),
    (
        "GET /documents",
        "documents.limit.max documents.limit.min documents.limit.type documents.kind.values documents.q.max",
    ),
    ("POST /conversations/*/notes", "input.json input.object input.missing"),
    ("POST /conversations/*/status", "input.missing.status"),
    ("POST /conversations/*/assign", "input.missing.assign"),
    ("POST /conversations/*/replies", "input.missing.replies"),
    ("POST /conversations/*/document-requests", "input.missing.requests"),
];

fn longest(value: &Value) -> Vec<usize> {
    match value {
        Value::String(text) => vec![text.chars().count()],
        Value::Array(items) => items.iter().flat_map(longest).chain([items.len()]).collect(),
        Value::Object(fields) => fields.values().flat_map(longest).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn all() -> Vec<Mutant> {
    let mut mutants = Vec::new();
    let mut add = |rule: &str, change: &str, changes: Changes| {
        mutants.push(mutant(format!("{rule}: {change}"), rule, changes));
    };
    for (name, what) in OPERATIONS.iter().copied() {
        if !name.ends_with(".send") {
            let rule = format!("auth.none.{name}");
            add(&rule, "no key is needed", status(what, 401, 200));
            add(&rule, "403 without a key", status(what, 401, 403));
        }
        if what.starts_with("POST") {
            let needed = format!("scope.{name}.needed");
            add(&needed, "no scope is needed", status(what, 403, 200));
            add(&needed, "404 without the scope", status(what, 403, 404));
            add(&needed, "a 403 that names no scope", unnamed(what, 403));
            let strict = after(what, |_, response| {
                if response.status < 300 {
                    *response = ProxyResponse::new(403, &json!({ "error": "This key lacks a scope." }));
                }
            });
            add(&format!("scope.{name}.enough"), "refused with its scope", strict);
        }
        if what.contains('*') {
            for rule in ["private", "sandbox.hidden"].map(|group| format!("{group}.{name}")) {
                add(&rule, "403 for what is hidden", hidden(what, 403));
                add(&rule, "another sentence for what is hidden", hidden(what, 404));
            }
        }
    }
    for (rule, what, field, most) in LENGTHS.iter().copied() {
        add(rule, "is not checked", status(what, 400, 201));
        let strict = before(what, move |request| match longest(&request.json()[field]).contains(&most) {
            true => Route::respond(400, &json!({ "error": format!("{field}: is too long") })),
            false => Route::Forward,
        });
        add(rule, "is one too low", strict);
    }
    let refused =
        || REFUSED.iter().flat_map(|(what, rules)| rules.split_whitespace().map(move |rule| (rule, *what)));
    for (rule, what) in refused() {
        add(rule, "is not checked", status(what, 400, 200));
    }
    let names_a_field =
        |rule: &str| !rule.contains("unknown") && !rule.starts_with("input") && !rule.contains("cannot");
    for (rule, what) in refused().filter(|(rule, _)| names_a_field(rule)) {
        add(rule, "the field is not named", unnamed(what, 400));
    }
    mutants
}

/// A refusal that does not say why.
fn unnamed(what: &'static str, refused: u16) -> Changes {
    after(what, move |_, response| {
        if response.status == refused {
            response.set_json(&json!({ "error": "Something is wrong." }));
        }
    })
}

/// Another refusal for conversations that are there and hidden.
fn hidden(what: &'static str, to: u16) -> Changes {
    after(what, move |request, response| {
        if response.status == 404 && !request.path.contains("cnv_0/") && !request.path.ends_with("cnv_0") {
            *response = ProxyResponse::new(to, &json!({ "error": "You may not see this conversation." }));
        }
    })
}
