//! Clients that other people's generators make from the OpenAPI document: complete, and they work.

use std::{fs, process::Command};

use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;

use super::openapi;

/// Runs a program that must succeed; what it says.
pub(crate) fn run(command: &mut Command, what: &str) -> String {
    let out = command.output().expect("it starts");
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{what}: {said}");
    said
}

#[tokio::test]
async fn a_generated_python_client_reads_writes_and_understands_errors() {
    let python = peers::python(&["openapi-python-client==0.29.1", "ruff==0.17.4"]);
    let mock = MockServer::builder().manual_clock().no_rate_limit().start().await;
    let here = tempfile::tempdir().expect("a directory");
    fs::write(here.path().join("openapi.json"), openapi()).expect("a file");
    let bin = python.parent().expect("a directory");
    let mut generator = Command::new(bin.join("openapi-python-client"));
    generator
        .args(["generate", "--path", "openapi.json", "--output-path", "inbox"])
        .args(["--meta", "none", "--fail-on-warning"])
        .env("PATH", bin)
        .current_dir(here.path());
    let said = run(&mut generator, "openapi-python-client");
    assert!(!said.to_lowercase().contains("unable") && !said.contains("WARNING"), "{said}");
    fs::write(here.path().join("calls.py"), include_str!("clients/generated_client.py")).expect("a file");
    let mut calls = Command::new(python);
    calls.args(["calls.py", mock.base_url(), mock.live_key()]).current_dir(here.path());
    assert!(run(&mut calls, "its calls").contains("all calls went well"));
}

#[tokio::test]
async fn a_generated_typescript_client_compiles_strictly_and_works() {
    let node = peers::node22();
    let packages = ["@hey-api/openapi-ts@0.95.0", "typescript@5.9.3"];
    let modules = peers::npm(&packages);
    let mock = MockServer::builder().manual_clock().no_rate_limit().start().await;
    let here = tempfile::tempdir().expect("a directory");
    fs::write(here.path().join("openapi.json"), openapi()).expect("a file");
    let mut generator = Command::new(&node);
    generator
        .arg(modules.join("@hey-api/openapi-ts/bin/run.js"))
        .args(["-i", "openapi.json", "-o", "inbox", "--no-log-file"])
        .current_dir(here.path());
    run(&mut generator, "openapi-ts");
    fs::write(here.path().join("calls.ts"), include_str!("clients/generated_client.ts")).expect("a file");
    let mut compiler = Command::new(&node);
    compiler
        .arg(modules.join("typescript/bin/tsc"))
        .args(["calls.ts", "--strict", "--target", "es2022"])
        .args(["--module", "commonjs", "--moduleResolution", "node10"])
        .args(["--lib", "es2022,dom,dom.iterable", "--skipLibCheck", "--outDir", "built"])
        .current_dir(here.path());
    run(&mut compiler, "tsc");
    let mut calls = Command::new(node);
    calls.args(["built/calls.js", mock.base_url(), mock.live_key()]).current_dir(here.path());
    assert!(run(&mut calls, "its calls").contains("all calls went well"));
}
