//! A file for one pair of eyes: takes the browser to the page without the secret ever being an argument of a program, where
//! every user of the machine could read it.

use std::{
    env, fs,
    io::{self, Write as _},
    path::PathBuf,
};

use crate::consent::secret;

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
        let random = secret().map_err(io::Error::other)?;
        let folder = place().join(format!("shared-inbox-question-{}", &random[..16]));
        make_folder(&folder)?;
        let path = folder.join("open.html");
        let path = path.to_str().ok_or_else(|| io::Error::other("the path is not text"));
        let made = Self { folder: folder.clone(), path: path?.to_owned() };
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

    /// The folder for temporary files is the user's own.
    #[cfg(not(unix))]
    fn check(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
        _ = fs::remove_dir(&self.folder);
    }
}

fn make_folder(path: &std::path::Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Where the file goes. On Linux a browser from a snap sees neither `/tmp` nor what is hidden in the home.
fn place() -> PathBuf {
    let home =
        || env::home_dir().filter(|home| cfg!(target_os = "linux") && home.is_absolute() && home.is_dir());
    home().unwrap_or_else(env::temp_dir)
}
