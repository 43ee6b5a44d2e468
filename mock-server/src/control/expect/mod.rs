//! Expectations: a test states what must happen and waits for it. One that is not met reports the nearest
//! candidates.

mod candidates;
mod check;
mod report;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shared_inbox::{Timestamp, WebhookId};

use self::candidates::Judged;
use super::Control;
use crate::{
    runtime::{advance::AdvanceTarget, clock::ClockMode},
    world::{Refusal, Result},
};

/// The kind of thing that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ExpectedKind {
    /// Requests to the service, REST and MCP, as the journal shows them; `body` is the body or a tool's
    /// arguments.
    Requests,
    /// Emails that were sent or failed to send.
    Outbox,
    /// Deliveries to webhooks, each with its `webhookId`.
    Deliveries,
    /// Events of the service, whether or not a webhook subscribes to them.
    Events,
}

/// The clock that an expectation waits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ExpectTime {
    /// The world's clock is advanced from job to job, no further than needed.
    Virtual,
    /// Waits in real time.
    Real,
}

/// The expected number: an exact one, or a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
enum ExpectedCount {
    /// Exactly this many when the span is over.
    Exactly(usize),
    /// A range.
    #[serde(rename_all = "camelCase")]
    Range {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least: Option<usize>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<usize>,
    },
}

/// An expectation: what must happen, how often, and within what span.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use shared_inbox_mock::{Expectation, MockServer};
///
/// let mock = MockServer::builder().manual_clock().start().await;
/// let id = mock.client().conversations().await?[0].id.clone();
/// mock.client().conversation(&id).reply("On its way.").and_send().await?;
///
/// // One reply was created, and its email is sent within the hour; the clock stops when it is.
/// mock.control().expect(Expectation::requests().method("POST").path("/conversations/*/replies").times(1)).await?;
/// mock.control().expect(Expectation::outbox().field("text", "On its way.").within(Duration::from_secs(3600))).await?;
///
/// let error = mock.control().expect(Expectation::requests().method("PATCH")).await.unwrap_err();
/// assert!(error.message.contains("method: wanted \"PATCH\", was \"POST\""), "{error}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Expectation {
    /// The kind of thing that is expected.
    pub of: ExpectedKind,
    /// The fields that each must have; a dot leads into one (`body.send`), `*` in a text stands for any run
    /// of characters. A path may stand without the `/api/v1` in front.
    #[serde(default, rename = "where")]
    pub fields: Map<String, Value>,
    /// How many: a number, or `{"atLeast": 1, "atMost": 3}`; at least one by default.
    #[serde(default = "at_least_one")]
    count: ExpectedCount,
    /// How long it may take; 0 looks once.
    #[serde(default)]
    pub within_seconds: f64,
    /// The clock to wait on; by default virtual with a manual clock, real with a real one.
    pub time: Option<ExpectTime>,
    /// Only what happened at this time of the world or later.
    pub since: Option<Timestamp>,
}

fn at_least_one() -> ExpectedCount {
    ExpectedCount::Range { at_least: Some(1), at_most: None }
}

/// An expectation that was met.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ExpectationMet {
    /// The number of matches.
    pub count: usize,
    /// The matches, oldest first.
    pub matches: Vec<Value>,
    /// The time of the world's clock.
    pub now: Timestamp,
}

/// How many different expectations of none that nothing could have met are kept.
const MAX_VACUOUS: usize = 100;

impl Expectation {
    fn about(of: ExpectedKind) -> Self {
        Self { of, fields: Map::new(), count: at_least_one(), within_seconds: 0.0, time: None, since: None }
    }

    /// Expects at least one request to the service.
    pub fn requests() -> Self {
        Self::about(ExpectedKind::Requests)
    }

    /// Expects at least one email that was sent or failed.
    pub fn outbox() -> Self {
        Self::about(ExpectedKind::Outbox)
    }

    /// Expects at least one delivery to this webhook.
    pub fn deliveries(webhook: &WebhookId) -> Self {
        Self::about(ExpectedKind::Deliveries).field("webhookId", webhook.as_str())
    }

    /// Expects at least one event of this kind, such as `client.replied`.
    pub fn event(kind: &str) -> Self {
        Self::about(ExpectedKind::Events).field("type", kind)
    }

    /// Sets the HTTP method.
    pub fn method(self, method: &str) -> Self {
        self.field("method", method)
    }

    /// Sets the path, with or without the `/api/v1` in front.
    pub fn path(self, path: &str) -> Self {
        self.field("path", path)
    }

    /// Sets the MCP tool that is called.
    pub fn tool(self, tool: &str) -> Self {
        self.field("tool", tool)
    }

    /// Sets the status of the response.
    pub fn status(self, status: u16) -> Self {
        self.field("status", status)
    }

    /// Sets the value of a field, such as `body` or `data.reference`. An object has to have the fields that
    /// are named, and may have others.
    pub fn field(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(field.to_owned(), value.into());
        self
    }

    /// Expects none at all until the span is over.
    pub fn never(self) -> Self {
        self.times(0)
    }

    setters! {
        /// Expects exactly this many when the span is over.
        times(times: usize) => count = ExpectedCount::Exactly(times);
        /// Expects at least this many.
        at_least(times: usize) => count = ExpectedCount::Range { at_least: Some(times), at_most: None };
        /// Sets the span.
        within(span: Duration) => within_seconds = span.as_secs_f64();
        /// Waits in real time, whatever the world's clock does.
        in_real_time() => time = Some(ExpectTime::Real);
        /// Leaves out what happened before this time of the world.
        since(time: Timestamp) => since = Some(time);
    }

    /// Returns the clock to wait on in a world whose clock runs like this.
    fn time_of(&self, mode: ClockMode) -> ExpectTime {
        let default_time = if mode == ClockMode::Manual { ExpectTime::Virtual } else { ExpectTime::Real };
        self.time.unwrap_or(default_time)
    }

    fn range(&self) -> (usize, usize) {
        match self.count {
            ExpectedCount::Exactly(times) => (times, times),
            ExpectedCount::Range { at_least, at_most } => {
                (at_least.unwrap_or(usize::from(at_most.is_none())), at_most.unwrap_or(usize::MAX))
            }
        }
    }

    /// Returns whether the expectation is met or failed, or `None` while it is undecided.
    fn decide(&self, count: usize, over: bool) -> Option<bool> {
        let (least, most) = self.range();
        match () {
            () if count > most => Some(false),
            () if count >= least && (over || most == usize::MAX) => Some(true),
            () if over => Some(false),
            () => None,
        }
    }

    fn is_decided(&self, seen: &[Judged]) -> bool {
        self.decide(candidates::count(seen), false).is_some()
    }
}

impl Control {
    /// Waits until something has happened that must happen. In virtual time the clock is advanced from job to
    /// job, no further than it takes. An exact number or an upper limit is decided when the span is over.
    ///
    /// # Errors
    ///
    /// 409 when it did not happen, or too often; the sentence says what came nearest. 400 for a span that is
    /// too long, for a range that no number is in, and for a field in `where` that no such thing has.
    pub async fn expect(&self, expectation: Expectation) -> Result<ExpectationMet> {
        let mode = self.runtime.clock().mode;
        expectation.problems(mode).or(())?;
        let (time, span) = (
            expectation.time_of(mode),
            Duration::try_from_secs_f64(expectation.within_seconds).unwrap_or_default(),
        );
        let control = self.clone();
        self.runtime
            .run(async move {
                let seen = match time {
                    ExpectTime::Virtual => control.advance_until_decided(&expectation, span).await?,
                    ExpectTime::Real => {
                        let look = |before: Option<Vec<Judged>>| {
                            control.look(&expectation, before.unwrap_or_default())
                        };
                        control.wait_for(span, look, |seen| expectation.is_decided(seen)).await?
                    }
                };
                let (now, count) = (control.runtime.clock().now, candidates::count(&seen));
                if expectation.decide(count, true) != Some(true) {
                    let all = expectation.all_items(&seen, &control);
                    return Err(Refusal::new(409, expectation.report(&all, now)));
                }
                if let Some(why) = expectation.why_vacuous(&control) {
                    control.runtime.vacuous_expectations(|all| {
                        if all.len() < MAX_VACUOUS && !all.contains(&why) {
                            all.push(why);
                        }
                    });
                }
                Ok(ExpectationMet { count, matches: expectation.matches(&seen, &control), now })
            })
            .await
    }

    /// Advances the clock from job to job until the expectation is decided, or the span has passed.
    async fn advance_until_decided(&self, expectation: &Expectation, span: Duration) -> Result<Vec<Judged>> {
        let mut now = self.runtime.advance(AdvanceTarget::By(Duration::ZERO)).await?.now;
        let (end, mut seen) = (now + span, Vec::new());
        loop {
            seen = self.look(expectation, seen).await?;
            if now >= end || expectation.is_decided(&seen) {
                return Ok(seen);
            }
            let next = self.runtime.next_due().filter(|due| *due <= end).unwrap_or(end);
            now = self.runtime.advance(AdvanceTarget::AtLeast(next)).await?.now;
        }
    }
}
