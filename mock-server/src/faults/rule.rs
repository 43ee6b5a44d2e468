//! Rules: which requests or webhooks fail, how often and for how long.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared_inbox::{AgentId, Nullable, Problems};
use shared_inbox_webhooks::EventKind;

use super::{Effect, routes};
use crate::json::nearest::did_you_mean;

/// A rule: which requests or webhooks fail, and how.
///
/// ```
/// use shared_inbox_mock::{Effect, FaultRule};
///
/// // The next note is added, and its response never arrives.
/// let rule = FaultRule::new(Effect::drop_after()).method("POST").path("/conversations/*/notes");
/// assert_eq!(
///     serde_json::to_value(&rule).unwrap(),
///     serde_json::json!({
///         "method": "POST", "path": "/conversations/*/notes",
///         "skip": 0, "times": 1, "probability": 1.0, "effect": { "drop": "after" },
///     }),
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct FaultRule {
    /// Only requests with this method.
    pub method: Option<String>,
    /// Only requests with this path behind the base URL; `*` stands for one segment, `/mcp` is the MCP
    /// endpoint.
    pub path: Option<String>,
    /// Only requests of this agent's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Only calls of this MCP tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only requests with these query parameters; `*` stands for any run of characters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Only requests whose body, or whose arguments of a tool, have these fields; a text is looked for in the
    /// body as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Applies to the attempts of this webhook instead of requests; `*` is all webhooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// Only webhooks with this type of event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = crate::json::words::or_null(EventKind::TYPES))))]
    pub event: Option<String>,
    /// Skips this many matches first.
    #[serde(default)]
    pub skip: u64,
    /// How often it fires; null is always. Once when it is left out, or always with `forSeconds`.
    #[serde(default)]
    pub times: Nullable<u64>,
    /// The probability that it fires for a match, from 0 to 1.
    #[serde(default = "default_probability")]
    pub probability: f64,
    /// The seed of its random generator; another seed picks other matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How long the rule applies, in seconds of the world's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<f64>,
    /// What happens instead of the regular response.
    pub effect: Effect,
}

const WEBHOOK_PREFIX: &str = "whk_";

/// Returns whether a pattern could match the id of a webhook; `*` stands for any run of characters.
fn may_be_webhook(pattern: &str) -> bool {
    let begins = match pattern.split_once('*') {
        Some((head, _)) => WEBHOOK_PREFIX.starts_with(head) || head.starts_with(WEBHOOK_PREFIX),
        None => pattern.starts_with(WEBHOOK_PREFIX),
    };
    begins && pattern.chars().all(|c| c.is_ascii_alphanumeric() || "_-*".contains(c))
}

fn default_probability() -> f64 {
    1.0
}

impl FaultRule {
    /// Returns a rule for the next request of any kind.
    pub fn new(effect: Effect) -> Self {
        Self {
            method: None,
            path: None,
            agent_id: None,
            tool: None,
            query: BTreeMap::new(),
            body: None,
            webhook: None,
            event: None,
            skip: 0,
            times: Nullable::Value(1),
            probability: default_probability(),
            seed: None,
            for_seconds: None,
            effect,
        }
    }

    /// Returns a rule for the next attempt of any webhook.
    pub fn webhooks(effect: Effect) -> Self {
        Self { webhook: Some("*".to_owned()), ..Self::new(effect) }
    }

    setters! {
        /// Only requests with this method.
        method(method: impl Into<String>) => method = Some(method.into());
        /// Only requests with this path behind the base URL.
        path(path: impl Into<String>) => path = Some(path.into());
        /// Only requests of this agent's key.
        agent(agent: AgentId) => agent_id = Some(agent);
        /// Only calls of this MCP tool.
        tool(tool: impl Into<String>) => tool = Some(tool.into());
        /// Only requests with this query parameter.
        query(name: impl Into<String>, value: impl Into<String>) => query.insert(name.into(), value.into());
        /// Only requests whose body has these fields.
        body(fields: Value) => body = Some(fields);
        /// Only attempts of this webhook.
        webhook(webhook: impl Into<String>) => webhook = Some(webhook.into());
        /// Only webhooks with this type of event.
        event(kind: impl Into<String>) => event = Some(kind.into());
        /// Skips the first matches.
        skip(skip: u64) => skip = skip;
        /// Fires this many times.
        times(times: u64) => times = Nullable::Value(times);
        /// Fires for all matches.
        always() => times = Nullable::Null;
        /// Fires with this probability, from 0 to 1.
        probability(probability: f64) => probability = probability;
        /// Sets the seed of the random generator.
        seed(seed: u64) => seed = Some(seed);
    }

    /// Fires for this share of all matches, from 0 to 1, picked at random.
    pub fn share(self, share: f64) -> Self {
        self.always().probability(share)
    }

    /// Fires for all matches during this span of the world's clock.
    pub fn lasting(mut self, span: Duration) -> Self {
        self.for_seconds = Some(span.as_secs_f64());
        self.always()
    }

    /// Returns the problems of the rule.
    pub(crate) fn problems(&self) -> Problems {
        let mut problems = Problems::default();
        if !(0.0..=1.0).contains(&self.probability) {
            problems.push("probability", "must be from 0 to 1");
        }
        if self.times == Nullable::Value(0) {
            problems.push("times", "must be 1 or more, or null for always");
        }
        let span = self.for_seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
        if span.is_some_and(|span| span.is_zero()) {
            problems.push("forSeconds", "must be a number of seconds, more than 0");
        }
        if self.webhook.is_none() && self.event.is_some() {
            problems.push("event", "goes with `webhook`; name one, or `*` for all");
        }
        if self.webhook.as_deref().is_some_and(|id| !may_be_webhook(id)) {
            problems.push("webhook", "must be the id of a webhook, `whk_…`, or `*` for all");
        }
        if let Some(name) = self.event.as_deref().filter(|name| !EventKind::TYPES.contains(name)) {
            let hint = did_you_mean(name, EventKind::TYPES.iter().copied());
            problems
                .push("event", format!("must be one of {}, not {name}{hint}", EventKind::TYPES.join(", ")));
        }
        let of_requests = [
            ("method", self.method.is_some()),
            ("path", self.path.is_some()),
            ("agentId", self.agent_id.is_some()),
            ("tool", self.tool.is_some()),
            ("query", !self.query.is_empty()),
            ("body", self.body.is_some()),
        ];
        if self.webhook.is_some() {
            for (field, _) in of_requests.iter().filter(|(_, given)| *given) {
                problems.push(*field, "is about requests, and does not go with `webhook`");
            }
        } else {
            routes::check(self.method.as_deref(), self.path.as_deref(), self.tool.as_deref(), &mut problems);
        }
        self.effect.check(self.webhook.is_some(), &mut problems);
        problems
    }
}
