//! A store in a directory, which the processes of one machine share.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::record::{OnceRecord, hex, key_hash};
use super::store::{
    Begun, LeaseStatus, OnceStore, OnceStoreError, StoreFuture, StoredRecord, TimeSource, status,
};

/// The content of the file `version`.
const VERSION: &str = "shared-inbox once 1\n";
/// The file that a step locks.
const LOCK: &str = "lock";
/// How long a step waits for a process that holds the lock of the directory.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// A process purges after this many results.
const PURGE_INTERVAL: u32 = 64;

/// Keeps records in a directory, for the processes of one machine.
///
/// A record is a file that is synced to the disk before anything is sent; a lease ends by the machine's
/// clock, or at once when its process is gone, since each process holds a lock of its own on the directory.
/// Needs a local file system with locks.
///
/// The directory is made with mode 0700 and its files with 0600: until a create has a result, and until the
/// next [purge](OnceStore::purge) after that, its file holds the text of the note or email.
///
/// The [guide](crate#creates-that-survive-the-process) shows one in use.
#[derive(Clone)]
pub struct FileStore {
    directory: Arc<Directory>,
    time: TimeSource,
}

struct Directory {
    path: PathBuf,
    /// The file that this process has locked for as long as it lives.
    process: String,
    _alive: File,
    finished: AtomicU32,
}

/// What a file holds of a key: `record` until there is a result, `result` from then on. A result is not
/// synced, so the record stays beside it: without the result, it is looked up again. A purge replaces it by
/// `null`, which says that there was one.
#[derive(Serialize, Deserialize)]
struct Entry {
    record: OnceRecord,
    fence: u64,
    /// When the lease ends, or the result is forgotten.
    until: Duration,
    /// The file of the process that has the lease.
    process: String,
}

#[derive(Debug, thiserror::Error)]
enum FileStoreError {
    #[error("{0}: {1}")]
    Io(PathBuf, #[source] io::Error),
    #[error(
        "{0} is damaged: what its key stands for may have been sent. Look in the conversation, then remove the file or restore it"
    )]
    Damaged(PathBuf),
    #[error("{0} holds other files and is no store; choose an empty or a new directory")]
    Other(PathBuf),
    #[error("{0} is of another version ({1:?}): use the release that made it, or another directory")]
    Version(PathBuf, String),
    #[error("another process has held the lock of {0} for 10 seconds")]
    Locked(PathBuf),
}

type FileResult<T> = Result<T, FileStoreError>;

impl FileStore {
    /// Opens the store in this directory, and makes it where there is none.
    ///
    /// # Errors
    ///
    /// When the directory cannot be made or written to, holds other files, or is a store of another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OnceStoreError> {
        let directory = Directory::open(path.as_ref()).map_err(OnceStoreError::new)?;
        Ok(Self { directory: Arc::new(directory), time: TimeSource::default() })
    }

    /// Uses this clock for leases and retention, for tests: the time since some moment.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.time = TimeSource::new(now);
        self
    }

    /// Runs a step with the directory locked, on a thread where it may block.
    fn step<'a, T: Send + 'static>(
        &self,
        step: impl FnOnce(&Directory, &TimeSource) -> FileResult<T> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let (directory, time) = (Arc::clone(&self.directory), self.time.clone());
        Box::pin(async move {
            let step = move || {
                let _lock = lock(&directory.path)?;
                step(&directory, &time)
            };
            let done = tokio::task::spawn_blocking(step).await.map_err(OnceStoreError::new)?;
            done.map_err(|error| match error {
                FileStoreError::Damaged(_) => OnceStoreError::damaged(error),
                error => OnceStoreError::new(error),
            })
        })
    }
}

impl Directory {
    fn open(path: &Path) -> FileResult<Self> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(path).map_err(at(path))?;
        let is_made = || match fs::read_to_string(path.join("version")) {
            Ok(found) if found == VERSION => Ok(true),
            Ok(found) => Err(FileStoreError::Version(path.to_owned(), found.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(at(&path.join("version"))(error)),
        };
        if !is_made()? {
            for entry in fs::read_dir(path).map_err(at(path))? {
                let name = entry.map_err(at(path))?.file_name();
                // Another process may be making it at this moment, or have made it meanwhile.
                if !["version", "version.tmp", LOCK].iter().any(|known| name == *known) && !is_made()? {
                    return Err(FileStoreError::Other(path.to_owned()));
                }
            }
            let _lock = lock(path)?;
            if !is_made()? {
                write(path, "version.tmp", "version", VERSION.as_bytes(), true)?;
            }
            // As far as this user may: the names of the directories above.
            path.ancestors().skip(1).for_each(|directory| drop(sync(directory)));
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| at(path)(io::Error::other(error.to_string())))?;
        let process = format!("{}.process", hex(&random));
        // A purge removes such files where they are not locked.
        let _lock = lock(path)?;
        let alive = private().create(true).truncate(false).open(path.join(&process)).map_err(at(path))?;
        alive.lock().map_err(at(path))?;
        Ok(Self { path: path.to_owned(), process, _alive: alive, finished: AtomicU32::new(0) })
    }

    fn io(&self, name: &str) -> impl Fn(io::Error) -> FileStoreError + use<> {
        at(&self.path.join(name))
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> FileResult<Option<T>> {
        match fs::read(self.path.join(name)) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(FileStoreError::Damaged(self.path.join(name))),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.io(name)(error)),
        }
    }

    fn write(&self, name: &str, value: &impl Serialize, is_synced: bool) -> FileResult<()> {
        let json = serde_json::to_vec(value).map_err(|error| self.io(name)(error.into()))?;
        write(&self.path, "step.tmp", name, &json, is_synced)
    }

    fn remove(&self, name: &str) -> FileResult<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.io(name)(error)),
            _ => Ok(()),
        }
    }

    /// Returns what is stored of the key with this name. A crash of the machine can cut a result short, and a
    /// record that a purge was emptying; one of the two is whole.
    fn entry(&self, name: &str, now: Duration) -> FileResult<Option<Entry>> {
        let (record, result) = (format!("{name}.record"), format!("{name}.result"));
        let entry = match (self.read::<Option<Entry>>(&record), self.read::<Entry>(&result)) {
            (_, Ok(Some(result))) if result.until <= now => None,
            (_, Ok(Some(result))) => Some(result),
            (Ok(Some(Some(entry))), Ok(None) | Err(FileStoreError::Damaged(_))) => Some(entry),
            (Ok(None), Ok(None)) => None,
            (Ok(Some(None)), Ok(None)) => return Err(FileStoreError::Damaged(self.path.join(record))),
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        match entry {
            Some(entry) if key_hash(entry.record.key()) != name => {
                Err(FileStoreError::Damaged(self.path.join(record)))
            }
            entry => Ok(entry),
        }
    }

    fn stored(&self, entry: Entry, now: Duration) -> StoredRecord {
        let lives = || match File::open(self.path.join(&entry.process)) {
            Ok(file) => file.try_lock().is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        let is_held = !entry.record.is_finished() && entry.until > now && lives();
        StoredRecord::new(entry.record, entry.fence, is_held)
    }

    fn write_entry(&self, name: &str, record: &OnceRecord, fence: u64, until: Duration) -> FileResult<()> {
        let is_finished = record.is_finished();
        let file = format!("{name}.{}", if is_finished { "result" } else { "record" });
        let entry = Entry { record: record.clone(), fence, until, process: self.process.clone() };
        self.write(&file, &entry, !is_finished)
    }

    /// Returns the names of all keys.
    fn names(&self) -> FileResult<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for file in fs::read_dir(&self.path).map_err(self.io(""))? {
            let file = file.map_err(self.io(""))?.file_name();
            if let Some((name, "record" | "result")) = file.to_string_lossy().rsplit_once('.') {
                names.insert(name.to_owned());
            }
        }
        Ok(names)
    }

    fn forget(&self, name: &str) -> FileResult<()> {
        ["record", "result"].iter().try_for_each(|kind| self.remove(&format!("{name}.{kind}")))
    }

    /// Removes what is over: results, the texts of creates that have one, and the files of processes that
    /// have ended.
    fn purge(&self, now: Duration) -> FileResult<()> {
        for name in self.names()? {
            match self.entry(&name, now) {
                Ok(None) => self.forget(&name)?,
                Ok(Some(entry)) if entry.record.is_finished() => {
                    let file = format!("{name}.record");
                    if let Ok(Some(Some(_))) = self.read::<Option<Entry>>(&file) {
                        // Without a sync: whatever a crash leaves of the two files, nothing is sent again.
                        self.write(&file, &None::<Entry>, false)?;
                    }
                }
                // A damaged file stays where it is.
                Ok(Some(_)) | Err(_) => {}
            }
        }
        for file in fs::read_dir(&self.path).map_err(self.io(""))?.flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if name.ends_with(".process") && File::open(file.path()).is_ok_and(|file| file.try_lock().is_ok())
            {
                self.remove(&name)?;
            }
        }
        Ok(())
    }
}

/// Waits for the lock of the directory, which a process that ends gives back.
fn lock(directory: &Path) -> FileResult<File> {
    let path = directory.join(LOCK);
    let file = private().create(true).truncate(false).open(&path).map_err(at(&path))?;
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_TIMEOUT => {
                thread::sleep(Duration::from_millis(2));
            }
            Err(TryLockError::WouldBlock) => return Err(FileStoreError::Locked(directory.to_owned())),
            Err(TryLockError::Error(error)) => return Err(FileStoreError::Io(path, error)),
        }
    }
}

/// Names the file of an error.
fn at(path: &Path) -> impl Fn(io::Error) -> FileStoreError + use<> {
    let path = path.to_owned();
    move |error| FileStoreError::Io(path.clone(), error)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Replaces a file in one step.
fn write(directory: &Path, temporary: &str, name: &str, bytes: &[u8], is_synced: bool) -> FileResult<()> {
    let written = || {
        let mut file = private().create(true).truncate(true).open(directory.join(temporary))?;
        file.write_all(bytes)?;
        if is_synced { file.sync_all() } else { Ok(()) }
    };
    let replaced = written().and_then(|()| fs::rename(directory.join(temporary), directory.join(name)));
    replaced.map_err(at(&directory.join(name)))?;
    if is_synced { sync(directory) } else { Ok(()) }
}

/// Syncs the names of the files. Windows has no such call, and needs none.
fn sync(directory: &Path) -> FileResult<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(at(directory))
}

impl OnceStore for FileStore {
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun> {
        let record = record.clone();
        self.step(move |directory, time| {
            let (now, name) = (time.now(), key_hash(record.key()));
            let stored = directory.entry(&name, now)?.map(|entry| directory.stored(entry, now));
            let is_new = stored.is_none();
            let begun = Begun::decide(stored, &record);
            if let Begun::Granted { fence, previous } = &begun {
                if is_new {
                    // What is left of a result whose time is over.
                    directory.forget(&name)?;
                }
                directory.write_entry(&name, previous.as_ref().unwrap_or(&record), *fence, now + lease)?;
            }
            Ok(begun)
        })
    }

    fn update<'a>(
        &'a self,
        key: &'a str,
        fence: u64,
        record: Option<&'a OnceRecord>,
        time: Duration,
    ) -> StoreFuture<'a, LeaseStatus> {
        let (name, record) = (key_hash(key), record.cloned());
        self.step(move |directory, clock| {
            let now = clock.now();
            let entry = directory.entry(&name, now)?.filter(|entry| entry.fence == fence);
            let Some(entry) = entry.filter(|entry| entry.record.can_become(record.as_ref())) else {
                return Ok(LeaseStatus::Lost);
            };
            let record = record.unwrap_or(entry.record);
            directory.write_entry(&name, &record, fence, now + time)?;
            if record.is_finished()
                && directory.finished.fetch_add(1, Ordering::Relaxed) % PURGE_INTERVAL == PURGE_INTERVAL - 1
            {
                directory.purge(now)?;
            }
            Ok(LeaseStatus::Held)
        })
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        self.step(|directory, time| {
            let (names, now) = (directory.names()?, time.now());
            let entries = names.iter().filter_map(|name| directory.entry(name, now).transpose());
            entries.map(|entry| entry.map(|entry| directory.stored(entry, now))).collect()
        })
    }

    fn remove<'a>(&'a self, key: &'a str, fence: u64) -> StoreFuture<'a, LeaseStatus> {
        let name = key_hash(key);
        self.step(move |directory, time| {
            let is_held = directory.entry(&name, time.now())?.is_some_and(|entry| entry.fence == fence);
            if is_held {
                directory.forget(&name)?;
            }
            Ok(status(is_held))
        })
    }

    fn purge(&self) -> StoreFuture<'_, ()> {
        self.step(|directory, time| directory.purge(time.now()))
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").field("path", &self.directory.path).finish_non_exhaustive()
    }
}
