//! Files that are generated and kept in the repository. `scripts/regenerate` writes all of them.

use std::{env, fs, path::Path};

/// Returns whether tests write the files that they are held to.
pub fn updates() -> bool {
    env::var_os("UPDATE_DOCS").is_some()
}

/// Writes a file, unless it holds the text already: cargo would build anew what stands on it.
///
/// # Panics
///
/// When it cannot be written.
pub fn write(file: impl AsRef<Path>, text: &str) {
    let file = file.as_ref();
    if fs::read_to_string(file).ok().as_deref() != Some(text) {
        fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}

/// Compares a file with what it should hold, or writes it where tests do.
///
/// # Panics
///
/// When it holds something else.
#[track_caller]
pub fn assert_up_to_date(file: impl AsRef<Path>, text: &str) {
    let file = file.as_ref();
    if updates() {
        write(file, text);
    }
    let held = fs::read_to_string(file).unwrap_or_default();
    assert!(held == text, "{} is not up to date: `scripts/regenerate` writes it anew", file.display());
}
