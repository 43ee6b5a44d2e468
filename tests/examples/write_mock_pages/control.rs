//! `docs/control-api.md`: the control API's document as a page for people.

use std::{fmt::Write as _, fs, sync::LazyLock};

use serde_json::{Value, json};
use shared_inbox_tests::root;

use super::resolved;

/// The sources of `Control`, in which each call has the method that the page names.
static METHODS: LazyLock<String> = LazyLock::new(|| {
    let folder = root().join("mock-server/src/control");
    let files = [folder.clone(), folder.join("expect")].map(|folder| fs::read_dir(folder).expect("a folder"));
    let files = files.into_iter().flatten().map(|file| file.expect("a file").path());
    files.filter_map(|file| fs::read_to_string(file).ok()).collect()
});

/// The document as a page for people.
pub(super) fn page(document: &Value) -> String {
    let mut page = format!(
        "# The control API of the mock\n\n{}\n\nPaths are below `/_mock`, and below `/_mock/worlds/{{id}}` for a world beside \
         the main one. `GET /_mock/openapi.json` is the OpenAPI document that this page is written from.\n\nEvery list takes \
         `?wait=`: it is answered as soon as it has something in it, or `?least=` so many items, and after so many seconds \
         of real time in any case.\n",
        document["info"]["description"].as_str().expect("a description")
    );
    for tag in document["tags"].as_array().expect("tags") {
        let name = tag["name"].as_str().expect("a name");
        let _ = write!(page, "\n## {name}\n\n{}\n", tag["description"].as_str().unwrap_or_default());
        let paths = document["paths"].as_object().expect("paths");
        for (path, methods) in paths {
            for (method, call) in methods.as_object().expect("methods") {
                if call["tags"][0] == name {
                    describe(&mut page, document, &method.to_uppercase(), path, call);
                }
            }
        }
    }
    page
}

fn describe(page: &mut String, document: &Value, method: &str, path: &str, call: &Value) {
    let _ = write!(
        page,
        "\n### `{method} {path}`\n\n{}\n\n{}.",
        names(call),
        call["summary"].as_str().expect("a summary")
    );
    if let Some(about) = call["description"].as_str() {
        let _ = write!(page, " {about}");
    }
    page.push('\n');
    let mut rows = Vec::new();
    for parameter in call["parameters"].as_array().into_iter().flatten() {
        // Every list can be waited for; that is said once.
        if parameter["in"] == "query" && !["wait", "least"].iter().any(|name| parameter["name"] == *name) {
            rows.push((
                format!("`?{}=`", parameter["name"].as_str().expect("a name")),
                parameter["schema"].clone(),
                parameter["required"] == true,
                parameter["description"].clone(),
            ));
        }
    }
    let body = resolved(document, &call["requestBody"]["content"]["application/json"]["schema"]);
    for (field, schema) in body["properties"].as_object().into_iter().flatten() {
        let required = body["required"].as_array().is_some_and(|all| all.contains(&json!(field)));
        let about = if schema["description"].is_string() {
            &schema["description"]
        } else {
            &resolved(document, schema)["description"]
        };
        rows.push((format!("`{field}`"), schema.clone(), required, about.clone()));
    }
    if !rows.is_empty() {
        page.push_str("\n| takes | type | |\n|---|---|---|\n");
        for (name, schema, required, about) in rows {
            let required = if required { "required. " } else { "" };
            let about = about.as_str().unwrap_or_default().replace('|', "\\|");
            let _ = writeln!(page, "| {name} | {} | {required}{about} |", kind(document, &schema));
        }
    }
    let responses = call["responses"].as_object().expect("responses");
    let (status, answer) = responses.iter().find(|(status, _)| status.starts_with('2')).expect("a success");
    let schema = answer["content"]
        .as_object()
        .and_then(|content| content.values().next())
        .map(|content| &content["schema"]);
    let gives = schema.map_or_else(|| "nothing".to_owned(), |schema| kind(document, schema));
    let _ = write!(page, "\nAnswers {status}: {gives}.");
    if let Some(conflict) = responses.get("409") {
        let _ = write!(page, " 409: {}", conflict["description"].as_str().unwrap_or_default());
    }
    page.push('\n');
}

/// Returns the name of a call in each language.
fn names(call: &Value) -> String {
    let python = call["operationId"].as_str().expect("a name");
    if call["responses"]["200"]["content"]["text/event-stream"].is_object() {
        return "Rust `Control::changes`; the packages for Python and TypeScript have no streams.".to_owned();
    }
    let mut words = python.split('_');
    let capitalized = |word: &str| word[..1].to_uppercase() + &word[1..];
    let typescript =
        words.next().unwrap_or_default().to_owned() + &words.map(capitalized).collect::<String>();
    let rust = rust_name(python).map(|name| format!(", Rust `{name}`")).unwrap_or_default();
    if let Some(name) = rust_name(python) {
        let defined = ["pub async fn", "pub fn"].iter().any(|it| METHODS.contains(&format!("{it} {name}(")));
        assert!(defined, "there is no Control::{name}; is it named in another way?");
    }
    format!("Python `{python}`, TypeScript `{typescript}`{rust}.")
}

/// Returns the method of `Control` for a call: what is read is named for itself, and a few are said in
/// another way.
fn rust_name(call: &str) -> Option<&str> {
    Some(match call {
        "health" => return None,
        "move_clock" => "advance",
        "put_state" => "restore",
        "compare_snapshots" => "compare",
        read => read.strip_prefix("list_").or(read.strip_prefix("get_")).unwrap_or(read),
    })
}

/// A type in a word or two; an object by its fields.
fn kind(document: &Value, schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        let inner = resolved(document, schema);
        return match inner["properties"].as_object() {
            Some(fields) => {
                let fields: Vec<&str> = fields.keys().map(String::as_str).collect();
                format!("{name} (`{}`)", fields.join("`, `"))
            }
            None => kind(document, inner),
        };
    }
    for many in ["anyOf", "oneOf"] {
        if let Some(kinds) = schema[many].as_array() {
            let kinds: Vec<String> = kinds.iter().map(|one| kind(document, one)).collect();
            return kinds.join(" or ");
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        return words
            .iter()
            .map(|word| format!("`{}`", word.as_str().unwrap_or("null")))
            .collect::<Vec<_>>()
            .join(", ");
    }
    if let Some(word) = schema.get("const") {
        return format!("`{}`", word.as_str().map_or_else(|| word.to_string(), str::to_owned));
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(document, &schema["items"])),
        Value::String(name) if name == "string" && schema["format"] == "date-time" => "time".to_owned(),
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}
