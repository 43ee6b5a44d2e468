//! The control API's own document: valid, complete, and the page of docs that is written from it.

use std::{fmt::Write as _, fs, path::Path};

use serde_json::{Value, json};

use crate::{kit::Kit, openapi::lint};

#[tokio::test]
#[ignore = "needs Python and Node"]
async fn the_document_is_served_and_valid_by_two_linters() {
    let kit = Kit::start().await;
    let document = kit.look("/openapi.json").await;
    assert_eq!(document, *kit.document().control().value());
    lint(&document, "recommended");
}

/// Calls that programs outside count on, and the fields of their answers. Every answer in these tests is held against the document.
const FIXED: &str = "GET /health status version, POST /reset, GET /state, PUT /state, GET /clock mode now, \
    POST /clock now fired fired.at fired.job, GET /events, GET /jobs dueAt job subject, DELETE /requests, \
    GET /requests at transport method path query tool agentId status durationMs requestBody, \
    POST /worlds base_url mcp_url control_url console_url keys keys.live keys.test, DELETE /worlds/{id}, \
    POST /users id, GET /users id name, POST /mailboxes id address name open, \
    GET /mailboxes id address name open owner sandbox, POST /keys key agentId, \
    GET /keys agentId name scopes livemode createdBy revoked, DELETE /keys/{id}, PUT /plan, \
    POST /inbound conversationId messageId documentIds created, POST /messages/{id}/approve status sendsAt, \
    POST /messages/{id}/stop, GET /approvals messageId conversationId draftedBy summary text at, \
    POST /conversations/{id}/snooze, POST /conversations/{id}/assign, \
    POST /document-requests/{id}/uploads documentId complete, POST /bookings id, POST /bookings/{id}/cancel, \
    GET /outbox at kind messageId to subject text outcome, POST /webhooks id secret, \
    GET /webhooks id url livemode scope owner events state, DELETE /webhooks/{id}, \
    POST /webhooks/{id}/rotate secret, POST /webhooks/{id}/test eventId, POST /webhooks/{id}/pause, \
    POST /webhooks/{id}/resume, POST /webhooks/{id}/deliveries/{event}/redeliver, \
    GET /webhooks/{id}/deliveries eventId type createdAt outcome nextAttemptAt attempts attempts.at \
    attempts.status attempts.error attempts.durationMs, POST /webhooks/{id}/check, POST /faults id, \
    GET /faults id path skip times probability effect fired, DELETE /faults, DELETE /faults/{id}";

#[tokio::test]
async fn every_call_and_field_that_was_fixed_is_in_the_document() {
    let kit = Kit::start().await;
    let document = kit.document().control().value();
    for call in FIXED.split(", ") {
        let mut words = call.split_whitespace();
        let (method, path) = (words.next().expect("a method"), words.next().expect("a path"));
        let responses = document["paths"][path][method.to_lowercase()]["responses"].as_object();
        let responses = responses.unwrap_or_else(|| panic!("{call}"));
        let (_, success) = responses.iter().find(|(status, _)| status.starts_with('2')).expect("a success");
        for field in words {
            let mut schema = &success["content"]["application/json"]["schema"];
            for name in field.split('.') {
                schema = resolved(document, schema);
                if schema["type"] == "array" {
                    schema = resolved(document, &schema["items"]);
                }
                let required = schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
                assert!(required, "{call}: {field}");
                schema = &schema["properties"][name];
            }
        }
    }
}

#[tokio::test]
async fn the_page_of_docs_is_what_the_document_says() {
    let kit = Kit::start().await;
    let page = page(kit.document().control().value());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/control-api.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &page).expect("written");
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        there == page,
        "docs/control-api.md is not what the document says; write it anew with UPDATE_DOCS=1"
    );
}

/// The document as a page for people.
fn page(document: &Value) -> String {
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
    format!("Python `{python}`, TypeScript `{typescript}`{rust}.")
}

/// Returns the method of `Control` for a call: what is read is named for itself, and a few are said in another way.
fn rust_name(call: &str) -> Option<&str> {
    Some(match call {
        "health" => return None,
        "move_clock" => "advance",
        "put_state" => "restore",
        "compare_snapshots" => "compare",
        read => read.strip_prefix("list_").or(read.strip_prefix("get_")).unwrap_or(read),
    })
}

#[tokio::test]
async fn every_call_has_the_method_of_rust_that_the_page_names() {
    let kit = Kit::start().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/control");
    let files = [folder.clone(), folder.join("expect")]
        .into_iter()
        .flat_map(|folder| fs::read_dir(folder).expect("files"));
    let sources: String =
        files.filter_map(|file| fs::read_to_string(file.expect("a file").path()).ok()).collect();
    for methods in kit.document().control().value()["paths"].as_object().expect("paths").values() {
        for call in methods.as_object().expect("methods").values() {
            let name = call["operationId"].as_str().filter(|name| *name != "follow");
            let Some(name) = name.and_then(rust_name) else { continue };
            let defined =
                ["pub async fn ", "pub fn "].iter().any(|start| sources.contains(&format!("{start}{name}(")));
            assert!(defined, "Control::{name}");
        }
    }
}

fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let target = schema["$ref"].as_str().and_then(|path| document.pointer(path.trim_start_matches('#')));
    target.unwrap_or(schema)
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
