//! A private file that takes the browser to the page, so that the secret is never an argument of a program, which every user of
//! the machine could read.

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::consent::secret;

/// The name of the file.
const FILE: &str = "open.html";
/// What the names of the folders begin with. The id of the process that made the folder follows.
const PREFIX: &str = "shared-inbox-question-";

/// The file in a folder of its own; both are gone when this is dropped.
pub(crate) struct PrivateFile {
    folder: PathBuf,
    path: String,
}

impl PrivateFile {
    /// Writes the file.
    ///
    /// # Errors
    ///
    /// When there is no place for it, or when others could read it there.
    pub(crate) fn create(content: &str) -> io::Result<Self> {
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
        let folder = place.join(format!("{PREFIX}{}-{}", std::process::id(), &random[..16]));
        let path = folder.join(FILE).into_os_string().into_string();
        let path = path.map_err(|_| io::Error::other("the path is not text"))?;
        make_folder(&folder)?;
        let made = Self { folder, path };
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&made.path)?.write_all(content.as_bytes())?;
        made.check()?;
        Ok(made)
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Some file systems keep no modes.
    #[cfg(unix)]
    fn check(&self) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        for path in [self.folder.as_path(), self.path.as_ref()] {
            if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
                return Err(io::Error::other("others can read it"));
            }
        }
        Ok(())
    }

    /// Checks nothing: here the folder for temporary files is the user's own.
    #[cfg(not(unix))]
    fn check(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Removes what bridges that were killed left in the home of the user. Only Linux lists the processes that are alive, and
/// elsewhere the folders are among the temporary files, which the system removes.
pub(crate) fn remove_leftovers() {
    let processes = Path::new("/proc");
    if let Some(home) = home()
        && processes.join("self").exists()
    {
        remove_leftovers_in(&home, |process| processes.join(process).exists());
    }
}

fn remove_leftovers_in(place: &Path, is_alive: impl Fn(&str) -> bool) {
    for folder in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = folder.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if process.is_some_and(|process| process.parse::<u32>().is_ok() && !is_alive(process)) {
            remove(&folder.path());
        }
    }
}

fn remove(folder: &Path) {
    _ = fs::remove_file(folder.join(FILE));
    _ = fs::remove_dir(folder);
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns where the file may go, best first. On Linux a browser from a snap sees neither `/tmp` nor what is hidden in the home.
fn places() -> impl Iterator<Item = PathBuf> {
    home().into_iter().chain([env::temp_dir()])
}

fn home() -> Option<PathBuf> {
    env::home_dir().filter(|home| cfg!(target_os = "linux") && home.is_absolute())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_file_is_its_owners_alone_and_gone_with_its_folder_when_it_was_used() {
        let place = tempfile::tempdir().unwrap();
        let file = PrivateFile::create_in(place.path(), "secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file.folder), mode(file.path().as_ref())), (0o700, 0o600));
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "secret");
        drop(file);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        assert!(PrivateFile::create_in(&place.path().join("nowhere"), "").is_err());
    }

    #[test]
    fn leftovers_of_dead_processes_are_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let living = PrivateFile::create_in(place.path(), "").unwrap();
        let others = ["41-ab", "42-cd", "x-ef", "", "43-mine"].map(|end| format!("{PREFIX}{end}"));
        for name in &others {
            fs::create_dir(place.path().join(name)).unwrap();
            fs::write(place.path().join(name).join(FILE), "").unwrap();
        }
        fs::write(place.path().join(&others[4]).join("preview.txt"), "").unwrap();
        remove_leftovers_in(place.path(), |process| {
            process == "42" || process == std::process::id().to_string()
        });
        let there = |name: &String| place.path().join(name).exists();
        assert_eq!(others.each_ref().map(there), [false, true, true, true, true]);
        assert!(fs::exists(living.path()).unwrap());
    }
}
