//! Failures on demand: rules that say which requests go wrong, and how.
//!
//! A rule is looked up once a request has been read and before anything is done with it, so that what a client sees is
//! the same on REST and MCP. Chance comes from a seeded generator: the same calls fail in every run.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::Ids;

const MAX_DELAY_MS: u64 = 3_600_000;

/// A rule: which requests go wrong, and how.
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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct FaultRule {
    /// Only requests with this method.
    #[serde(default)]
    pub method: Option<String>,
    /// Only requests with this path behind the base URL; `*` stands for one segment, `/mcp` is the MCP endpoint.
    #[serde(default)]
    pub path: Option<String>,
    /// So many matching requests pass first.
    #[serde(default)]
    pub skip: u64,
    /// How often it fires; `None` is always.
    #[serde(default = "once")]
    pub times: Option<u64>,
    /// How likely it fires for a matching request, from 0 to 1.
    #[serde(default = "certain")]
    pub probability: f64,
    /// What goes wrong.
    pub effect: Effect,
}

fn once() -> Option<u64> {
    Some(1)
}

fn certain() -> f64 {
    1.0
}

impl FaultRule {
    /// The next request of any kind goes wrong in this way.
    pub fn new(effect: Effect) -> Self {
        Self { method: None, path: None, skip: 0, times: once(), probability: certain(), effect }
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

    /// Lets so many matching requests pass first.
    pub fn skip(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    /// Fires so often.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Fires for every matching request.
    pub fn always(mut self) -> Self {
        self.times = None;
        self
    }

    /// Fires with this probability, from 0 to 1.
    pub fn probability(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    /// What is wrong with the rule, if anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.probability) {
            return Err("probability: must be from 0 to 1".into());
        }
        if self.path.as_ref().is_some_and(|path| !path.starts_with('/')) {
            return Err("path: must start with `/`, as in `/conversations/*/notes`".into());
        }
        Ok(())
    }

    fn matches(&self, method: &str, path: &str) -> bool {
        self.method.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
            && self.path.as_ref().is_none_or(|pattern| path_matches(pattern, path))
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

/// What a client sees instead of, or after, the proper answer.
///
/// ```
/// use std::time::Duration;
/// use shared_inbox_mock::Effect;
///
/// let slow_failure = Effect::status(500).delayed(Duration::from_millis(50));
/// assert_eq!(serde_json::to_value(&slow_failure).unwrap(), serde_json::json!({ "status": 500, "delayMs": 50 }));
/// assert!(serde_json::from_str::<Effect>(r#"{ "status": 500, "drop": "before" }"#).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Form", into = "Form")]
pub struct Effect {
    pub(crate) act: Act,
    pub(crate) delay: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// The proper answer; only late.
    Answer,
    Status {
        status: u16,
        when: When,
    },
    Drop(When),
    Truncate(usize),
    Body(String),
}

/// Whether the request has taken effect when it goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum When {
    Before,
    After,
}

impl Effect {
    fn of(act: Act) -> Self {
        Self { act, delay: Duration::ZERO }
    }

    /// That status with the service's error body; nothing happened.
    pub fn status(status: u16) -> Self {
        Self::of(Act::Status { status, when: When::Before })
    }

    /// The request took effect, then that status.
    pub fn status_after(status: u16) -> Self {
        Self::of(Act::Status { status, when: When::After })
    }

    /// The connection closes; nothing happened.
    pub fn drop_before() -> Self {
        Self::of(Act::Drop(When::Before))
    }

    /// The request took effect, then the connection closes without an answer.
    pub fn drop_after() -> Self {
        Self::of(Act::Drop(When::After))
    }

    /// The answer's headers and only the first bytes of its body, then the connection closes.
    pub fn truncate(bytes: usize) -> Self {
        Self::of(Act::Truncate(bytes))
    }

    /// That text, with the status that the answer would have had.
    pub fn body(text: impl Into<String>) -> Self {
        Self::of(Act::Body(text.into()))
    }

    /// The proper answer, late.
    pub fn delay(delay: Duration) -> Self {
        Self::of(Act::Answer).delayed(delay)
    }

    /// The same, late.
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// An effect as it is written.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Form {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<When>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drop: Option<When>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    truncate: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
}

impl TryFrom<Form> for Effect {
    type Error = &'static str;
    fn try_from(form: Form) -> Result<Self, Self::Error> {
        if form.when.is_some() && form.status.is_none() {
            return Err("`when` goes with `status` only");
        }
        if form.delay_ms.is_some_and(|ms| ms > MAX_DELAY_MS) {
            return Err("`delayMs` must be at most 3600000, an hour");
        }
        let act = match (form.status, form.drop, form.truncate, form.body) {
            (Some(status), None, None, None) if (200..=599).contains(&status) => {
                Act::Status { status, when: form.when.unwrap_or(When::Before) }
            }
            (Some(_), None, None, None) => return Err("`status` must be from 200 to 599"),
            (None, Some(when), None, None) => Act::Drop(when),
            (None, None, Some(bytes), None) => Act::Truncate(bytes),
            (None, None, None, Some(text)) => Act::Body(text),
            (None, None, None, None) if form.delay_ms.is_some() => Act::Answer,
            (None, None, None, None) => {
                return Err("needs one of `status`, `drop`, `delayMs`, `truncate` and `body`");
            }
            _ => return Err("takes only one of `status`, `drop`, `truncate` and `body`"),
        };
        Ok(Self { act, delay: Duration::from_millis(form.delay_ms.unwrap_or(0)) })
    }
}

impl From<Effect> for Form {
    fn from(effect: Effect) -> Self {
        let delay_ms = u64::try_from(effect.delay.as_millis()).unwrap_or(MAX_DELAY_MS);
        let alone = effect.act == Act::Answer;
        let mut form = Form {
            status: None,
            when: None,
            drop: None,
            truncate: None,
            body: None,
            delay_ms: (alone || delay_ms > 0).then_some(delay_ms),
        };
        match effect.act {
            Act::Answer => {}
            Act::Status { status, when } => {
                form.status = Some(status);
                form.when = (when == When::After).then_some(when);
            }
            Act::Drop(when) => form.drop = Some(when),
            Act::Truncate(bytes) => form.truncate = Some(bytes),
            Act::Body(text) => form.body = Some(text),
        }
        form
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
    /// The rule.
    #[serde(flatten)]
    pub rule: FaultRule,
    /// How often it has fired.
    pub fired: u64,
    #[serde(skip)]
    seen: u64,
}

/// The rules of one world, in the order in which they were added; the first that fires counts.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    rules: Vec<Fault>,
    added: u64,
    chance: Ids,
}

impl Faults {
    pub(crate) fn add(&mut self, rule: FaultRule) -> Fault {
        self.added += 1;
        let fault = Fault { id: format!("flt_{}", self.added), rule, fired: 0, seen: 0 };
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

    /// What goes wrong with this request, if anything. `path` is the one behind the base URL.
    pub(crate) fn pick(&mut self, method: &str, path: &str) -> Option<Effect> {
        for fault in &mut self.rules {
            let rule = &fault.rule;
            if rule.times.is_some_and(|times| fault.fired >= times) || !rule.matches(method, path) {
                continue;
            }
            fault.seen += 1;
            if fault.seen <= rule.skip || (rule.probability < 1.0 && self.chance.unit() >= rule.probability) {
                continue;
            }
            fault.fired += 1;
            return Some(rule.effect.clone());
        }
        None
    }
}
