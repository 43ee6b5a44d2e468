//! The OpenAPI document of the control API, generated from the table of calls that also serves the requests.

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value, json};

use shared_inbox_mock::__schemas::{CallDescription, InputSchema, OutputSchema, control_calls};

use crate::{
    control_texts::{CallText, FAMILIES, Family},
    schema_names,
};

/// The prefix of every path.
const PREFIX: &str = "/_mock";
const SCHEMAS: &str = "#/components/schemas/";

/// Writes the document.
pub(crate) fn document() -> Value {
    // The input and output schemas of a type with defaults differ.
    let mut input_schemas = settings().for_deserialize().into_generator();
    let mut output_schemas = settings().for_serialize().into_generator();
    let (mut paths, mut tags) = (Map::new(), Vec::new());
    let mut described = control_calls(&mut input_schemas, &mut output_schemas);
    for Family { name, about, calls } in FAMILIES {
        tags.push(json!({ "name": name, "description": about }));
        for text in *calls {
            let at = described.iter().position(|call| call.name == text.name);
            let call = described.remove(at.unwrap_or_else(|| panic!("there is no call {}", text.name)));
            let (path, method) = (call.path, call.method.to_lowercase());
            paths.entry(path).or_insert_with(|| json!({}))[method] = describe(call, text, name);
        }
    }
    let names: Vec<&str> = described.iter().map(|call| call.name).collect();
    assert!(names.is_empty(), "calls without a text: {names:?}");
    let (mut taken, given) = (input_schemas.take_definitions(true), output_schemas.take_definitions(true));
    let differ: Vec<String> = taken
        .iter()
        .filter(|(name, schema)| given.get(*name).is_some_and(|g| g != *schema))
        .map(|(n, _)| n.clone())
        .collect();
    for name in differ {
        // A request body gets a schema name of its own.
        let (old, new) = (format!("{SCHEMAS}{name}"), format!("{SCHEMAS}{name}Input"));
        taken.values_mut().for_each(|schema| rename(schema, &old, &new));
        for operation in paths.values_mut().flat_map(|path| path.as_object_mut().into_iter().flatten()) {
            if let Some(body) = operation.1.get_mut("requestBody") {
                rename(body, &old, &new);
            }
        }
        if let Some(schema) = taken.remove(&name) {
            taken.insert(format!("{name}Input"), schema);
        }
    }
    taken.extend(given);
    taken.insert("Error".to_owned(), error());
    let mut document = json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Control API of shared-inbox-mock",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "What people, customers, time and bad luck do.",
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [
            { "url": PREFIX, "description": "The main world." },
            {
                "url": format!("{PREFIX}/worlds/{{world}}"),
                "description": "A world beside it.",
                "variables": { "world": { "default": "wld_1", "description": "The `id` of its ready document." } },
            },
        ],
        "tags": tags,
        "security": [{}, { "controlToken": [] }],
        "paths": paths,
        "components": {
            "schemas": taken,
            "responses": responses(),
            "securitySchemes": { "controlToken": {
                "type": "http",
                "scheme": "bearer",
                "description": "What was given as --control-token; without that flag none is needed.",
            } },
        },
    });
    schema_names::name_all(&mut document);
    document
}

const ABOUT: &str = "\
Everything that a test does to the mock and that is not part of the service. JSON in, JSON out.

Errors have one field, `error`: 400 for bad input, every problem behind its field's name, and a field, a parameter or a value that \
is not known with the nearest one that is; 404 for an id that does not \
exist; 409 where the present state does not allow it. A request whose `Host` is not the server's own, or whose `Origin` \
is a foreign one, is a 403. There is no rate limit, and nothing of it stands in the journal of requests.

`by` says who does something: a person (`usr_…`), an agent (`agt_…`) or the service itself (`system`). Without it, it is \
the owner of a private inbox, or else the first person of the workspace.";

fn describe(call: CallDescription, text: &CallText, family: &str) -> Value {
    let mut described = json!({
        "tags": [family],
        "operationId": call.name,
        "summary": text.summary,
        "responses": answers(&call, text),
    });
    if !text.about.is_empty() {
        described["description"] = text.about.into();
    }
    let parameters = parameters(call.path, call.input.query);
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if let Some((schema, required)) = call.input.body {
        described["requestBody"] =
            json!({ "required": required, "content": { "application/json": { "schema": plain(schema) } } });
    }
    described
}

fn answers(call: &CallDescription, text: &CallText) -> Value {
    let CallDescription {
        input: InputSchema { body, .. }, output: OutputSchema { status, body: given }, ..
    } = call;
    let mut done = json!({ "description": text.summary });
    if let Some((kind, schema)) = given {
        done["content"] = json!({ *kind: { "schema": plain(schema.clone()) } });
    }
    let (body, named) = (body.is_some(), call.path.contains('{'));
    let mut answers = json!({ status.to_string(): done });
    let errors = [
        ("400", "BadRequest", true),
        ("401", "Unauthorized", call.path != "/health"),
        ("403", "Forbidden", true),
        ("404", "NotFound", body || named),
        ("408", "TooSlow", body),
        ("413", "TooLarge", body),
    ];
    for (status, name, _) in errors.iter().filter(|(_, _, answered)| *answered) {
        answers[*status] = json!({ "$ref": format!("#/components/responses/{name}") });
    }
    if let Some(when) = text.conflict {
        answers["409"] = response(when);
    }
    answers
}

fn parameters(path: &str, queries: Vec<Schema>) -> Vec<Value> {
    let ids = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Value> = ids
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    for query in queries {
        let query = plain(query);
        let required: Vec<&str> =
            query["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, schema) in query["properties"].as_object().into_iter().flatten() {
            let mut schema = schema.clone();
            let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            all.push(json!({
                "name": name,
                "in": "query",
                "required": required.contains(&name.as_str()),
                "description": about,
                "schema": schema,
            }));
        }
    }
    all
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12()
        .with(|s| {
            s.meta_schema = None;
            s.definitions_path = "/components/schemas".into();
        })
        .with_transform(RecursiveTransform(for_all_languages))
}

/// Returns a schema without details of Rust.
fn plain(mut schema: Schema) -> Value {
    schemars::transform::Transform::transform(&mut RecursiveTransform(for_all_languages), &mut schema);
    schema.to_value()
}

/// Removes details of Rust: examples in doc comments, links, `None`, the widths of integers.
fn for_all_languages(schema: &mut Schema) {
    if let Some(text) = schema.get("description").and_then(Value::as_str) {
        let first_paragraph = text.split("\n\n").next().unwrap_or(text);
        let about = first_paragraph
            .replace('\n', " ")
            .replace("`None`", "null")
            .replace("[`", "`")
            .replace("`]", "`");
        schema.insert("description".to_owned(), about.into());
    }
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
        schema.remove("format");
    }
}

fn rename(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::String(text) if text == old => new.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, old, new)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, old, new)),
        _ => {}
    }
}

fn error() -> Value {
    json!({
        "type": "object",
        "description": "Every error has this one field.",
        "properties": { "error": { "type": "string", "minLength": 1, "description": "A sentence for people." } },
        "required": ["error"],
        "additionalProperties": false,
    })
}

fn response(when: &str) -> Value {
    json!({
        "description": when,
        "content": { "application/json": { "schema": { "$ref": format!("{SCHEMAS}Error") } } },
    })
}

fn responses() -> Value {
    json!({
        "BadRequest": response("Something is missing or breaks a rule; every problem is named behind its field. Nothing happened."),
        "Unauthorized": response("The server was started with --control-token, and the request does not carry it."),
        "Forbidden": response("The request was made for another server, or by a page of another one."),
        "NotFound": response("There is nothing with this id."),
        "TooSlow": response("The body did not arrive in time."),
        "TooLarge": response("The body is larger than any world."),
    })
}
