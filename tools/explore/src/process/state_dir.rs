//! Folders for the state of apps.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use tempfile::TempDir;

/// The file that a tool holds locked as long as it uses a folder. A process number would say little: it is
/// used again, and means another process in a container that shares the folder.
const LOCK: &str = "lock";

/// A folder that cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be made: {source}", path.display())]
#[non_exhaustive]
pub struct StateDirError {
    /// The folder.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

/// The folder of one tool, with a folder for each run in it. It is removed at the end.
#[derive(Debug)]
pub struct StateRoot {
    dir: TempDir,
    count: AtomicU64,
    _lock: File,
}

/// A folder for the app's state, removed at the end.
#[derive(Debug)]
pub struct StateDir(pub PathBuf);

impl StateRoot {
    /// Makes a folder whose name begins like this, and removes those of processes that were killed.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn new(prefix: &str) -> Result<Self, StateDirError> {
        remove_leftovers(prefix);
        let failed = |path: &Path, source: io::Error| StateDirError { path: path.to_owned(), source };
        let (dir, lock) = loop {
            let dir = tempfile::Builder::new().prefix(prefix).tempdir();
            let dir = dir.map_err(|error| failed(&env::temp_dir(), error))?;
            let path = dir.path().join(LOCK);
            let lock = File::create_new(&path).map_err(|error| failed(&path, error))?;
            let is_held = lock_file(&lock).map_err(|error| failed(&path, error))? || cfg!(not(unix));
            // Before it was locked, another process may have taken it for left behind.
            if is_held && is_at(&lock, &path) {
                break (dir, lock);
            }
        };
        Ok(Self { dir, count: AtomicU64::new(0), _lock: lock })
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn folder(&self) -> Result<StateDir, StateDirError> {
        let path = self.dir.path().join(self.count.fetch_add(1, Ordering::Relaxed).to_string());
        match fs::create_dir(&path) {
            Ok(()) => Ok(StateDir(path)),
            Err(source) => Err(StateDirError { path, source }),
        }
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
        let path = entry.path().join(LOCK);
        // Held until the folder is gone, so that nobody who makes it can hold it as well. What was opened may
        // be the lock of one that is gone by now, and whose name is another's.
        if let Ok(lock) = File::open(&path)
            && lock_file(&lock).is_ok_and(|is_held| is_held)
            && is_at(&lock, &path)
        {
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

/// Returns whether this path leads to this file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().map(identity).ok() == fs::metadata(path).map(identity).ok()
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Without locks, what is left behind stays.
#[cfg(not(unix))]
fn lock_file(_: &File) -> io::Result<bool> {
    Ok(false)
}
