//! Named sets of rules, for a first test of failures.

use std::time::Duration;

use serde::Serialize;
use shared_inbox::Timestamp;

use super::{Effect, Fault, FaultRule, Faults, Latency};

/// A set of rules with a name.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use shared_inbox_mock::MockServer;
///
/// let mock = MockServer::start().await;
/// mock.control().switch_on("flaky-network").await?;
/// assert!(mock.control().bundles().await.iter().any(|bundle| bundle.on));
/// mock.client().me().await?; // The client gets through all the same.
/// mock.control().switch_off("flaky-network").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Bundle {
    /// Its name.
    pub name: String,
    /// A title for people.
    pub title: String,
    /// A description of the failures.
    pub about: String,
    /// Whether it is switched on.
    pub on: bool,
    /// Its rules.
    pub rules: Vec<FaultRule>,
}

const BUNDLES: [(&str, &str, &str); 3] = [
    (
        "bad-day",
        "A bad day at the service",
        "One request in ten fails with a 500, half of these after it took effect; one in twenty is a 429 with \
         Retry-After; the rest are slow. One webhook in ten is a minute late, one in ten comes twice.",
    ),
    (
        "flaky-network",
        "A flaky network",
        "One request in ten is lost on its way, one response in twenty on its way back, one in fifty is cut short; the rest \
         take their time. One webhook in ten is cut, the response to one in ten is lost.",
    ),
    (
        "deploy",
        "A deploy",
        "For half a minute of the world's clock half of the requests close the connection and the others are a 503 \
         with Retry-After; webhooks find nothing at their address.",
    ),
];

fn rules(name: &str) -> Vec<FaultRule> {
    let millis = Duration::from_millis;
    match name {
        "bad-day" => vec![
            FaultRule::new(Effect::status(500)).share(0.05),
            FaultRule::new(Effect::status_after(500)).share(0.05),
            FaultRule::new(Effect::status(429).header("Retry-After", "1")).share(0.05),
            FaultRule::new(Effect::delay(Duration::ZERO).latency(Latency::around(millis(40), millis(600))))
                .always(),
            FaultRule::webhooks(Effect::late(Duration::from_secs(60))).share(0.1),
            FaultRule::webhooks(Effect::twice()).share(0.1),
        ],
        "flaky-network" => vec![
            FaultRule::new(Effect::drop_before()).share(0.1),
            FaultRule::new(Effect::drop_after()).share(0.05),
            FaultRule::new(Effect::truncate(20)).share(0.02),
            FaultRule::new(Effect::delay(Duration::ZERO).latency(Latency::between(millis(5), millis(80))))
                .always(),
            FaultRule::webhooks(Effect::truncate(40)).share(0.1),
            FaultRule::webhooks(Effect::drop_after()).share(0.1),
        ],
        "deploy" => {
            let span = Duration::from_secs(30);
            vec![
                FaultRule::new(Effect::drop_before()).lasting(span).probability(0.5),
                FaultRule::new(Effect::status(503).header("Retry-After", "2")).lasting(span),
                FaultRule::webhooks(Effect::drop_before()).lasting(span),
            ]
        }
        _ => Vec::new(),
    }
}

impl Faults {
    pub(crate) fn bundles(&self) -> Vec<Bundle> {
        let bundle = |(name, title, about): (&str, &str, &str)| Bundle {
            name: name.to_owned(),
            title: title.to_owned(),
            about: about.to_owned(),
            on: self.rules.iter().any(|fault| fault.bundle.as_deref() == Some(name)),
            rules: rules(name),
        };
        BUNDLES.into_iter().map(bundle).collect()
    }

    /// Switches a bundle on, or restarts it; returns `None` for an unknown name.
    pub(crate) fn switch_on(&mut self, name: &str, now: Timestamp) -> Option<Vec<Fault>> {
        self.switch_off(name)?;
        Some(rules(name).into_iter().map(|rule| self.add(rule, Some(name.to_owned()), now)).collect())
    }

    pub(crate) fn switch_off(&mut self, name: &str) -> Option<()> {
        BUNDLES.iter().find(|(known, ..)| *known == name)?;
        self.remove(|fault| fault.bundle.as_deref() == Some(name));
        Some(())
    }

    /// Returns the names of all bundles.
    pub(crate) fn known_bundles() -> String {
        BUNDLES.map(|(name, ..)| name).join(", ")
    }
}
