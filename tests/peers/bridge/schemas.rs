//! The structured results that the bridge's snapshots show, by a validator that is not ours.

use std::fs;

use serde_json::{Value, json};
use shared_inbox::__spec::Operation;

use crate::run::{page, root};

/// What a hostile email cannot do: make a result that is not of the service's shape, or not of the tool's.
#[test]
fn the_results_in_the_snapshots_fit_the_schemas_of_the_service_and_of_the_tool() {
    let read = |file: &str| serde_json::from_str::<Value>(&page(file)).expect("JSON");
    let (service, tools) =
        (read("mock-server/documents/openapi.json"), read("mcp-bridge/documents/tools.json"));
    let mut held = 0;
    for file in fs::read_dir(root().join("mcp-bridge/tests/it/snapshots")).expect("a folder").flatten() {
        let name = file.file_name().into_string().expect("a name");
        let text = fs::read_to_string(file.path()).expect("text");
        // One shows what a service may send one day.
        let is_held = name.starts_with("it__hostile__") && !name.contains("every_kind_of_item");
        let Some((_, json)) = text.split_once("\n{\n").filter(|_| is_held) else {
            continue;
        };
        let result: Value =
            serde_json::from_str(&format!("{{{json}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        let operation = match result["items"][0]["id"].as_str().map(|id| &id[..4]) {
            None => Operation::GetConversation,
            Some("cnv_") => Operation::ListConversations,
            Some("doc_") => Operation::SearchDocuments,
            Some(_) => continue,
        };
        let response = &service["paths"][operation.path()]["get"]["responses"]["200"];
        let schema = &response["content"]["application/json"]["schema"];
        let whole = json!({ "allOf": [schema], "components": service["components"] });
        let mut tools = tools.as_array().expect("tools").iter();
        let tool = tools.find(|tool| tool["name"].as_str() == operation.tool_name()).expect("its tool");
        let answer = if operation.is_list() { &result["items"] } else { &result };
        for (schema, value) in [(&whole, answer), (&tool["outputSchema"], &result)] {
            if let Err(error) = jsonschema::validator_for(schema).expect("a schema").validate(value) {
                panic!("{name}: {error} in {value:#}");
            }
        }
        held += 1;
    }
    assert!(held >= 9, "{held}");
}
