//! A rule: which requests or webhooks go wrong, how often, for how long.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use shared_inbox::{AgentId, event::EventKind};

use super::Effect;

/// A rule: which requests or webhooks go wrong, and how.
///
/// ```
/// use shared_inbox_mock::{Effect, FaultRule};
///
/// // The next note is taken, and the client never subscribes_to of it.
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
}
