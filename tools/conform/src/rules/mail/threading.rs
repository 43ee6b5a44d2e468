//! Which mail joins which conversation.

use serde_json::{Value, json};

use crate::{
    check::session::text,
    rule::{Table, WORLD},
};

/// A second mail, by the conversation and the message of the first.
type Second = fn(&str, &str) -> Value;

pub(crate) fn add(table: &mut Table) {
    table.section("4.13");
    for (id, says, mock, mail) in [
        (
            "threading.subject",
            "Mail with the same sender and subject",
            "a new conversation",
            (|_, _| json!({})) as Second,
        ),
        (
            "threading.in-reply-to",
            "Mail that answers a message of the service",
            "joins",
            |_, message| json!({ "inReplyTo": message }),
        ),
        (
            "threading.unknown",
            "Mail that answers a message that nobody knows",
            "a new conversation",
            |_, _| json!({ "inReplyTo": "<nobody-knows@customer.example>" }),
        ),
        (
            "threading.conversation",
            "Mail on an existing conversation",
            "joins",
            |conversation, _| json!({ "conversationId": conversation }),
        ),
    ] {
        table.observe(id, says, mock, WORLD, move |s| async move {
            let first = s.mail(json!({})).await?;
            let second = mail(&text(&first["conversationId"]), &text(&first["messageId"]));
            joins(&first, &s.mail(second).await?)
        });
    }
    for (id, says, mock, more) in [
        ("threading.reference", "Mail with the same reference and sender", "joins", json!({})),
        (
            "threading.reference.case",
            "Mail with the same reference and sender, both in capitals",
            "joins",
            json!({ "from": "VERA@customer.example", "to": "ORDER-17" }),
        ),
        (
            "threading.reference.stranger",
            "Mail with the same reference and another sender",
            "a new conversation",
            json!({ "from": "karl@customer.example" }),
        ),
        (
            "threading.reference.dmarc",
            "Mail with the same reference and sender that fails the DMARC check",
            "a new conversation",
            json!({ "dmarc": "fail" }),
        ),
    ] {
        table.observe(id, says, mock, WORLD, move |s| {
            let mut more = more.clone();
            async move {
                let inbox = s.inbox().await?;
                let tagged = |tag: &str| json!(inbox.replace('@', &format!("+{tag}@")));
                let first = s.mail(json!({ "to": tagged("order-17") })).await?;
                more["to"] = tagged(more["to"].as_str().unwrap_or("order-17"));
                joins(&first, &s.mail(more).await?)
            }
        });
    }
}

fn joins(first: &Value, second: &Value) -> Result<String, crate::rule_abort::RuleAbort> {
    let same = second["conversationId"] == first["conversationId"];
    Ok(if same { "joins" } else { "a new conversation" }.into())
}
