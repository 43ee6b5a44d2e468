//! Checks a receiver: sends a fixed series of good and bad requests and reports its responses.
//!
//! The requests carry `webhook.test` events with ids of their own, stay out of the delivery log, and are
//! dated by this machine's clock, which is the one a receiver looks at, wherever the mock's clock stands.

mod cases;

use serde::{Deserialize, Serialize};

use self::cases::CaseBuilder;
use crate::{
    runtime::delivery::{Deliverer, NoResponse},
    world::webhooks::ReceiverUnderTest,
};

/// The report of a receiver check.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use shared_inbox_mock::{CreateWebhook, MockServer};
///
/// let mock = MockServer::start().await;
/// # let receiver = "http://127.0.0.1:9/hook";
/// let webhook = mock.control().create_webhook(CreateWebhook::new(receiver)).await?;
/// let report = mock.control().check_receiver(&webhook.id).await?;
/// for case in report.cases.iter().filter(|case| !case.passed) {
///     println!("{}: sent {}, expected {}. {}", case.name, case.sent, case.expected, case.hint.as_deref().unwrap_or(""));
/// }
/// # assert_eq!(report.cases.len(), 11);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckReport {
    /// Whether every case passed.
    pub passed: bool,
    /// The cases, in the order in which they were sent.
    pub cases: Vec<CheckCase>,
}

/// One case of a receiver check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckCase {
    /// Its name, always the same.
    pub name: String,
    /// What was sent.
    pub sent: String,
    /// The response of a safe receiver.
    pub expected: String,
    /// What came back for the request that decided the case; `None` for no response.
    pub status: Option<u16>,
    /// Whether that was right.
    pub passed: bool,
    /// What to change in the receiver, when it was not.
    pub hint: Option<String>,
}

/// Sends the series to a receiver and reports the results.
pub(crate) async fn run(deliverer: &Deliverer, receiver: ReceiverUnderTest) -> CheckReport {
    let mut silent = None;
    let mut cases = Vec::new();
    for case in CaseBuilder::new(&receiver).cases() {
        let (mut status, mut hint) = (None, None);
        if let Some(why) = silent {
            hint = Some(format!("Not sent, because an earlier request got no response: {why}."));
        }
        for probe in case.probes.into_iter().filter(|_| silent.is_none()) {
            let result = deliverer.post(&receiver.url, &probe.headers, probe.body).await.result;
            status = result.ok();
            if !probe.expect.met(&result) {
                hint = Some(match result {
                    Ok(300..=399) => "Redirects are not followed: give the final address.".to_owned(),
                    Ok(500..) => format!("A 5xx looks like a crash, and is tried again. {}", probe.hint),
                    Ok(_) => probe.hint.to_owned(),
                    Err(why) => format!("No response: {why}."),
                });
                // An unreachable receiver would cost ten seconds for each request.
                silent = result.err().filter(|why| *why != NoResponse::Closed);
                break;
            }
        }
        let passed = hint.is_none();
        let (name, sent, expected) = (case.name.into(), case.sent.into(), case.expected.into());
        cases.push(CheckCase { name, sent, expected, status, passed, hint });
    }
    CheckReport { passed: cases.iter().all(|case| case.passed), cases }
}
