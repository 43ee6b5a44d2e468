//! The JSON Schemas against the types: answers as open as the types that read them, inputs as strict as the
//! check.

use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use shared_inbox::{__spec::Operation, input::*, *};

use crate::properties::json_value;

fn validator(schema: &Value) -> Validator {
    jsonschema::options().should_validate_formats(true).build(schema).expect("a schema")
}

/// What the hand-written answers look like when the service has grown: new fields in every object, new words
/// wherever a word stands, and with `types` also new types of timeline items.
fn grown(value: &Value, types: bool) -> Value {
    let word = |key: &str| {
        matches!(key, "status" | "urgency" | "direction" | "kind" | "event") || (types && key == "type")
    };
    match value {
        Value::Array(items) => items.iter().map(|item| grown(item, types)).collect(),
        Value::Object(fields) => {
            let mut fields: serde_json::Map<_, _> = fields
                .iter()
                .map(|(key, value)| match (key.as_str(), value) {
                    (key, Value::String(_)) if word(key) => (key.to_owned(), "brand-new".into()),
                    ("scopes", Value::Array(_)) => (key.clone(), json!(["read", "brand-new"])),
                    ("assignee", Value::Object(_)) => (
                        key.clone(),
                        json!({"id": "bot_1", "name": "Bot", "type": "brand-new", "team": null}),
                    ),
                    _ => (key.clone(), grown(value, types)),
                })
                .collect();
            fields.insert("brandNew".into(), json!({"deep": [1, null, {"x": true}]}));
            fields.into()
        }
        other => other.clone(),
    }
}

fn answers_pass<T: DeserializeOwned>(operation: Operation, golden: &str) {
    let cases: Vec<Value> = serde_json::from_str(golden).unwrap();
    let plain = validator(&operation.output_schema());
    let tool = operation.tool().map(|tool| validator(&tool.output_schema));
    let (schemas, parts) = Operation::output_schemas("/parts");
    let shared = &schemas.iter().find(|(op, _)| *op == operation).unwrap().1;
    let shared = validator(&json!({ "allOf": [shared], "parts": parts }));
    for case in &cases {
        let now = [&case["read"], &case["written"]].into_iter().filter(|value| !value.is_null()).cloned();
        let later = [grown(&case["read"], false), grown(&case["read"], true)];
        for one in now.chain(later) {
            serde_json::from_value::<T>(one.clone())
                .unwrap_or_else(|error| panic!("{operation:?}: {error} in {one}"));
            let answer = if operation.is_list() { json!([one]) } else { one };
            for schema in [&plain, &shared] {
                schema.validate(&answer).unwrap_or_else(|error| panic!("{operation:?}: {error} in {answer}"));
            }
            let structured =
                if operation.is_list() { json!({"items": answer, "brandNew": 1}) } else { answer };
            if let Some(schema) = &tool {
                schema
                    .validate(&structured)
                    .unwrap_or_else(|error| panic!("{operation:?}: {error} in {structured}"));
            }
        }
    }
}

#[test]
fn every_answer_of_today_and_of_a_grown_service_passes_the_output_schema() {
    answers_pass::<Me>(Operation::Me, include_str!("golden/me.json"));
    answers_pass::<ConversationSummary>(
        Operation::ListConversations,
        include_str!("golden/conversation_summary.json"),
    );
    answers_pass::<Conversation>(Operation::GetConversation, include_str!("golden/conversation.json"));
    answers_pass::<Mailbox>(Operation::ListMailboxes, include_str!("golden/mailbox.json"));
    answers_pass::<Tag>(Operation::ListTags, include_str!("golden/tag.json"));
    answers_pass::<Document>(Operation::SearchDocuments, include_str!("golden/document.json"));
    answers_pass::<SandboxReceipt>(Operation::SandboxInbound, include_str!("golden/sandbox_receipt.json"));
    for operation in [Operation::Reply, Operation::RequestDocuments] {
        answers_pass::<ReplyResult>(operation, include_str!("golden/reply_result.json"));
    }
    for operation in [
        Operation::AddNote,
        Operation::SetStatus,
        Operation::TagConversation,
        Operation::AssignConversation,
        Operation::RecordSent,
    ] {
        answers_pass::<Ack>(operation, include_str!("golden/done.json"));
    }
}

/// A conversation with this one item in its timeline.
fn with_item(item: &Value) -> Value {
    let cases: Vec<Value> = serde_json::from_str(include_str!("golden/conversation.json")).unwrap();
    let mut conversation = cases[1]["read"].clone();
    conversation["timeline"] = json!([item]);
    conversation
}

proptest! {
    #[test]
    fn the_schema_of_a_conversation_takes_exactly_the_timeline_items_that_the_type_takes(item in json_value()) {
        let conversation = with_item(&item);
        static SCHEMA: LazyLock<Validator> = LazyLock::new(|| validator(&Operation::GetConversation.output_schema()));
        let read = serde_json::from_value::<Conversation>(conversation.clone());
        prop_assert_eq!(SCHEMA.is_valid(&conversation), read.is_ok(), "{}", item);
    }
}

#[test]
fn an_item_of_a_known_type_must_have_its_fields() {
    let schema = validator(&Operation::GetConversation.output_schema());
    for item in [
        json!({"type": "message"}),
        json!({"type": "note", "id": "not_1"}),
        json!({"type": "event", "at": 1}),
    ] {
        assert!(!schema.is_valid(&with_item(&item)), "{item}");
    }
}

/// Holds this input of each operation against its schema and against the check.
fn as_strict_as_the_check(value: &Value) {
    static SCHEMAS: LazyLock<Vec<(Operation, Validator)>> =
        LazyLock::new(|| Operation::KNOWN.iter().map(|&op| (op, validator(&op.input_schema()))).collect());
    fn passes<T: Input>(value: &Value) -> bool {
        T::read(value.clone()).is_ok()
    }
    for (operation, schema) in SCHEMAS.iter() {
        let passes = match operation {
            // The one rule that ties two fields together is not in the schema.
            Operation::ListConversations if value["view"] == "all" => continue,
            Operation::ListConversations => passes::<ListConversations>(value),
            Operation::SearchDocuments => passes::<SearchDocuments>(value),
            Operation::AddNote => passes::<AddNote>(value),
            Operation::SetStatus => passes::<SetStatus>(value),
            Operation::TagConversation => passes::<TagConversation>(value),
            Operation::AssignConversation => passes::<AssignConversation>(value),
            Operation::Reply => passes::<Reply>(value),
            Operation::RequestDocuments => passes::<RequestDocuments>(value),
            Operation::RecordSent => passes::<RecordSent>(value),
            Operation::SandboxInbound => passes::<SandboxInbound>(value),
            _ => continue,
        };
        assert_eq!(schema.is_valid(value), passes, "{operation:?}: {value}");
    }
}

proptest! {
    #[test]
    fn an_input_passes_its_schema_exactly_when_it_passes_the_check(value in json_value()) {
        as_strict_as_the_check(&value);
    }
}

#[test]
fn input_schemas_draw_every_border_where_the_check_draws_it() {
    let words = "open snoozed all me none user:usr_1 user:agt_1 invoice brand-new mbx_1 mbx_ 2028-02-29 2026-02-29 \
        26-1-1 order-1042 order kim@example.com kim@customer.test kim@test a@b@c.test cnv_1";
    let texts = words.split_whitespace().chain(["", "k im@x.test", "Kim <kim@x.test>"]).map(str::to_owned);
    let borders = [1, 40, 80, 120, 200, 500, 5_000, 10_000, 50_000];
    let lengths = borders.into_iter().flat_map(|n| [n, n + 1]).map(|n| "\u{e9}".repeat(n));
    let others = json!([null, 0, 1, 100, 101, -1, 1.5, true, []]);
    let values = texts.chain(lengths).map(Value::from).chain(others.as_array().unwrap().clone());
    let values: Vec<Value> = values.collect();
    let lists = [10, 11, 20, 21].map(|n| json!(vec!["x"; n]));
    let items = [20, 21].map(|n| json!(vec![json!({ "label": "x" }); n]));
    // Whole but for one field, which decides.
    let whole = json!({"body": "x", "status": "open", "to": "me", "documents": [{"label": "x"}],
        "messageId": "<1@x>", "reference": "a1", "subject": "", "from": "a@b.test", "text": ""});
    let addressed = |to: Value| {
        let mut whole = whole.clone();
        whole["to"] = to;
        whole
    };
    let mut names: Vec<_> =
        Operation::KNOWN.iter().flat_map(|op| op.fields()).map(|field| field.name).collect();
    names.sort_unstable();
    names.dedup();
    for value in values.iter().chain(&lists).chain(&items) {
        for whole in
            [whole.clone(), addressed(json!(["kim@example.com"])), addressed(json!("sandbox@x.test"))]
        {
            for name in &names {
                for value in [value.clone(), json!([value])] {
                    let mut input = whole.clone();
                    input[*name] = value;
                    as_strict_as_the_check(&input);
                }
            }
        }
        for item in [value.clone(), json!({"label": value}), json!({"label": "x", "description": value})] {
            as_strict_as_the_check(&json!({"body": "x", "documents": [item]}));
        }
    }
}
