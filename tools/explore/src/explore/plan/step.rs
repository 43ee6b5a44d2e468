//! A step of a schedule: what goes wrong or what somebody does, and where.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::explore::{
    json::text,
    plan::op::{Delivery, Request},
};

/// A quiet moment, in which a job does not run and a server has nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Moment {
    /// Right before a run of the app.
    Run,
    /// Right after a run, before people look at its drafts.
    End,
    /// Right after people have looked at its drafts, in the undo window.
    People,
}

impl Moment {
    pub(crate) const ALL: [Self; 3] = [Self::Run, Self::End, Self::People];
}

/// Where a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// Right before the service handles a request.
    Before(Request),
    /// Right after a request took effect.
    After(Request),
    /// At a delivery of a webhook.
    Delivery(Delivery),
    /// In a quiet moment of a round, from 0.
    Quiet(Moment, u32),
}

impl Place {
    /// Returns its number among the places of its kind, from 0: of the request, of the delivery, or of the
    /// round.
    pub(crate) fn nth(self) -> u32 {
        match self {
            Self::Before(request) | Self::After(request) => request.nth,
            Self::Delivery(delivery) => delivery.nth,
            Self::Quiet(_, round) => round,
        }
    }

    /// Returns the place of its kind with this number.
    pub(crate) fn with_nth(self, nth: u32) -> Self {
        match self {
            Self::Before(request) => Self::Before(Request { nth, ..request }),
            Self::After(request) => Self::After(Request { nth, ..request }),
            Self::Delivery(delivery) => Self::Delivery(Delivery { nth, ..delivery }),
            Self::Quiet(moment, _) => Self::Quiet(moment, nth),
        }
    }
}

/// How late a webhook is: it comes in the next round.
const LATE_SECONDS: u64 = 900;

/// How a request or a delivery of a webhook fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Failure {
    LostAfter,
    LostBefore,
    FailedBefore,
    FailedAfter,
    Refused,
    Busy,
    CutOff,
    Slow,
    Twice,
    Unanswered,
    Lost,
    Late,
    Swapped,
}

impl Failure {
    /// Those of requests, the simplest first.
    pub(crate) const OF_REQUESTS: [Self; 8] = [
        Self::LostAfter,
        Self::LostBefore,
        Self::FailedBefore,
        Self::FailedAfter,
        Self::Refused,
        Self::Busy,
        Self::CutOff,
        Self::Slow,
    ];
    /// Those of deliveries, the simplest first.
    pub(crate) const OF_DELIVERIES: [Self; 5] =
        [Self::Twice, Self::Unanswered, Self::Lost, Self::Late, Self::Swapped];

    /// Returns those that are simpler than this one.
    pub(crate) fn simpler(self) -> impl Iterator<Item = Self> {
        let is_of_delivery = Self::OF_DELIVERIES.contains(&self);
        let all: &[Self] = if is_of_delivery { &Self::OF_DELIVERIES } else { &Self::OF_REQUESTS };
        all.iter().copied().take_while(move |other| *other != self)
    }

    /// Returns whether the request took effect nevertheless.
    pub(crate) fn takes_effect(self) -> bool {
        matches!(self, Self::LostAfter | Self::FailedAfter | Self::Slow | Self::CutOff)
    }

    /// Returns the effect of a fault rule.
    pub(crate) fn effect(self, slow_ms: u64) -> Value {
        match self {
            Self::LostAfter | Self::Unanswered => json!({ "drop": "after" }),
            Self::LostBefore | Self::Lost => json!({ "drop": "before" }),
            Self::FailedBefore => json!({ "status": 500 }),
            Self::FailedAfter => json!({ "status": 500, "when": "after" }),
            Self::Refused => json!({ "status": 503 }),
            Self::Busy => json!({ "status": 429, "headers": { "Retry-After": "1" } }),
            Self::CutOff => json!({ "truncate": 20 }),
            Self::Slow => json!({ "delayMs": slow_ms }),
            Self::Twice => json!({ "twice": true }),
            Self::Late => json!({ "lateSeconds": LATE_SECONDS }),
            Self::Swapped => json!({ "swap": true }),
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::LostAfter => "was taken, then the response was lost",
            Self::LostBefore => "was lost on its way; nothing happened",
            Self::FailedBefore => "failed with 500; nothing happened",
            Self::FailedAfter => "was taken, then answered with 500",
            Self::Refused => "was refused with 503",
            Self::Busy => "was refused with 429 and Retry-After: 1",
            Self::CutOff => "was taken; the response was cut off",
            Self::Slow => "was taken; the response came too late",
            Self::Twice => "is delivered twice",
            Self::Unanswered => "is delivered, but the response is lost",
            Self::Lost => "is lost on its way",
            Self::Late => "comes 15 minutes late",
            Self::Swapped => "comes after the next one",
        }
    }
}

/// What a person, a customer or time does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Act {
    Approve,
    Edit,
    Stop,
    Discard,
    Assign,
    Answer,
    /// A second mail, with the words of the first.
    Mail,
    /// A second mail, with other words.
    Nudge,
    /// A second mail, with the words of another mail of the scenario.
    Other,
    NewMail,
    Risk,
    AutoReply,
    Upload,
    Reminder,
    Advance,
    Overlap,
}

impl Act {
    /// All of them, in the order in which they are tried.
    pub(crate) const ALL: [Self; 16] = {
        use Act::*;
        [
            Mail, Other, NewMail, Assign, Answer, Risk, Discard, Stop, Edit, Approve, AutoReply, Nudge,
            Upload, Reminder, Advance, Overlap,
        ]
    };

    /// Returns whether it needs a message of the app.
    pub(crate) fn needs_message(self) -> bool {
        matches!(self, Self::Approve | Self::Edit | Self::Stop | Self::Discard)
    }

    /// Returns whether it needs documents that the app has asked for.
    pub(crate) fn needs_request(self) -> bool {
        matches!(self, Self::Upload | Self::Reminder)
    }

    /// Returns whether the customer writes again in their conversation.
    pub(crate) fn is_second_mail(self) -> bool {
        matches!(self, Self::Mail | Self::Nudge | Self::Other)
    }

    /// Returns whether a person decides something that the app has to respect.
    pub(crate) fn is_persons_word(self) -> bool {
        matches!(self, Self::Edit | Self::Stop | Self::Discard | Self::Assign | Self::Answer)
    }

    /// Returns whether it is about the conversation of a mail, not a conversation of its own or none.
    pub(crate) fn touches(self) -> bool {
        !matches!(self, Self::NewMail | Self::Risk) && !self.moves_clock()
    }

    /// Returns whether nothing but time passes.
    pub(crate) fn moves_clock(self) -> bool {
        matches!(self, Self::Advance | Self::Overlap | Self::Reminder)
    }
}

/// What happens in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// The request or the delivery fails.
    Fail(Failure),
    /// The app is killed.
    Kill,
    /// Someone does something, in the conversation of this mail of the scenario.
    Act(Act, usize),
}

/// One thing that goes wrong, or that somebody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub(crate) place: Place,
    pub(crate) what: What,
}

impl Step {
    pub(crate) fn act(&self) -> Option<(Act, usize)> {
        if let What::Act(act, mail) = self.what { Some((act, mail)) } else { None }
    }

    pub(crate) fn request(&self) -> Option<Request> {
        match self.place {
            Place::Before(request) | Place::After(request) => Some(request),
            Place::Delivery(_) | Place::Quiet(..) => None,
        }
    }

    pub(crate) fn delivery(&self) -> Option<Delivery> {
        if let Place::Delivery(delivery) = self.place { Some(delivery) } else { None }
    }

    pub(crate) fn kind(&self) -> String {
        match self.what {
            What::Fail(failure) => name(failure),
            What::Kill => "kill".to_owned(),
            What::Act(act, _) => name(act),
        }
    }

    /// Returns where it is, for people.
    pub(crate) fn place_name(&self) -> String {
        match self.place {
            Place::Before(it) | Place::After(it) => format!("{} #{}", it.op, it.nth + 1),
            Place::Delivery(it) => format!("webhook {} #{}", it.event, it.nth + 1),
            Place::Quiet(Moment::Run, round) => format!("before run {}", round + 1),
            Place::Quiet(Moment::End, round) => format!("after run {}", round + 1),
            Place::Quiet(Moment::People, round) => format!("after run {}, drafts approved", round + 1),
        }
    }

    /// Returns whose doing it is, or what fails.
    pub(crate) fn group(&self) -> &'static str {
        match self.what {
            What::Fail(_) if self.delivery().is_some() => "delivery",
            What::Fail(_) => "failure",
            What::Kill => "kill",
            What::Act(act, _) if act.moves_clock() => "time",
            What::Act(act, _) if act.is_persons_word() || act == Act::Approve => "person",
            What::Act(..) => "customer",
        }
    }

    /// Returns the step for the report.
    pub(crate) fn json(&self) -> Value {
        let mut json = match self.place {
            Place::Before(it) => json!({ "when": "before", "request": it.op.to_string(), "nth": it.nth + 1 }),
            Place::After(it) => json!({ "when": "after", "request": it.op.to_string(), "nth": it.nth + 1 }),
            Place::Delivery(it) => json!({ "event": it.event, "nth": it.nth + 1 }),
            Place::Quiet(moment, round) => json!({ "when": match moment {
                Moment::Run => "before the run",
                Moment::End => "after the run",
                Moment::People => "after people looked at the drafts",
            }, "run": round + 1 }),
        };
        // A second mail is one kind, whatever it says.
        let is_second_mail = self.act().is_some_and(|(act, _)| act.is_second_mail());
        json["kind"] = json!(if is_second_mail { name(Act::Mail) } else { self.kind() });
        if let What::Act(act, mail) = self.what
            && !act.moves_clock()
        {
            json["mail"] = json!(mail + 1);
        }
        json
    }
}

/// Returns the name of a kind or a moment in a token.
pub(crate) fn name(value: impl Serialize) -> String {
    text(&json!(value))
}

/// Returns the kind or the moment of this name.
pub(crate) fn find<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(json!(name)).ok()
}
