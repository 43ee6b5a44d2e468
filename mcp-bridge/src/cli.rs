//! The command line.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    builder::{BoolishValueParser, PossibleValuesParser},
    error::ErrorKind,
    parser::ValueSource,
};
use shared_inbox::__spec::Operation;

use shared_inbox_mcp::{
    program::check_skills,
    settings::{
        API_KEY, BASE_URL, ConsentChannel, DEFAULT_MAX_CHARS, SendPolicy, Settings, StateFolder, Structured,
        variable,
    },
};

use crate::config::{DesktopClient, KeyPlace, Launch, starting};

const MORE: &str = "\
Clients start this program themselves. To set one up, let it print the settings:

  shared-inbox-mcp config claude-desktop            settings to paste, and where they go
  shared-inbox-mcp config cursor --write            merges them into the file, after a backup
  shared-inbox-mcp --sandbox config vscode          the same for a demo inbox: no account, no server

To find out why something does not work:

  shared-inbox-mcp doctor

The service's address comes from SHARED_INBOX_BASE_URL. The key comes from the file of --api-key-file, from
SHARED_INBOX_API_KEY, or from this system's key store, where `shared-inbox-mcp key set` puts it. A key is never an
argument: every program on the machine could read it there. Each option can come from the variable that is named with
it; the command line goes before it.

What customers wrote comes to the model marked, without hidden characters and live links. Unless you
say otherwise (--send), an email goes out only after you saw its address, subject and text and agreed; where the client
cannot ask you, it becomes a draft.";

/// Connects a desktop MCP client to a shared customer-email inbox, over stdio.
#[derive(Debug, Parser)]
#[command(name = "shared-inbox-mcp", version, after_help = MORE, max_term_width = 110)]
pub(crate) struct Cli {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Everything else.
    #[command(flatten)]
    pub(crate) options: Options,
}

impl Cli {
    /// Parses the command line of this process. A variable that is set to an empty value is refused: it was
    /// meant to restrict something, and ignoring it would open the bridge wider than intended.
    pub(crate) fn of_process() -> Self {
        let mut empty = None;
        let mut command = Self::command().mut_args(|arg| match arg.get_env() {
            Some(name) if set_to_nothing(name) => {
                empty.get_or_insert_with(|| name.to_string_lossy().into_owned());
                arg.env(None::<&str>)
            }
            _ => arg,
        });
        let matches = command.clone().get_matches();
        let parsed = Self::from_arg_matches(&matches).map(|mut cli| {
            let is_given = |id: &&str| matches.value_source(id) != Some(ValueSource::DefaultValue);
            cli.options.given = ["send", "max_chars"].into_iter().filter(is_given).collect();
            // Of two variables, the one with the key goes before the one with its file.
            let is_from_variable = matches.value_source("api_key_file") == Some(ValueSource::EnvVariable);
            if is_from_variable && variable(API_KEY).is_some() {
                cli.options.api_key_file = None;
            }
            cli
        });
        if let Some(name) = empty {
            let why = format!("{name} is set to nothing: give it a value, or take it away");
            command.error(ErrorKind::InvalidValue, why).exit();
        }
        parsed.unwrap_or_else(|error| error.format(&mut command).exit())
    }
}

fn set_to_nothing(variable: &OsStr) -> bool {
    env::var_os(variable).is_some_and(|value| value.to_string_lossy().trim().is_empty())
}

/// What to do instead of serving.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the settings that a client needs to start this program, and where they go
    ///
    /// The other options that you give here become part of the settings.
    Config {
        /// The client
        client: DesktopClient,
        /// Merge the settings into the client's file, after a backup beside it
        #[arg(long)]
        write: bool,
        /// Another file than the client's usual one
        #[arg(long, value_name = "FILE", requires = "write")]
        file: Option<PathBuf>,
    },
    /// Keep the key in this system's key store, so that no file holds it
    Key {
        /// What to do
        #[command(subcommand)]
        action: KeyAction,
    },
    /// Check address, key, scopes, tools, clock and rate limit; the exit status says whether it works
    Doctor,
}

/// What to do with the key in the store. There is one for each service (--base-url).
#[derive(Debug, Subcommand)]
pub(crate) enum KeyAction {
    /// Store a key: type it in the terminal, where it is not shown, or give it on standard input
    Set,
    /// Show which key is stored, and never its value
    Show,
    /// Delete the stored key
    Delete,
}

/// How the bridge is to run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service's address, which ends in /api/v1
    #[arg(long, global = true, env = BASE_URL, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// A file that holds the key and nothing else; read again whenever the service refuses the key
    #[arg(long, global = true, env = "SHARED_INBOX_API_KEY_FILE", value_name = "FILE")]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Try it with a demo inbox inside this program: no account, no server, no real email
    #[arg(long, global = true, env = "SHARED_INBOX_SANDBOX", value_parser = switch())]
    pub(crate) sandbox: bool,
    /// Let the key cross the network unprotected, to a service on plain http, in a network that you trust
    #[arg(long, global = true, env = "SHARED_INBOX_ALLOW_PLAIN_HTTP", value_parser = switch())]
    pub(crate) allow_plain_http: bool,
    /// What happens when a model wants to send an email. Nothing that a model says can change it
    #[arg(long, global = true, env = "SHARED_INBOX_SEND", value_enum, default_value_t = SendPolicy::Ask, value_name = "POLICY")]
    pub(crate) send: SendPolicy,
    /// Where you are asked whether an email may go out; in the client unless you say otherwise
    #[arg(long, global = true, env = "SHARED_INBOX_ASK", value_enum, value_name = "WHERE")]
    pub(crate) ask: Option<ConsentChannel>,
    /// Show only the tools that change nothing
    #[arg(long, global = true, env = "SHARED_INBOX_READ_ONLY", value_parser = switch())]
    pub(crate) read_only: bool,
    /// Show only these tools
    #[arg(long, global = true, env = "SHARED_INBOX_TOOLS", value_delimiter = ',', value_name = "NAMES", value_parser = names())]
    pub(crate) tools: Vec<String>,
    /// Do not show these tools
    #[arg(long, global = true, env = "SHARED_INBOX_EXCLUDE_TOOLS", value_delimiter = ',', value_name = "NAMES", value_parser = names())]
    pub(crate) exclude_tools: Vec<String>,
    /// The most characters that one result may carry: long fields are shortened, items beyond it left out,
    /// with a note
    #[arg(long, global = true, env = "SHARED_INBOX_MAX_CHARS", default_value_t = DEFAULT_MAX_CHARS, value_name = "N", value_parser = max_chars)]
    pub(crate) max_chars: usize,
    /// Keep the model to the inbox with this address; more than once for more inboxes
    #[arg(long, global = true, env = "SHARED_INBOX_MAILBOX", value_delimiter = ',', value_name = "ADDRESS", value_parser = address)]
    pub(crate) mailbox: Vec<String>,
    /// What the structured form of results holds, which some clients show the model instead of the text;
    /// `safe` unless you say otherwise
    #[arg(long, global = true, env = "SHARED_INBOX_STRUCTURED", value_enum, value_name = "FORM")]
    pub(crate) structured: Option<Structured>,
    /// Add a line of JSON to this file for each call: when, which tool and ids, how it ended, who agreed and
    /// how; never words
    #[arg(long, global = true, env = "SHARED_INBOX_AUDIT", value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// Keep what may have been made in this folder, instead of the usual one, so that a restart or a second
    /// bridge looks first
    #[arg(long, global = true, env = "SHARED_INBOX_STATE", value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Serve the skills in this folder too: how your team answers, as folders with a SKILL.md
    #[arg(long, global = true, env = "SHARED_INBOX_SKILLS", value_name = "DIR", value_parser = skills_in)]
    pub(crate) skills: Option<PathBuf>,
    /// Say more on stderr; twice for every request. Never email, names or keys
    #[arg(short, long, global = true, env = "SHARED_INBOX_VERBOSE", action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Those options with a default that were given all the same.
    #[arg(skip)]
    given: Vec<&'static str>,
}

/// Parses what a variable may hold for a flag without a value; anything else is a mistake and not a guess.
fn switch() -> BoolishValueParser {
    BoolishValueParser::new()
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(Operation::KNOWN.iter().copied().filter_map(Operation::tool_name))
}

fn max_chars(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n >= 1_000 => Ok(n),
        _ => Err("must be a number, 1000 or more".into()),
    }
}

fn address(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.split_once('@') {
        Some((name, host)) if !name.is_empty() && !host.is_empty() => Ok(text.to_owned()),
        _ => Err("must be an inbox's address, such as help@shop.example".into()),
    }
}

/// Parses the path of a folder whose skills can all be read.
fn skills_in(text: &str) -> Result<PathBuf, String> {
    let dir = PathBuf::from(text);
    check_skills(&dir).map(|()| dir)
}

/// Returns what to say about a key among the arguments, if there is one. It must not be repeated in any
/// message.
pub(crate) fn key_among(arguments: impl IntoIterator<Item = OsString>) -> Option<&'static str> {
    let key = |argument: &OsString| {
        let text = argument.to_string_lossy();
        let value = text.split_once('=').map_or(&*text, |(_, value)| value);
        value.starts_with("rk_") || matches!(text.split('=').next(), Some("--api-key" | "--key" | "--token"))
    };
    arguments.into_iter().any(|argument| key(&argument)).then_some(
        "a key must not be an argument, where every program on this machine can read it: store it with `key set`, set \
         SHARED_INBOX_API_KEY, or name a file that holds it with --api-key-file",
    )
}

impl Options {
    /// Returns the settings of the bridge; the sandbox is not started here.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.access.base_url = self.base_url.clone();
        settings.access.key_file = self.api_key_file.clone();
        settings.access.plain_http = self.allow_plain_http;
        settings.access.state = self.state.clone().map_or(StateFolder::Usual, StateFolder::At);
        settings.send = self.send;
        settings.ask = self.ask.unwrap_or(settings.ask);
        settings.filter.read_only = self.read_only;
        settings.filter.only = self.tools.clone();
        settings.filter.except = self.exclude_tools.clone();
        settings.max_chars = self.max_chars;
        settings.structured = self.structured.unwrap_or(settings.structured);
        settings.filter.in_inboxes = !self.mailbox.is_empty();
        settings.mailboxes = self.mailbox.clone();
        settings.skills = self.skills.clone();
        settings
    }

    /// Returns how this client is to start the bridge so that it runs with these options.
    pub(crate) fn launch(&self, client: DesktopClient, program: PathBuf, is_stored: bool) -> Launch {
        let is_given = |option| self.given.contains(&option);
        let flag = |name: &str, set: bool| set.then(|| name.to_owned());
        let list =
            |name, values: &[String]| (!values.is_empty()).then(|| format!("{name}={}", values.join(",")));
        let path = |name, path: &Option<PathBuf>| {
            let path = path.as_ref()?;
            Some(format!("{name}={}", std::path::absolute(path).unwrap_or_else(|_| path.clone()).display()))
        };
        let args = [
            flag("--sandbox", self.sandbox),
            path("--api-key-file", &self.api_key_file).filter(|_| !self.sandbox),
            flag("--allow-plain-http", self.allow_plain_http),
            choice("--send", is_given("send").then_some(self.send)),
            choice("--ask", self.ask),
            flag("--read-only", self.read_only),
            list("--tools", &self.tools),
            list("--exclude-tools", &self.exclude_tools),
            is_given("max_chars").then(|| format!("--max-chars={}", self.max_chars)),
        ];
        let mailboxes = self.mailbox.iter().map(|address| Some(format!("--mailbox={address}")));
        let last = [
            choice("--structured", self.structured),
            path("--audit", &self.audit),
            path("--state", &self.state),
            path("--skills", &self.skills),
        ];
        let args = args.into_iter().chain(mailboxes).chain(last).flatten().collect();
        let base_url = if self.sandbox { None } else { self.base_url.clone() };
        let key = match self.api_key_file {
            _ if self.sandbox => KeyPlace::NotNeeded,
            Some(_) => KeyPlace::File,
            None if is_stored => KeyPlace::Store,
            None => KeyPlace::Settings,
        };
        let asks = client.cannot_ask() && self.ask.is_none() && self.send != SendPolicy::Never;
        let slims = client.shows_both_forms() && self.structured.is_none();
        let offers = [(asks, "--ask=browser"), (slims, "--structured=slim")];
        let offered =
            offers.into_iter().filter(|(offer, _)| *offer).map(|(_, argument)| argument.to_owned()).collect();
        let (command, before) = starting(program);
        Launch { command, before, args, offered, base_url, key }
    }
}

/// Returns an argument with one of the values that it may have.
fn choice(name: &str, value: Option<impl ValueEnum>) -> Option<String> {
    Some(format!("{name}={}", value?.to_possible_value()?.get_name()))
}
