//! The rules of the API as black-box checks over HTTP, for any implementation: the mock, the service's
//! sandbox, or whatever else claims to speak this API.
//!
//! The suite knows no implementation: it sends raw requests and reads raw JSON. Each rule is a value with an
//! id that does not change, the section of the document that it comes from, what it needs, and a check.
//!
//! ```
//! use shared_inbox_conform::Conform;
//! use shared_inbox_mock::MockServer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mock = MockServer::start().await;
//! let report = Conform::new(mock.base_url(), mock.test_key()).only(["4.4"]).run().await?;
//! assert!(report.conforms(), "{report}");
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
// A service under test may send anything.
#![deny(clippy::string_slice)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod check;
mod clock;
mod plan;
mod preflight;
mod profile;
mod reports;
mod rule;
mod rule_abort;
mod rules;
mod settings;
mod shape;
mod suite;
mod wire;

pub use clock::Clock;
pub use plan::Plan;
pub use profile::{Profile, UnknownProfile};
pub use reports::{
    diff::{Change, diff},
    report::{NotTried, NotTriedCause, NotTriedReason, Report, RuleReport, RuleResult, Verdict},
};
pub use rule::Kind;
pub use settings::{CannotRun, Conform};
pub use suite::{Prepared, RuleInfo};
