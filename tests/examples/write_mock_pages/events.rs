//! `docs/events.md`: what the service's document says of each kind of event.

use std::fmt::Write as _;

use serde_json::Value;

use super::resolved;

pub(super) fn page(document: &Value) -> String {
    let tag = document["tags"].as_array().and_then(|tags| tags.iter().find(|tag| tag["name"] == "Webhooks"));
    let about = tag.and_then(|tag| tag["description"].as_str()).expect("a description");
    let mut page = format!(
        "# Events\n\n{about} `data` never has the words of an email, a note or a file; every `data` has a `summary` for people, and a \
         `url` when the event is about a conversation.\n\nThis page is written from the OpenAPI document, and so are the examples.\n"
    );
    for (kind, webhook) in document["webhooks"].as_object().expect("webhooks") {
        let post = &webhook["post"];
        let about = |field: &str| post[field].as_str().expect("a text");
        let (summary, description) = (about("summary"), about("description"));
        let _ =
            write!(page, "\n## `{kind}`\n\n{summary} {description}\n\n| `data` | type | |\n|---|---|---|\n");
        let json = &post["requestBody"]["content"]["application/json"];
        let data = resolved(document, &resolved(document, &json["schema"])["properties"]["data"]);
        for (name, field) in data["properties"].as_object().expect("fields") {
            let about = field["description"].as_str().unwrap_or_default().replace('|', "\\|");
            let _ = writeln!(page, "| `{name}` | {} | {about} |", kind_of(document, field));
        }
        let _ = write!(page, "\n```json\n{:#}\n```\n", json["example"]);
    }
    page
}

/// A type in a word or two.
fn kind_of(document: &Value, schema: &Value) -> String {
    let schema = resolved(document, schema);
    if let Some(kinds) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return kinds.iter().map(|one| kind_of(document, one)).collect::<Vec<_>>().join(" or ");
    }
    if let Some(fields) = schema["properties"].as_object() {
        return format!("object (`{}`)", fields.keys().map(String::as_str).collect::<Vec<_>>().join("`, `"));
    }
    match &schema["type"] {
        Value::String(_) if schema["format"] == "date-time" => "time".to_owned(),
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}
