//! `Debug` of anything that carries a customer's data shows none of it.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use shared_inbox::{input::*, *};

/// Puts a marked word into every text that may hold a customer's data, and looks for it in the output.
fn silent<T: DeserializeOwned + Debug>(value: Value) {
    let value: T = serde_json::from_value(value).unwrap();
    for shown in [format!("{value:?}"), format!("{value:#?}")] {
        assert!(!shown.contains("SECRET"), "{shown}");
    }
}

#[test]
fn words_names_and_addresses_are_never_shown() {
    let at = "2026-03-01T09:30:00.000Z";
    silent::<Me>(json!({"agent": {"id": "agt_1", "name": "SECRET"}, "scopes": ["read"]}));
    let message = json!({"type": "message", "id": "msg_1", "at": at, "direction": "inbound", "from": {"name": "SECRET", "email": "SECRET@x.test"},
        "status": null, "text": "SECRET", "attachments": [{"filename": "SECRET.pdf", "contentType": "a/SECRET", "size": 1}]});
    let note = json!({"type": "note", "id": "not_1", "at": at, "author": "SECRET", "body": "SECRET"});
    let done = json!({"type": "event", "at": at, "actor": "SECRET", "event": "status", "data": {"SECRET": "SECRET"}});
    let poll = json!({"type": "poll", "SECRET": "SECRET"});
    silent::<TimelineItem>(poll.clone());
    silent::<Conversation>(
        json!({"id": "cnv_1", "subject": "SECRET", "status": "open", "contact": {"name": "SECRET", "email": "SECRET"},
        "mailbox": "SECRET@x", "lastMessageAt": at, "assignee": {"id": "usr_1", "name": "SECRET", "type": "user"}, "tags": ["SECRET"], "topic": "SECRET",
        "urgency": null, "risk": "SECRET", "riskReasons": ["SECRET"], "snoozedUntil": null, "timeline": [message, note, done, poll],
        "team": {"people": [{"id": "user:usr_1", "name": "SECRET"}], "agents": []}, "reference": "SECRET", "appSent": {"text": "SECRET"}}),
    );
    silent::<ConversationSummary>(
        json!({"id": "cnv_1", "subject": "SECRET", "snippet": "SECRET", "status": "open", "contact": {"name": "SECRET", "email": "SECRET"},
        "mailbox": "SECRET", "lastMessageAt": at, "messageCount": 1, "assignee": null, "tags": ["SECRET"], "topic": "SECRET", "urgency": null, "risk": "SECRET"}),
    );
    silent::<Mailbox>(
        json!({"id": "mbx_1", "address": "SECRET@x", "name": "SECRET", "open": 1, "more": "SECRET"}),
    );
    silent::<Document>(
        json!({"id": "doc_1", "title": "SECRET", "filename": "SECRET", "kind": null, "fields": {"vendor": "SECRET"}, "conversationId": null, "createdAt": at}),
    );
    silent::<ReplyResult>(json!({"messageId": "msg_1", "status": "draft", "note": "SECRET"}));
    silent::<SandboxReceipt>(json!({"conversationId": "cnv_1", "more": "SECRET"}));
    silent::<AddNote>(json!({"body": "SECRET"}));
    silent::<Reply>(
        json!({"body": "SECRET", "summary": "SECRET", "documents": [{"label": "SECRET", "description": "SECRET"}]}),
    );
    silent::<RequestDocuments>(json!({"documents": [{"label": "SECRET"}], "message": "SECRET"}));
    silent::<TagConversation>(json!({"add": ["SECRET"], "remove": ["SECRET"]}));
    silent::<RecordSent>(
        json!({"messageId": "<SECRET@x>", "reference": "order-1", "to": ["SECRET@x"], "subject": "SECRET", "text": "SECRET", "html": "SECRET"}),
    );
    silent::<SandboxInbound>(
        json!({"from": "SECRET@x.test", "name": "SECRET", "subject": "SECRET", "text": "SECRET"}),
    );
    silent::<ListConversations>(json!({"q": "SECRET", "reference": "SECRET"}));
    silent::<SearchDocuments>(json!({"q": "SECRET"}));
    assert!(
        !format!("{:?}", shared_inbox::ReplyAddress::parse("SECRET+a1@x.test").unwrap()).contains("SECRET")
    );
}
