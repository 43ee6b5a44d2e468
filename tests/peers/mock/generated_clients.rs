//! Clients that other people's generators make from the OpenAPI document: complete, and they work.

use std::{fs, process::Command};

use serde_json::Value;
use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;

use crate::kit::Kit;

/// Runs a program that must succeed; what it says.
pub(crate) fn run(command: &mut Command, what: &str) -> String {
    let out = command.output().expect("it starts");
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{what}: {said}");
    said
}

#[tokio::test]
#[ignore = "needs Python"]
async fn a_generated_python_client_reads_writes_and_understands_errors() {
    let Some(python) = peers::python(&["openapi-python-client==0.29.1", "ruff==0.17.4"]) else { return };
    let kit = Kit::with(MockServer::builder().manual_clock()).await;
    let here = tempfile::tempdir().expect("a directory");
    fs::write(here.path().join("openapi.json"), kit.document().value().to_string()).expect("a file");
    let bin = python.parent().expect("a directory");
    let mut generator = Command::new(bin.join("openapi-python-client"));
    generator
        .args(["generate", "--path", "openapi.json", "--output-path", "inbox"])
        .args(["--meta", "none", "--fail-on-warning"])
        .env("PATH", bin)
        .current_dir(here.path());
    let said = run(&mut generator, "openapi-python-client");
    assert!(!said.to_lowercase().contains("unable") && !said.contains("WARNING"), "{said}");
    fs::write(here.path().join("calls.py"), include_str!("peers/generated_client.py")).expect("a file");
    let mut calls = Command::new(python);
    calls.args(["calls.py", kit.mock.base_url(), kit.mock.live_key()]).current_dir(here.path());
    assert!(run(&mut calls, "its calls").contains("all calls went well"));
}

#[tokio::test]
#[ignore = "needs Node"]
async fn a_generated_typescript_client_compiles_strictly_and_works() {
    let Some(node) = peers::node22() else { return };
    let packages = ["@hey-api/openapi-ts@0.95.0", "typescript@5.9.3"];
    let Some(modules) = peers::npm(&packages) else { return };
    let kit = Kit::with(MockServer::builder().manual_clock()).await;
    let here = tempfile::tempdir().expect("a directory");
    fs::write(here.path().join("openapi.json"), kit.document().value().to_string()).expect("a file");
    let mut generator = Command::new(&node);
    generator
        .arg(modules.join("@hey-api/openapi-ts/bin/run.js"))
        .args(["-i", "openapi.json", "-o", "inbox", "--no-log-file"])
        .current_dir(here.path());
    run(&mut generator, "openapi-ts");
    fs::write(here.path().join("calls.ts"), include_str!("peers/generated_client.ts")).expect("a file");
    let mut compiler = Command::new(&node);
    compiler
        .arg(modules.join("typescript/bin/tsc"))
        .args(["calls.ts", "--strict", "--target", "es2022"])
        .args(["--module", "commonjs", "--moduleResolution", "node10"])
        .args(["--lib", "es2022,dom,dom.iterable", "--skipLibCheck", "--outDir", "built"])
        .current_dir(here.path());
    run(&mut compiler, "tsc");
    let mut calls = Command::new(node);
    calls.args(["built/calls.js", kit.mock.base_url(), kit.mock.live_key()]).current_dir(here.path());
    assert!(run(&mut calls, "its calls").contains("all calls went well"));
}

/// Every object schema has a name, and no two names would make the same class.
#[tokio::test]
async fn every_schema_of_the_document_has_a_name_of_its_own() {
    let kit = Kit::start().await;
    let document = kit.document().value();
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let mut names: Vec<String> = schemas.keys().map(|name| name.to_lowercase()).collect();
    names.dedup();
    assert_eq!(names.len(), schemas.len());
    assert!(!document.to_string().contains("\"allOf\""), "not every generator can put parts together");
    let kinds = &schemas["TimelineItem"]["discriminator"]["mapping"];
    assert_eq!(kinds.as_object().map(|kinds| kinds.len()), Some(3), "each item says what it is: {kinds}");
    for (name, schema) in schemas {
        let parts = schema["properties"].as_object().into_iter().flatten();
        for (field, part) in parts.chain(schema.get("items").map(|items| (name, items))) {
            unnamed(part, &format!("{name}.{field}"));
        }
    }
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (_, operation) in methods.as_object().expect("methods") {
            unnamed(&operation["requestBody"]["content"]["application/json"]["schema"], path);
        }
    }
    for (kind, webhook) in document["webhooks"].as_object().expect("webhooks") {
        let schema = &webhook["post"]["requestBody"]["content"]["application/json"]["schema"];
        assert!(schema["$ref"].is_string(), "{kind}");
    }
}

#[track_caller]
fn unnamed(schema: &Value, at: &str) {
    let object = |kind: &Value| kind == "object";
    let kind = &schema["type"];
    assert!(
        !object(kind) && !kind.as_array().is_some_and(|kinds| kinds.iter().any(object)),
        "{at} has no name"
    );
    if let Some(items) = schema.get("items") {
        unnamed(items, at);
    }
}
