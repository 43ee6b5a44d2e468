//! The manifests of what is handed out are about this very program.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shared_inbox::__spec::Operation;

const NAME: &str = env!("CARGO_PKG_NAME");
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn manifest(file: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_package_for_npm_is_about_this_program() {
    let package = manifest("npm/package.json");
    assert_eq!([&package["name"], &package["version"]], [NAME, VERSION]);
    assert_eq!(package["mcpName"], manifest("server.json")["name"]);
    let programs = package["optionalDependencies"].as_object().unwrap();
    assert!(programs.values().all(|version| version == VERSION), "{programs:?}");
}

#[test]
fn the_extension_is_about_this_program() {
    let extension = manifest("extension/manifest.json");
    assert_eq!(extension["version"], VERSION);
    let tools = extension["tools"].as_array().unwrap().iter();
    let listed: BTreeSet<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(listed, Operation::KNOWN.iter().copied().filter_map(Operation::tool_name).collect());
    assert_eq!(extension["user_config"]["api_key"]["sensitive"], true);
    assert_eq!(extension["user_config"]["send"]["default"], "ask");
}

#[test]
fn the_registry_entry_is_about_this_program() {
    let server = manifest("server.json");
    assert_eq!(server["version"], VERSION);
    let packages = server["packages"].as_array().unwrap();
    let ways: Vec<_> = packages.iter().map(|one| json!([one["registryType"], one["runtimeHint"]])).collect();
    assert_eq!(ways, [json!(["npm", "npx"]), json!(["pypi", "uvx"]), json!(["cargo", null])]);
    for one in packages {
        assert_eq!([&one["identifier"], &one["version"]], [NAME, VERSION]);
        for same in ["transport", "packageArguments", "environmentVariables"] {
            assert_eq!(one[same], packages[0][same], "{same}");
        }
    }
    let variables = packages[0]["environmentVariables"].as_array().unwrap().iter();
    let secret: Vec<_> = variables.filter(|one| one["isSecret"] == true).map(|one| &one["name"]).collect();
    assert_eq!(secret, ["SHARED_INBOX_API_KEY"]);
    let line = format!("mcp-name: {}", server["name"].as_str().unwrap());
    let readme = include_str!("../../README.md");
    assert!(readme.lines().any(|one| one == line), "the registry looks for this line in the README: {line}");
}
