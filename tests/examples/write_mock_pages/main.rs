//! Writes `docs/control-api.md` and `docs/events.md` from the OpenAPI documents of the mock.
//!
//!     cargo run -p shared-inbox-tests --example write_mock_pages

mod control;
mod events;

use std::fs;

use serde_json::Value;
use shared_inbox_tests::{generated, root};

fn main() {
    for (document, page, write) in [
        ("control.json", "control-api.md", control::page as fn(&Value) -> String),
        ("openapi.json", "events.md", events::page),
    ] {
        let document = fs::read(root().join("mock-server/documents").join(document)).expect("a document");
        let document = serde_json::from_slice(&document).expect("JSON");
        generated::write(root().join("docs").join(page), &write(&document));
    }
}

/// Returns the schema that is meant, where only its name stands.
fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let target = schema["$ref"].as_str().and_then(|path| document.pointer(path.trim_start_matches('#')));
    target.unwrap_or(schema)
}
