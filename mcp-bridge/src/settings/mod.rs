//! How the person started the bridge: where the service is, whose key, what is shown and what may be sent.
//!
//! Nothing in here can be changed by a call.

mod key_store;
mod rate_limit;
mod state;

use std::{
    env, fmt, fs,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use shared_inbox::{
    __spec::{Operation, limits},
    Client, Me, Scope,
    clock::{Clock, TokioClock},
    once::FileStore,
};

use crate::{consent::RESULT_TTL, digest::Digest};

pub use crate::{audit::Audit, consent::ConsentChannel};
pub use key_store::{KeyStoreError, delete_key, store_key, stored_key};
#[doc(hidden)]
pub use rate_limit::WaitingLimiter;
pub use state::StateFolder;

/// The variable with the service's base URL.
pub const BASE_URL: &str = "SHARED_INBOX_BASE_URL";
/// The variable with the key.
pub const API_KEY: &str = "SHARED_INBOX_API_KEY";
/// The default size limit of a result, in characters.
pub const DEFAULT_MAX_CHARS: usize = 50_000;

/// What the service, retries and waits for the rate limit may take of a call. Clients give up after 60
/// seconds.
const CALL_TIMEOUT: Duration = Duration::from_secs(50);

/// How the bridge was started.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Where the service is and whose key to use.
    pub access: ServiceAccess,
    /// What happens to a call that wants to send.
    pub send: SendPolicy,
    /// Where a person is asked.
    pub ask: ConsentChannel,
    /// Which tools are shown.
    pub filter: ToolFilter,
    /// The most characters of a result, of its text and of its JSON each.
    pub max_chars: usize,
    /// Where each call is written down.
    pub audit: Option<Arc<Audit>>,
    /// Tells the time between a question and its answer; another one is for tests.
    pub clock: Arc<dyn Clock>,
    /// What the structured form of a result holds.
    pub structured: Structured,
    /// The addresses of the inboxes that the model is kept to; every inbox when there are none.
    pub mailboxes: Vec<String>,
    /// A folder with skills of the team's own, served beside the bridge's.
    pub skills: Option<PathBuf>,
}

impl Settings {
    /// Creates the default settings over a client that is ready.
    pub fn with_client(client: Client) -> Self {
        Self { access: ServiceAccess { client: Some(client), ..ServiceAccess::default() }, ..Self::default() }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            access: ServiceAccess::default(),
            send: SendPolicy::Ask,
            ask: ConsentChannel::Client,
            filter: ToolFilter::default(),
            max_chars: DEFAULT_MAX_CHARS,
            audit: None,
            clock: Arc::new(TokioClock),
            structured: Structured::Safe,
            mailboxes: Vec::new(),
            skills: None,
        }
    }
}

/// What the structured form of a result holds. Some clients show a model that form and not the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum Structured {
    /// Cleaned, defused and marked like the text.
    Safe,
    /// Ids, states and times, for clients that show a model both forms: the words stand in the text alone.
    Slim,
    /// Emails exactly as they came, for programs: with hidden characters, live links and no marks. Not for a
    /// model.
    Exact,
    /// Nothing: results are text alone.
    None,
}

/// What happens to a call that wants to send an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum SendPolicy {
    /// Emails go out without a question, except in conversations that the service marked as a risk.
    Allow,
    /// A person is asked, and sees address, subject and text; a client that cannot ask gets a draft.
    Ask,
    /// Every email becomes a draft.
    Never,
}

/// Where the service is and whose key to use. What is not given comes from the environment.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ServiceAccess {
    /// The service's base URL.
    pub base_url: Option<String>,
    /// A file that holds the key.
    pub key_file: Option<PathBuf>,
    /// Whether the key may cross the network unprotected, to a service on plain `http`.
    pub plain_http: bool,
    /// Where what may have been made is kept, so that a restart and a second bridge know of it.
    pub state: StateFolder,
    /// A client that is ready, as for the demo inbox.
    pub client: Option<Client>,
    /// Whether it is the demo inbox inside the program.
    pub demo: bool,
}

impl ServiceAccess {
    /// Creates a client. Reads the environment, the key file and the key store anew, so that a mistake there
    /// can be put right while the bridge runs.
    ///
    /// # Errors
    ///
    /// When the address or the key is missing or malformed; the sentence says what to do.
    pub fn connect(&self) -> Result<Client, String> {
        self.open(&OnceLock::new()).map(|opened| opened.client)
    }

    /// Creates a client, and says which key it has. May wait for a key store to be unlocked. A state folder
    /// that was opened before is kept: one that cannot be used any more must not be done without.
    pub(crate) fn open(&self, opened: &OnceLock<FileStore>) -> Result<OpenedAccess, String> {
        if let Some(client) = &self.client {
            return Ok(OpenedAccess { client: client.clone(), key: None });
        }
        let base_url = self.address().ok_or_else(|| {
            format!("The service's address is missing: set {BASE_URL} to a URL that ends in /api/v1, or try --sandbox.")
        })?;
        let (key, _) = self.find_key()?;
        let digest = Some(Digest::new(&key));
        let store = match opened.get() {
            Some(store) => Some(store.clone()),
            None => self.state.open()?.inspect(|store| _ = opened.set(store.clone())),
        };
        Ok(OpenedAccess { client: self.client(base_url, key, store)?, key: digest })
    }

    /// Returns the service's base URL, if it is known.
    pub fn address(&self) -> Option<String> {
        self.base_url.clone().or_else(|| variable(BASE_URL))
    }

    /// Returns whether this address and this key, as far as they are given, have the form of one.
    pub fn check(&self, key: Option<String>) -> Result<(), String> {
        let base_url = self.base_url.clone().unwrap_or_else(|| "https://inbox.example/api/v1".into());
        let key = key.unwrap_or_else(|| format!("rk_test_{}", "0".repeat(48)));
        self.client(base_url, key, None).map(|_| ())
    }

    fn client(&self, base_url: String, key: String, store: Option<FileStore>) -> Result<Client, String> {
        let client = Client::builder(base_url, key)
            .deadline(CALL_TIMEOUT)
            .rate_limiter(WaitingLimiter::new(limits::REQUESTS_PER_MINUTE))
            .user_agent(concat!("shared-inbox-mcp/", env!("CARGO_PKG_VERSION")));
        let client = if self.plain_http { client.allow_plain_http() } else { client };
        let client = match store {
            Some(store) => client.once_store(store).once_retention(RESULT_TTL),
            None => client,
        };
        client.build().map_err(|error| {
            let said = error.to_string();
            // What a parser of URLs says helps nobody.
            let said = match said.split_once("; expected ") {
                Some((_, form)) => format!("base URL: must be of the form {form}"),
                // The client names its own method, which is a flag here.
                None => said.replace("`allow_plain_http`", "--allow-plain-http"),
            };
            format!("{}.", said.trim_end_matches('.'))
        })
    }

    /// Returns which data a key works on, in words.
    pub fn data(&self, me: &Me) -> &'static str {
        match me.livemode {
            _ if self.demo => "a demo inbox",
            Some(false) => "the sandbox",
            _ => "live data",
        }
    }

    /// Finds the key, and where it came from: the file that was named, the environment, or the store of this
    /// system.
    ///
    /// # Errors
    ///
    /// When there is none; the sentence says where one can go.
    pub fn find_key(&self) -> Result<(String, KeySource), String> {
        if let Some(file) = &self.key_file {
            let key = fs::read_to_string(file).map_err(|error| {
                format!("The key file {} (--api-key-file) cannot be read: {error}.", file.display())
            })?;
            return Ok((key.trim().to_owned(), KeySource::File(file.clone())));
        }
        if let Some(key) = variable(API_KEY) {
            return Ok((key, KeySource::Environment));
        }
        let why = match self.address().map(|base_url| stored_key(&base_url)) {
            Some(Ok(Some(key))) => return Ok((key, KeySource::Store)),
            Some(Err(error)) => format!(" A key could also be kept by this system, but {error}."),
            Some(Ok(None)) | None => String::new(),
        };
        Err(format!(
            "The key is missing: store it with `shared-inbox-mcp key set`, set {API_KEY}, or name a file that holds it with \
             --api-key-file.{why}"
        ))
    }
}

/// A client that was created.
pub(crate) struct OpenedAccess {
    pub(crate) client: Client,
    /// Distinguishes its key from another, if it may be replaced.
    pub(crate) key: Option<Digest>,
}

/// Where a key came from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// The file that was named.
    File(PathBuf),
    /// The environment.
    Environment,
    /// The key store of this system.
    Store,
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "the file {} (--api-key-file)", path.display()),
            Self::Environment => write!(f, "the variable {API_KEY}"),
            Self::Store => f.write_str("this system's key store"),
        }
    }
}

/// Returns what a variable of the environment holds, if it holds anything.
pub fn variable(name: &str) -> Option<String> {
    env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Which tools are shown, of those that the key allows.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ToolFilter {
    /// Only tools that change nothing.
    pub read_only: bool,
    /// Only these, if any are named.
    pub only: Vec<String>,
    /// Not these.
    pub except: Vec<String>,
    /// Only tools that can be kept to chosen inboxes.
    pub in_inboxes: bool,
}

/// Why a tool is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolHidden {
    /// The key lacks the scope.
    #[error("the key lacks the scope `{0}`; scopes are chosen when a key is made, so it takes another key")]
    Scope(Scope),
    /// The bridge only reads.
    #[error("the bridge was started with --read-only")]
    ReadOnly,
    /// Others were named.
    #[error("the bridge was started with --tools, which does not name it")]
    NotNamed,
    /// It was named as unwanted.
    #[error("the bridge was started with --exclude-tools, which names it")]
    Excluded,
    /// It belongs to no inbox.
    #[error("the bridge was started with --mailbox, and this belongs to no inbox")]
    NoInbox,
}

impl ToolFilter {
    /// Returns why this tool is not shown to a key with these scopes, if it is not.
    pub fn hides(&self, operation: Operation, scopes: &[Scope]) -> Option<ToolHidden> {
        let name = operation.tool_name().unwrap_or_default();
        if !operation.is_allowed_by(scopes) {
            Some(ToolHidden::Scope(operation.scope().clone()))
        } else if self.read_only && *operation.scope() != Scope::Read {
            Some(ToolHidden::ReadOnly)
        } else if self.except.iter().any(|one| one == name) {
            Some(ToolHidden::Excluded)
        } else if !self.only.is_empty() && !self.only.iter().any(|one| one == name) {
            Some(ToolHidden::NotNamed)
        } else if self.in_inboxes && operation == Operation::RecordSent {
            Some(ToolHidden::NoInbox)
        } else {
            None
        }
    }
}
