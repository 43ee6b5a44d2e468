//! A process that makes one create under a key in a directory, and is killed on the way.

#[cfg(unix)]
#[path = "../it/once_kills/kills.rs"]
mod kills;

#[cfg(unix)]
fn main() {
    kills::worker(kills::file_store);
}

#[cfg(not(unix))]
fn main() {}
