//! The tools that the bridge shows.

mod arguments;
mod calls;
mod changes;

use std::{
    ops::Range,
    sync::{Arc, LazyLock},
};

use rmcp::model::{JsonObject, Tool};
use serde_json::Value;
use shared_inbox::__spec::Operation;

use super::context::introduction::Sending;

/// The argument of `get_conversation` for a part of the timeline.
pub(in crate::server) const ITEMS: &str = "items";
/// The value of `view` in `list_conversations` for every status.
pub(in crate::server) const ANY: &str = "any";

/// The definitions of the tools, in the order of the catalogue. `examples/write_tools.rs` writes them.
pub(in crate::server) static TOOLS: LazyLock<Vec<(Operation, Tool)>> = LazyLock::new(|| {
    let tools: Vec<Tool> =
        serde_json::from_str(include_str!("../../../documents/tools.json")).unwrap_or_default();
    tools.into_iter().filter_map(|tool| Some((Operation::from_tool_name(&tool.name)?, tool))).collect()
});

pub(in crate::server) fn input_schema(operation: Operation) -> Option<&'static JsonObject> {
    TOOLS.iter().find(|(op, _)| *op == operation).map(|(_, tool)| &*tool.input_schema)
}

/// Says of a tool that can send what becomes of an email.
pub(in crate::server) fn describe_sending(tool: &mut Tool, sending: Sending) {
    let properties = Arc::make_mut(&mut tool.input_schema).get_mut("properties");
    if let Some(send) = properties.and_then(|properties| properties.get_mut("send")) {
        send["description"] = sending.argument().into();
    }
}

/// Returns the part of the timeline that a call asks for. It is the bridge's own argument: the service's tool
/// gives all of it.
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
