//! The catalogue against a table that was written by hand.

use serde_json::{Value, json};
use shared_inbox::__spec::Operation;

#[test]
fn every_operation_has_its_method_path_scope_tool_and_repeat_rule() {
    let expected: Value = serde_json::from_str(include_str!("golden/operations.json")).unwrap();
    let actual: Vec<Value> = Operation::KNOWN
        .iter()
        .map(|op| {
            json!({
                "operation": format!("{op:?}"),
                "method": op.method().as_str(),
                "path": op.path(),
                "scope": op.scope(),
                "sending": op.scope_when_sending(),
                "tool": op.tool_name(),
                "repeat": format!("{:?}", op.idempotency()),
                "success": op.success(),
            })
        })
        .collect();
    assert_eq!(Value::from(actual), expected);
}

#[test]
fn a_key_that_may_send_but_not_draft_can_use_reply_and_request_documents() {
    use shared_inbox::Scope::{Read, Send, Write};
    let allowed = |scopes: &[_]| Operation::KNOWN.iter().filter(|op| op.is_allowed_by(scopes)).count();
    assert!(Operation::Reply.is_allowed_by(&[Read, Send]));
    assert!(Operation::RequestDocuments.is_allowed_by(&[Read, Send]));
    assert!(!Operation::Reply.is_allowed_by(&[Read, Write]));
    assert_eq!(allowed(&[Read]), 6);
    assert_eq!(allowed(&[]), 0);
}

#[cfg(feature = "__schemas")]
mod schemas {
    use super::*;

    #[test]
    fn tools_take_the_conversation_as_id_and_give_lists_as_items() {
        for op in Operation::KNOWN {
            let Some(tool) = op.tool() else { continue };
            assert_eq!(
                tool.input_schema["properties"].get("id").is_some(),
                op.takes_conversation(),
                "{op:?}"
            );
            assert_eq!(tool.output_schema["type"], "object", "{op:?}: structured content is an object");
            assert_eq!(tool.output_schema["properties"].get("items").is_some(), op.is_list(), "{op:?}");
            assert!(tool.title.len() > 3 && tool.description.len() > 80, "{op:?} speaks to a model");
        }
    }

    #[test]
    fn only_reads_are_read_only_and_only_replies_reach_outside() {
        let named = |pick: fn(&shared_inbox::__spec::Tool) -> bool| -> Vec<_> {
            let tools = Operation::KNOWN.iter().copied().filter_map(Operation::tool);
            tools.filter(pick).map(|tool| tool.name).collect()
        };
        assert_eq!(
            named(|t| t.read_only),
            ["list_conversations", "get_conversation", "list_mailboxes", "list_tags", "search_documents"]
        );
        assert_eq!(named(|t| t.open_world), ["reply", "request_documents"]);
        assert_eq!(named(|t| !t.idempotent), ["add_note", "reply", "request_documents"]);
    }
}
