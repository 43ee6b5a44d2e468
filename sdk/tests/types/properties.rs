//! Properties of every type: what is read and written is read back equal, and no JSON makes a reader panic.
#![allow(clippy::field_reassign_with_default, reason = "the structs may grow, so literals are not allowed")]

use proptest::{collection::vec, option, prelude::*};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use shared_inbox::__spec::{query, read_query};
use shared_inbox::{input::*, *};

pub(crate) fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e12f64..1e12).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Names that readers look for, so that random objects come close to real ones.
fn key() -> impl Strategy<Value = String> {
    let known = "type id data kind version status body text add remove to documents label required send limit view q \
                 from fields timeline team at message note event summary messageId reference dueDate";
    let known: Vec<String> = known.split_whitespace().map(str::to_owned).collect();
    prop_oneof![3 => proptest::sample::select(known), 1 => any::<String>()]
}

fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

fn nullable(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    option::of(inner).prop_map(|value| value.unwrap_or(Value::Null))
}

fn id(prefix: &'static str) -> impl Strategy<Value = Value> {
    "[0-9a-z]{1,12}".prop_map(move |rest| format!("{prefix}{rest}").into())
}

fn at() -> impl Strategy<Value = Value> {
    (0i64..4_000_000_000_000).prop_map(|ms| shared_inbox::Timestamp::from_millis(ms).to_string().into())
}

fn object() -> impl Strategy<Value = Value> {
    vec((any::<String>(), json_value()), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

fn item() -> impl Strategy<Value = Value> {
    prop_oneof![
        (id("msg_"), at(), text(), nullable(text().prop_map(Value::from)), text(), nullable("[a-z]{1,9}".prop_map(Value::from)), any::<u32>()).prop_map(
            |(id, at, text, name, email, status, size)| json!({
                "type": "message", "id": id, "at": at, "direction": "inbound", "from": {"name": name, "email": email},
                "status": status, "text": text, "attachments": [{"filename": text, "contentType": email, "size": size}],
            })
        ),
        (id("not_"), at(), text(), text())
            .prop_map(|(id, at, author, body)| json!({"type": "note", "id": id, "at": at, "author": author, "body": body})),
        (at(), text(), text(), object())
            .prop_map(|(at, actor, event, data)| json!({"type": "event", "at": at, "actor": actor, "event": event, "data": data})),
        json_value().prop_filter("a type of its own", |value| {
            !matches!(value.get("type").and_then(Value::as_str), Some("message" | "note" | "event"))
        }),
    ]
}

fn conversation() -> impl Strategy<Value = Value> {
    (id("cnv_"), text(), "[a-z]{1,9}", nullable(text().prop_map(Value::from)), at(), vec(text(), 0..4), nullable(at()), vec(item(), 0..5), object())
        .prop_map(|(id, subject, status, name, last, tags, snoozed, timeline, sent)| {
            json!({
                "id": id, "subject": subject, "status": status, "contact": {"name": name, "email": name}, "mailbox": subject,
                "lastMessageAt": last, "assignee": {"id": "agt_1", "name": subject, "type": status}, "tags": tags, "topic": name,
                "urgency": status, "risk": name, "riskReasons": tags, "snoozedUntil": snoozed, "timeline": timeline,
                "team": {"people": [{"id": "user:usr_1", "name": subject}], "agents": []}, "reference": subject, "appSent": sent,
            })
        })
}

fn document() -> impl Strategy<Value = Value> {
    let amount = option::of(option::of(prop_oneof![
        -1e9f64..1e9,
        any::<f64>().prop_filter("JSON has no NaN", |f| f.is_finite())
    ]));
    (id("doc_"), text(), amount, option::of(nullable(text().prop_map(Value::from))), at(), nullable(id("cnv_"))).prop_map(
        |(id, title, amount, vendor, at, conversation)| {
            let mut fields = Map::new();
            if let Some(amount) = amount {
                fields.insert("amount".into(), amount.into());
            }
            if let Some(vendor) = vendor {
                fields.insert("vendor".into(), vendor);
            }
            json!({"id": id, "title": title, "filename": title, "kind": null, "fields": fields, "conversationId": conversation, "createdAt": at})
        },
    )
}

/// Reads, writes, and reads again: the JSON is the same, and so is the value.
fn there_and_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: Value) {
    let first: T = serde_json::from_value(value.clone()).expect("a value of the type");
    let text = serde_json::to_string(&first).expect("every value can be written");
    let written: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(written, value);
    let second: T = serde_json::from_str(&text).expect("what was written can be read");
    assert!(first == second);
}

proptest! {
    #[test]
    fn a_conversation_is_read_back_equal(value in conversation()) {
        there_and_back::<Conversation>(value);
    }

    #[test]
    fn a_document_is_read_back_equal_to_the_last_digit(value in document()) {
        there_and_back::<Document>(value);
    }

    #[test]
    fn any_reply_within_the_limits_passes_and_is_read_back_equal(body in text(), send: bool, labels in vec("\\PC{0,30}", 0..5)) {
        let mut reply = Reply::new(body);
        reply.send = send;
        reply.documents = Some(labels.into_iter().map(DocumentItem::new).collect());
        prop_assert!(reply.check().is_ok());
        prop_assert!(Reply::read(serde_json::to_value(&reply).unwrap()).unwrap() == reply);
    }

    #[test]
    fn any_query_is_read_back_equal(q in "\\PC{1,200}", limit in 1u32..=100) {
        let mut list = ListConversations::default();
        list.q = Some(q);
        list.limit = Some(limit);
        prop_assert!(read_query::<ListConversations>(&query(&list)).unwrap() == list);
    }

    #[test]
    fn no_json_makes_a_reader_panic(value in json_value()) {
        fn model<T: DeserializeOwned>(value: &Value) {
            let _ = serde_json::from_value::<T>(value.clone());
        }
        fn input<T: Input>(value: &Value) {
            // Whatever the rules let through must also be readable: no problem may hide behind them.
            if let Err(problems) = T::read(value.clone()) {
                assert!(!problems.is_empty());
                assert!(problems.iter().all(|p| !p.message.contains("invalid type")), "{problems}");
            }
        }
        model::<Me>(&value);
        model::<ConversationSummary>(&value);
        model::<Conversation>(&value);
        model::<TimelineItem>(&value);
        model::<Mailbox>(&value);
        model::<Document>(&value);
        model::<ReplyResult>(&value);
        model::<SandboxReceipt>(&value);
        input::<ListConversations>(&value);
        input::<AddNote>(&value);
        input::<SetStatus>(&value);
        input::<TagConversation>(&value);
        input::<AssignConversation>(&value);
        input::<Reply>(&value);
        input::<RequestDocuments>(&value);
        input::<SearchDocuments>(&value);
        input::<RecordSent>(&value);
        input::<SandboxInbound>(&value);
    }
}
