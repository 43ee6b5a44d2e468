//! The documents that this crate embeds, as the code describes them. `tests/documents.rs` compares the two.

use serde_json::{Value, json};

use crate::{http, world::World};

/// Returns each document with the name of its file in `documents/`.
pub fn documents() -> [(&'static str, Value); 4] {
    [
        ("openapi.json", http::openapi::document()),
        ("control.json", http::control::openapi::document()),
        ("world.schema.json", schemars::schema_for!(World).to_value()),
        ("tools.json", json!(http::mcp::definitions())),
    ]
}
