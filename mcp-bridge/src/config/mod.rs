//! The settings that a desktop client needs to start the bridge: printed to paste, or merged into its file.

mod codex;
mod entry;
mod files;
mod jsonc;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use shared_inbox_mcp::settings::{API_KEY, variable};

pub(crate) use files::others_can_read;

/// What the server is called in a client's settings.
pub(crate) const NAME: &str = "shared-inbox";
/// The question by which VS Code asks for the key.
const INPUT: &str = "shared-inbox-api-key";

/// A client that can start the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DesktopClient {
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
    /// GitHub Copilot CLI
    CopilotCli,
}

/// How the bridge is to be started by the client.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    /// The program.
    pub(crate) command: PathBuf,
    /// Arguments that go before the bridge's own: what a program that starts others is to start.
    pub(crate) before: Vec<String>,
    /// Its arguments, without a key among them.
    pub(crate) args: Vec<String>,
    /// Arguments that this client is better off with, for an entry that is new.
    pub(crate) offered: Vec<String>,
    /// The service's base URL; none in the sandbox.
    pub(crate) base_url: Option<String>,
    pub(crate) key: KeyPlace,
}

/// Where the bridge gets its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// The client's settings hold it, or say where the client gets it.
    Settings,
    /// The arguments name a file.
    File,
    /// The key store of this system has it.
    Store,
    /// The demo inbox needs none.
    NotNeeded,
}

/// Returns the command that starts this program again, and its first arguments. A folder of `npx` or `uvx`
/// may be gone tomorrow, so that these themselves must be named.
pub(crate) fn starting(program: PathBuf) -> (PathBuf, Vec<String>) {
    let package = concat!(env!("CARGO_PKG_NAME"), "@", env!("CARGO_PKG_VERSION")).to_owned();
    for folder in program.components().filter_map(|part| part.as_os_str().to_str()) {
        if folder == "_npx" {
            return ("npx".into(), vec!["-y".into(), package]);
        }
        // Of uv's cache; `archive-v0` now.
        if folder.strip_prefix("archive-v").is_some_and(|version| version.parse::<u8>().is_ok()) {
            return ("uvx".into(), vec![package]);
        }
    }
    (program, Vec::new())
}

/// What writing changed.
pub(crate) struct WrittenSettings {
    /// The copy of the file as it was, if there was one.
    pub(crate) backup: Option<PathBuf>,
    /// What is different, a line each, without the value of any variable.
    pub(crate) changes: Vec<String>,
    /// Whether others could read the file, and cannot any more because it holds the key.
    pub(crate) closed: bool,
}

/// A client's file with the server in it, and the server's entry before and after.
type Merged = (Box<dyn SettingsFile>, Option<Value>, Value);

/// A client's settings file, parsed.
trait SettingsFile {
    /// Returns the server's entry, if there is one.
    fn entry(&self) -> Result<Option<Value>, String>;
    /// Writes what is different in the new entry.
    fn set(&mut self, entry: &Value) -> Result<(), String>;
    fn text(&self) -> String;
}

impl DesktopClient {
    /// Returns what a person should know beside the settings.
    pub(crate) fn hint(self, launch: &Launch) -> &'static str {
        let has_key = launch.key == KeyPlace::Settings;
        match self {
            DesktopClient::ClaudeCode if !has_key => "Then start Claude Code again, in this folder.",
            DesktopClient::Vscode if !has_key => "Then reload the window of VS Code.",
            DesktopClient::ClaudeDesktop if !launch.offered.is_empty() => {
                "Then quit Claude Desktop and start it again.\nIt cannot ask you whether an email may go out, so this program asks on a \
                 page in your browser (--ask=browser); with --ask=client, emails become drafts instead."
            }
            DesktopClient::ClaudeDesktop => "Then quit Claude Desktop and start it again.",
            DesktopClient::ClaudeCode => {
                "The key is taken from the variable SHARED_INBOX_API_KEY of the shell that starts Claude Code."
            }
            DesktopClient::Cursor => "Then look under Settings, MCP.",
            DesktopClient::Vscode => "VS Code asks for the key once and keeps it in its secret store.",
            DesktopClient::Zed => "Then look at the agent panel's settings.",
            DesktopClient::Codex => "Then start Codex again.",
            DesktopClient::CopilotCli if !launch.offered.is_empty() => {
                "Then start Copilot again.\nIt gives the model both forms of a result, so the structured one holds ids, states and times \
                 alone (--structured=slim)."
            }
            DesktopClient::CopilotCli => "Then start Copilot again.",
        }
    }

    /// Returns the key as this client's settings have it: a place to fill in, or a way to ask for it.
    fn key(self) -> String {
        match self {
            DesktopClient::ClaudeCode => format!("${{{API_KEY}}}"),
            DesktopClient::Vscode => format!("${{input:{INPUT}}}"),
            _ => "<your API key, rk_…>".into(),
        }
    }

    /// Returns whether this client has no way to ask a person anything.
    pub(crate) fn cannot_ask(self) -> bool {
        self == DesktopClient::ClaudeDesktop
    }

    /// Returns whether this client gives a model both forms of a result, so that every word is paid for
    /// twice. A client belongs here only when it is known to show the text: most show one form, and several
    /// the structured one.
    pub(crate) fn shows_both_forms(self) -> bool {
        self == DesktopClient::CopilotCli
    }

    fn asks_for_key(self) -> bool {
        matches!(self, DesktopClient::ClaudeCode | DesktopClient::Vscode)
    }

    /// Returns the settings to paste, with a place for the key to fill in.
    pub(crate) fn settings(self, launch: &Launch) -> String {
        let mut launch = launch.clone();
        let has_key = launch.key == KeyPlace::Settings;
        if launch.base_url.is_none() && has_key {
            launch.base_url = Some("<the service's address, which ends in /api/v1>".into());
        }
        let key = has_key.then(|| self.key());
        // Nothing is in the way in an empty file.
        self.merged("", &launch, key.as_deref()).map(|(file, ..)| file.text()).unwrap_or_default()
    }

    /// Merges the settings into the client's file, which is copied before, unless it has them already. The
    /// error says why nothing was written.
    pub(crate) fn write(self, launch: &Launch, path: &Path) -> Result<Option<WrittenSettings>, String> {
        let key = match launch.key {
            KeyPlace::Settings if self.asks_for_key() => Some(self.key()),
            KeyPlace::Settings => variable(API_KEY),
            _ => None,
        };
        let target = files::resolve_symlink(path)?;
        let before = files::read(&target)?;
        let text = before.as_deref().unwrap_or_default();
        let (file, old, new) = self.merged(text, launch, key.as_deref()).map_err(|why| {
            format!("{}: {why}; it was left as it is, paste the settings by hand", path.display())
        })?;
        let missing = entry::missing(&new, launch.key);
        if !missing.is_empty() {
            return Err(missing.join("; "));
        }
        let after = file.text();
        if before.as_deref() == Some(after.as_str()) {
            return Ok(None);
        }
        let holds_key = new["env"].get(API_KEY).is_some() && !self.asks_for_key();
        let replaced = files::replace(&target, &after, holds_key)?;
        let changes = entry::changes(old.as_ref(), &new);
        Ok(Some(WrittenSettings { backup: replaced.backup, changes, closed: holds_key && replaced.was_open }))
    }

    fn merged(self, text: &str, launch: &Launch, key: Option<&str>) -> Result<Merged, String> {
        let mut file: Box<dyn SettingsFile> = match self {
            DesktopClient::Codex => Box::new(codex::File::parse(text)?),
            DesktopClient::Vscode => {
                let mut file = jsonc::File::parse(text, "servers")?;
                if launch.key == KeyPlace::Settings {
                    file.ask(&json!({
                        "type": "promptString", "id": INPUT, "description": "API key of the shared inbox", "password": true,
                    }))?;
                }
                Box::new(file)
            }
            DesktopClient::Zed => Box::new(jsonc::File::parse(text, "context_servers")?),
            _ => Box::new(jsonc::File::parse(text, "mcpServers")?),
        };
        let old = file.entry()?;
        let with_type =
            matches!(self, DesktopClient::ClaudeCode | DesktopClient::Vscode | DesktopClient::CopilotCli);
        let mut new = entry::merge(old.as_ref(), launch, key, with_type)?;
        if self == DesktopClient::CopilotCli && new.get("tools").is_none() {
            new["tools"] = json!(["*"]);
        }
        file.set(&new)?;
        Ok((file, old, new))
    }
}
