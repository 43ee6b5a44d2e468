//! Failures on demand: rules for which requests and webhooks fail, and how.
//!
//! Rules are matched after a request has been read and before it has any effect, so that REST and MCP behave
//! alike, and when a webhook's attempt is due. `rule` selects, `effect` fails, `latency` delays; `bundles`
//! has named sets of rules. Each rule has a seeded random generator, so the same calls fail in every run.

mod bundles;
mod effect;
mod latency;
pub(crate) mod routes;
mod rule;

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::Value;
use shared_inbox::{AgentId, Nullable, Timestamp};

use crate::json::{matching, read::read_body};
use crate::world::{AttemptRequest, IdGenerator};

pub use bundles::Bundle;
pub use effect::{ControlCall, Effect};
pub(crate) use effect::{FaultAction, FaultTiming};
pub use latency::Latency;
pub use rule::FaultRule;

impl FaultRule {
    fn matches(&self, request: &RequestParts<'_>) -> bool {
        self.webhook.is_none()
            && self.method.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(request.method))
            && self.path.as_ref().is_none_or(|pattern| path_matches(pattern, request.path))
            && self.agent_id.as_ref().is_none_or(|wanted| request.agent == Some(wanted))
            && self.query.iter().all(|(name, wanted)| request.has_query(name, wanted))
            && self.tool.as_ref().is_none_or(|wanted| request.tool().as_ref() == Some(wanted))
            && self.body.as_ref().is_none_or(|wanted| request.has_body(wanted))
    }

    fn matches_delivery(&self, request: &AttemptRequest) -> bool {
        self.webhook.as_ref().is_some_and(|wanted| matching::text_matches(wanted, request.endpoint.as_str()))
            && self.event.as_ref().is_none_or(|wanted| *wanted == request.kind)
    }
}

/// The parts of a request that rules match.
pub(crate) struct RequestParts<'a> {
    pub(crate) method: &'a str,
    /// The path behind the base URL.
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) agent: Option<&'a AgentId>,
    pub(crate) body: &'a [u8],
}

impl RequestParts<'_> {
    fn has_query(&self, name: &str, wanted: &str) -> bool {
        form_urlencoded::parse(self.query.as_bytes())
            .any(|(given, value)| given == name && matching::text_matches(wanted, &value))
    }

    fn json(&self) -> Value {
        read_body(self.body).unwrap_or_default()
    }

    fn tool(&self) -> Option<String> {
        let message = (self.path == "/mcp").then(|| self.json())?;
        (message["method"] == "tools/call").then(|| message["params"]["name"].as_str().map(str::to_owned))?
    }

    fn has_body(&self, wanted: &Value) -> bool {
        if let Value::String(text) = wanted {
            return String::from_utf8_lossy(self.body).contains(text.as_str());
        }
        let json = self.json();
        let body = if self.path == "/mcp" { &json["params"]["arguments"] } else { &json };
        matching::matches(wanted, body)
    }
}

fn path_matches(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some("*"), Some(segment)) if !segment.is_empty() => {}
            (Some(wanted), Some(segment)) if wanted == segment => {}
            _ => return false,
        }
    }
}

/// A rule that was added, and how often it has fired.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use shared_inbox_mock::{Effect, FaultRule, MockServer};
///
/// let mock = MockServer::start().await;
/// mock.control().add_fault(FaultRule::new(Effect::status(500)).path("/me").times(2)).await?;
/// mock.client().me().await?; // The client retries until it succeeds.
/// assert_eq!(mock.control().faults().await[0].fired, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fault {
    /// Its id.
    pub id: String,
    /// The bundle that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// The rule.
    #[serde(flatten)]
    pub rule: FaultRule,
    /// How many requests or deliveries it has matched while it could fire, with those that it skipped.
    pub matched: u64,
    /// How often it has fired.
    pub fired: u64,
    /// The statuses of the control calls that it has made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acted: Vec<u16>,
    /// When it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    #[serde(skip)]
    rng: IdGenerator,
}

impl Fault {
    /// Counts a match; returns whether the rule fires for it.
    fn fires(&mut self) -> bool {
        self.matched += 1;
        let rule = &self.rule;
        if self.matched <= rule.skip || (rule.probability < 1.0 && self.rng.next_f64() >= rule.probability) {
            return false;
        }
        self.fired += 1;
        true
    }

    /// Returns whether it fired, and control calls of it that were made were not all refused: those set
    /// nothing up.
    fn had_effect(&self) -> bool {
        self.fired > 0 && (self.acted.is_empty() || self.acted.iter().any(|status| *status < 400))
    }

    fn describe_unused(&self) -> String {
        let Self { id, rule, matched, .. } = self;
        let what = match (&self.bundle, &rule.webhook) {
            (Some(bundle), _) => format!("the bundle {bundle}"),
            (None, Some(webhook)) => {
                format!("webhook {webhook} {}", rule.event.as_deref().unwrap_or_default())
            }
            (None, None) => {
                let parts = [&rule.method, &rule.path, &rule.tool].into_iter().flatten().map(String::as_str);
                parts.collect::<Vec<_>>().join(" ")
            }
        };
        let why = match (self.acted.first(), matched) {
            (Some(status), _) => format!("set nothing up: its control calls were refused, with {status}"),
            (None, 0) => "never fired: nothing matched it".to_owned(),
            (None, _) => format!("never fired: {matched} matched it, and it skips the first {}", rule.skip),
        };
        let what = if what.is_empty() { what } else { format!(" ({})", what.trim()) };
        format!("the fault {id}{what} {why}")
    }

    fn is_over(&self, now: Timestamp) -> bool {
        self.rule.times.get().is_some_and(|times| self.fired >= *times)
            || self.until.is_some_and(|until| now >= until)
    }

    fn draw_match(&mut self) -> FaultMatch {
        let Effect { act, latency, headers } = self.rule.effect.clone();
        let delay = latency.map(|latency| latency.sample(&mut self.rng)).unwrap_or_default();
        FaultMatch { id: self.id.clone(), act, delay, headers, calls: Vec::new() }
    }
}

/// The effect of a rule that fired.
#[derive(Debug, Clone)]
pub(crate) struct FaultMatch {
    /// The id of the rule, the last one if several fired.
    pub(crate) id: String,
    pub(crate) act: FaultAction,
    pub(crate) delay: Duration,
    pub(crate) headers: BTreeMap<String, String>,
    /// The control calls to make, each group with the id of its rule.
    pub(crate) calls: Vec<(String, FaultTiming, Vec<ControlCall>)>,
}

impl FaultMatch {
    /// Combines two effects.
    fn and(mut self, other: Self) -> Self {
        self.calls.extend(other.calls);
        self.headers.extend(other.headers);
        Self { delay: self.delay + other.delay, headers: self.headers, calls: self.calls, ..other }
    }
}

/// The rules of one world in the order in which they were added; the first that fires applies.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) rules: Vec<Fault>,
    /// Rules that were removed before they had an effect.
    removed: Vec<Fault>,
    added: u64,
}

/// How many rules that were removed before they had an effect are kept.
const MAX_REMOVED: usize = 100;

impl Faults {
    /// Adds a rule, which may be part of a bundle.
    pub(crate) fn add(&mut self, mut rule: FaultRule, bundle: Option<String>, now: Timestamp) -> Fault {
        self.added += 1;
        if rule.times.is_missing() {
            rule.times = if rule.for_seconds.is_some() { Nullable::Null } else { Nullable::Value(1) };
        }
        let span = rule.for_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let fault = Fault {
            id: format!("flt_{}", self.added),
            bundle,
            matched: 0,
            fired: 0,
            acted: Vec::new(),
            until: span.map(|span| now + span),
            rng: IdGenerator::seeded(rule.seed.unwrap_or(self.added)),
            rule,
        };
        self.rules.push(fault.clone());
        fault
    }

    /// Removes the rules that match; returns whether there was one.
    pub(crate) fn remove(&mut self, matches: impl Fn(&Fault) -> bool) -> bool {
        let before = self.rules.len();
        let removed = self.rules.extract_if(.., |fault| matches(fault)).filter(|fault| !fault.had_effect());
        self.removed.extend(removed);
        self.removed.truncate(MAX_REMOVED);
        self.rules.len() < before
    }

    /// Returns a sentence about each rule without an effect, removed or not. One that fires by chance counts
    /// when it had the chance; the rules of a bundle count together.
    pub(crate) fn unused(&self) -> Vec<String> {
        let all = || self.removed.iter().chain(&self.rules);
        let had_chance = |fault: &Fault| {
            fault.had_effect() || (fault.rule.probability < 1.0 && fault.fired == 0 && fault.matched > 0)
        };
        let unused = all().filter(|fault| match &fault.bundle {
            None => !had_chance(fault),
            Some(bundle) => {
                let mut rules = all().filter(|other| other.bundle.as_ref() == Some(bundle));
                let first = rules.clone().next().is_some_and(|first| first.id == fault.id);
                first && !rules.any(|other| other.matched > 0)
            }
        });
        unused.map(Fault::describe_unused).collect()
    }

    /// Returns the effect on a request, if any. The first rule that fires applies; a rule that makes control
    /// calls leaves the request to the rules after it.
    pub(crate) fn match_request(&mut self, request: &RequestParts<'_>, now: Timestamp) -> Option<FaultMatch> {
        let mut picked: Option<FaultMatch> = None;
        for it in &mut self.rules {
            if it.is_over(now) || !it.rule.matches(request) || !it.fires() {
                continue;
            }
            let mut matched = it.draw_match();
            let mut last = true;
            if let FaultAction::Control { calls, when } = matched.act {
                matched.calls.push((it.id.clone(), when, calls));
                matched.act = FaultAction::Answer;
                last = false;
            }
            picked = Some(match picked {
                None => matched,
                Some(earlier) => earlier.and(matched),
            });
            if last {
                break;
            }
        }
        picked
    }

    /// Records the statuses of the control calls of a rule.
    pub(crate) fn record_statuses(&mut self, id: &str, statuses: &[u16]) {
        if let Some(fault) = self.rules.iter_mut().find(|fault| fault.id == id) {
            fault.acted.extend_from_slice(statuses);
        }
    }

    /// Returns the effect on a webhook's attempt, if any. An attempt that was delayed before is not delayed
    /// again.
    pub(crate) fn match_delivery(&mut self, request: &AttemptRequest, now: Timestamp) -> Option<FaultMatch> {
        let mut rules = self.rules.iter_mut();
        rules.find_map(|it| {
            let again =
                request.held && matches!(it.rule.effect.act, FaultAction::Swap | FaultAction::Late(_));
            (!again && !it.is_over(now) && it.rule.matches_delivery(request) && it.fires())
                .then(|| it.draw_match())
        })
    }
}
