//! Writes the documents that the crate embeds, from its types and tables.
//!
//!     cargo run -p shared-inbox-mock --features schemas --example write_documents

mod control;
mod control_texts;
mod schema_names;
mod service;

use std::path::Path;

use serde_json::{Value, json};
use shared_inbox::__spec::{Operation, Tool};
use shared_inbox_mock::world::World;
use shared_inbox_tests::generated;

/// Returns each document with the name of its file in `documents/`.
fn documents() -> [(&'static str, Value); 4] {
    let tools = Operation::KNOWN.iter().filter_map(|operation| operation.tool()).map(describe_tool);
    [
        ("openapi.json", service::document()),
        ("control.json", control::document()),
        ("world.schema.json", schemars::schema_for!(World).to_value()),
        ("tools.json", tools.collect()),
    ]
}

/// Returns a tool in the form that `tools/list` has.
fn describe_tool(tool: Tool) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": tool.open_world,
        },
    })
}

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("documents");
    for (name, document) in documents() {
        generated::write(folder.join(name), &format!("{document:#}\n"));
    }
}
