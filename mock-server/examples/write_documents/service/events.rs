//! The webhooks of the document: what is sent to a receiver, and what its response means.

use serde_json::{Map, Value, json};
use shared_inbox::__spec::limits;
use shared_inbox_webhooks::EventKind;

/// Returns one entry for each kind of event, and the schemas that they share.
pub(super) fn webhooks() -> (Map<String, Value>, Map<String, Value>) {
    let (kinds, parts) = EventKind::schemas("/components/schemas");
    let webhooks = kinds.into_iter().map(|(name, schema)| (name.to_owned(), webhook(name, schema))).collect();
    (webhooks, parts)
}

fn webhook(name: &str, schema: Value) -> Value {
    let (when, details, mut data) = describe_event(name);
    data["summary"] = when.trim_end_matches('.').into();
    if let Some(id) = data["conversation_id"].as_str() {
        data["url"] = format!("https://app.shared-inbox.example/conversations/{id}").into();
    }
    json!({ "post": {
        "tags": ["Webhooks"],
        "operationId": format!("on_{}", name.replace('.', "_")),
        "summary": when,
        "description": details,
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

/// Returns what happened, when an event of this kind is sent and when not, and an example of its data.
fn describe_event(name: &str) -> (&'static str, &'static str, Value) {
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
            "Sent once for each document request, with the upload after which every required item has one; optional \
             items are not waited for. Not sent for further uploads.",
            json!({ "ask_id": "req_2f6j8n", "kind": "documents", "conversation_id": conversation }),
        ),
        "client.replied" => (
            "Someone wrote back on a conversation.",
            "Sent for an email that joins a conversation, in the sandbox too, and for a reply to recorded app mail that starts \
             one. Not sent for the first email of a new conversation (that is `turn.changed` with `previous` null), nor for an \
             automatic reply. An email that is held as a likely scam is told too, after `scout.held`. `reference` is there when \
             the conversation has one.",
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
            "Sent when the assignee changes, whoever changes it: a person, an agent over the API, or the service. Not sent when \
             the conversation is given to who has it already. `assignee` is null when it is given to nobody.",
            json!({ "conversation_id": conversation, "assignee": anna, "assigned_by": anna }),
        ),
        "turn.changed" => (
            "It is another one's turn.",
            "Sent when the turn changes. `ours`: an email came in, the conversation was reopened, or an email bounced. `theirs`: \
             an email went out, or the status was set to `waiting`. `done`: it was closed. Not sent when an email goes out and \
             the customer has written since it was written: then it stays `ours`. Not sent for an email that goes out of a \
             closed conversation. `previous` is null at the first email of a conversation.",
            json!({ "conversation_id": conversation, "turn": "theirs", "previous": "ours", "assignee": null }),
        ),
        "draft.approved" => (
            "A person approved a draft, which goes out after the undo window.",
            "Sent when a draft is approved, whoever wrote it; `edited` says whether its text was changed. `message.sent` follows \
             when it leaves, and does not when someone stops it. Not sent for a reply that an agent sends itself, nor in the \
             sandbox, where nobody approves.",
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
            "Sent when an email leaves, which is after the undo window, and for reminders of a document request. `author` is null \
             for the service's own. Not sent for one that bounces or was stopped, nor for app mail that is only recorded.",
            json!({
                "conversation_id": conversation,
                "message_id": message,
                "mailbox_id": mailbox,
                "author": agent,
                "secure": false,
            }),
        ),
        "booking.created" => (
            "Someone booked a time.",
            "Sent for every booking. One outside of a conversation has `conversation_id` null and no `url`, and goes to the \
             webhooks for team inboxes.",
            booking,
        ),
        "booking.cancelled" => (
            "A booking was cancelled.",
            "Sent once for a booking, with the data of `booking.created`. Not sent for one that is cancelled already.",
            booking,
        ),
        "scout.held" => (
            "The sorting helper held a likely scam.",
            "Sent when the helper holds an email as it comes in or later; in the sandbox the scam check does it. The email is \
             filed all the same, with a `risk`. Not sent for an email that only gets a `risk`.",
            json!({ "conversation_id": conversation }),
        ),
        _ => (
            "Someone pressed the button for a test event.",
            "Sent to that one webhook, whatever events it subscribes to. Not sent while it is paused or off.",
            json!({ "endpoint_id": "whk_1a2b3c" }),
        ),
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
