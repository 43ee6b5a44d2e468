//! The settings that a desktop client needs to start the bridge: printed to paste, or merged into its file.

mod codex;
mod files;
mod jsonc;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::settings::{API_KEY, BASE_URL, variable};

/// What the server is called in a client's settings.
pub const NAME: &str = "shared-inbox";
/// The question by which VS Code asks for the key.
const INPUT: &str = "shared-inbox-api-key";

/// A client that can start the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum For {
    /// Claude Desktop
    ClaudeDesktop,
    /// Claude Code, for the project in the current folder
    ClaudeCode,
    /// Cursor
    Cursor,
    /// Visual Studio Code, for the workspace in the current folder
    Vscode,
    /// Zed
    Zed,
    /// Codex
    Codex,
}

/// How the bridge is to be started by the client.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program.
    pub command: PathBuf,
    /// Its arguments, without a key among them.
    pub args: Vec<String>,
    /// The service's base URL; none in the sandbox.
    pub base_url: Option<String>,
    /// Where the key comes from.
    pub key: Key,
}

/// Where the bridge gets the key when a client starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// The arguments name a file, or none is needed.
    NotNeeded,
    /// The client's settings hold it.
    InSettings,
}

/// Why settings could not be written.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    /// Something that must be in the settings is not known.
    #[error("{0}")]
    Missing(String),
    /// The file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
    /// What is in the file is not understood.
    #[error("{}: {why}; it was left as it is, paste the settings by hand", path.display())]
    NotUnderstood {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// What writing did.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    /// The file was changed; the one before is kept here, if there was one.
    Changed {
        /// The copy of the file as it was.
        backup: Option<PathBuf>,
    },
    /// The file had these settings already.
    Unchanged,
}

impl For {
    /// Where this client keeps its settings.
    pub fn file(self) -> Option<PathBuf> {
        files::of(self)
    }

    /// What a person should know beside the settings.
    pub fn hint(self, launch: &Launch) -> &'static str {
        match self {
            For::ClaudeCode | For::Vscode if launch.key == Key::NotNeeded => "Then start it again.",
            For::ClaudeDesktop if launch.args.iter().any(|arg| arg == "--ask=browser") => {
                "Then quit Claude Desktop and start it again.\nIt cannot ask you whether a mail may go out, so this program asks on a \
                 page in your browser (--ask=browser); with --ask=client, mails become drafts instead."
            }
            For::ClaudeDesktop => "Then quit Claude Desktop and start it again.",
            For::ClaudeCode => {
                "The key is taken from the variable SHARED_INBOX_API_KEY of the shell that starts Claude Code."
            }
            For::Cursor => "Then look under Settings, MCP.",
            For::Vscode => "VS Code asks for the key once and keeps it in its secret store.",
            For::Zed => "Then look at the agent panel's settings.",
            For::Codex => "Then start Codex again.",
        }
    }

    /// The key as this client's settings have it: a place to fill in, or a way to ask for it.
    fn key(self) -> String {
        match self {
            For::ClaudeCode => format!("${{{API_KEY}}}"),
            For::Vscode => format!("${{input:{INPUT}}}"),
            _ => "<your API key, rk_…>".into(),
        }
    }

    /// Whether this client has no way to ask a person anything.
    pub fn cannot_ask(self) -> bool {
        self == For::ClaudeDesktop
    }

    /// Whether the settings can do without the key itself.
    fn asks_for_key(self) -> bool {
        matches!(self, For::ClaudeCode | For::Vscode)
    }

    /// The settings to paste, with a place for the key to fill in.
    ///
    /// ```
    /// use shared_inbox_mcp::config::{For, Key, Launch};
    /// let launch = Launch {
    ///     command: "/usr/bin/shared-inbox-mcp".into(),
    ///     args: vec!["--sandbox".into()],
    ///     base_url: None,
    ///     key: Key::NotNeeded,
    /// };
    /// assert!(For::Codex.settings(&launch).starts_with("[mcp_servers.shared-inbox]\n"));
    /// ```
    pub fn settings(self, launch: &Launch) -> String {
        // Nothing is in the way in an empty file.
        self.merged("", launch, &self.key()).unwrap_or_default()
    }

    /// The command that sets up Claude Code without a file, for those who prefer it.
    pub fn command(self, launch: &Launch) -> Option<String> {
        if self != For::ClaudeCode {
            return None;
        }
        let mut parts = vec!["claude".to_owned(), "mcp".into(), "add".into(), NAME.into()];
        for (name, value) in environment(launch, &self.key()) {
            // The shell puts the key in, so that it is not in this text.
            let set = if name == API_KEY {
                format!("\"{name}=${name}\"")
            } else {
                quote(&format!("{name}={value}"))
            };
            parts.extend(["-e".into(), set]);
        }
        parts.extend(["--".into(), quote(&launch.command.to_string_lossy())]);
        parts.extend(launch.args.iter().map(|arg| quote(arg)));
        Some(parts.join(" "))
    }

    /// Merges the settings into the client's file, which is copied before.
    pub fn write(self, launch: &Launch, path: &Path) -> Result<Written, NotWritten> {
        let key = match launch.key {
            Key::InSettings if !self.asks_for_key() => variable(API_KEY).ok_or_else(|| {
                NotWritten::Missing(format!(
                    "there is no key to write: set {API_KEY}, or name a file that holds it with --api-key-file"
                ))
            })?,
            _ => self.key(),
        };
        if launch.base_url.is_none() && launch.key == Key::InSettings {
            return Err(NotWritten::Missing(format!(
                "there is no address to write: set {BASE_URL} or give --base-url"
            )));
        }
        let before = files::read(path)?;
        let text = before.as_deref().unwrap_or_default();
        let after = self
            .merged(text, launch, &key)
            .map_err(|why| NotWritten::NotUnderstood { path: path.to_owned(), why })?;
        if before.as_deref() == Some(after.as_str()) {
            return Ok(Written::Unchanged);
        }
        files::replace(path, &after).map(|backup| Written::Changed { backup })
    }

    /// The client's file with the server in it.
    fn merged(self, text: &str, launch: &Launch, key: &str) -> Result<String, String> {
        let server = self.server(launch, key);
        let section = match self {
            For::Codex => return codex::merge(text, &server),
            For::Vscode => "servers",
            For::Zed => "context_servers",
            _ => "mcpServers",
        };
        let input = (self == For::Vscode && launch.key == Key::InSettings).then(input);
        let mut text = jsonc::merge(text, section, NAME, &server, input.as_ref())?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }

    fn server(self, launch: &Launch, key: &str) -> Value {
        let mut server = json!({ "command": launch.command.to_string_lossy(), "args": launch.args });
        if matches!(self, For::ClaudeCode | For::Vscode) {
            server["type"] = "stdio".into();
        }
        let environment: Map<String, Value> = environment(launch, key)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        if !environment.is_empty() {
            server["env"] = environment.into();
        }
        server
    }
}

fn environment(launch: &Launch, key: &str) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    if let Some(url) = &launch.base_url {
        all.push((BASE_URL, url.clone()));
    } else if launch.key == Key::InSettings {
        all.push((BASE_URL, "<the service's address, which ends in /api/v1>".into()));
    }
    if launch.key == Key::InSettings {
        all.push((API_KEY, key.to_owned()));
    }
    all
}

fn input() -> Value {
    json!({ "type": "promptString", "id": INPUT, "description": "API key of the shared inbox", "password": true })
}

/// A word of a shell's command line.
fn quote(word: &str) -> String {
    if word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,".contains(c)) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
