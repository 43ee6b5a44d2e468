//! Folders for the state of apps.

use std::{
    env, fs, io,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

const PREFIX: &str = "shared-inbox-explore-";

/// A folder for the app's state, removed at the end.
pub(crate) struct StateDir(pub(crate) PathBuf);

impl StateDir {
    pub(crate) fn new() -> Result<Self, String> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = env::temp_dir().join(format!("{PREFIX}{}-{count}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                // Left behind by a process that had this number before.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("{}: cannot be made: {error}", path.display())),
            }
        }
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders of explorers that were killed.
pub(crate) fn remove_leftovers() {
    for entry in fs::read_dir(env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok());
        if process.is_some_and(has_ended) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(unix)]
fn has_ended(process: i32) -> bool {
    use rustix::{io::Errno, process};
    process::Pid::from_raw(process).is_some_and(|it| process::test_kill_process(it) == Err(Errno::SRCH))
}

#[cfg(not(unix))]
fn has_ended(_: i32) -> bool {
    false
}
