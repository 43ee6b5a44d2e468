//! Why a check ended before its end.

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
pub(super) enum EarlyEnd {
    /// The implementation differs from the rule.
    Differs(Box<Difference>),
    /// The rule cannot be tried here, and why.
    NotTried(String),
    /// The service is gone or refuses everything: the whole run ends.
    Gone(String),
}

impl EarlyEnd {
    pub(super) fn differs(
        request: impl Into<String>,
        expected: impl Into<String>,
        received: impl Into<String>,
    ) -> Self {
        let difference =
            Difference { request: request.into(), expected: expected.into(), received: received.into() };
        Self::Differs(Box::new(difference))
    }

    pub(super) fn not_tried(why: impl Into<String>) -> Self {
        Self::NotTried(why.into())
    }
}
