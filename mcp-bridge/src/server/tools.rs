//! The catalogue's tools in the words of the protocol.

use std::{
    ops::Range,
    sync::{Arc, LazyLock},
};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use shared_inbox::Operation;

/// The argument of `get_conversation` for a part of the timeline.
pub(super) const ITEMS: &str = "items";

/// Every tool, in the catalogue's order.
pub(super) static TOOLS: LazyLock<Vec<(Operation, Tool)>> =
    LazyLock::new(|| Operation::KNOWN.into_iter().filter_map(|op| Some((op, tool(op)?))).collect());

fn tool(operation: Operation) -> Option<Tool> {
    let tool = operation.tool()?;
    let mut input = tool.input_schema;
    if operation == Operation::GetConversation {
        input["properties"][ITEMS] = json!({
            "type": "string",
            "pattern": "^[0-9]+-[0-9]+$",
            "description": "Part of a long timeline, such as 1-20.",
        });
    }
    // Only what is not said by saying nothing: a model pays for every word of this list.
    let mut annotations = ToolAnnotations::new();
    if tool.read_only {
        annotations = annotations.read_only(true);
    } else {
        annotations = annotations.destructive(tool.destructive);
        if tool.idempotent {
            annotations = annotations.idempotent(true);
        }
    }
    if !tool.open_world {
        annotations = annotations.open_world(false);
    }
    Some(
        Tool::new(tool.name, tool.description, object(input))
            .with_title(tool.title)
            .with_raw_output_schema(object(tool.output_schema))
            .with_annotations(annotations),
    )
}

/// The part of the timeline that a call asks for. It is the bridge's own argument: the service's tool gives all of it.
pub(super) fn items(arguments: &Value) -> Result<Option<Range<usize>>, String> {
    match arguments.get(ITEMS) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => {
            range(text).map(Some).ok_or_else(|| "must be a range such as 1-20".into())
        }
        Some(_) => Err("must be a string such as 1-20".into()),
    }
}

/// A range of items, counted from 1.
pub(super) fn range(text: &str) -> Option<Range<usize>> {
    let (first, last) = text.split_once('-')?;
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    Some(first.checked_sub(1)?..last.max(first))
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(fields) => Arc::new(fields),
        // The catalogue writes objects only; a test of the tool list would show anything else.
        _ => Arc::default(),
    }
}
