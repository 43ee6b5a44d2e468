//! Arguments as models write them: strict modes of their vendors have no way to leave one out.

use serde_json::json;

use super::{Era, Mcp, a_conversation};
use crate::kit::Kit;

#[tokio::test]
async fn null_an_empty_optional_text_and_a_whole_float_are_read_as_they_are_meant() {
    let kit = Kit::start().await;
    let api = kit.live();
    let id = a_conversation(&kit, &api).await;
    let mcp = Mcp::new(&kit, &api);
    for era in [Era::Modern, Era::Legacy] {
        for (tool, arguments) in [
            (
                "list_conversations",
                json!({ "view": null, "q": "", "mailbox": "", "assigned": "", "limit": 10.0, "reference": null }),
            ),
            ("search_documents", json!({ "q": "", "kind": null, "limit": 1.0 })),
            ("tag_conversation", json!({ "id": id, "add": ["vip"], "remove": null })),
            ("reply", json!({ "id": id, "body": "Hi", "send": null, "summary": "", "documents": null })),
            (
                "request_documents",
                json!({ "id": id, "documents": [{ "label": "Passport", "description": null, "required": null }],
                        "message": "", "dueDate": "", "send": false }),
            ),
        ] {
            let result = mcp.tool(era, tool, arguments).await;
            assert_eq!(result["isError"], false, "{tool}: {result}");
        }
        for (tool, arguments, why) in [
            ("list_conversations", json!({ "limit": 10.5 }), "limit: must be a whole number"),
            ("list_conversations", json!({ "limit": 1000.0 }), "limit: must be at most 100"),
            ("list_conversations", json!({ "q": 7 }), "q: must be a string"),
            ("add_note", json!({ "id": id, "body": null }), "body: is required"),
        ] {
            let result = mcp.tool(era, tool, arguments).await;
            assert_eq!(result["isError"], true, "{result}");
            assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains(why)), "{result}");
        }
    }
}

#[tokio::test]
async fn rest_stays_strict() {
    let kit = Kit::start().await;
    let api = kit.live();
    let id = a_conversation(&kit, &api).await;
    let body = json!({ "body": "Hi", "summary": null });
    assert_eq!(api.post(&format!("/conversations/{id}/replies"), body).await.status, 400);
    assert_eq!(api.get("/conversations?limit=10.0").await.status, 400);
}
