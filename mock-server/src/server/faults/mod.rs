//! Failures on demand: rules that say which requests and webhooks go wrong, and how.
//!
//! A rule is looked up once a request has been read and before anything is done with it, so that what a client sees is
//! the same on REST and MCP; and once a webhook's try has fallen due. [`effect`] says what goes wrong, [`latency`] how
//! late, [`bundles`] has sets of rules to switch on by name. Chance comes from seeded generators, one for each rule: the
//! same calls fail in every run.

mod bundles;
mod effect;
mod latency;

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use shared_inbox::{AgentId, EventKind, Timestamp};

use super::{matching, numbers};
use crate::world::{Ids, TryRequest};

pub use bundles::Bundle;
pub use effect::Effect;
pub(crate) use effect::{Act, When};
pub use latency::Latency;

/// A rule: which requests or webhooks go wrong, and how.
///
/// ```
/// use shared_inbox_mock::{Effect, FaultRule};
///
/// // The next note is taken, and the client never hears of it.
/// let rule = FaultRule::new(Effect::drop_after()).method("POST").path("/conversations/*/notes");
/// assert_eq!(
///     serde_json::to_value(&rule).unwrap(),
///     serde_json::json!({
///         "method": "POST", "path": "/conversations/*/notes",
///         "skip": 0, "times": 1, "probability": 1.0, "effect": { "drop": "after" },
///     }),
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", from = "Form")]
#[non_exhaustive]
pub struct FaultRule {
    /// Only requests with this method.
    pub method: Option<String>,
    /// Only requests with this path behind the base URL; `*` stands for one segment, `/mcp` is the MCP endpoint.
    pub path: Option<String>,
    /// Only requests of this agent's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Only calls of this MCP tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only requests with these query parameters; `*` stands for any run of characters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Only requests whose body, or whose arguments of a tool, have these fields; a text is looked for in the body as it
    /// came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Strikes the tries of this webhook instead of requests; `*` is all webhooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// Only webhooks that tell of this kind of event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// So many that match pass first.
    pub skip: u64,
    /// How often it fires; `None` is always.
    pub times: Option<u64>,
    /// How likely it fires for one that matches, from 0 to 1.
    pub probability: f64,
    /// What the chance starts from; another number gives another run of luck.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// For how many seconds it is there, on the world's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<f64>,
    /// What goes wrong.
    pub effect: Effect,
}

/// A rule as it is written.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "FaultRule")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Form {
    /// Only requests with this method.
    #[serde(default)]
    method: Option<String>,
    /// Only requests with this path behind the base URL; `*` stands for one segment, `/mcp` is the MCP endpoint.
    #[serde(default)]
    path: Option<String>,
    /// Only requests of this agent's key.
    #[serde(default)]
    agent_id: Option<AgentId>,
    /// Only calls of this MCP tool.
    #[serde(default)]
    tool: Option<String>,
    /// Only requests with these query parameters; `*` stands for any run of characters.
    #[serde(default)]
    query: BTreeMap<String, String>,
    /// Only requests whose body, or whose arguments of a tool, have these fields; a text is looked for in the body as it
    /// came.
    #[serde(default)]
    body: Option<Value>,
    /// Strikes the tries of this webhook instead of requests; `*` is all webhooks.
    #[serde(default)]
    webhook: Option<String>,
    /// Only webhooks that tell of this kind of event.
    #[serde(default)]
    event: Option<String>,
    /// So many that match pass first.
    #[serde(default)]
    skip: u64,
    /// How often it fires; null is always. Once unless said, or always when it has a span of time.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<u64>")]
    times: Option<Option<u64>>,
    /// How likely it fires for one that matches, from 0 to 1.
    #[serde(default = "certain")]
    probability: f64,
    /// What the chance starts from; another number gives another run of luck.
    #[serde(default)]
    seed: Option<u64>,
    /// For how many seconds it is there, on the world's clock.
    #[serde(default)]
    for_seconds: Option<f64>,
    /// What goes wrong.
    effect: Effect,
}

fn given<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(d).map(Some)
}

fn certain() -> f64 {
    1.0
}

impl From<Form> for FaultRule {
    fn from(form: Form) -> Self {
        let unsaid = if form.for_seconds.is_some() { None } else { Some(1) };
        Self {
            method: form.method,
            path: form.path,
            agent_id: form.agent_id,
            tool: form.tool,
            query: form.query,
            body: form.body,
            webhook: form.webhook,
            event: form.event,
            skip: form.skip,
            times: form.times.unwrap_or(unsaid),
            probability: form.probability,
            seed: form.seed,
            for_seconds: form.for_seconds,
            effect: form.effect,
        }
    }
}

impl FaultRule {
    /// The next request of any kind goes wrong in this way.
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
            times: Some(1),
            probability: certain(),
            seed: None,
            for_seconds: None,
            effect,
        }
    }

    /// The next try of any webhook goes wrong in this way.
    pub fn webhooks(effect: Effect) -> Self {
        Self { webhook: Some("*".to_owned()), ..Self::new(effect) }
    }

    /// Only requests with this method.
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// Only requests with this path behind the base URL.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Only requests of this agent's key.
    pub fn agent(mut self, agent: AgentId) -> Self {
        self.agent_id = Some(agent);
        self
    }

    /// Only calls of this MCP tool.
    pub fn tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Only requests with this query parameter.
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.insert(name.into(), value.into());
        self
    }

    /// Only requests whose body has these fields.
    pub fn body(mut self, fields: Value) -> Self {
        self.body = Some(fields);
        self
    }

    /// Only tries of this webhook.
    pub fn webhook(mut self, webhook: impl Into<String>) -> Self {
        self.webhook = Some(webhook.into());
        self
    }

    /// Only webhooks that tell of this kind of event.
    pub fn event(mut self, kind: impl Into<String>) -> Self {
        self.event = Some(kind.into());
        self
    }

    /// Lets so many that match pass first.
    pub fn skip(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    /// Fires so often.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Fires for all that match.
    pub fn always(mut self) -> Self {
        self.times = None;
        self
    }

    /// Fires for this share of all that match, from 0 to 1, as chance has it.
    pub fn share(self, share: f64) -> Self {
        self.always().probability(share)
    }

    /// Fires with this probability, from 0 to 1.
    pub fn probability(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    /// Another run of luck.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Fires for all that match, for so long on the world's clock.
    pub fn lasting(mut self, span: Duration) -> Self {
        self.for_seconds = Some(span.as_secs_f64());
        self.always()
    }

    /// What is wrong with the rule, if anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.probability) {
            return Err("probability: must be from 0 to 1".into());
        }
        if self.path.as_ref().is_some_and(|path| !path.starts_with('/')) {
            return Err("path: must start with `/`, as in `/conversations/*/notes`".into());
        }
        if self.for_seconds.is_some_and(|seconds| Duration::try_from_secs_f64(seconds).is_err()) {
            return Err("forSeconds: must be a number of seconds, 0 or more".into());
        }
        if self.webhook.is_none() && self.event.is_some() {
            return Err("event: goes with `webhook`; name one, or `*` for all".into());
        }
        if self.event.as_deref().is_some_and(|name| !EventKind::TYPES.contains(&name)) {
            return Err(format!("event: must be one of {}", EventKind::TYPES.join(", ")));
        }
        let of_requests = [
            ("method", self.method.is_some()),
            ("path", self.path.is_some()),
            ("agentId", self.agent_id.is_some()),
            ("tool", self.tool.is_some()),
            ("query", !self.query.is_empty()),
            ("body", self.body.is_some()),
        ];
        if let Some((field, _)) = of_requests.iter().find(|(_, there)| *there && self.webhook.is_some()) {
            return Err(format!("{field}: is about requests, and does not go with `webhook`"));
        }
        self.effect.check(self.webhook.is_some()).map_err(str::to_owned)
    }

    fn matches(&self, asked: &Asked<'_>) -> bool {
        self.webhook.is_none()
            && self.method.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(asked.method))
            && self.path.as_ref().is_none_or(|pattern| path_matches(pattern, asked.path))
            && self.agent_id.as_ref().is_none_or(|wanted| asked.agent == Some(wanted))
            && self.query.iter().all(|(name, wanted)| asked.has_query(name, wanted))
            && self.tool.as_ref().is_none_or(|wanted| asked.tool().as_ref() == Some(wanted))
            && self.body.as_ref().is_none_or(|wanted| asked.has_body(wanted))
    }

    fn strikes(&self, request: &TryRequest) -> bool {
        self.webhook.as_ref().is_some_and(|wanted| matching::text_matches(wanted, request.endpoint.as_str()))
            && self.event.as_ref().is_none_or(|wanted| *wanted == request.kind)
    }
}

/// A request as rules look at it.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    /// The one behind the base URL.
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) agent: Option<&'a AgentId>,
    pub(crate) body: &'a [u8],
}

impl Asked<'_> {
    fn has_query(&self, name: &str, wanted: &str) -> bool {
        form_urlencoded::parse(self.query.as_bytes())
            .any(|(given, value)| given == name && matching::text_matches(wanted, &value))
    }

    fn json(&self) -> Value {
        numbers::read(self.body).unwrap_or_default()
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
/// mock.client().me().await?; // The client tries again until it gets through.
/// assert_eq!(mock.control().faults().await[0].fired, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Fault {
    /// What to remove it by.
    pub id: String,
    /// The bundle that it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// The rule.
    #[serde(flatten)]
    pub rule: FaultRule,
    /// How often it has fired.
    pub fired: u64,
    /// When it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    #[serde(skip)]
    seen: u64,
    #[serde(skip)]
    chance: Ids,
}

impl Fault {
    /// Whether it fires for one that matches.
    fn fires(&mut self) -> bool {
        self.seen += 1;
        let rule = &self.rule;
        if self.seen <= rule.skip || (rule.probability < 1.0 && self.chance.unit() >= rule.probability) {
            return false;
        }
        self.fired += 1;
        true
    }

    fn is_over(&self, now: Timestamp) -> bool {
        self.rule.times.is_some_and(|times| self.fired >= times)
            || self.until.is_some_and(|until| now >= until)
    }

    fn struck(&mut self) -> Struck {
        let Effect { act, latency, headers } = self.rule.effect.clone();
        let delay = latency.map(|latency| latency.draw(&mut self.chance)).unwrap_or_default();
        Struck { act, delay, headers }
    }
}

/// What goes wrong this time.
#[derive(Debug, Clone)]
pub(crate) struct Struck {
    pub(crate) act: Act,
    pub(crate) delay: Duration,
    pub(crate) headers: BTreeMap<String, String>,
}

/// The rules of one world, in the order in which they were added; the first that fires counts.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    rules: Vec<Fault>,
    added: u64,
}

impl Faults {
    pub(crate) fn add(&mut self, rule: FaultRule, now: Timestamp) -> Fault {
        self.put(rule, None, now)
    }

    fn put(&mut self, rule: FaultRule, bundle: Option<String>, now: Timestamp) -> Fault {
        self.added += 1;
        let span = rule.for_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let fault = Fault {
            id: format!("flt_{}", self.added),
            bundle,
            fired: 0,
            until: span.map(|span| now + span),
            seen: 0,
            chance: Ids::seeded(rule.seed.unwrap_or(self.added)),
            rule,
        };
        self.rules.push(fault.clone());
        fault
    }

    pub(crate) fn list(&self) -> Vec<Fault> {
        self.rules.clone()
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    /// Whether there was one with this id.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        let before = self.rules.len();
        self.rules.retain(|fault| fault.id != id);
        self.rules.len() < before
    }

    /// What goes wrong with this request, if anything.
    pub(crate) fn pick(&mut self, asked: &Asked<'_>, now: Timestamp) -> Option<Struck> {
        let mut rules = self.rules.iter_mut();
        rules.find_map(|it| (!it.is_over(now) && it.rule.matches(asked) && it.fires()).then(|| it.struck()))
    }

    /// What goes wrong with this try of a webhook, if anything. One that was held back already is not held back again.
    pub(crate) fn strike(&mut self, request: &TryRequest, now: Timestamp) -> Option<Struck> {
        let mut rules = self.rules.iter_mut();
        rules.find_map(|it| {
            let again = request.held && matches!(it.rule.effect.act, Act::Swap | Act::Late(_));
            (!again && !it.is_over(now) && it.rule.strikes(request) && it.fires()).then(|| it.struck())
        })
    }
}
