//! The settings of a run.

use std::{fmt, sync::Arc};

use crate::{
    clock::{Clock, RealClock},
    profile::Profile,
};

/// Requests a minute, unless set.
const DEFAULT_BUDGET: u32 = 120;

/// Why the suite could not run. Nothing is known about the implementation then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CannotRun(pub(super) String);

/// Settings of a run.
#[derive(Clone)]
#[must_use]
pub struct Conform {
    pub(super) base_url: String,
    pub(super) key: String,
    pub(super) control_url: Option<String>,
    pub(super) control_token: Option<String>,
    pub(super) find_control: bool,
    pub(super) read_only: bool,
    pub(super) only: Vec<String>,
    pub(super) skip: Vec<String>,
    pub(super) profile: Profile,
    pub(super) max_not_tried: usize,
    pub(super) budget: u32,
    pub(super) seed: Option<u32>,
    pub(super) clock: Arc<dyn Clock>,
}

impl fmt::Debug for Conform {
    /// Without the key and the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conform").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

impl Conform {
    /// Tries every rule that can be tried against the service at `base_url` (the prefix that ends in
    /// `/api/v1`) with this test key.
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
            profile: Profile::Full,
            max_not_tried: 0,
            budget: DEFAULT_BUDGET,
            seed: None,
            clock: Arc::new(RealClock),
        }
    }

    /// Uses the control API at this address.
    pub fn control_url(mut self, url: impl Into<String>) -> Self {
        self.control_url = Some(url.into());
        self
    }

    /// Sets the bearer token of the control API.
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

    /// Tries the rules of this profile; [`Profile::Full`] unless set.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Allows this many rules to be not tried because something failed; 0 unless set. With more of them the
    /// verdict is [`Verdict::Incomplete`](crate::Verdict::Incomplete).
    pub fn max_not_tried(mut self, rules: usize) -> Self {
        self.max_not_tried = rules;
        self
    }

    /// Requests a minute with one key; 120 unless set.
    pub fn budget(mut self, requests_per_minute: u32) -> Self {
        self.budget = requests_per_minute.max(1);
        self
    }

    /// Sets what the words of a run are made from; the same seed sends the same requests. Another for each
    /// run unless set.
    pub fn seed(mut self, seed: u32) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets what waits are measured and spent by, where there is no control API; real time unless set.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}
