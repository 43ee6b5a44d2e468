//! Checks a receiver: sends it a fixed series of good and bad requests and reports what it did with each.
//!
//! The requests carry `webhook.test` events with ids of their own, stay out of the delivery log, and are dated by this
//! machine's clock, which is the one a receiver looks at, wherever the mock's clock stands.

use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared_inbox::{Event, EventId, EventKind, Timestamp, event::WebhookTest};
use shared_inbox_webhooks::{Secret, SignedHeaders, Signer};

use crate::runtime::delivery::{Deliverer, NoResponse};
use crate::world::webhooks::ReceiverUnderTest;

/// What an exam found.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExamReport")]
#[non_exhaustive]
pub struct ReceiverReport {
    /// Whether every case passed.
    pub passed: bool,
    /// The cases, in the order in which they were sent.
    pub cases: Vec<ReceiverCase>,
}

/// One case of an exam.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExamCase")]
#[non_exhaustive]
pub struct ReceiverCase {
    /// Its name, always the same.
    pub name: String,
    /// What was sent.
    pub sent: String,
    /// What a safe receiver answers.
    pub expected: String,
    /// What came back for the request that decided the case; `None` for no answer.
    pub status: Option<u16>,
    /// Whether that was right.
    pub passed: bool,
    /// What to change in the receiver, when it was not.
    pub hint: Option<String>,
}

/// How far off a timestamp is that must be refused: twice what is allowed.
const OFF: Duration = Duration::from_secs(600);
/// More than any event is, and than what frameworks read unasked.
const LARGE: usize = 3 << 20;

#[derive(Clone, Copy)]
enum Expect {
    /// Any 2xx.
    Taken,
    /// Any 4xx.
    Refused,
    /// Either of these.
    Answered,
    /// Either of these, or a connection closed while the body was still being sent.
    Survived,
}

impl Expect {
    fn met(self, answer: &Result<u16, NoResponse>) -> bool {
        let (taken, refused) = match answer {
            Ok(status) => ((200..300).contains(status), (400..500).contains(status)),
            Err(_) => (false, false),
        };
        match self {
            Expect::Taken => taken,
            Expect::Refused => refused,
            Expect::Answered => taken || refused,
            Expect::Survived => taken || refused || matches!(answer, Err(NoResponse::Closed)),
        }
    }
}

struct Probe {
    headers: SignedHeaders,
    body: Bytes,
    expect: Expect,
    hint: &'static str,
}

struct Case {
    name: &'static str,
    sent: &'static str,
    expected: &'static str,
    probes: Vec<Probe>,
}

/// Sends the series to the receiver and reports.
pub(crate) async fn run(deliverer: &Deliverer, receiver: ReceiverUnderTest) -> ReceiverReport {
    let mut silent = None;
    let mut cases = Vec::new();
    for case in CaseBuilder::new(&receiver).cases() {
        let (mut status, mut hint) = (None, None);
        if let Some(why) = silent {
            hint = Some(format!("Not sent, because an earlier request got no answer: {why}."));
        }
        for probe in case.probes.into_iter().filter(|_| silent.is_none()) {
            let answer = deliverer.post(&receiver.url, &probe.headers, probe.body).await.result;
            status = answer.ok();
            if !probe.expect.met(&answer) {
                hint = Some(match answer {
                    Ok(300..=399) => {
                        "Redirects are not followed: give the address that answers itself.".to_owned()
                    }
                    Ok(500..) => format!("A 5xx looks like a crash, and is tried again. {}", probe.hint),
                    Ok(_) => probe.hint.to_owned(),
                    Err(why) => format!("No answer: {why}."),
                });
                // A receiver that is not there costs ten seconds a request, and nothing more is learnt.
                silent = answer.err().filter(|why| *why != NoResponse::Closed);
                break;
            }
        }
        let passed = hint.is_none();
        let (name, sent, expected) = (case.name.into(), case.sent.into(), case.expected.into());
        cases.push(ReceiverCase { name, sent, expected, status, passed, hint });
    }
    ReceiverReport { passed: cases.iter().all(|case| case.passed), cases }
}

/// Makes up the requests.
struct CaseBuilder<'a> {
    receiver: &'a ReceiverUnderTest,
    now: Timestamp,
    signer: Signer,
    /// Signs with a secret that the receiver cannot know.
    stranger: Signer,
    count: u32,
}

const VERIFY: &str = "Check the HMAC of `webhook-id`, `webhook-timestamp` and the raw body, each time, and answer 401 when \
                      no signature matches.";

impl<'a> CaseBuilder<'a> {
    fn new(receiver: &'a ReceiverUnderTest) -> Self {
        let stranger = Secret::from_bytes(&[0x5a; 32]).expect("32 bytes are neither too few nor too many");
        Self {
            receiver,
            now: Timestamp::now(),
            signer: Signer::new([receiver.keys.current().clone()]),
            stranger: Signer::new([stranger]),
            count: 0,
        }
    }

    fn cases(mut self) -> Vec<Case> {
        let (good, reordered) = (self.good(), self.reordered());
        vec![
            good,
            self.wrong_signature(),
            self.stale(),
            self.future(),
            self.replayed(),
            reordered,
            self.unknown_type(),
            self.extra_fields(),
            self.both_secrets(),
            self.old_secret(),
            self.large_body(),
        ]
    }

    fn good(&mut self) -> Case {
        let hint =
            "Verify with the webhook's current secret, over the raw bytes of the body, and answer 2xx.";
        Case {
            name: "good",
            sent: "a test event with a good signature and the present time",
            expected: "2xx",
            probes: vec![self.signed(Expect::Taken, hint)],
        }
    }

    fn wrong_signature(&mut self) -> Case {
        let mut changed = self.signed(Expect::Refused, VERIFY);
        changed.body = changed.body.iter().copied().chain(*b" ").collect();
        let mut empty =
            self.signed(Expect::Refused, "`v1,` with nothing behind it is no signature: refuse it.");
        empty.headers.signature = "v1,".to_owned();
        let mut none =
            self.signed(Expect::Refused, "Refuse a request without the header `webhook-signature`.");
        none.headers.signature.clear();
        Case {
            name: "wrong signature",
            sent: "a body with one byte more than was signed, then an empty signature, then none",
            expected: "4xx for each",
            probes: vec![changed, empty, none],
        }
    }

    fn stale(&mut self) -> Case {
        let hint = "Refuse a `webhook-timestamp` more than 5 minutes old: whoever recorded a request can send it again.";
        let at = self.now - OFF;
        Case {
            name: "stale",
            sent: "a good signature over a timestamp of 10 minutes ago",
            expected: "4xx",
            probes: vec![self.dated(at, Expect::Refused, hint)],
        }
    }

    fn future(&mut self) -> Case {
        let hint = "Refuse a `webhook-timestamp` more than 5 minutes ahead: it would stay good for longer than it should.";
        let at = self.now + OFF;
        Case {
            name: "future",
            sent: "a good signature over a timestamp 10 minutes ahead",
            expected: "4xx",
            probes: vec![self.dated(at, Expect::Refused, hint)],
        }
    }

    fn replayed(&mut self) -> Case {
        let hint = "An id that was handled before must be answered 2xx and not be handled again; a refusal makes the \
                    service send it again.";
        let first = self.signed(Expect::Taken, hint);
        let again =
            Probe { headers: first.headers.clone(), body: first.body.clone(), expect: Expect::Taken, hint };
        Case {
            name: "replayed id",
            sent: "the same test event twice, with the same id",
            expected: "2xx for each, handled once",
            probes: vec![first, again],
        }
    }

    fn reordered(&mut self) -> Case {
        let hint = "Events may arrive out of order: do not refuse one that is older than the last one seen.";
        let made = |paper: &mut Self, ago: u64| {
            let mut event = paper.event();
            event["created_at"] = json!(paper.now - Duration::from_secs(ago));
            paper.probe(&event, Expect::Taken, hint)
        };
        let (newer, older) = (made(self, 30), made(self, 90));
        Case {
            name: "reordered",
            sent: "two test events, the one created later first",
            expected: "2xx for each",
            probes: vec![newer, older],
        }
    }

    fn unknown_type(&mut self) -> Case {
        let hint =
            "New kinds of event may come at any time: answer 2xx and do nothing for one that is not known.";
        let mut event = self.event();
        event["type"] = json!("exam.unknown");
        event["data"] = json!({ "summary": "An event of a kind that does not exist" });
        Case {
            name: "unknown event type",
            sent: "a signed event of the type `exam.unknown`",
            expected: "2xx",
            probes: vec![self.probe(&event, Expect::Taken, hint)],
        }
    }

    fn extra_fields(&mut self) -> Case {
        let hint = "New fields may come at any time: pass over those that are not known.";
        let mut event = self.event();
        event["exam"] = json!({ "nested": [1, null, "text"] });
        event["data"]["exam"] = json!(true);
        Case {
            name: "unknown extra fields",
            sent: "a signed test event with fields more in the envelope and in `data`",
            expected: "2xx",
            probes: vec![self.probe(&event, Expect::Taken, hint)],
        }
    }

    fn both_secrets(&mut self) -> Case {
        let hint = "The header `webhook-signature` holds several signatures, separated by spaces, for 24 hours after a \
                    rotation: accept the request when any of them matches.";
        let mut probe = self.signed(Expect::Taken, hint);
        let (id, stamp) = (probe.headers.id.clone(), probe.headers.timestamp.clone());
        let keys = &self.receiver.keys;
        probe.headers = match keys.previous(self.receiver.now) {
            Some((previous, true)) => {
                Signer::new([keys.current().clone(), previous.clone()]).sign_text(&id, &stamp, &probe.body)
            }
            // Not in a rotation: the secret that the receiver has is the old one, and it cannot know the new one.
            _ => {
                let new = self.stranger.sign_text(&id, &stamp, &probe.body).signature;
                let signature = format!("{new} {}", probe.headers.signature);
                SignedHeaders { signature, ..probe.headers }
            }
        };
        Case {
            name: "both secrets",
            sent: "a test event with two signatures, of a new and an old secret",
            expected: "2xx",
            probes: vec![probe],
        }
    }

    fn old_secret(&mut self) -> Case {
        let (old, expect, expected, hint) = match self.receiver.keys.previous(self.receiver.now) {
            Some((previous, true)) => (
                Signer::new([previous.clone()]),
                Expect::Answered,
                "2xx while the receiver keeps the old secret, 4xx when it has let it go",
                VERIFY,
            ),
            Some((previous, false)) => (
                Signer::new([previous.clone()]),
                Expect::Refused,
                "4xx",
                "The old secret no longer signs 24 hours after a rotation: take it out of the receiver's settings.",
            ),
            None => (self.stranger.clone(), Expect::Refused, "4xx", VERIFY),
        };
        let mut probe = self.signed(expect, hint);
        probe.headers = old.sign_text(&probe.headers.id, &probe.headers.timestamp, &probe.body);
        Case {
            name: "old secret only",
            sent: "a test event signed with a secret that is not the webhook's present one",
            expected,
            probes: vec![probe],
        }
    }

    fn large_body(&mut self) -> Case {
        let hint =
            "Read no more of a body than a limit (1 MiB is plenty), answer 413 beyond it, and stay up.";
        let mut event = self.event();
        event["exam"] = json!("x".repeat(LARGE));
        let large = self.probe(&event, Expect::Survived, hint);
        let after =
            self.signed(Expect::Taken, "The receiver took no good event after a large one: it must stay up.");
        Case {
            name: "large body",
            sent: "a signed test event of 3 MiB, then a good one",
            expected: "2xx or 413, then 2xx",
            probes: vec![large, after],
        }
    }

    /// A good event that nothing follows from.
    fn event(&mut self) -> Value {
        self.count += 1;
        let id = format!("evt_exam{}x{}", self.now.as_millis(), self.count);
        let event = Event {
            id: EventId::parse(id).expect("letters and digits behind the prefix"),
            version: Some(1),
            created_at: Some(self.now),
            workspace: Some(self.receiver.workspace.clone()),
            livemode: Some(self.receiver.livemode),
            summary: "Exam of this webhook's receiver".to_owned(),
            url: None,
            kind: EventKind::WebhookTest(WebhookTest { endpoint_id: self.receiver.id.clone() }),
            raw: None,
        };
        // Texts, numbers and flags: always JSON.
        serde_json::to_value(event).unwrap_or_default()
    }

    fn signed(&mut self, expect: Expect, hint: &'static str) -> Probe {
        self.dated(self.now, expect, hint)
    }

    fn dated(&mut self, at: Timestamp, expect: Expect, hint: &'static str) -> Probe {
        let event = self.event();
        self.probe_at(&event, at, expect, hint)
    }

    fn probe(&self, event: &Value, expect: Expect, hint: &'static str) -> Probe {
        self.probe_at(event, self.now, expect, hint)
    }

    fn probe_at(&self, event: &Value, at: Timestamp, expect: Expect, hint: &'static str) -> Probe {
        let body = Bytes::from(event.to_string());
        let id = event["id"].as_str().unwrap_or_default();
        let headers = self.signer.sign_text(id, &at.as_secs().to_string(), &body);
        Probe { headers, body, expect, hint }
    }
}
