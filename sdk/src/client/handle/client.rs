//! The client itself: what its clones share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Scope;
use crate::client::call::identity;
use crate::client::engine::Core;
use crate::client::error::Result;

/// The client. Cheap to clone; clones share connections, the rate limit and what is known about creates under
/// way.
#[derive(Clone)]
pub struct Client {
    pub(super) core: Arc<Core>,
}

impl Client {
    /// Returns the base URL, without a slash at the end.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.core.base.as_str()
    }

    /// Returns how long the service may take to show what it has created; see
    /// [`ClientBuilder::visibility_timeout`](crate::ClientBuilder::visibility_timeout).
    #[must_use]
    pub fn visibility_timeout(&self) -> Duration {
        self.core.options.visibility_timeout
    }

    /// Returns a client that sends this header with every request, for work that others trace. It shares with
    /// this one what clones share. A header that the client sets itself, or one that is malformed, is an
    /// error of each call.
    #[must_use]
    pub fn with_header(&self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        let mut core = Core::clone(&self.core);
        core.options.headers.set(name.as_ref(), value.as_ref());
        Self { core: Arc::new(core) }
    }

    /// Returns whether the key is one for the sandbox.
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.core.test_key
    }

    /// Returns what the key may do. Requested once and cached, since the scopes of a key cannot change.
    ///
    /// # Errors
    ///
    /// When they are not known yet and `GET /me` fails.
    pub async fn scopes(&self) -> Result<&[Scope]> {
        Ok(&identity(&self.core, &self.core.options).await?.scopes)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base_url", &self.base_url()).finish_non_exhaustive()
    }
}
