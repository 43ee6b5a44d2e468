//! What a client is told about each tool: a change of the surface shows in review of `documents/tools.json`.

use serde_json::{Value, json};

use super::{Era, Mcp};
use crate::kit::Kit;

#[tokio::test]
async fn each_tool_is_defined_as_reviewed_and_the_list_is_private_to_caches() {
    let kit = Kit::start().await;
    let mcp = Mcp::new(&kit, &kit.live());
    let modern = mcp.answer(Era::Modern, "tools/list", json!({})).await;
    let legacy = mcp.answer(Era::Legacy, "tools/list", json!({})).await;
    assert_eq!(modern["result"]["tools"], legacy["result"]["tools"], "the same tools in both eras");
    assert_eq!(modern["result"]["cacheScope"], "private");
    assert!(modern["result"]["ttlMs"].as_u64().is_some_and(|ms| ms > 0));
    let reviewed: Value = serde_json::from_str(include_str!("../../../documents/tools.json")).expect("tools");
    assert_eq!(modern["result"]["tools"], reviewed, "they are not documents/tools.json");
}

#[tokio::test]
async fn each_tool_has_words_for_a_model_hints_and_both_schemas() {
    let kit = Kit::start().await;
    let answer = Mcp::new(&kit, &kit.live()).answer(Era::Modern, "tools/list", json!({})).await;
    for tool in answer["result"]["tools"].as_array().expect("tools") {
        let name = &tool["name"];
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");
        assert!(tool["description"].as_str().is_some_and(|words| words.len() > 80), "{name}");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name}: {hint}");
        }
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{name}: {schema}");
        }
        let has_id = tool["inputSchema"]["properties"].get("id").is_some();
        let needs_id = tool["inputSchema"]["required"]
            .as_array()
            .is_some_and(|required| required.contains(&Value::from("id")));
        assert_eq!(has_id, needs_id, "{name}");
    }
}
