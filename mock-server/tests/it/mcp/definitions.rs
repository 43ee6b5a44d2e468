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
