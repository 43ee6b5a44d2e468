//! World documents, and errors that name the line and the field.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::{Map, Value, value::RawValue};
use shared_inbox::{Note, Problems, TimelineEvent};

use crate::{
    json::read::{ReadError, read as read_json},
    world::{MessageRecord, Refusal, Result, World},
};

/// What a world starts from.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// The built-in demo workspace.
    Demo,
    /// A workspace with nothing in it.
    Empty,
    /// A document.
    Document(Bytes),
}

/// Reads a document. A refusal names line, column, field and reason.
pub(crate) fn read(document: &[u8]) -> Result<World> {
    if document.trim_ascii_start().first() == Some(&b'[') {
        return Err(Refusal::new(400, "line 1: the document: must be a JSON object"));
    }
    read_json(document).map_err(|error| {
        let field = error.field();
        if error.is_missing() {
            return refuse(document, &field, &error.reason, error.line);
        }
        find_item_problem(document, &field).unwrap_or_else(|| {
            let field = if field.is_empty() { "the document" } else { &field };
            let ReadError { line, column, reason, .. } = error;
            Refusal::new(400, format!("line {line}, column {column}: {field}: {reason}"))
        })
    })
}

/// Returns the refusal of a field, with its line, or that of the part of its path that exists.
fn refuse(document: &[u8], field: &str, reason: &str, or_line: usize) -> Refusal {
    let line = line(document, field).unwrap_or(or_line);
    Refusal::new(400, format!("line {line}: {field}: {reason}"))
}

/// How many problems of a document are reported: the line of each has to be searched for.
const MAX_PROBLEMS: usize = 20;

/// Returns the refusal of a document that can be read but does not fit together.
pub(crate) fn refuse_unsound(document: &[u8], all: &Problems) -> Refusal {
    let problems = all.iter().take(MAX_PROBLEMS).map(|problem| match line(document, &problem.field) {
        Some(line) => format!("line {line}: {problem}"),
        None => problem.to_string(),
    });
    let mut problems: Vec<String> = problems.collect();
    if all.len() > MAX_PROBLEMS {
        problems.push(format!("and {} more", all.len() - MAX_PROBLEMS));
    }
    Refusal::new(400, problems.join("; "))
}

/// Finds the problem of a timeline's item. The kind of an item is known only after reading it, so its error has neither field
/// nor line; this reads the item again as the kind that it has.
fn find_item_problem(document: &[u8], field: &str) -> Option<Refusal> {
    let (text, raw) = find(document, field)?;
    let mut item: Map<String, Value> = serde_json::from_str(raw.get()).ok()?;
    let kind = item.remove("type")?;
    let item = Value::Object(item).to_string();
    let problem = match kind.as_str()? {
        "message" => read_json::<MessageRecord>(item.as_bytes()).err(),
        "note" => read_json::<Note>(item.as_bytes()).err(),
        "event" => read_json::<TimelineEvent>(item.as_bytes()).err(),
        _ => None,
    }?;
    let inner = problem.field();
    let field = if inner.is_empty() { field.to_owned() } else { format!("{field}.{inner}") };
    Some(refuse(document, &field, &problem.reason, line_number_at(text, raw)))
}

/// Returns the line of a field such as `conversations[3].mailbox`, or of the part of its path that exists.
fn line(document: &[u8], field: &str) -> Option<usize> {
    find(document, field).map(|(text, raw)| line_number_at(text, raw))
}

fn line_number_at(text: &str, part: &RawValue) -> usize {
    let before = (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    1 + text.bytes().take(before).filter(|byte| *byte == b'\n').count()
}

/// Returns the document as text, and the part of it that a path leads to, as far as it exists.
fn find<'d>(document: &'d [u8], field: &str) -> Option<(&'d str, &'d RawValue)> {
    let text = std::str::from_utf8(document).ok()?;
    let mut at: &RawValue = serde_json::from_str(text).ok()?;
    for name in field.split(['.', '[']) {
        let inner = match name.strip_suffix(']') {
            Some(index) => serde_json::from_str::<Vec<&RawValue>>(at.get())
                .ok()
                .and_then(|items| items.get(index.parse::<usize>().ok()?).copied()),
            None => serde_json::from_str::<HashMap<&str, &RawValue>>(at.get())
                .ok()
                .and_then(|fields| fields.get(name).copied()),
        };
        let Some(inner) = inner else { break };
        at = inner;
    }
    Some((text, at))
}
