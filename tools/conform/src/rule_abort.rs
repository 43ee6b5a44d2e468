//! Why a check ended before its end.

use std::fmt;

/// A response that is not what the document demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// What was asked, without the key.
    pub(super) request: String,
    pub(super) expected: String,
    pub(super) received: String,
}

/// Why a check ended before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RuleAbort {
    /// The implementation differs from the rule.
    Differs(Box<Difference>),
    /// The settings of the run, or something optional that the service does not have, leave the rule untried.
    LeftOut(String),
    /// Something that the check relies on failed: a control call, a connection, the suite itself.
    Failed(String),
    /// The service is gone or refuses everything: the whole run ends.
    Gone(String),
}

/// Holds unless `ok` is false.
pub(super) fn must(
    ok: bool,
    request: impl Into<String>,
    expected: impl Into<String>,
    received: impl fmt::Display,
) -> Result<(), RuleAbort> {
    if ok { Ok(()) } else { Err(RuleAbort::differs(request, expected, received)) }
}

impl RuleAbort {
    pub(super) fn differs(
        request: impl Into<String>,
        expected: impl Into<String>,
        received: impl fmt::Display,
    ) -> Self {
        let difference =
            Difference { request: request.into(), expected: expected.into(), received: received.to_string() };
        Self::Differs(Box::new(difference))
    }

    pub(super) fn left_out(why: impl Into<String>) -> Self {
        Self::LeftOut(why.into())
    }

    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }
}
