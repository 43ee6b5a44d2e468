//! Refuses unknown arguments, and suggests the name that was probably meant: a model would believe that an
//! ignored argument counted.

use rmcp::model::JsonObject;
use serde_json::Value;
use shared_inbox::{ConversationId, Problems};

use crate::outcome::Failure;

/// What models call an argument, beside its name.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("id", &["conversation", "conversationid", "cnv", "thread", "threadid"]),
    ("q", &["query", "search", "text", "words", "term", "keywords"]),
    ("view", &["status", "state", "filter"]),
    ("status", &["state", "view"]),
    ("add", &["tags", "tag", "labels", "label", "names", "name"]),
    ("remove", &["delete", "untag"]),
    ("assigned", &["assignee", "assignedto", "owner"]),
    ("to", &["assignee", "assignto", "user", "agent", "person", "owner", "teammate", "name"]),
    ("body", &["text", "message", "note", "content", "comment", "reply"]),
    ("message", &["body", "text", "note", "content"]),
    ("documents", &["items", "document", "docs", "files", "checklist"]),
    ("dueDate", &["due", "deadline", "date"]),
    ("limit", &["count", "max", "n", "top", "size", "pagesize", "maxresults"]),
    ("mailbox", &["inbox", "mailboxid", "inboxid"]),
    ("kind", &["type", "category"]),
    ("items", &["range", "part", "page"]),
    ("label", &["name", "title", "document"]),
];

/// How much two names must have in common to be taken for one, of 1.
const MIN_SIMILARITY: f64 = 0.8;

/// Returns what is wrong with the names of these arguments, at any depth; nothing when the schema has them
/// all.
pub(in crate::server) fn unknown(schema: &JsonObject, arguments: &JsonObject) -> Option<String> {
    let mut problems = Vec::new();
    collect(schema, arguments, "", &mut problems);
    if problems.is_empty() {
        return None;
    }
    let known = names(schema).collect::<Vec<_>>().join(", ");
    let takes = if known.is_empty() { "no arguments".to_owned() } else { known };
    Some(format!("{} Nothing was done. The tool takes {takes}.", problems.join(" ")))
}

fn collect(schema: &JsonObject, given: &JsonObject, place: &str, problems: &mut Vec<String>) {
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, value) in given {
        match fields.and_then(|fields| fields.get(name)) {
            Some(field) => descend(field, value, &format!("{place}{name}"), problems),
            // What is not given is no argument: strict modes of model vendors send it for all.
            None if value.is_null() => {}
            None => problems.push(match nearest(schema, name) {
                Some(meant) => format!("Unknown argument `{place}{name}`; did you mean `{place}{meant}`?"),
                None => format!("Unknown argument `{place}{name}`."),
            }),
        }
    }
}

fn descend(schema: &Value, value: &Value, place: &str, problems: &mut Vec<String>) {
    match (schema, value) {
        (Value::Object(schema), Value::Object(given)) if schema.contains_key("properties") => {
            collect(schema, given, &format!("{place}."), problems);
        }
        (Value::Object(schema), Value::Array(items)) => {
            let Some(of) = schema.get("items") else { return };
            for (i, item) in items.iter().enumerate() {
                descend(of, item, &format!("{place}[{i}]"), problems);
            }
        }
        _ => {}
    }
}

fn names(schema: &JsonObject) -> impl Iterator<Item = &str> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|fields| fields.keys().map(String::as_str))
}

/// Returns the argument that was probably meant.
fn nearest<'a>(schema: &'a JsonObject, name: &str) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-'], "");
    let given = plain(name);
    let means = |argument: &str| {
        let synonyms =
            SYNONYMS.iter().find(|(one, _)| *one == argument).map_or(&[][..], |(_, synonyms)| synonyms);
        plain(argument) == given || synonyms.contains(&given.as_str())
    };
    names(schema).find(|argument| means(argument)).or_else(|| {
        let likeness = |argument: &&str| strsim::jaro_winkler(&plain(argument), &given);
        names(schema)
            .filter(|argument| likeness(argument) >= MIN_SIMILARITY)
            .max_by(|one, other| likeness(one).total_cmp(&likeness(other)))
    })
}

/// Returns the id and the input, or everything that is wrong with either.
pub(in crate::server) fn require_id_and_input<T>(
    id: Result<ConversationId, String>,
    input: Result<T, Problems>,
) -> Result<(ConversationId, T), Failure> {
    let mut problems = Problems::default();
    match (id, input) {
        (Ok(id), Ok(input)) => return Ok((id, input)),
        (id, input) => {
            if let Err(message) = id {
                problems.push("id", message);
            }
            if let Err(more) = input {
                more.iter().for_each(|problem| problems.push(&problem.field, &problem.message));
            }
        }
    }
    Err(problems.into())
}
