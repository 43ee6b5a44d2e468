//! The entry of the bridge in the MCP registry.

use std::{fs, process::Command};

use serde_json::Value;
use shared_inbox_tests::peers;

/// The registry's schema of the version that our entry names.
///
/// The registry publishes it on a page, not as a package; this linter carries it as it was released.
fn registry_schema() -> Value {
    let python = peers::python(&["skillsaw==0.22.0"]);
    let path = "from importlib.resources import files; \
                print(files('skillsaw') / 'schemas/mcp_registry/v2025_12_11/server.schema.json')";
    let output = Command::new(python).args(["-c", path]).output().unwrap();
    let path = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&fs::read_to_string(path.trim()).unwrap()).unwrap()
}

#[test]
fn the_registry_entry_is_valid_by_the_registrys_schema() {
    let schema = registry_schema();
    let server = shared_inbox_tests::root().join("mcp-bridge/server.json");
    let server: Value = serde_json::from_str(&fs::read_to_string(server).unwrap()).unwrap();
    assert_eq!(server["$schema"], schema["$id"], "the entry is checked against the schema that it names");
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let problems: Vec<_> =
        validator.iter_errors(&server).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}
