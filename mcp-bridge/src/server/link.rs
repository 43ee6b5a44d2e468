//! The link to the service: made once, and tried again by every call until it is there.

use std::{sync::Arc, time::Duration};

use shared_inbox::{Client, Me, RetryPolicy, Scope};
use tokio::sync::OnceCell;

use crate::settings::Access;

/// How long a caller waits to hear whose key it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// A client, and whose key it uses.
pub(super) struct Linked {
    pub(super) client: Client,
    pub(super) me: Me,
}

impl Linked {
    pub(super) fn scopes(&self) -> &[Scope] {
        &self.me.scopes
    }
}

/// The link, made or not.
pub(super) struct Link {
    access: Access,
    made: OnceCell<Arc<Linked>>,
}

impl Link {
    pub(super) fn new(access: Access) -> Self {
        Self { access, made: OnceCell::new() }
    }

    /// The link, which is made now if it was not before. The error is for people, and says what to do.
    pub(super) async fn get(&self) -> Result<&Arc<Linked>, String> {
        self.made.get_or_try_init(|| self.make()).await
    }

    async fn make(&self) -> Result<Arc<Linked>, String> {
        let client = self.access.connect()?;
        // Few attempts: a client that waits for the list of tools is better told soon, and the next call tries again.
        let call = client.me().deadline(PATIENCE).retry(RetryPolicy::default().attempts(2));
        let me = call.await.map_err(|error| explain(&error))?;
        tracing::info!(agent = %me.agent.id, scopes = ?me.scopes, livemode = ?me.livemode, "linked to the service");
        Ok(Arc::new(Linked { client, me }))
    }
}

/// What went wrong, and what a person can do about it.
pub(crate) fn explain(error: &shared_inbox::Error) -> String {
    let advice = if error.is_unauthorized() {
        " Put a valid key into SHARED_INBOX_API_KEY or into the file of --api-key-file."
    } else if error.is_connect() {
        " The base URL comes from SHARED_INBOX_BASE_URL or --base-url."
    } else if error.is_rate_limited() || error.is_busy() {
        " Others use the key too, or too much was asked at once: wait a minute."
    } else if error.is_server_error() || error.is_timeout() || error.is_dropped() {
        " Try again shortly."
    } else {
        ""
    };
    let said = error.to_string();
    format!("{}.{advice}", said.trim_end_matches('.'))
}
