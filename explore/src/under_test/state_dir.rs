//! Folders for the state of apps.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// The file that an explorer holds locked as long as it uses a folder. A process number would say little: it is used again, and
/// means another process in a container that shares the folder.
const LOCK: &str = "lock";

/// The folder of one explorer, with a folder for each schedule in it. It is removed at the end.
pub struct StateRoot {
    path: PathBuf,
    count: AtomicU64,
    _lock: File,
}

/// A folder for the app's state, removed at the end.
pub struct StateDir(pub PathBuf);

impl StateRoot {
    /// Makes a folder whose name begins like this, and removes those of processes that were killed.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn new(prefix: &str) -> Result<Self, String> {
        remove_leftovers(prefix);
        let failed = |path: &Path, error: io::Error| format!("{}: cannot be made: {error}", path.display());
        let mut number = u64::from(std::process::id());
        let path = loop {
            let path = env::temp_dir().join(format!("{prefix}{number}"));
            match fs::create_dir(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1_000_003,
                Err(error) => return Err(failed(&path, error)),
            }
        };
        let lock = File::create_new(path.join(LOCK)).and_then(|lock| lock_file(&lock).map(|_| lock));
        let lock = lock.map_err(|error| failed(&path, error))?;
        Ok(Self { path, count: AtomicU64::new(0), _lock: lock })
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn folder(&self) -> Result<StateDir, String> {
        let path = self.path.join(self.count.fetch_add(1, Ordering::Relaxed).to_string());
        fs::create_dir(&path).map_err(|error| format!("{}: cannot be made: {error}", path.display()))?;
        Ok(StateDir(path))
    }
}

impl Drop for StateRoot {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders whose lock nobody holds. A link is no such folder, and is not followed.
fn remove_leftovers(prefix: &str) {
    for entry in fs::read_dir(env::temp_dir()).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let lock = File::open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock_file(&lock).is_ok_and(|is_held| is_held)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Locks a file unless somebody holds it; returns whether it is held now.
#[cfg(unix)]
fn lock_file(file: &File) -> io::Result<bool> {
    use rustix::{
        fs::{FlockOperation, flock},
        io::Errno,
    };
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Without locks, what is left behind stays.
#[cfg(not(unix))]
fn lock_file(_: &File) -> io::Result<bool> {
    Ok(false)
}
