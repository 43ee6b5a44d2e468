//! World documents: where a world starts from, and reading one with errors that say where to look.

use std::{collections::HashMap, sync::Arc};

use serde_json::value::RawValue;

use crate::world::{InvalidWorld, Refusal, World};

/// What a world is at its start.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// The built-in demo workspace.
    Demo,
    /// A workspace with nothing in it.
    Empty,
    /// A document, kept as it was given: a reset reads it again.
    Document(Arc<[u8]>),
}

/// Reads a document. The refusal gives line, column, field and reason.
pub(crate) fn read(document: &[u8]) -> Result<World, Refusal> {
    let mut json = serde_json::Deserializer::from_slice(document);
    let refuse = |error: &serde_json::Error, field: &str, reason: &str| {
        let field = if field.is_empty() { "the document" } else { field };
        Refusal::new(400, format!("line {}, column {}: {field}: {reason}", error.line(), error.column()))
    };
    let world = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let (field, reason) = explain(&error);
        refuse(error.inner(), &field, &reason)
    })?;
    json.end().map_err(|error| refuse(&error, "", "is followed by something else"))?;
    Ok(world)
}

/// The refusal of a document that can be read, and in which something does not fit together.
pub(crate) fn unsound(document: &[u8], invalid: &InvalidWorld) -> Refusal {
    let problems = invalid.problems().iter().map(|problem| match line(document, &problem.field) {
        Some(line) => format!("line {line}: {problem}"),
        None => problem.to_string(),
    });
    Refusal::new(400, problems.collect::<Vec<_>>().join("; "))
}

/// The line on which a field such as `conversations[3].mailbox` stands, or as much of its path as there is.
fn line(document: &[u8], field: &str) -> Option<usize> {
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
    let before = (at.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    Some(1 + text.get(..before)?.matches('\n').count())
}

/// The field that an error is about, empty for the whole, and what is wrong with it.
pub(crate) fn explain(error: &serde_path_to_error::Error<serde_json::Error>) -> (String, String) {
    let inner = error.inner();
    let message = inner.to_string();
    // The place has been told by then, or does not help: the body of a request is often one line.
    let place = format!(" at line {} column {}", inner.line(), inner.column());
    let reason = message.strip_suffix(&place).unwrap_or(&message);
    let path = Some(error.path().to_string()).filter(|path| path != ".").unwrap_or_default();
    match reason.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        Some(missing) if path.is_empty() => (missing.to_owned(), "is required".to_owned()),
        Some(missing) => (format!("{path}.{missing}"), "is required".to_owned()),
        None => (path, reason.to_owned()),
    }
}
