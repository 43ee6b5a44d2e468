//! The cases of a receiver check: what is sent, and how a safe receiver responds.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use shared_inbox::{EventId, Timestamp};
use shared_inbox_webhooks::{
    Secret, SignedHeaders, Signer,
    event::{Event, EventKind, WebhookTest},
};

use crate::{runtime::delivery::NoResponse, world::webhooks::ReceiverUnderTest};

/// The offset of a timestamp that must be refused: twice the tolerance.
const TIMESTAMP_OFFSET: Duration = Duration::from_secs(600);
/// Larger than any event, and than the default limit of frameworks.
const LARGE_BODY_BYTES: usize = 3 << 20;

#[derive(Clone, Copy)]
pub(super) enum Expect {
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
    pub(super) fn met(self, result: &Result<u16, NoResponse>) -> bool {
        let (taken, refused) = match result {
            Ok(status) => ((200..300).contains(status), (400..500).contains(status)),
            Err(_) => (false, false),
        };
        match self {
            Expect::Taken => taken,
            Expect::Refused => refused,
            Expect::Answered => taken || refused,
            Expect::Survived => taken || refused || matches!(result, Err(NoResponse::Closed)),
        }
    }
}

pub(super) struct Probe {
    pub(super) headers: SignedHeaders,
    pub(super) body: Bytes,
    pub(super) expect: Expect,
    pub(super) hint: &'static str,
}

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) sent: &'static str,
    pub(super) expected: &'static str,
    pub(super) probes: Vec<Probe>,
}

/// Builds the requests.
pub(super) struct CaseBuilder<'a> {
    receiver: &'a ReceiverUnderTest,
    now: Timestamp,
    signer: Signer,
    /// Signs with a secret that the receiver does not have.
    stranger: Signer,
    count: u32,
}

const VERIFY: &str = "Check the HMAC of `webhook-id`, `webhook-timestamp` and the raw body, each time, and return 401 when \
                      no signature matches.";

impl<'a> CaseBuilder<'a> {
    pub(super) fn new(receiver: &'a ReceiverUnderTest) -> Self {
        let stranger = Secret::from_bytes(&[0x5a; 32]).expect("32 bytes are neither too few nor too many");
        Self {
            receiver,
            now: Timestamp::now(),
            signer: Signer::new([receiver.keys.current().clone()]),
            stranger: Signer::new([stranger]),
            count: 0,
        }
    }

    pub(super) fn cases(mut self) -> Vec<Case> {
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
            "Verify with the webhook's current secret, over the raw bytes of the body, and return 2xx.";
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
        let at = self.now - TIMESTAMP_OFFSET;
        Case {
            name: "stale",
            sent: "a good signature over a timestamp of 10 minutes ago",
            expected: "4xx",
            probes: vec![self.dated(at, Expect::Refused, hint)],
        }
    }

    fn future(&mut self) -> Case {
        let hint = "Refuse a `webhook-timestamp` more than 5 minutes ahead: it would stay good for longer than it should.";
        let at = self.now + TIMESTAMP_OFFSET;
        Case {
            name: "future",
            sent: "a good signature over a timestamp 10 minutes ahead",
            expected: "4xx",
            probes: vec![self.dated(at, Expect::Refused, hint)],
        }
    }

    fn replayed(&mut self) -> Case {
        let hint = "An id that was handled before must get a 2xx and not be handled again; a refusal makes the \
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
            "New kinds of event may come at any time: return 2xx and do nothing for one that is not known.";
        let mut event = self.event();
        event["type"] = json!("check.unknown");
        event["data"] = json!({ "summary": "An event of a kind that does not exist" });
        Case {
            name: "unknown event type",
            sent: "a signed event of the type `check.unknown`",
            expected: "2xx",
            probes: vec![self.probe(&event, Expect::Taken, hint)],
        }
    }

    fn extra_fields(&mut self) -> Case {
        let hint = "New fields may come at any time: pass over those that are not known.";
        let mut event = self.event();
        event["check"] = json!({ "nested": [1, null, "text"] });
        event["data"]["check"] = json!(true);
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
            // Without a rotation, the receiver's secret acts as the old one, and an unknown one as the new.
            _ => {
                let new = self.stranger.sign_text(&id, &stamp, &probe.body).signature;
                let mut headers = probe.headers;
                headers.signature = format!("{new} {}", headers.signature);
                headers
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
            "Read no more of a body than a limit (1 MiB is plenty), return 413 beyond it, and stay up.";
        let mut event = self.event();
        event["check"] = json!("x".repeat(LARGE_BODY_BYTES));
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

    /// Returns a valid test event.
    fn event(&mut self) -> Value {
        self.count += 1;
        let id = format!("evt_check{}x{}", self.now.as_millis(), self.count);
        let id = EventId::parse(id).expect("letters and digits behind the prefix");
        let mut event = Event::new(id, EventKind::WebhookTest(WebhookTest::new(self.receiver.id.clone())));
        event.created_at = Some(self.now);
        event.workspace = Some(self.receiver.workspace.clone());
        event.livemode = Some(self.receiver.livemode);
        event.summary = "Check of this webhook's receiver".to_owned();
        // Serializing texts, numbers and flags cannot fail.
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
