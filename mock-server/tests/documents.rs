//! The documents that the crate embeds are what the code says.

use std::{fs, path::Path};

#[test]
fn the_embedded_documents_are_what_the_code_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("documents");
    for (name, document) in shared_inbox_mock::documents() {
        let (file, text) = (folder.join(name), format!("{document:#}\n"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&file, &text).expect("written");
        }
        let there = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            there == text,
            "documents/{name} is not what the code says; write it anew with UPDATE_DOCS=1"
        );
    }
}
