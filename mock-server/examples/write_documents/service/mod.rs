//! The OpenAPI 3.1 document of the service, generated from the catalogue that also serves the requests.
//!
//! Paths, parameters, limits, scopes and schemas come from [`Operation`] and the types; only texts, examples
//! and links are written here, so the document cannot drift from the server.

mod components;
mod events;
mod examples;
mod links;
mod words;

use serde_json::{Map, Value, json};
use shared_inbox::{
    __spec::{Field, Idempotency, Method, Operation},
    Scope,
};

use self::{examples::Examples, words::OperationText};
use crate::schema_names;

/// The prefix of every path.
const PREFIX: &str = "/api/v1";
/// The name of the security scheme.
const KEY: &str = "apiKey";

/// Writes the document.
pub(crate) fn document() -> Value {
    let (answers, mut parts) = Operation::output_schemas("/components/schemas");
    let (webhooks, more_parts) = events::webhooks();
    parts.extend(more_parts);
    let mut paths = Map::new();
    for (operation, answer) in answers {
        let path = paths.entry(operation.path()).or_insert_with(|| json!({}));
        path[operation.method().as_str().to_lowercase()] = describe(operation, answer);
    }
    let mut document = json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Shared-Inbox Conversation API",
            "version": "1.0.0",
            "summary": "Work in a shared customer-email inbox: read, note, sort, reply.",
            "description": words::ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": PREFIX, "description": "This server." }],
        "tags": words::tags(),
        "security": [{ KEY: [] }],
        "paths": paths,
        "webhooks": webhooks,
        "components": components::components(parts),
    });
    schema_names::name_all(&mut document);
    document
}

fn describe(operation: Operation, answer: Value) -> Value {
    let OperationText { tag, id, summary, about } = words::operation_text(operation);
    let examples = examples::operation_examples(operation);
    let mut described = json!({
        "tags": [tag],
        "operationId": id,
        "summary": summary,
        "description": format!("{about}\n\n{} {}", needs(operation), repeat(operation)),
        "security": security(operation),
        "responses": responses(operation, answer, &examples),
    });
    let parameters = parameters(operation, &examples);
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if operation.method() == Method::Post {
        described["requestBody"] = json!({
            "required": operation.fields().iter().any(|field| field.required),
            "content": { "application/json": {
                "schema": operation.input_schema(),
                "examples": examples.requests,
            } },
        });
    }
    described
}

fn parameters(operation: Operation, examples: &Examples) -> Vec<Value> {
    let mut parameters = Vec::new();
    if operation.takes_conversation() {
        parameters.push(json!({ "$ref": "#/components/parameters/ConversationId" }));
    }
    if operation.method() == Method::Get {
        parameters.extend(operation.fields().iter().map(|field| parameter(field, examples)));
    }
    parameters
}

fn parameter(field: &Field, examples: &Examples) -> Value {
    let mut schema = field.schema();
    let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    let mut parameter = json!({
        "name": field.name,
        "in": "query",
        "required": field.required,
        "description": about,
        "schema": schema,
    });
    if let Some(example) = examples.query.get(field.name) {
        parameter["example"] = example.clone();
    }
    parameter
}

/// OpenAPI 3.1 lets a bearer scheme name the roles that a call needs: here the scopes.
fn security(operation: Operation) -> Value {
    let scopes = [Some(operation.scope()), operation.scope_when_sending()];
    scopes.into_iter().flatten().map(|scope| json!({ KEY: [scope] })).collect()
}

fn needs(operation: Operation) -> String {
    match (operation.scope(), operation.scope_when_sending()) {
        (scope, Some(sending)) => {
            format!("Needs the scope `{scope}`, or `{sending}` when `send` is true.")
        }
        (Scope::Write, None) if operation == Operation::SandboxInbound => {
            "Needs a test key with the scope `write`.".to_owned()
        }
        (scope, None) => format!("Needs the scope `{scope}`."),
    }
}

fn repeat(operation: Operation) -> &'static str {
    match operation.idempotency() {
        Idempotency::Harmless => "Repeating the same request is harmless.",
        Idempotency::Verify => {
            "Repeating the same request makes a second item: after a timeout, read the conversation and look at the \
             end of its timeline first."
        }
        _ => "Repeating the same request makes a second item.",
    }
}

fn responses(operation: Operation, answer: Value, examples: &Examples) -> Value {
    let mut done = json!({
        "description": examples.response_description,
        "content": { "application/json": { "schema": answer, "example": examples.answer } },
    });
    let links = links::operation_links(operation);
    if !links.is_empty() {
        done["links"] = links.into();
    }
    let mut responses = json!({ operation.success().to_string(): done });
    for (status, name) in errors(operation) {
        responses[status] = json!({ "$ref": format!("#/components/responses/{name}") });
    }
    responses
}

/// Returns the errors of an operation, by the name of their shared description.
fn errors(operation: Operation) -> Vec<(&'static str, &'static str)> {
    let mut errors = vec![
        ("401", "Unauthorized"),
        ("403", "Forbidden"),
        ("429", "TooManyRequests"),
        ("500", "ServerError"),
    ];
    if !operation.fields().is_empty() {
        errors.push(("400", "BadRequest"));
    }
    if operation.takes_conversation() || operation == Operation::SandboxInbound {
        errors.push(("404", "NotFound"));
    }
    if operation.method() == Method::Post {
        errors.extend([("408", "TooSlow"), ("413", "TooLarge")]);
    }
    errors
}
