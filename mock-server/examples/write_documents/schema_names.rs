//! Gives every schema of an OpenAPI document a name.
//!
//! Client generators make a class of each object and invent names for unnamed ones; two equal names would
//! cost a class. `allOf` is written out, because not every generator can merge it.

use serde_json::{Map, Value, json};

const SCHEMAS: &str = "#/components/schemas/";

/// Names all unnamed object schemas.
pub(crate) fn name_all(document: &mut Value) {
    let Some(Value::Object(mut schemas)) = document.pointer_mut("/components/schemas").map(Value::take)
    else {
        return;
    };
    timeline(&mut schemas);
    events(document, &mut schemas);
    for (_, operation) in operations(document) {
        let name = pascal(operation["operationId"].as_str().unwrap_or_default());
        if let Some(body) = operation.pointer_mut("/requestBody/content/application~1json/schema") {
            hoist(body, &format!("{name}Body"), &mut schemas);
        }
    }
    for name in schemas.keys().cloned().collect::<Vec<_>>() {
        let mut schema = schemas[&name].take();
        hoist_parts(&mut schema, &name, &mut schemas);
        schemas[&name] = schema;
    }
    document["components"]["schemas"] = schemas.into();
}

/// Returns all operations, each with its path.
fn operations(document: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        methods.as_object_mut().into_iter().flatten().map(move |(_, operation)| (path, operation))
    })
}

/// Moves the `type` into the schema of each kind of item.
fn timeline(schemas: &mut Map<String, Value>) {
    let Some(item) = schemas.get_mut("TimelineItem") else { return };
    let mut kinds = Map::new();
    let mut named = Vec::new();
    for kind in item["oneOf"].as_array_mut().into_iter().flatten() {
        let kind = kind.take();
        let Some(name) = target(&kind["allOf"][0]).map(str::to_owned) else { continue };
        kinds.insert(text(&kind["properties"]["type"]["const"]), reference(&name)["$ref"].clone());
        named.push((name, kind));
    }
    item["oneOf"] = named.iter().map(|(name, _)| reference(name)).collect();
    item["discriminator"] = json!({ "propertyName": "type", "mapping": kinds });
    for (name, kind) in named {
        merge(&mut schemas[&name], &kind);
    }
}

/// Writes out the schema of each kind of event.
fn events(document: &mut Value, schemas: &mut Map<String, Value>) {
    let (Some(envelope), Some(common)) = (schemas.remove("Event"), schemas.remove("EventData")) else {
        return;
    };
    for (kind, webhook) in document["webhooks"].as_object_mut().into_iter().flatten() {
        let Some(schema) = webhook.pointer_mut("/post/requestBody/content/application~1json/schema") else {
            continue;
        };
        let own = schema["allOf"][1].take();
        let Some(data) = target(&own["properties"]["data"]["allOf"][1]).map(str::to_owned) else { continue };
        merge(&mut schemas[&data], &common);
        let mut event = envelope.clone();
        merge(&mut event, &own);
        event["properties"]["data"] = reference(&data);
        let name = format!("{}Event", pascal(kind));
        *schema = reference(&name);
        schemas.insert(name, event);
    }
}

/// Merges the fields of one object schema into another.
fn merge(into: &mut Value, from: &Value) {
    for (field, schema) in from["properties"].as_object().into_iter().flatten() {
        into["properties"][field] = schema.clone();
    }
    let mut required = into["required"].as_array().cloned().unwrap_or_default();
    let more = from["required"].as_array().into_iter().flatten();
    required.extend(more.filter(|field| !required.contains(field)).cloned().collect::<Vec<_>>());
    into["required"] = required.into();
}

/// Moves an object schema to the named ones and leaves a reference.
fn hoist(schema: &mut Value, name: &str, schemas: &mut Map<String, Value>) {
    hoist_parts(schema, name, schemas);
    if !is_object(schema) {
        return;
    }
    let same = schemas.iter().find(|(_, there)| *there == schema).map(|(name, _)| name.clone());
    let name = same.unwrap_or_else(|| {
        assert!(!schemas.contains_key(name), "two schemas would be called {name}");
        schemas.insert(name.to_owned(), schema.take());
        name.to_owned()
    });
    *schema = reference(&name);
}

fn hoist_parts(schema: &mut Value, name: &str, schemas: &mut Map<String, Value>) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (field, part) in properties.into_iter().flatten() {
        hoist(part, &format!("{name}{}", pascal(field)), schemas);
    }
    if let Some(items) = schema.get_mut("items") {
        hoist(items, name.strip_suffix('s').unwrap_or(name), schemas);
    }
}

/// Returns whether a schema is an object.
fn is_object(schema: &Value) -> bool {
    let kind = &schema["type"];
    *kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("object")))
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{SCHEMAS}{name}") })
}

fn target(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix(SCHEMAS)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// `client.replied` and `add_note` as `ClientReplied` and `AddNote`.
fn pascal(name: &str) -> String {
    name.split(['.', '_', '-'])
        .map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_ascii_uppercase())
                .into_iter()
                .chain(letters)
                .collect::<String>()
        })
        .collect()
}
