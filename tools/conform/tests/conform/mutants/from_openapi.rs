//! Mutants of responses and events, one or two for each field that the OpenAPI document names.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Mutant, by_hand::events as edit_events, edit, mutant};

/// Operations, and the group of rules that is about their fields.
const RESPONSES: &[(&str, &str, &str)] = &[
    ("get /me", "GET /me", "me"),
    ("get /conversations", "GET /conversations", "summary"),
    ("get /conversations/{id}", "GET /conversations/*", "conversation"),
    ("get /mailboxes", "GET /mailboxes", "mailbox"),
    ("get /tags", "GET /tags", "tag"),
    ("get /documents", "GET /documents", "document"),
    ("post /conversations/{id}/replies", "POST /conversations/*/replies", "reply.sent"),
    ("post /conversations/{id}/document-requests", "POST /conversations/*/document-requests", "request.sent"),
];

/// The schema behind references, with the properties of what may also be null.
fn resolve<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    if let Some(path) = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#')) {
        return document.pointer(path).map_or(schema, |schema| resolve(document, schema));
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        let found = schema[choice].as_array().into_iter().flatten().map(|it| resolve(document, it));
        if let Some(found) = found.into_iter().find(|it| it["properties"].is_object()) {
            return found;
        }
    }
    if schema["items"].is_object() { resolve(document, &schema["items"]) } else { schema }
}

/// Fields of a schema, those of objects in it too: path, whether it is required, and whether null is allowed.
fn fields(document: &Value, schema: &Value, path: &str, out: &mut Vec<(String, bool)>) {
    let schema = resolve(document, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let required = schema["required"].as_array().is_some_and(|it| it.contains(&json!(name)));
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let inner = resolve(document, field);
        // Lists of objects have rules of their own.
        if inner["properties"].is_object() && field["type"] != "array" && !path.contains('.') {
            fields(document, field, &path, out);
        }
        out.push((path, required));
    }
}

/// Changes a field wherever it is; in a list, in each entry.
fn change(value: &mut Value, path: &str, with: Option<&Value>) {
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(|item| change(item, path, with));
        return;
    }
    let Some(object) = value.as_object_mut() else { return };
    match path.split_once('.') {
        Some((name, rest)) => {
            if let Some(inner) = object.get_mut(name) {
                change(inner, rest, with);
            }
        }
        None => {
            let was = object.remove(path);
            if let (Some(with), Some(_)) = (with, was) {
                object.insert(path.to_owned(), with.clone());
            }
        }
    }
}

/// The ids of all rules.
fn rule_ids() -> HashSet<String> {
    shared_inbox_conform::Conform::rules().into_iter().map(|rule| rule.id).collect()
}

pub(super) fn responses(document: &Value) -> Vec<Mutant> {
    let (mut mutants, rules) = (Vec::new(), rule_ids());
    for (operation, what, group) in RESPONSES {
        let (method, path) = operation.split_once(' ').expect("a method and a path");
        let answers = &document["paths"][path][method]["responses"];
        let answer = if answers["200"].is_object() { &answers["200"] } else { &answers["201"] };
        let mut found = Vec::new();
        fields(document, &answer["content"]["application/json"]["schema"], "", &mut found);
        assert!(!found.is_empty(), "{operation} has fields: {answer}");
        for (field, required) in found {
            let rule = format!("{group}.{field}");
            if !rules.contains(&rule) || rule == "me.livemode" || rule == "me.agent" {
                continue;
            }
            // Nothing that the suite meets has these; fields of what is read out of a document, and
            // references.
            let unseen = field.starts_with("fields.") || matches!(field.as_str(), "reference" | "appSent");
            if required && !unseen {
                let (name, field) = (format!("{what} without {field}"), field.clone());
                mutants.push(mutant(name, &rule, edit(*what, move |json| change(json, &field, None))));
            }
            let elsewhere = rule == "me.scopes" || rule == "reply.sent.requestId";
            if !unseen && !elsewhere {
                let name = format!("{what} with another type in {field}");
                let changes = edit(*what, move |json| change(json, &field, Some(&json!([7]))));
                mutants.push(mutant(name, &rule, changes));
            }
        }
    }
    mutants
}

pub(super) fn events(document: &Value) -> Vec<Mutant> {
    let (mut mutants, rules) = (Vec::new(), rule_ids());
    for name in ["id", "type", "version", "created_at", "workspace", "livemode", "data"] {
        for with in [None, Some(json!([7]))] {
            let shown = format!("an event with {with:?} as {name}");
            let changes = edit_events("", move |event| change(event, name, with.as_ref()));
            mutants.push(mutant(shown, format!("envelope.{name}"), changes));
        }
    }
    for (kind, event) in document["webhooks"].as_object().expect("webhooks") {
        let schema =
            resolve(document, &event["post"]["requestBody"]["content"]["application/json"]["schema"]);
        let mut found = Vec::new();
        fields(document, &schema["properties"]["data"], "", &mut found);
        for (field, required) in found {
            let rule = format!("{kind}.{field}");
            if !rules.contains(&rule) || matches!(field.as_str(), "reference" | "url") {
                continue;
            }
            for with in [None, Some(json!([7]))].into_iter().filter(|with| required || with.is_some()) {
                let (name, path) = (format!("{kind} with {with:?} as {field}"), format!("data.{field}"));
                let changes = edit_events(kind, move |event| change(event, &path, with.as_ref()));
                mutants.push(mutant(name, &rule, changes));
            }
        }
    }
    mutants
}
