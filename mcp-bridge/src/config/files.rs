//! The clients' files: where they are, and how they are replaced without losing one.

use std::{
    env, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use super::DesktopClient;

impl DesktopClient {
    /// Returns where this client keeps its settings.
    pub(crate) fn file(self) -> Option<PathBuf> {
        let home = || env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let roaming = || env::var_os("APPDATA").map(PathBuf::from);
        let config =
            || env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home()?.join(".config")));
        let own = |variable, folder| {
            env::var_os(variable).map(PathBuf::from).or_else(|| Some(home()?.join(folder)))
        };
        match self {
            DesktopClient::ClaudeDesktop => {
                let local = || env::var_os("LOCALAPPDATA").map(PathBuf::from);
                let folder = if cfg!(windows) {
                    local().and_then(|local| from_store(&local)).or_else(roaming)
                } else if cfg!(target_os = "macos") {
                    Some(home()?.join("Library/Application Support"))
                } else {
                    config()
                };
                Some(folder?.join("Claude").join("claude_desktop_config.json"))
            }
            DesktopClient::ClaudeCode => Some(".mcp.json".into()),
            DesktopClient::Cursor => Some(home()?.join(".cursor").join("mcp.json")),
            DesktopClient::Vscode => Some(Path::new(".vscode").join("mcp.json")),
            DesktopClient::Zed if cfg!(windows) => Some(roaming()?.join("Zed").join("settings.json")),
            DesktopClient::Zed => Some(config()?.join("zed").join("settings.json")),
            DesktopClient::Codex => Some(own("CODEX_HOME", ".codex")?.join("config.toml")),
            DesktopClient::CopilotCli => Some(own("COPILOT_HOME", ".copilot")?.join("mcp-config.json")),
        }
    }
}

/// Returns where Claude Desktop keeps its roaming settings if it was installed from the Microsoft Store,
/// which redirects the usual folder.
fn from_store(local: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(local.join("Packages")).ok()?;
    let claude =
        packages.flatten().find(|package| package.file_name().to_string_lossy().starts_with("Claude_"))?;
    Some(claude.path().join("LocalCache").join("Roaming"))
}

/// Returns the file behind a link, whether it is there yet or not: settings may be a link into a folder of
/// dotfiles.
pub(super) fn resolve_symlink(path: &Path) -> Result<PathBuf, String> {
    const MAX_LINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(format!("{}: the link leads in a circle", path.display()))
}

pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// What became of a file.
pub(super) struct Replaced {
    /// The copy of the file as it was, if there was one.
    pub(super) backup: Option<PathBuf>,
    /// Whether others could read it before.
    pub(super) was_open: bool,
}

/// Replaces the file atomically, after a copy of it. The copy is its owner's alone, because it may hold an
/// older key; so is the file, if it is to be private, and otherwise it keeps its mode.
pub(super) fn replace(path: &Path, text: &str, private: bool) -> Result<Replaced, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let before = fs::metadata(path).ok();
    if before.as_ref().is_some_and(|file| file.permissions().readonly()) {
        let why = "it is read-only, and was left as it is; make it writable, or paste the settings by hand";
        return Err(format!("{}: {why}", path.display()));
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let backup = match &before {
        Some(_) => Some(back_up(path).map_err(failed)?),
        None => None,
    };
    let kept = before.as_ref().map(fs::Metadata::permissions).filter(|_| !private);
    put(path, text.as_bytes(), kept).map_err(failed)?;
    Ok(Replaced { backup, was_open: before.is_some_and(|file| others_can_read(&file)) })
}

#[cfg(unix)]
pub(crate) fn others_can_read(file: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
pub(crate) fn others_can_read(_: &fs::Metadata) -> bool {
    false
}

/// Copies the file beside it, under a name of its own: no backup is ever replaced. Where one has this
/// content, that is the copy.
fn back_up(path: &Path) -> io::Result<PathBuf> {
    let old = fs::read(path)?;
    let mut number = 1;
    loop {
        let ending = if number == 1 { "backup".to_owned() } else { format!("backup-{number}") };
        let backup = sibling(path, &ending);
        match new_private_file().open(&backup) {
            Ok(mut file) => {
                file.write_all(&old).inspect_err(|_| _ = fs::remove_file(&backup))?;
                return Ok(backup);
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) if fs::read(&backup).is_ok_and(|content| content == old) => return Ok(backup),
            Err(_) => number += 1,
        }
    }
}

fn sibling(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{ending}"));
    path.with_file_name(name)
}

/// Puts a file in the place of another, with these permissions, or readable by its owner alone from its first
/// byte on.
fn put(path: &Path, content: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let new = sibling(path, &format!("new-{}", std::process::id()));
    let written = new_private_file().open(&new).and_then(|mut file| {
        file.write_all(content)?;
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
        fs::rename(&new, path)
    });
    written.inspect_err(|_| _ = fs::remove_file(&new))
}

/// Returns the options for a new file that its owner alone can read.
fn new_private_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
