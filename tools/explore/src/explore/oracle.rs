//! The rules that an app is held against.

use std::fmt;

use serde::Serialize;

/// The rule that was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Oracle {
    /// Conversations end as in the run without trouble.
    SameEnd,
    /// No customer gets the same text twice, and no note stands twice.
    NeverTwice,
    /// Every mail that the run without trouble answered is answered.
    NobodyForgotten,
    /// What a person decided counts.
    PersonsWord,
    /// No request that the service refuses, no flood of requests, no endless loop, no crash.
    WellBehaved,
    /// What the scenario expects.
    Expect,
}

impl Oracle {
    pub(crate) const ALL: [Self; 6] = [
        Self::SameEnd,
        Self::NeverTwice,
        Self::NobodyForgotten,
        Self::PersonsWord,
        Self::WellBehaved,
        Self::Expect,
    ];
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
