//! The folder in which the bridges of this machine keep what they may have made.

use std::{env, path::PathBuf};

use shared_inbox::once::FileStore;

/// A folder for what may have been made, until that is found out, and for what was made within the last two
/// minutes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateFolder {
    /// Nothing is kept: a restart forgets.
    #[default]
    None,
    /// The user's own folder for the state of programs. Where it cannot be used, nothing is kept.
    Usual,
    /// This folder, and an error where it cannot be used.
    At(PathBuf),
}

impl StateFolder {
    /// Returns where it is, if that is known.
    pub fn path(&self) -> Option<PathBuf> {
        match self {
            Self::None => None,
            Self::At(path) => Some(path.clone()),
            Self::Usual => {
                let home = || env::home_dir().filter(|home| home.is_absolute());
                let own = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
                let folder = if cfg!(windows) {
                    own("LOCALAPPDATA")
                } else if cfg!(target_os = "macos") {
                    home().map(|home| home.join("Library/Application Support"))
                } else {
                    own("XDG_STATE_HOME").or_else(|| home().map(|home| home.join(".local/state")))
                };
                Some(folder?.join(env!("CARGO_PKG_NAME")))
            }
        }
    }

    /// Opens the folder. `None`: nothing is kept.
    pub(super) fn open(&self) -> Result<Option<FileStore>, String> {
        let Some(path) = self.path() else { return Ok(None) };
        match (FileStore::open(&path), self) {
            (Ok(store), _) => Ok(Some(store)),
            (Err(error), Self::At(_)) => {
                Err(format!("The state folder {} (--state) cannot be used: {error}.", path.display()))
            }
            (Err(error), _) => {
                tracing::warn!(
                    "nothing is remembered over a restart, {} cannot be used: {error}",
                    path.display()
                );
                Ok(None)
            }
        }
    }
}
