//! World documents, and errors that name the line and the field.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use bytes::Bytes;
use serde_json::{Value, value::RawValue};
use shared_inbox::Problems;

use crate::{
    json::{
        read::{ReadError, read as read_json},
        schema::Checker,
    },
    world::{Refusal, Result, World},
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

/// Returns the JSON Schema of a world document, the format of
/// [`MockServerBuilder::seed`](crate::MockServerBuilder::seed).
pub fn world_schema() -> &'static str {
    include_str!("../../documents/world.schema.json")
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(world_schema()).unwrap_or_default());

/// Reads a document. A refusal names line, column, field and reason.
pub(crate) fn read(document: &[u8]) -> Result<World> {
    if document.trim_ascii_start().first() == Some(&b'[') {
        return Err(Refusal::new(400, "line 1: the document: must be a JSON object"));
    }
    let problems = problems(document);
    if !problems.is_empty() {
        return Err(refuse_unsound(document, &problems));
    }
    read_json(document).map_err(|error| {
        let field = error.field();
        let field = if field.is_empty() { "the document" } else { &field };
        let ReadError { line, column, reason, .. } = error;
        Refusal::new(400, format!("line {line}, column {column}: {field}: {reason}"))
    })
}

/// Returns what the schema says about a document, which is looked at one item at a time: it may be as large
/// as the memory.
fn problems(document: &[u8]) -> Problems {
    let mut checker = Checker::new(&SCHEMA, "");
    // What is not JSON at all is said by the reader.
    let Ok(fields) = serde_json::from_slice::<BTreeMap<String, &RawValue>>(document) else {
        return checker.problems;
    };
    let fields = fields.into_iter().map(|(name, value)| {
        let items = serde_json::from_str::<Vec<&RawValue>>(value.get());
        let schema = &SCHEMA["properties"][&name]["items"];
        for (n, item) in items.iter().flatten().enumerate().filter(|_| schema.is_object()) {
            let item = serde_json::from_str(item.get()).unwrap_or_default();
            checker.within(&format!("{name}[{n}]"), |checker| checker.check(schema, &item));
        }
        let whole = if items.is_ok() {
            Value::Array(Vec::new())
        } else {
            serde_json::from_str(value.get()).unwrap_or_default()
        };
        (name, whole)
    });
    let outline = Value::Object(fields.collect());
    checker.check(&SCHEMA, &outline);
    checker.problems
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
            None => serde_json::from_str::<HashMap<String, &RawValue>>(at.get())
                .ok()
                .and_then(|fields| fields.get(name).copied()),
        };
        let Some(inner) = inner else { break };
        at = inner;
    }
    Some((text, at))
}
