//! The connection to the service: made by the first call, and made again when the service refuses the key and
//! there is another.

use std::{
    error::Error as _,
    io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use shared_inbox::{Client, Me, Scope, once::FileStore, retry::RetryPolicy};
use tokio::sync::Mutex;

use crate::{
    digest::Digest,
    settings::{OpenedAccess, ServiceAccess},
};

/// How long a caller waits for `GET /me`.
const ME_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a caller waits for a person to unlock the key store.
const UNLOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// A client, and whose key it uses.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) me: Me,
    /// Distinguishes the key from another.
    pub(super) key: Option<Digest>,
    /// Whether what may have been made is kept over a restart.
    pub(super) remembers: bool,
}

impl Connection {
    pub(super) fn scopes(&self) -> &[Scope] {
        &self.me.scopes
    }
}

/// Connects on demand, and keeps the connection.
pub(super) struct Connector {
    access: ServiceAccess,
    /// The state folder, once it is open.
    store: Arc<OnceLock<FileStore>>,
    made: Mutex<Option<Arc<Connection>>>,
}

impl Connector {
    pub(super) fn new(access: ServiceAccess) -> Self {
        Self { access, store: Arc::default(), made: Mutex::default() }
    }

    /// Returns the connection, and connects first if necessary. The error is for people, with advice.
    pub(super) async fn get(&self) -> Result<Arc<Connection>, String> {
        let mut made = self.made.lock().await;
        if let Some(connection) = &*made {
            return Ok(connection.clone());
        }
        let connection = connect(self.open().await?).await?;
        Ok(made.insert(connection).clone())
    }

    pub(super) async fn made(&self) -> Option<Arc<Connection>> {
        self.made.lock().await.clone()
    }

    /// Connects again after the service refused the key of this connection. None: there is no other key, or
    /// it does not work either.
    pub(super) async fn renew(&self, refused: &Connection) -> Option<Arc<Connection>> {
        let mut made = self.made.lock().await;
        match &*made {
            // Another call was first.
            Some(connection) if connection.key != refused.key => return Some(connection.clone()),
            _ => {}
        }
        let replaced = match self.open().await {
            Ok(opened) if opened.key == refused.key => return None,
            Ok(opened) => connect(opened).await,
            Err(why) => Err(why),
        };
        let connection = replaced.inspect_err(|why| tracing::warn!("the key was replaced: {why}")).ok()?;
        Some(made.insert(connection).clone())
    }

    /// Finds the key, aside: a key store may ask a person to unlock it.
    async fn open(&self) -> Result<OpenedAccess, String> {
        let (access, store) = (self.access.clone(), self.store.clone());
        let opening = tokio::task::spawn_blocking(move || access.open(&store));
        match tokio::time::timeout(UNLOCK_TIMEOUT, opening).await {
            Ok(opened) => opened.map_err(|_| "The key could not be read.".to_owned())?,
            Err(_) => Err("This system's key store did not respond: unlock it, and call again.".to_owned()),
        }
    }
}

async fn connect(OpenedAccess { client, key }: OpenedAccess) -> Result<Arc<Connection>, String> {
    // Few attempts: a client that waits for the list of tools should get an error soon, and the next call
    // tries again.
    let call = client.me().deadline(ME_TIMEOUT).retry(RetryPolicy::default().attempts(2));
    let me = call.await.map_err(|error| explain(&error))?;
    tracing::info!(agent = %me.agent.id, scopes = ?me.scopes, livemode = ?me.livemode, "connected to the service");
    let unresolved = client.once_records().await;
    match &unresolved {
        Ok(records) if records.is_empty() => {}
        Ok(records) => {
            tracing::warn!(
                "of {} earlier it is not known whether they took effect; see doctor",
                records.len()
            );
        }
        Err(error) if error.is_config() => {}
        Err(error) => tracing::warn!("the state folder cannot be read, see doctor: {error}"),
    }
    // A folder that cannot be read is no reason to do without one: what it holds may be what is about to be
    // made.
    let remembers = !unresolved.is_err_and(|error| error.is_config());
    if remembers {
        // A bridge that was killed may have left words of what was made.
        let client = client.clone();
        tokio::spawn(async move { client.purge_once_records().await });
    }
    Ok(Arc::new(Connection { client, me, key, remembers }))
}

/// Returns what went wrong, and what a person can do about it.
pub fn explain(error: &shared_inbox::Error) -> String {
    let advice = if error.is_unauthorized() {
        " Put a valid key where `doctor` says that it comes from: into the file of --api-key-file, SHARED_INBOX_API_KEY, or the \
         key store of this system (`key set`)."
    } else if error.is_connect() {
        return format!(
            "{}. The base URL comes from SHARED_INBOX_BASE_URL or --base-url.",
            no_connection(error)
        );
    } else if error.is_rate_limited() || error.is_rate_limited_locally() {
        " Others use the key too, or too much was asked at once: wait a minute."
    } else if error.is_server_error() || error.is_timeout() || error.is_dropped() {
        " Try again shortly."
    } else {
        ""
    };
    format!("{}.{advice}", without_requests(&error.to_string()).trim_end_matches('.'))
}

/// Returns a sentence of the client without methods and paths, which mean nothing to its reader.
fn without_requests(sentence: &str) -> String {
    let is_method = |word: &str| matches!(word, "GET" | "POST" | "PUT" | "PATCH" | "DELETE");
    let mut words = sentence.split(' ').peekable();
    let mut kept: Vec<&str> = Vec::new();
    while let Some(word) = words.next() {
        if is_method(word)
            && let Some(path) = words.next_if(|next| next.starts_with('/'))
        {
            // At the beginning it names the call, which the caller knows.
            if !(kept.is_empty() && path.ends_with(':')) {
                kept.push("a request");
            }
            continue;
        }
        kept.push(word);
    }
    kept.join(" ")
}

fn no_connection(error: &shared_inbox::Error) -> &'static str {
    let mut source = error.source();
    while let Some(error) = source {
        let said = error.to_string();
        match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => {
                return "no connection: nothing listens at this host and port";
            }
            _ if said.starts_with("dns error") => return "no connection: the host's name is not known",
            _ if said.contains("InvalidContentType") => {
                return "no connection: the service at this port does not speak TLS, and the address begins with https";
            }
            _ if said.contains("certificate") => {
                return "no connection: the service's certificate is not trusted on this machine";
            }
            _ => source = error.source(),
        }
    }
    "no connection could be made; check the network"
}
