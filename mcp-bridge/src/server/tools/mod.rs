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

use super::context::introduction::Sending;

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
            arguments["q"]["description"] = "Words to look for in all email text.".into();
        }
        Operation::AssignConversation => {
            arguments["to"]["description"] = "A name or id on the team, `me`, or `none` to unassign.".into();
        }
        _ => {}
    }
    close(&mut input);
    // Where the bridge does more than the service's own server: it takes names, and makes nothing twice.
    let description = match operation {
        Operation::AddNote => {
            "Adds a note that the team sees and the customer never does; @FirstName mentions a person. The same call again within \
             two minutes adds no second note."
        }
        Operation::AssignConversation => {
            "Gives a conversation to a person or an agent on its team, to yourself (`me`) or to nobody (`none`). \
             get_conversation names the team."
        }
        Operation::Reply => {
            "Writes a reply to the customer. Without `send` it is a draft that a person approves: use that unless you were told to \
             send. With `documents` an upload link is added: do not write one. The same call again within two minutes makes no \
             second reply."
        }
        Operation::RequestDocuments => {
            "Asks the customer for documents: an email with a checklist and a private upload page, and reminders after 2, 4 and 7 \
             days. Without `send` it is a draft that a person approves. The same call again within two minutes makes no second \
             request."
        }
        _ => tool.description,
    };
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
        Tool::new(tool.name, description, object(input))
            .with_title(tool.title)
            .with_raw_output_schema(object(tool.output_schema))
            .with_annotations(annotations),
    )
}

/// Says of a tool that can send what becomes of an email.
pub(in crate::server) fn describe_sending(tool: &mut Tool, sending: Sending) {
    let properties = Arc::make_mut(&mut tool.input_schema).get_mut("properties");
    if let Some(send) = properties.and_then(|properties| properties.get_mut("send")) {
        send["description"] = sending.argument().into();
    }
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
