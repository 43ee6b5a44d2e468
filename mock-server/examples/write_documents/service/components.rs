//! What the operations share: the schemas of responses, the error body, the key.

use serde_json::{Map, Value, json};
use shared_inbox::{
    __spec::limits, ActorType, Direction, DocumentKind, MessageStatus, Scope, Status, Turn, Urgency,
};

use super::{KEY, events};

pub(super) fn components(mut schemas: Map<String, Value>) -> Value {
    schemas.values_mut().for_each(close_enums);
    for (schema, field, rules) in narrower() {
        if let (Some(property), Value::Object(rules)) =
            (schemas.get_mut(schema).and_then(|s| s["properties"][field].as_object_mut()), rules)
        {
            property.extend(rules);
        }
    }
    schemas["SandboxReceipt"]["required"] = json!(["conversationId", "messageId"]);
    schemas.insert("Error".to_owned(), error());
    let mut parameters = Map::new();
    parameters.extend(events::headers().map(|(name, header)| (name.to_owned(), header)));
    parameters.insert(
        "ConversationId".to_owned(),
        json!({
            "name": "id",
            "in": "path",
            "required": true,
            "description": "The conversation's id. A malformed id returns 404, like one that does not exist.",
            "schema": { "type": "string", "pattern": "^cnv_[0-9a-z]+$" },
            "example": "cnv_4k7q2m9x",
        }),
    );
    json!({
        "schemas": schemas,
        "parameters": parameters,
        "responses": responses(),
        "securitySchemes": { KEY: {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "rk_live_… or rk_test_…, 48 letters and digits behind the prefix",
            "description": "An API key. A live key works on real inboxes, a test key on the sandbox alone. The roles \
                            named with an operation are the scopes that the key must have.",
        } },
    })
}

fn error() -> Value {
    json!({
        "type": "object",
        "description": "Every error has this one field. Go by the status code, not by the words.",
        "properties": { "error": {
            "type": "string",
            "minLength": 1,
            "description": "A sentence for people. For a 400 it names every problem, each starting with the field's \
                            name, joined by semicolons; for a missing scope it names the scope.",
        } },
        "required": ["error"],
        "additionalProperties": false,
    })
}

fn responses() -> Value {
    let response = |description: &str, sentence: &str| {
        json!({
            "description": description,
            "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/Error" },
                "example": { "error": sentence },
            } },
        })
    };
    json!({
        "BadRequest": response(
            "The input is missing something or breaks a rule, or the body is not JSON. Nothing happened.",
            "q: must be at most 200 characters; limit: must be at most 100",
        ),
        "Unauthorized": response("There is no key, or it is wrong or revoked.", "The API key is missing, wrong or revoked."),
        "Forbidden": response(
            "The key lacks the scope that the sentence names, a live key called the sandbox, the workspace's plan \
             does not include the API, or the request came from a web page of another site.",
            "This key lacks the scope `write`; make a new key that has it.",
        ),
        "NotFound": response(
            "There is no such conversation, or the key cannot see it: the two look the same.",
            "There is no such conversation.",
        ),
        "TooSlow": response(
            "The body did not arrive in time. Nothing happened.",
            "The body did not arrive in time.",
        ),
        "TooLarge": response(
            "The body is larger than any good request can be. Nothing happened.",
            "The body is too large.",
        ),
        "TooManyRequests": response(
            "More than 120 requests in a minute with this key, REST and MCP together; for simulated mail also more \
             than 120 in a minute over all test keys.",
            "Too many requests: slow down to 120 a minute.",
        ),
        "ServerError": response("Something broke on this side. Try again shortly.", "Something went wrong. Try again shortly."),
    })
}

/// Closes enums, kinds of items and the format of times. The types stay open for clients of a growing
/// service, but this server knows all its values.
fn close_enums(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(words) =
                fields.get("examples").filter(|words| closed_enums().contains(words)).cloned()
            {
                let mut words = words.as_array().cloned().unwrap_or_default();
                if fields["type"].is_array() {
                    words.push(Value::Null);
                }
                fields.remove("examples");
                fields.insert("enum".to_owned(), words.into());
            }
            if let Some(Value::Array(kinds)) = fields.get_mut("oneOf") {
                // The variant for unknown kinds.
                kinds.retain(|kind| kind["properties"]["type"]["not"].is_null());
            }
            if fields.get("format").is_some_and(|format| format == "date-time") {
                fields.insert("pattern".to_owned(), TIME.into());
            }
            fields.values_mut().for_each(close_enums);
        }
        Value::Array(items) => items.iter_mut().for_each(close_enums),
        _ => {}
    }
}

const TIME: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$";

fn closed_enums() -> [Value; 8] {
    [
        json!(Status::KNOWN),
        json!(Urgency::KNOWN),
        json!(Direction::KNOWN),
        json!(MessageStatus::KNOWN),
        json!(DocumentKind::KNOWN),
        json!(ActorType::KNOWN),
        json!(Scope::KNOWN),
        json!(Turn::KNOWN),
    ]
}

/// Returns stricter rules for responses of this server: schema, field, rules.
fn narrower() -> [(&'static str, &'static str, Value); 12] {
    [
        ("Assignee", "type", json!({ "enum": ["user", "agent"] })),
        ("Assignee", "id", json!({ "pattern": "^(usr|agt)_[0-9A-Za-z_-]+$" })),
        ("Conversation", "riskReasons", json!({ "maxItems": limits::RISK_REASONS })),
        (
            "Conversation",
            "appSent",
            json!({
                "description": "The email that the app sent, when it was recorded.",
                "properties": {
                    "messageId": { "type": "string" },
                    "reference": { "type": "string" },
                    "to": { "type": "array", "items": { "type": "string" } },
                    "subject": { "type": "string" },
                    "text": { "type": ["string", "null"] },
                    "html": { "type": ["string", "null"] },
                    "recordedAt": { "type": "string", "format": "date-time", "pattern": TIME },
                },
                "required": ["messageId", "reference", "to", "subject", "text", "html", "recordedAt"],
            }),
        ),
        (
            "Conversation",
            "snoozedUntil",
            json!({ "description": "Until when it is put off, or null. A snoozed conversation stands only in the view \
                                    `snoozed` until that time has come or mail comes in." }),
        ),
        ("Ack", "ok", json!({ "const": true })),
        ("EventAssignee", "type", json!({ "enum": ["user", "agent"] })),
        ("EventAuthor", "type", json!({ "enum": ["user", "agent"] })),
        ("EventDrafter", "type", json!({ "enum": ["user", "agent", null] })),
        ("Message", "text", json!({ "maxLength": limits::MESSAGE_TEXT })),
        ("ReplyResult", "status", json!({ "enum": ["draft", "scheduled"] })),
        (
            "TimelineEvent",
            "data",
            json!({ "description": "More about it, by `event`: `status` has `from` and `to`; `assigned` has \
                                    `assignee` (an object as in the conversation, or null); `tags` has `added` and \
                                    `removed` (lists of names); `snoozed` has `until` (a time, or null); `upload` \
                                    has `requestId`, `documentId` and `item` (counted from 0); `spam-complaint` has \
                                    `email`; `draft-discarded` has `messageId`; `bounced` has `messageId` and `email`. \
                                    New events, and new keys here, may come." }),
        ),
    ]
}
