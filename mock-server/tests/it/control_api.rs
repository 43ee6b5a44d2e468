//! The control API's own document: valid, complete, and the page of docs that is written from it.

use std::{fmt::Write as _, fs, path::Path, process::Command};

use serde_json::{Value, json};
use shared_inbox_tests::peers;

use crate::kit::{Kit, text};

#[tokio::test]
#[ignore = "needs Python and Node"]
async fn the_document_is_served_and_valid_by_two_linters() {
    let kit = Kit::start().await;
    let document = kit.look("/openapi.json").await;
    assert_eq!(document, *kit.document().control().value());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("control.json");
    fs::write(&file, document.to_string()).expect("written");
    if let Some(python) = peers::python(&["openapi-spec-validator==0.9.0"]) {
        let out = Command::new(python)
            .args(["-m", "openapi_spec_validator"])
            .arg(&file)
            .output()
            .expect("it starts");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    }
    if let (Some(node), Some(modules)) = (peers::node22(), peers::npm(&["@redocly/cli@2.73.0"])) {
        let out = Command::new(node)
            .arg(modules.join("@redocly/cli/bin/cli.js"))
            .args(["lint", "--extends=recommended"])
            .arg(&file)
            .env("REDOCLY_TELEMETRY", "off")
            .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
            .output()
            .expect("it starts");
        let said =
            format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "{said}");
    }
}

/// Programs outside count on these: none may go.
#[tokio::test]
async fn every_call_that_was_fixed_is_in_the_document() {
    let kit = Kit::start().await;
    let paths = &kit.document().control().value()["paths"];
    let fixed = "GET /health, POST /reset, GET /state, PUT /state, GET /clock, POST /clock, GET /requests, DELETE /requests, \
        GET /jobs, GET /events, POST /worlds, DELETE /worlds/{id}, POST /users, GET /users, POST /mailboxes, GET /mailboxes, \
        POST /keys, GET /keys, DELETE /keys/{id}, PUT /plan, POST /inbound, POST /messages/{id}/approve, \
        POST /messages/{id}/stop, GET /approvals, POST /conversations/{id}/snooze, POST /conversations/{id}/assign, \
        POST /document-requests/{id}/uploads, POST /bookings, POST /bookings/{id}/cancel, GET /outbox, POST /webhooks, \
        GET /webhooks, DELETE /webhooks/{id}, POST /webhooks/{id}/rotate, POST /webhooks/{id}/test, \
        POST /webhooks/{id}/pause, POST /webhooks/{id}/resume, GET /webhooks/{id}/deliveries, \
        POST /webhooks/{id}/deliveries/{event}/redeliver, POST /webhooks/{id}/check, POST /faults, GET /faults, \
        DELETE /faults, DELETE /faults/{id}";
    for call in fixed.split(", ") {
        let (method, path) = call.trim().split_once(' ').expect("a method and a path");
        assert!(paths[path][method.to_lowercase()].is_object(), "{call}");
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
    let _ = write!(page, "\n### `{method} {path}`\n\n{}.", call["summary"].as_str().expect("a summary"));
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

/// The object has all these fields; the control API may have more.
#[track_caller]
fn has(value: &Value, names: &str) {
    let there = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    names.split(' ').for_each(|name| assert!(there.contains_key(name), "{name} is missing: {value}"));
}

#[tokio::test]
async fn answers_of_the_control_api_have_the_fields_that_programs_count_on() {
    let kit = Kit::start().await;
    let user = kit.act("/users", json!({ "name": "Ben" })).await;
    has(&user, "id");
    let owner = text(&user["id"]);
    has(
        &kit.act("/mailboxes", json!({ "address": "ben@acme.example", "name": "Ben", "owner": owner })).await,
        "id address name open",
    );
    has(
        &kit.act("/keys", json!({ "name": "K", "scopes": ["send"], "livemode": true, "createdBy": owner }))
            .await,
        "key agentId",
    );
    let first = |list: Value| list.as_array().expect("a list")[0].clone();
    let last = |list: Value| list.as_array().expect("a list").last().expect("an item").clone();
    has(&first(kit.look("/users").await), "id name");
    has(&first(kit.look("/mailboxes").await), "id address name open owner sandbox");
    let key = last(kit.look("/keys").await);
    has(&key, "agentId name scopes livemode createdBy revoked");
    assert_eq!(
        (&key["scopes"], &key["createdBy"]),
        (&json!(["read", "send"]), &json!(owner)),
        "read comes with any other"
    );

    let came = kit
        .act("/inbound", json!({ "to": kit.inbox().await, "from": "v@customer.example", "text": "Hi" }))
        .await;
    has(&came, "conversationId messageId documentIds created");
    let id = text(&came["conversationId"]);
    let reply = json!({ "body": "Soon", "summary": "Says soon" });
    let draft = kit.live().post(&format!("/conversations/{id}/replies"), reply).await.expect(201);
    let waiting = first(kit.look("/approvals").await);
    has(&waiting, "messageId conversationId draftedBy summary text at");
    assert_eq!((&waiting["summary"], &waiting["text"]), (&json!("Says soon"), &json!("Soon")));
    has(
        &kit.act(&format!("/messages/{}/approve", text(&draft["messageId"])), json!({})).await,
        "status sendsAt",
    );
    has(&first(kit.look("/jobs").await), "dueAt job subject");
    let moved = kit.advance(600).await;
    has(&moved, "now fired");
    has(&first(moved["fired"].clone()), "at job");
    let mail = first(kit.look("/outbox").await);
    has(&mail, "at kind messageId to subject text outcome");
    assert_eq!(
        (&mail["kind"], &mail["outcome"], &mail["to"]),
        (&json!("reply"), &json!("sent"), &json!("v@customer.example"))
    );
    has(
        &last(kit.look("/requests").await),
        "at transport method path query tool agentId status durationMs requestBody",
    );
    has(&kit.look("/clock").await, "mode now");
    has(&kit.look("/health").await, "status version");

    let hook = json!({ "url": "http://127.0.0.1:9/in", "livemode": true, "scope": "team" });
    let hook = kit.act("/webhooks", hook).await;
    has(&hook, "id secret");
    let hook = text(&hook["id"]);
    has(&first(kit.look("/webhooks").await), "id url livemode scope owner events state");
    let tested = kit.control("POST", &format!("/webhooks/{hook}/test"), Value::Null).await.expect(202);
    has(&tested, "eventId");
    kit.advance(0).await;
    let delivery = first(kit.look(&format!("/webhooks/{hook}/deliveries")).await);
    has(&delivery, "eventId type createdAt outcome nextAttemptAt attempts");
    has(&first(delivery["attempts"].clone()), "at status error durationMs");
    assert_eq!(first(delivery["attempts"].clone())["status"], Value::Null, "nobody listens there");
    let again = format!("/webhooks/{hook}/deliveries/{}/redeliver", text(&tested["eventId"]));
    assert_eq!(kit.control("POST", &again, Value::Null).await.status, 202);
    has(&kit.act(&format!("/webhooks/{hook}/rotate"), Value::Null).await, "secret");
    let rule = kit.act("/faults", json!({ "effect": { "drop": "after" }, "path": "/tags" })).await;
    has(&rule, "id");
    has(&first(kit.look("/faults").await), "id path skip times probability effect fired");
    let world = kit.control("POST", "/worlds", json!({ "empty": true })).await.expect(201);
    has(&world, "base_url mcp_url control_url console_url keys");
    has(&world["keys"], "live test");
}

#[tokio::test]
async fn scopes_of_a_new_key_are_put_in_order_and_unknown_ones_refused() {
    let kit = Kit::start().await;
    let (api, _) = kit.key("Recorder", &["record", "write", "record"]).await;
    assert_eq!(api.get("/me").await.expect(200)["scopes"], json!(["read", "write", "record"]));
    let odd = json!({ "name": "Odd", "scopes": ["admin"], "livemode": true });
    let error = kit.control("POST", "/keys", odd).await.error(400);
    assert!(error.starts_with("scopes[0]: "), "{error}");
}
