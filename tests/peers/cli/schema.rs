//! The schema that the program prints, by a validator that is not ours.

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;

use crate::run::{command, finish, program};

#[tokio::test]
async fn the_schema_describes_the_world_document() {
    let schema: Value =
        serde_json::from_str(&finish(command(program("shared-inbox-mock")).arg("schema"))).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let document = MockServer::start().await.control().state().await.expect("a document");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let wrong: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(!validator.is_valid(&json!({ "workspace": {} })));
}
