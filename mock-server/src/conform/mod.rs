//! The rules of the API as black-box checks over HTTP, for any implementation: the mock, the service's sandbox, or whatever
//! else claims to speak this API.
//!
//! The suite knows no implementation: it sends raw requests and reads raw JSON. Each rule is a value with an id that does
//! not change, the section of the document that it comes from, what it needs, and a check.
//!
//! ```
//! use shared_inbox_mock::{MockServer, conform::Conform};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mock = MockServer::start().await;
//! let report = Conform::new(mock.base_url(), mock.test_key()).only(["4.4"]).run().await?;
//! assert!(report.conforms(), "{report}");
//! # Ok(())
//! # }
//! ```

mod cli;
mod control;
mod diff;
mod fixtures;
mod http;
mod junit;
mod pace;
mod preflight;
mod receiver;
mod reply;
mod report;
mod rule;
mod rules;
mod session;
mod shape;
mod stop;
mod suite;

use std::{fmt, sync::Arc};

use shared_inbox::{Clock, TokioClock};

pub(crate) use cli::ConformCli;
pub use diff::{Change, diff};
pub use report::{Report, RuleReport, RuleResult, Verdict};
pub use rule::Kind;
pub use suite::{Plan, Prepared};

/// Requests a minute, unless set.
const DEFAULT_BUDGET: u32 = 120;

/// Why the suite could not run. Nothing is known about the implementation then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CannotRun(String);

/// A rule, without its check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleInfo {
    /// Does not change between versions.
    pub id: String,
    /// The most specific section of the document.
    pub section: String,
    /// Whether the document demands it.
    pub kind: Kind,
    /// What the document says or leaves open, in a sentence.
    pub says: String,
    /// What it takes to try it: `reads`, `sandbox` or `control`.
    pub needs: String,
}

/// Settings of a run.
#[derive(Clone)]
#[must_use]
pub struct Conform {
    base_url: String,
    key: String,
    control_url: Option<String>,
    control_token: Option<String>,
    find_control: bool,
    read_only: bool,
    only: Vec<String>,
    skip: Vec<String>,
    budget: u32,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Conform {
    /// Without the key and the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conform").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

impl Conform {
    /// Tries every rule that can be tried against the service at `base_url` (the prefix that ends in `/api/v1`) with this test key.
    ///
    /// Where a control API answers below the same address it is used, in worlds of the run's own.
    pub fn new(base_url: impl Into<String>, key: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            key: key.into(),
            control_url: None,
            control_token: None,
            find_control: true,
            read_only: false,
            only: Vec::new(),
            skip: Vec::new(),
            budget: DEFAULT_BUDGET,
            clock: Arc::new(TokioClock),
        }
    }

    /// Uses the control API at this address.
    pub fn control_url(mut self, url: impl Into<String>) -> Self {
        self.control_url = Some(url.into());
        self
    }

    /// The bearer token of the control API.
    pub fn control_token(mut self, token: impl Into<String>) -> Self {
        self.control_token = Some(token.into());
        self
    }

    /// Does without a control API even where there is one, as against the sandbox of a real service.
    pub fn sandbox_only(mut self) -> Self {
        self.find_control = false;
        self
    }

    /// Sends GET requests only. A live key is accepted then.
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Tries these alone: ids of rules, or sections such as `4.4` or `6`.
    pub fn only<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.only.extend(names.into_iter().map(Into::into));
        self
    }

    /// Leaves these out: ids of rules, or sections.
    pub fn skip<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.skip.extend(names.into_iter().map(Into::into));
        self
    }

    /// Requests a minute with one key; 120 unless set.
    pub fn budget(mut self, requests_per_minute: u32) -> Self {
        self.budget = requests_per_minute.max(1);
        self
    }

    /// What waits are measured and spent by, where there is no control API; real time unless set.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Every rule, in the order of the document.
    #[must_use]
    pub fn rules() -> Vec<RuleInfo> {
        rules::all().rules.iter().map(suite::info).collect()
    }

    /// Looks whether the suite can run: one `GET /me`, and then whether there is a control API.
    ///
    /// # Errors
    ///
    /// When it cannot: no such service, a key that must not be used, a name that is not a rule's.
    pub async fn prepare(self) -> Result<Prepared, CannotRun> {
        suite::prepare(self).await
    }

    /// Prepares and runs.
    ///
    /// # Errors
    ///
    /// When the suite cannot run, or the service is gone before it has ended.
    pub async fn run(self) -> Result<Report, CannotRun> {
        self.prepare().await?.run(|_| ()).await
    }
}
