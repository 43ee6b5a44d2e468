//! A private file that takes the browser to the page, so that the secret is never an argument of a program,
//! which every user of the machine could read.

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::consent::secret;

/// The name of the file.
const FILE: &str = "open.html";
/// What the names of the folders begin with.
const PREFIX: &str = "shared-inbox-question-";

/// The file in a folder of its own; both are gone when this is dropped. As long as it lives, it holds a lock
/// on the file.
pub struct PrivateFile {
    folder: PathBuf,
    path: String,
    locked: Option<fs::File>,
}

impl PrivateFile {
    /// Writes the file.
    ///
    /// # Errors
    ///
    /// When there is no place for it, or when others could read it there.
    pub fn create(content: &str) -> io::Result<Self> {
        let mut failed = None;
        for place in places() {
            match Self::create_in(&place, content) {
                Ok(file) => return Ok(file),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    fn create_in(place: &Path, content: &str) -> io::Result<Self> {
        let random = secret().map_err(io::Error::other)?;
        let folder = place.join(format!("{PREFIX}{}", &random[..16]));
        let path = folder.join(FILE).into_os_string().into_string();
        let path = path.map_err(|_| io::Error::other("the path is not text"))?;
        make_folder(&folder)?;
        let mut made = Self { folder, path, locked: None };
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&made.path)?;
        #[cfg(unix)]
        unix::lock(&file)?;
        file.write_all(content.as_bytes())?;
        made.locked = Some(file);
        // Some file systems keep no modes. Elsewhere the folder for temporary files is the user's own.
        #[cfg(unix)]
        unix::check([made.folder.as_path(), made.path.as_ref()])?;
        Ok(made)
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        // Windows removes a folder only after the last handle in it is closed.
        drop(self.locked.take());
        _ = fs::remove_file(&self.path);
        _ = fs::remove_dir(&self.folder);
    }
}

/// Removes what bridges that were killed left behind. On Windows the system removes old temporary files.
pub(crate) fn remove_leftovers() {
    #[cfg(unix)]
    places().for_each(|place| unix::remove_leftovers_in(&place));
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns where the file may go, best first. On Linux a browser from a snap sees neither `/tmp` nor what is
/// hidden in the home.
fn places() -> impl Iterator<Item = PathBuf> {
    let home = env::home_dir().filter(|home| cfg!(target_os = "linux") && home.is_absolute());
    home.into_iter().chain([env::temp_dir()])
}

#[cfg(unix)]
mod unix {
    use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

    use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, openat, unlinkat};

    use super::{FILE, PREFIX};

    /// Owns a file that was just created. Its lock ends with the process, and holds across process namespaces
    /// and shared homes.
    pub(super) fn lock(file: &fs::File) -> io::Result<()> {
        flock(file, FlockOperation::NonBlockingLockExclusive)?;
        match file.metadata()?.nlink() {
            0 => Err(io::Error::other("another bridge took it for a leftover")),
            _ => Ok(()),
        }
    }

    pub(super) fn check(paths: [&Path; 2]) -> io::Result<()> {
        for path in paths {
            if fs::metadata(path)?.mode() & 0o077 != 0 {
                return Err(io::Error::other("others can read it"));
            }
        }
        Ok(())
    }

    pub(super) fn remove_leftovers_in(place: &Path) {
        let Ok(opened) = fs::File::open(place) else { return };
        for folder in fs::read_dir(place).into_iter().flatten().flatten() {
            let name = folder.file_name();
            if name.to_str().is_some_and(|name| name.starts_with(PREFIX)) {
                _ = remove(&opened, Path::new(&name));
            }
        }
    }

    /// Removes a folder whose file nobody holds. No link is followed, neither to the folder nor to the file.
    fn remove(place: &fs::File, name: &Path) -> rustix::io::Result<()> {
        let open = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let folder = openat(place, name, open | OFlags::DIRECTORY, Mode::empty())?;
        match openat(&folder, FILE, open, Mode::empty()) {
            Ok(file) => {
                flock(&file, FlockOperation::NonBlockingLockExclusive)?;
                unlinkat(&folder, FILE, AtFlags::empty())?;
            }
            Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
        unlinkat(place, name, AtFlags::REMOVEDIR)
    }
}
