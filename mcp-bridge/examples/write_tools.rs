//! Writes `documents/tools.json`, the tools that the program embeds: the service's, and what the bridge adds.
//!
//! ```sh
//! cargo run -p shared-inbox-mcp --features schemas --example write_tools
//! ```

use std::path::Path;

use serde_json::{Value, json};
use shared_inbox::__spec::Operation;
use shared_inbox_tests::generated;

fn main() {
    let tools: Vec<_> = Operation::KNOWN.iter().copied().filter_map(definition).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("documents/tools.json");
    generated::write(file, &format!("{:#}\n", json!(tools)));
}

fn definition(operation: Operation) -> Option<Value> {
    let tool = operation.tool()?;
    let mut input = tool.input_schema;
    let arguments = &mut input["properties"];
    match operation {
        Operation::GetConversation => {
            arguments["items"] =
                json!({ "type": "string", "description": "Part of a long timeline, such as 1-20." });
        }
        Operation::ListConversations => {
            // With `reference` it is the service's `all`.
            arguments["view"]["enum"] = json!(["open", "waiting", "snoozed", "closed", "any"]);
            arguments["view"]["description"] = "waiting: on the customer; any: every status.".into();
        }
        Operation::AssignConversation => {
            arguments["to"]["description"] = "A name or id on the team, `me`, or `none` to unassign.".into();
        }
        _ => {}
    }
    close(&mut input);
    // The bridge makes nothing twice.
    let description = match tool.description.split_once("Each call makes another ") {
        Some((about, repeats)) => {
            let (item, _) = repeats.split_once(':').expect("what is made");
            format!("{about}The same call again within two minutes makes no second {item}.")
        }
        None => tool.description.to_owned(),
    };
    // Only annotations that differ from their default: a model pays for every token of this list.
    let annotations = match (tool.read_only, tool.idempotent) {
        (true, _) => json!({ "readOnlyHint": true }),
        (false, true) => json!({ "destructiveHint": tool.destructive, "idempotentHint": true }),
        (false, false) => json!({ "destructiveHint": tool.destructive }),
    };
    let mut definition = json!({
        "name": tool.name,
        "title": tool.title,
        "description": description,
        "inputSchema": input,
        "outputSchema": tool.output_schema,
        "annotations": annotations,
    });
    if !tool.open_world {
        definition["annotations"]["openWorldHint"] = false.into();
    }
    Some(definition)
}

/// Says of every object that it has no other fields, and leaves out patterns: a model pays for each, and the
/// error of a wrong argument says what its form is.
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
