//! The parts that run a request. Shared by every clone of a client; a client with other headers has its own,
//! and shares the learned state.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::OnceCell;

use super::contact::Contact;
use crate::Me;
use crate::client::config::BaseUrl;
use crate::client::create_state::{CreateLog, Reads, ServiceClock};
use crate::client::once::OnceSettings;
use crate::client::policy::{Clock, KeyFingerprint, Options, RateLimiter};

#[derive(Clone)]
pub(crate) struct Core {
    pub(crate) http: reqwest::Client,
    pub(crate) base: BaseUrl,
    pub(crate) authorization: HeaderValue,
    pub(crate) key: KeyFingerprint,
    pub(crate) user_agent: HeaderValue,
    pub(crate) test_key: bool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limiter: Arc<dyn RateLimiter>,
    pub(crate) options: Options,
    pub(crate) max_body: usize,
    pub(crate) first_connection_timeout: Duration,
    pub(crate) check_scopes: bool,
    pub(crate) service_clock: Arc<ServiceClock>,
    pub(crate) reads: Arc<Reads>,
    pub(crate) create_log: Arc<CreateLog>,
    pub(crate) contact: Arc<Contact>,
    /// The store of `once` keys.
    pub(crate) once: Option<Arc<OnceSettings>>,
    /// The response to `GET /me`, once it was requested.
    pub(crate) me: Arc<OnceCell<Me>>,
}
