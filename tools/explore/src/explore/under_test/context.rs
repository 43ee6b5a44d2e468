//! What the app is told about its world.

use std::{fmt, path::PathBuf};

use shared_inbox::Timestamp;
use shared_inbox_mock::Ready;

/// What the app is told about the world that it works in.
#[derive(Clone)]
#[non_exhaustive]
pub struct AppContext {
    /// The prefix of the REST API.
    pub base_url: String,
    /// Its key.
    pub key: String,
    /// A folder that lives as long as the schedule, over all runs.
    pub state_dir: PathBuf,
    /// The world's time at the start of the run, which the `Date` of each response has too.
    pub time: Timestamp,
    /// Of a server: the port of 127.0.0.1 on which it receives webhooks.
    pub port: Option<u16>,
    /// Of a server: the secret that webhooks are signed with.
    pub webhook_secret: Option<String>,
    /// All addresses of the world.
    pub(crate) ready: Ready,
}

impl fmt::Debug for AppContext {
    /// Without the key and the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppContext").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}
