//! Mutants of checks: a key, a scope, a limit or a visibility that is not looked at, or looked at too strictly.

use serde_json::{Value, json};

use super::{Mutant, after, before, mutant, status};
use crate::proxy::{Answered, Way};

/// Operations by the name that rules give them, their request, and the scope that they need.
const OPERATIONS: &[(&str, &str, &str)] = &[
    ("me", "GET /me", "read"),
    ("list", "GET /conversations", "read"),
    ("read", "GET /conversations/*", "read"),
    ("notes", "POST /conversations/*/notes", "write"),
    ("status", "POST /conversations/*/status", "write"),
    ("tags", "POST /conversations/*/tags", "write"),
    ("assign", "POST /conversations/*/assign", "write"),
    ("replies", "POST /conversations/*/replies", "draft"),
    ("replies.send", "POST /conversations/*/replies", "send"),
    ("requests", "POST /conversations/*/document-requests", "draft"),
    ("requests.send", "POST /conversations/*/document-requests", "send"),
    ("mailboxes", "GET /mailboxes", "read"),
    ("tags.list", "GET /tags", "read"),
    ("documents", "GET /documents", "read"),
    ("app-mail", "POST /app-mail", "record"),
    ("inbound", "POST /sandbox/inbound", "write"),
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

/// Input that must be refused: the rule and the request.
const REFUSED: &[(&str, &str)] = &[
    ("notes.body.required", "POST /conversations/*/notes"),
    ("notes.body.min", "POST /conversations/*/notes"),
    ("notes.body.type", "POST /conversations/*/notes"),
    ("status.required", "POST /conversations/*/status"),
    ("status.values", "POST /conversations/*/status"),
    ("status.type", "POST /conversations/*/status"),
    ("tags.name.min", "POST /conversations/*/tags"),
    ("tags.remove.name.max", "POST /conversations/*/tags"),
    ("tags.remove.name.min", "POST /conversations/*/tags"),
    ("tags.add.type", "POST /conversations/*/tags"),
    ("tags.add.item.type", "POST /conversations/*/tags"),
    ("tags.remove.type", "POST /conversations/*/tags"),
    ("assign.to.required", "POST /conversations/*/assign"),
    ("assign.to.type", "POST /conversations/*/assign"),
    ("assign.to.max", "POST /conversations/*/assign"),
    ("assign.to.form", "POST /conversations/*/assign"),
    ("assign.user.unknown", "POST /conversations/*/assign"),
    ("assign.agent.unknown", "POST /conversations/*/assign"),
    ("assign.cannot-see", "POST /conversations/*/assign"),
    ("replies.body.required", "POST /conversations/*/replies"),
    ("replies.body.type", "POST /conversations/*/replies"),
    ("replies.summary.type", "POST /conversations/*/replies"),
    ("replies.send.type", "POST /conversations/*/replies"),
    ("replies.label.required", "POST /conversations/*/replies"),
    ("replies.required.type", "POST /conversations/*/replies"),
    ("replies.documents.type", "POST /conversations/*/replies"),
    ("requests.documents.required", "POST /conversations/*/document-requests"),
    ("requests.label.required", "POST /conversations/*/document-requests"),
    ("requests.required.type", "POST /conversations/*/document-requests"),
    ("requests.documents.type", "POST /conversations/*/document-requests"),
    ("requests.send.type", "POST /conversations/*/document-requests"),
    ("requests.dueDate.format", "POST /conversations/*/document-requests"),
    ("requests.dueDate.time", "POST /conversations/*/document-requests"),
    ("app-mail.to.type", "POST /app-mail"),
    ("app-mail.subject.type", "POST /app-mail"),
    ("app-mail.messageId.type", "POST /app-mail"),
    ("inbound.from.domain", "POST /sandbox/inbound"),
    ("inbound.from.required", "POST /sandbox/inbound"),
    ("list.view.values", "GET /conversations"),
    ("list.q.max", "GET /conversations"),
    ("list.assigned.values", "GET /conversations"),
    ("list.limit.max", "GET /conversations"),
    ("list.limit.min", "GET /conversations"),
    ("list.limit.type", "GET /conversations"),
    ("documents.limit.max", "GET /documents"),
    ("documents.limit.min", "GET /documents"),
    ("documents.limit.type", "GET /documents"),
    ("documents.kind.values", "GET /documents"),
    ("documents.q.max", "GET /documents"),
    ("input.json", "POST /conversations/*/notes"),
    ("input.object", "POST /conversations/*/notes"),
    ("input.missing", "POST /conversations/*/notes"),
    ("input.missing.status", "POST /conversations/*/status"),
    ("input.missing.assign", "POST /conversations/*/assign"),
    ("input.missing.replies", "POST /conversations/*/replies"),
    ("input.missing.requests", "POST /conversations/*/document-requests"),
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
    for (name, what, scope) in OPERATIONS.iter().copied() {
        if !name.ends_with(".send") {
            mutants.push(mutant(
                format!("{what} without a key"),
                format!("auth.none.{name}"),
                status(what, 401, 200),
            ));
            mutants.push(mutant(
                format!("{what} without a key is a 403"),
                format!("auth.none.{name}"),
                status(what, 401, 403),
            ));
        }
        if scope != "read" {
            mutants.push(mutant(
                format!("{what} without its scope"),
                format!("scope.{name}.needed"),
                status(what, 403, 200),
            ));
            mutants.push(mutant(
                format!("{what}: 404 for a scope"),
                format!("scope.{name}.needed"),
                status(what, 403, 404),
            ));
            let unnamed = after(what, |_, answered| {
                if answered.status == 403 {
                    answered.set_json(&json!({ "error": "Forbidden." }));
                }
            });
            mutants.push(mutant(
                format!("{what}: a 403 that names no scope"),
                format!("scope.{name}.needed"),
                unnamed,
            ));
            let strict = after(what, |_, answered| {
                if answered.status < 300 {
                    *answered = Answered::new(403, &json!({ "error": "This key lacks a scope." }));
                }
            });
            mutants.push(mutant(
                format!("{what} refused with its scope"),
                format!("scope.{name}.enough"),
                strict,
            ));
        }
        if what.contains('*') {
            for group in ["private", "sandbox.hidden"] {
                let rule = format!("{group}.{name}");
                mutants.push(mutant(
                    format!("{what}: 403 for what is hidden ({group})"),
                    &rule,
                    hidden(what, 403),
                ));
                mutants.push(mutant(
                    format!("{what}: another sentence for what is hidden ({group})"),
                    &rule,
                    hidden(what, 404),
                ));
            }
        }
    }
    for (rule, what, field, most) in LENGTHS.iter().copied() {
        mutants.push(mutant(format!("{rule} is not checked"), rule, status(what, 400, 201)));
        let strict = before(what, move |asked| match longest(&asked.json()[field]).contains(&most) {
            true => Way::Not(Answered::new(400, &json!({ "error": format!("{field}: is too long") }))),
            false => Way::On,
        });
        mutants.push(mutant(format!("{rule} is one too low"), rule, strict));
    }
    for (rule, what) in REFUSED.iter().copied() {
        mutants.push(mutant(format!("{rule} is not checked"), rule, status(what, 400, 200)));
    }
    for (rule, what) in REFUSED.iter().copied().filter(|(rule, _)| {
        !rule.contains("unknown") && !rule.starts_with("input") && !rule.contains("cannot")
    }) {
        let unnamed = after(what, |_, answered| {
            if answered.status == 400 {
                answered.set_json(&json!({ "error": "Something is wrong." }));
            }
        });
        mutants.push(mutant(format!("{rule}: the field is not named"), rule, unnamed));
    }
    mutants
}

/// Another refusal for conversations that are there and hidden.
fn hidden(what: &'static str, to: u16) -> crate::proxy::Changes {
    after(what, move |asked, answered| {
        if answered.status == 404 && !asked.path.contains("cnv_0/") && !asked.path.ends_with("cnv_0") {
            *answered = Answered::new(to, &json!({ "error": "You may not see this conversation." }));
        }
    })
}
