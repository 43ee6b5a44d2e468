//! The clients' files: where they are, and how they are replaced without losing one.

use std::{
    env, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use shared_inbox::Timestamp;

use super::{For, NotWritten};

/// Where a client keeps its settings on this system.
pub(super) fn of(client: For) -> Option<PathBuf> {
    let home = || env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let roaming = || env::var_os("APPDATA").map(PathBuf::from);
    let config =
        || env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home()?.join(".config")));
    match client {
        For::ClaudeDesktop => {
            let folder = if cfg!(windows) {
                roaming()
            } else if cfg!(target_os = "macos") {
                Some(home()?.join("Library/Application Support"))
            } else {
                config()
            };
            Some(folder?.join("Claude").join("claude_desktop_config.json"))
        }
        For::ClaudeCode => Some(".mcp.json".into()),
        For::Cursor => Some(home()?.join(".cursor").join("mcp.json")),
        For::Vscode => Some(Path::new(".vscode").join("mcp.json")),
        For::Zed if cfg!(windows) => Some(roaming()?.join("Zed").join("settings.json")),
        For::Zed => Some(config()?.join("zed").join("settings.json")),
        For::Codex => {
            let folder =
                env::var_os("CODEX_HOME").map(PathBuf::from).or_else(|| Some(home()?.join(".codex")))?;
            Some(folder.join("config.toml"))
        }
    }
}

/// What is in the file, if there is one.
pub(super) fn read(path: &Path) -> Result<Option<String>, NotWritten> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(NotWritten::File { path: path.to_owned(), error }),
    }
}

/// Puts a new text in the file's place, whole or not at all. Says where the old one was copied.
pub(super) fn replace(path: &Path, text: &str) -> Result<Option<PathBuf>, NotWritten> {
    let failed = |error| NotWritten::File { path: path.to_owned(), error };
    // A settings file may be a link into a folder of dotfiles: the file behind it is the one to change.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let backup = if target.exists() {
        let stamp: String = Timestamp::now().to_string().chars().filter(char::is_ascii_digit).collect();
        let backup = beside(&target, &format!("backup-{stamp}"));
        fs::copy(&target, &backup).map_err(failed)?;
        Some(backup)
    } else {
        None
    };
    let new = beside(&target, &format!("new-{}", std::process::id()));
    let written = write_private(&new, text).and_then(|()| {
        if backup.is_some() {
            fs::set_permissions(&new, fs::metadata(&target)?.permissions())?;
        }
        fs::rename(&new, &target)
    });
    if written.is_err() {
        _ = fs::remove_file(&new);
    }
    written.map_err(failed)?;
    Ok(backup)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{ending}"));
    path.with_file_name(name)
}

/// A new file may come to hold a key: only its owner can read it.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
