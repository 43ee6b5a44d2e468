//! The webhooks of the document: what is sent to a receiver, and what its response means.

use serde_json::{Map, Value, json};
use shared_inbox::{__spec::limits, event::EventKind};

/// Returns one entry for each kind of event, and the schemas that they share.
pub(super) fn webhooks() -> (Map<String, Value>, Map<String, Value>) {
    let (kinds, parts) = EventKind::schemas("/components/schemas");
    let webhooks = kinds.into_iter().map(|(name, schema)| (name.to_owned(), webhook(name, schema))).collect();
    (webhooks, parts)
}

fn webhook(name: &str, schema: Value) -> Value {
    let (when, data) = describe_event(name);
    let mut data = data;
    data["summary"] = when.trim_end_matches('.').into();
    if let Some(id) = data["conversation_id"].as_str() {
        data["url"] = format!("https://app.shared-inbox.example/conversations/{id}").into();
    }
    json!({ "post": {
        "tags": ["Webhooks"],
        "operationId": format!("on_{}", name.replace('.', "_")),
        "summary": when,
        "description": "Sent to every webhook that may hear of it and wants to. Check the signature before you read it. Events may \
                        come out of order and more than once; the `id` stays the same.",
        "security": [],
        "parameters": [
            { "$ref": "#/components/parameters/WebhookId" },
            { "$ref": "#/components/parameters/WebhookTimestamp" },
            { "$ref": "#/components/parameters/WebhookSignature" },
        ],
        "requestBody": { "required": true, "content": { "application/json": {
            "schema": schema,
            "example": {
                "id": "evt_8s2m4k1q",
                "type": name,
                "version": 1,
                "created_at": "2026-03-01T09:30:00.000Z",
                "workspace": "wsp_acme",
                "livemode": true,
                "data": data,
            },
        } } },
        "responses": {
            "2XX": { "description": format!("Delivered, when it comes within {} seconds.", limits::WEBHOOK_TIMEOUT.as_secs()) },
            "410": { "description": "No more, please: the webhook is turned off." },
            "default": { "description": "Anything else, or no response: retried, up to eight times within about a day." },
        },
    } })
}

/// Returns when an event of this kind happens, and an example of its data.
fn describe_event(name: &str) -> (&'static str, Value) {
    let (conversation, message, mailbox) = ("cnv_4k7q2m9x", "msg_7h3d9w2c", "mbx_help");
    let agent = json!({ "type": "agent", "id": "agt_billing" });
    let anna = json!({ "type": "user", "id": "usr_anna", "name": "Anna Berg" });
    let booking = json!({
        "booking_id": "bkg_5t9r1z",
        "booking_type_id": "bkt_call",
        "host_user_id": "usr_anna",
        "conversation_id": conversation,
        "starts_at": "2026-03-04T10:00:00.000Z",
        "ends_at": "2026-03-04T10:30:00.000Z",
    });
    match name {
        "ask.completed" => (
            "The customer has sent everything that was requested.",
            json!({ "ask_id": "req_2f6j8n", "kind": "documents", "conversation_id": conversation }),
        ),
        "client.replied" => (
            "Someone wrote back on a conversation.",
            json!({
                "conversation_id": conversation,
                "message_id": message,
                "mailbox_id": mailbox,
                "secure": false,
                "reference": "order-1042",
            }),
        ),
        "conversation.assigned" => (
            "A conversation was given to someone or to nobody.",
            json!({ "conversation_id": conversation, "assignee": anna, "assigned_by": anna }),
        ),
        "turn.changed" => (
            "It is another one's turn.",
            json!({ "conversation_id": conversation, "turn": "theirs", "previous": "ours", "assignee": null }),
        ),
        "draft.approved" => (
            "A person approved a draft, which goes out after the undo window.",
            json!({
                "conversation_id": conversation,
                "message_id": message,
                "drafted_by": agent,
                "approved_by": anna,
                "edited": false,
            }),
        ),
        "message.sent" => (
            "An email went out.",
            json!({
                "conversation_id": conversation,
                "message_id": message,
                "mailbox_id": mailbox,
                "author": agent,
                "secure": false,
            }),
        ),
        "booking.created" => ("Someone booked a time.", booking),
        "booking.cancelled" => ("A booking was cancelled.", booking),
        "scout.held" => {
            ("The sorting helper held a likely scam.", json!({ "conversation_id": conversation }))
        }
        _ => ("Someone pressed the button for a test event.", json!({ "endpoint_id": "whk_1a2b3c" })),
    }
}

/// Returns the headers of a delivery, by the Standard Webhooks scheme.
pub(super) fn headers() -> [(&'static str, Value); 3] {
    let header = |name: &str, about: &str, schema: Value, example: &str| json!({ "name": name, "in": "header", "required": true, "description": about, "schema": schema, "example": example });
    [
        (
            "WebhookId",
            header(
                "webhook-id",
                "The event's `id`: the same on every attempt and on a redelivery.",
                json!({ "type": "string", "pattern": "^evt_" }),
                "evt_8s2m4k1q",
            ),
        ),
        (
            "WebhookTimestamp",
            header(
                "webhook-timestamp",
                "When this attempt was sent, in seconds since 1970. Refuse what is more than 5 minutes old.",
                json!({ "type": "string", "pattern": "^[0-9]+$" }),
                "1772357400",
            ),
        ),
        (
            "WebhookSignature",
            header(
                "webhook-signature",
                "`v1,` and the base64 of an HMAC-SHA256 over id, timestamp and body, joined by full stops, by the \
                 webhook's secret (the base64 behind `whsec_`). Two, with a space between, for 24 hours after a rotation.",
                json!({ "type": "string", "pattern": "^v1,\\S+( v1,\\S+)?$" }),
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
        ),
    ]
}
