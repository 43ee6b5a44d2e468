//! The catalogue's tools in the protocol's form, with the arguments that the bridge adds.

mod arguments;
mod calls;
mod changes;

use std::{
    ops::Range,
    sync::{Arc, LazyLock},
};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use shared_inbox::Operation;

/// The argument of `get_conversation` for a part of the timeline.
pub(in crate::server) const ITEMS: &str = "items";
/// The value of `view` in `list_conversations` for every status.
pub(in crate::server) const ANY: &str = "any";

/// Every tool, in the catalogue's order.
pub(in crate::server) static TOOLS: LazyLock<Vec<(Operation, Tool)>> =
    LazyLock::new(|| Operation::KNOWN.iter().copied().filter_map(|op| Some((op, tool(op)?))).collect());

pub(in crate::server) fn input_schema(operation: Operation) -> Option<&'static JsonObject> {
    TOOLS.iter().find(|(op, _)| *op == operation).map(|(_, tool)| &*tool.input_schema)
}

fn tool(operation: Operation) -> Option<Tool> {
    let tool = operation.tool()?;
    let mut input = tool.input_schema;
    let arguments = &mut input["properties"];
    match operation {
        Operation::GetConversation => {
            arguments[ITEMS] = json!({
                "type": "string",
                "description": "Part of a long timeline, such as 1-20.",
            });
        }
        Operation::ListConversations => {
            // With `reference` it is the service's `all`.
            arguments["view"]["enum"] = json!(["open", "waiting", "snoozed", "closed", ANY]);
            arguments["view"]["description"] = "waiting: on the customer; any: every status.".into();
        }
        Operation::AssignConversation => {
            arguments["to"]["description"] = "A name or id from `team`, `me`, or `none` to unassign.".into();
        }
        _ => {}
    }
    close(&mut input);
    // Only annotations that differ from their default: a model pays for every token of this list.
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

/// Says of every object that it has no other fields, and leaves out patterns: a model pays for each, and the error of a
/// wrong argument says what its form is.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") {
                fields.insert("additionalProperties".into(), false.into());
            }
            if fields.get("pattern").is_some_and(Value::is_string) {
                fields.remove("pattern");
            }
            fields.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Returns the part of the timeline that a call asks for. It is the bridge's own argument: the service's tool gives all of it.
pub(in crate::server) fn items(arguments: &Value) -> Result<Option<Range<usize>>, String> {
    match arguments.get(ITEMS) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => {
            range(text).map(Some).ok_or_else(|| "must be a range such as 1-20".into())
        }
        Some(_) => Err("must be a string such as 1-20".into()),
    }
}

/// Returns a range of items, counted from 1.
pub(in crate::server) fn range(text: &str) -> Option<Range<usize>> {
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
