//! The desktop extension and the registry entry: valid by their own tools, and about this very program.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;
use shared_inbox::Operation;
use shared_inbox_tests::peers;

fn json(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The packing tool's command.
fn mcpb() -> Option<String> {
    let modules = peers::npm(&["@anthropic-ai/mcpb@2.1.2"])?;
    Some(format!("node {}", modules.join("@anthropic-ai/mcpb/dist/cli/cli.js").display()))
}

#[test]
fn the_extension_packs_and_carries_the_program() {
    let Some(mcpb) = mcpb() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bridge.mcpb");
    let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("extension/pack");
    let output = Command::new(pack)
        .arg(&bundle)
        .env("BINARY", env!("CARGO_BIN_EXE_shared-inbox-mcp"))
        .env("MCPB", &mcpb)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let (node, cli) = mcpb.split_once(' ').unwrap();
    let unpacked = folder.path().join("unpacked");
    let output = Command::new(node).arg(cli).arg("unpack").arg(&bundle).arg(&unpacked).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = unpacked.join(json("extension/manifest.json")["server"]["entry_point"].as_str().unwrap());
    assert_eq!(
        fs::metadata(&program).unwrap().len(),
        fs::metadata(env!("CARGO_BIN_EXE_shared-inbox-mcp")).unwrap().len()
    );
    let version = Command::new(&program).arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&version.stdout).contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_manifest_is_refused_by_the_tool() {
    let Some(mcpb) = mcpb() else { return };
    let (node, cli) = mcpb.split_once(' ').unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("manifest.json");
    let mut manifest = json("extension/manifest.json");
    let valid = |manifest: &Value| {
        fs::write(&file, manifest.to_string()).unwrap();
        Command::new(node).arg(cli).arg("validate").arg(&file).output().unwrap().status.success()
    };
    assert!(valid(&manifest));
    manifest["server"]["type"] = "rust".into();
    assert!(!valid(&manifest), "the tool checks what it is given");
}

#[test]
fn the_manifest_is_about_this_program() {
    let manifest = json("extension/manifest.json");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let listed: BTreeSet<_> =
        manifest["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(listed, Operation::ALL.into_iter().filter_map(Operation::tool_name).collect());
    assert_eq!(manifest["user_config"]["api_key"]["sensitive"], true);
    assert_eq!(manifest["user_config"]["send"]["default"], "ask");
}

#[test]
fn the_registry_entry_keeps_to_its_schema() {
    let server = json("server.json");
    assert_eq!(
        server["$schema"],
        "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    );
    let (space, name) = server["name"].as_str().unwrap().split_once('/').expect("exactly one slash");
    assert!(!space.is_empty() && space.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c)));
    assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)));
    assert!((1..=100).contains(&server["description"].as_str().unwrap().chars().count()));
    assert!((1..=100).contains(&server["title"].as_str().unwrap().chars().count()));
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));

    let [package] = server["packages"].as_array().unwrap().as_slice() else { panic!("one package") };
    assert_eq!(package["registryType"], "cargo");
    assert_eq!(package["identifier"], env!("CARGO_PKG_NAME"));
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(package["transport"]["type"], "stdio");
    let known =
        ["registryType", "identifier", "version", "transport", "packageArguments", "environmentVariables"];
    assert!(
        package.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())),
        "no other fields are allowed"
    );
    for argument in package["packageArguments"].as_array().unwrap() {
        assert_eq!(argument["type"], "named");
        assert!(argument["name"].as_str().unwrap().starts_with("--"));
    }
    let secret: Vec<_> = package["environmentVariables"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|variable| variable["isSecret"] == true)
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    assert_eq!(secret, ["SHARED_INBOX_API_KEY"]);
}
