//! The catalogue's tools in the words of the protocol.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;
use shared_inbox::Operation;

/// Every tool, in the catalogue's order.
pub(super) static TOOLS: LazyLock<Vec<(Operation, Tool)>> =
    LazyLock::new(|| Operation::ALL.into_iter().filter_map(|op| Some((op, tool(op)?))).collect());

fn tool(operation: Operation) -> Option<Tool> {
    let tool = operation.tool()?;
    let annotations = ToolAnnotations::new()
        .read_only(tool.read_only)
        .destructive(tool.destructive)
        .idempotent(tool.idempotent)
        .open_world(tool.open_world);
    Some(
        Tool::new(tool.name, tool.description, object(tool.input_schema))
            .with_title(tool.title)
            .with_raw_output_schema(object(tool.output_schema))
            .with_annotations(annotations),
    )
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(fields) => Arc::new(fields),
        // The catalogue writes objects only; a test of the tool list would show anything else.
        _ => Arc::default(),
    }
}
