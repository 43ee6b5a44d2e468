//! Findings of the sorting helper about a conversation.

use serde::{Deserialize, Serialize};
use shared_inbox::{__spec::limits, Nullable, Timestamp, Urgency};

use crate::world::{Refusal, Result, World};

/// The findings of the sorting helper. A field that is left out stays as it is; null clears it.
///
/// ```
/// use shared_inbox::Urgency;
/// use shared_inbox_mock::world::SortingResult;
/// let found = SortingResult::new().topic("billing").urgency(Urgency::High).no_risk();
/// assert_eq!(
///     serde_json::to_value(found)?,
///     serde_json::json!({ "topic": "billing", "urgency": "high", "risk": null, "held": false }),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SortingResult {
    /// The topic.
    #[serde(default, skip_serializing_if = "Nullable::is_missing")]
    pub topic: Nullable<String>,
    /// The urgency: `low`, `normal` or `high`.
    #[serde(default, skip_serializing_if = "Nullable::is_missing")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>", extend("enum" = crate::json::words::or_null(Urgency::KNOWN))))]
    pub urgency: Nullable<Urgency>,
    /// A warning, such as `phishing`.
    #[serde(default, skip_serializing_if = "Nullable::is_missing")]
    pub risk: Nullable<String>,
    /// Up to three reasons for the warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_reasons: Option<Vec<String>>,
    /// Whether it is held as a likely scam, which emits `scout.held`.
    #[serde(default)]
    pub held: bool,
}

impl SortingResult {
    /// Returns findings that change nothing.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the topic.
        topic(topic: impl Into<String>) => topic = Nullable::Value(topic.into());
        /// Sets the urgency.
        urgency(urgency: Urgency) => urgency = Nullable::Value(urgency);
        /// Clears the warning.
        no_risk() => risk = Nullable::Null;
        /// Holds it as a likely scam.
        held() => held = true;
    }

    /// Sets a warning and its reasons.
    pub fn risk<R: Into<String>>(
        mut self,
        risk: impl Into<String>,
        reasons: impl IntoIterator<Item = R>,
    ) -> Self {
        self.risk = Nullable::Value(risk.into());
        self.risk_reasons = Some(reasons.into_iter().map(Into::into).collect());
        self
    }
}

/// Changes a field unless the new value is missing.
pub(crate) fn set<T>(field: &mut Option<T>, new: Nullable<T>) {
    match new {
        Nullable::Missing => {}
        Nullable::Null => *field = None,
        Nullable::Value(value) => *field = Some(value),
    }
}

impl World {
    /// Applies the findings of the sorting helper to a conversation.
    pub fn sort(&mut self, id: &str, found: SortingResult, now: Timestamp) -> Result<()> {
        let at = self.conversation_or_customer(id)?;
        if found.urgency.get().is_some_and(|urgency| !Urgency::KNOWN.contains(urgency)) {
            return Err(Refusal::field("urgency", "must be one of low, normal, high"));
        }
        if found.risk_reasons.as_ref().is_some_and(|reasons| reasons.len() > limits::RISK_REASONS) {
            return Err(Refusal::field("riskReasons", "must have at most 3 items"));
        }
        self.check_helpers_run(self.mailbox_of(at))?;
        let thread = &mut self.conversations[at];
        set(&mut thread.topic, found.topic);
        set(&mut thread.urgency, found.urgency);
        set(&mut thread.risk, found.risk);
        thread.risk_reasons = match (&thread.risk, found.risk_reasons) {
            (None, _) => Vec::new(),
            (Some(_), Some(reasons)) => reasons,
            (Some(_), None) => std::mem::take(&mut thread.risk_reasons),
        };
        if found.held {
            self.emit_held(at, now);
        }
        Ok(())
    }
}
