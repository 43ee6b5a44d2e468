//! A schedule: what goes wrong, and where. Its token is its text.

use std::fmt;

use serde_json::{Value, json};
use shared_inbox::{Method, Operation};

/// Which request of the app: an operation, by REST or MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Op {
    pub(super) operation: Operation,
    pub(super) mcp: bool,
}

impl Op {
    /// The operation behind a request of the journal.
    pub(super) fn of(method: &str, path: &str, tool: Option<&str>) -> Option<Self> {
        if let Some(tool) = tool {
            return Some(Self { operation: Operation::from_tool_name(tool)?, mcp: true });
        }
        let path = path.strip_prefix("/api/v1")?;
        let fits = |pattern: &str| match pattern.split_once("{id}") {
            None => pattern == path,
            Some((before, after)) => path
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .is_some_and(|id| !id.is_empty() && !id.contains('/')),
        };
        let same = |it: &Operation| it.method().as_str() == method && fits(it.path());
        Operation::KNOWN.into_iter().find(same).map(|operation| Self { operation, mcp: false })
    }

    fn name(self) -> &'static str {
        self.operation.tool_name().unwrap_or(match self.operation {
            Operation::Me => "me",
            _ => "sandbox_inbound",
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let (mcp, name) = text.strip_prefix("mcp-").map_or((false, text), |name| (true, name));
        let operation =
            Operation::KNOWN.into_iter().find(|it| Self { operation: *it, mcp }.name() == name)?;
        Some(Self { operation, mcp })
    }

    pub(super) fn is_read(self) -> bool {
        self.operation.method() == Method::Get
    }

    /// Whether a repeat makes a second item.
    pub(super) fn creates(self) -> bool {
        self.operation.repeat() != shared_inbox::Repeat::Harmless
    }

    /// Whether it writes to the customer.
    pub(super) fn writes_mail(self) -> bool {
        matches!(self.operation, Operation::Reply | Operation::RequestDocuments)
    }

    /// The fields of a fault rule for it.
    pub(super) fn rule(self) -> Value {
        if self.mcp {
            return json!({ "path": "/mcp", "tool": self.name() });
        }
        json!({ "method": self.operation.method().as_str(), "path": self.operation.path().replace("{id}", "*") })
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mcp {
            return write!(f, "tool {}", self.name());
        }
        write!(f, "{} {}", self.operation.method().as_str(), self.operation.path().replace("{id}", "*"))
    }
}

/// A request by its operation and its number among those of the same operation, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) op: Op,
    pub(super) nth: u32,
}

/// A quiet moment, in which the app does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Moment {
    /// Right before a run of the app.
    Run,
    /// Right after a run, before people look at its drafts.
    End,
    /// Right after people have looked at its drafts, in the undo window.
    People,
}

const MOMENTS: [(Moment, &str); 3] = [(Moment::Run, "run"), (Moment::End, "end"), (Moment::People, "people")];

/// Where a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Right before the service handles a request.
    Before(Request),
    /// Right after a request took effect.
    After(Request),
    /// In a quiet moment of a round, from 0.
    Quiet(Moment, u32),
}

/// How a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Failure {
    Refused,
    LostBefore,
    LostAfter,
    Busy,
    FailedBefore,
    FailedAfter,
    Slow,
    CutOff,
}

/// All of them, the simplest first.
pub(super) const FAILURES: [(Failure, &str); 8] = [
    (Failure::LostAfter, "lost-after"),
    (Failure::LostBefore, "lost-before"),
    (Failure::FailedBefore, "failed-before"),
    (Failure::FailedAfter, "failed-after"),
    (Failure::Refused, "refused"),
    (Failure::Busy, "busy"),
    (Failure::CutOff, "cut-off"),
    (Failure::Slow, "slow"),
];

impl Failure {
    /// Whether the request took effect nevertheless.
    pub(super) fn takes_effect(self) -> bool {
        matches!(self, Self::LostAfter | Self::FailedAfter | Self::Slow | Self::CutOff)
    }

    /// The effect of a fault rule.
    pub(super) fn effect(self, slow_ms: u64) -> Value {
        match self {
            Self::Refused => json!({ "status": 503 }),
            Self::LostBefore => json!({ "drop": "before" }),
            Self::LostAfter => json!({ "drop": "after" }),
            Self::Busy => json!({ "status": 429, "headers": { "Retry-After": "1" } }),
            Self::FailedBefore => json!({ "status": 500 }),
            Self::FailedAfter => json!({ "status": 500, "when": "after" }),
            Self::Slow => json!({ "delayMs": slow_ms }),
            Self::CutOff => json!({ "truncate": 20 }),
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Refused => "was refused with 503",
            Self::LostBefore => "was lost on its way; nothing happened",
            Self::LostAfter => "was taken, then the response was lost",
            Self::Busy => "was refused with 429 and Retry-After: 1",
            Self::FailedBefore => "failed with 500; nothing happened",
            Self::FailedAfter => "was taken, then answered with 500",
            Self::Slow => "was taken; the response came too late",
            Self::CutOff => "was taken; the response was cut off",
        }
    }
}

/// What a person, a customer or time does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Act {
    Approve,
    Edit,
    Stop,
    Discard,
    Assign,
    Answer,
    Mail,
    NewMail,
    Risk,
    AutoReply,
    Advance,
}

pub(super) const ACTS: [(Act, &str); 11] = [
    (Act::Mail, "mail"),
    (Act::NewMail, "new-mail"),
    (Act::Assign, "assign"),
    (Act::Answer, "answer"),
    (Act::Risk, "risk"),
    (Act::Discard, "discard"),
    (Act::Stop, "stop"),
    (Act::Edit, "edit"),
    (Act::Approve, "approve"),
    (Act::AutoReply, "auto-reply"),
    (Act::Advance, "advance"),
];

impl Act {
    /// Whether it needs a message of the app.
    pub(super) fn needs_message(self) -> bool {
        matches!(self, Self::Approve | Self::Edit | Self::Stop | Self::Discard)
    }

    /// Whether a person decides something that the app has to respect.
    pub(super) fn is_persons_word(self) -> bool {
        matches!(self, Self::Edit | Self::Stop | Self::Discard | Self::Assign | Self::Answer)
    }

    /// Whether it is about the conversation of a mail, not a conversation of its own or none.
    pub(super) fn touches(self) -> bool {
        !matches!(self, Self::NewMail | Self::Risk | Self::Advance)
    }
}

/// What happens in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// The request fails.
    Fail(Failure),
    /// The app is killed.
    Kill,
    /// Someone does something, in the conversation of this mail of the scenario.
    Act(Act, usize),
}

/// One thing that goes wrong, or that somebody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Step {
    pub(super) place: Place,
    pub(super) what: What,
}

impl Step {
    pub(super) fn act(&self) -> Option<(Act, usize)> {
        if let What::Act(act, mail) = self.what { Some((act, mail)) } else { None }
    }

    pub(super) fn request(&self) -> Option<Request> {
        match self.place {
            Place::Before(request) | Place::After(request) => Some(request),
            Place::Quiet(..) => None,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self.what {
            What::Fail(failure) => name_in(&FAILURES, failure),
            What::Kill => "kill",
            What::Act(act, _) => name_in(&ACTS, act),
        }
    }

    /// The step for the report.
    pub(super) fn json(&self) -> Value {
        let mut json = match self.place {
            Place::Before(it) => json!({ "when": "before", "request": it.op.to_string(), "nth": it.nth + 1 }),
            Place::After(it) => json!({ "when": "after", "request": it.op.to_string(), "nth": it.nth + 1 }),
            Place::Quiet(moment, round) => json!({ "when": match moment {
                Moment::Run => "before the run",
                Moment::End => "after the run",
                Moment::People => "after people looked at the drafts",
            }, "run": round + 1 }),
        };
        json["kind"] = json!(self.kind());
        if let What::Act(act, mail) = self.what
            && act != Act::Advance
        {
            json["mail"] = json!(mail + 1);
        }
        json
    }
}

fn name_in<T: PartialEq + Copy>(names: &[(T, &'static str)], wanted: T) -> &'static str {
    names.iter().find(|(it, _)| *it == wanted).map_or("", |(_, name)| name)
}

fn find_in<T: Copy>(names: &[(T, &str)], wanted: &str) -> Option<T> {
    names.iter().find(|(_, name)| *name == wanted).map(|(it, _)| *it)
}

/// Which mails come, and what happens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Schedule {
    /// The mails of the scenario that come, by number.
    pub(super) mails: Vec<usize>,
    pub(super) steps: Vec<Step>,
}

impl Schedule {
    pub(super) fn calm(mails: Vec<usize>) -> Self {
        Self { mails, steps: Vec::new() }
    }

    pub(super) fn with(&self, step: Step) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Self { mails: self.mails.clone(), steps }
    }

    /// Whether two steps cannot be at once.
    pub(super) fn clashes(&self) -> bool {
        let fails = |step: &&Step| !matches!(step.what, What::Act(..));
        let mut seen = Vec::new();
        self.steps.iter().filter(fails).any(|step| {
            let request = step.request();
            seen.contains(&request) || (seen.push(request), false).1
        }) || self.steps.iter().enumerate().any(|(n, step)| self.steps[..n].contains(step))
    }

    pub(super) fn acts(&self) -> impl Iterator<Item = (Act, usize)> + '_ {
        self.steps.iter().filter_map(Step::act)
    }

    /// A text that stands for the schedule, on every machine.
    pub(super) fn token(&self) -> String {
        let mails: Vec<_> = self.mails.iter().map(ToString::to_string).collect();
        let step = |step: &Step| {
            let target = step.act().map(|(_, mail)| format!(":{mail}")).unwrap_or_default();
            let prefix = |op: Op| if op.mcp { "mcp-" } else { "" };
            let place = match step.place {
                Place::Before(it) => format!("{}{}.{}", prefix(it.op), it.op.name(), it.nth),
                Place::After(it) => format!("{}{}.{}.after", prefix(it.op), it.op.name(), it.nth),
                Place::Quiet(moment, round) => format!("{}.{round}", name_in(&MOMENTS, moment)),
            };
            format!("_{}{target}@{place}", step.kind())
        };
        format!("1_{}{}", mails.join("."), self.steps.iter().map(step).collect::<String>())
    }

    /// The schedule of a token.
    pub(super) fn parse(token: &str, mails: usize) -> Result<Self, String> {
        let wrong = || format!("--replay {token}: is no token of this scenario");
        let rest = token.strip_prefix("1_").ok_or_else(wrong)?;
        // Names of operations have underscores too; only steps have an `@`.
        let mut parts: Vec<String> = Vec::new();
        for part in rest.split('_') {
            match parts.last_mut() {
                Some(last) if !part.contains('@') && last.contains('@') => {
                    last.push('_');
                    last.push_str(part);
                }
                _ => parts.push(part.to_owned()),
            }
        }
        let mut parts = parts.into_iter();
        let listed = parts.next().ok_or_else(wrong)?;
        let read = |number: &str| number.parse().ok().filter(|number| *number < mails);
        let chosen: Option<Vec<usize>> = listed.split('.').map(read).collect();
        let chosen = chosen.filter(|chosen| !chosen.is_empty()).ok_or_else(wrong)?;
        let step = |part: String| -> Option<Step> {
            let (what, place) = part.split_once('@')?;
            let (kind, target) = what.split_once(':').map_or((what, None), |(kind, mail)| (kind, Some(mail)));
            let what = match (find_in(&FAILURES, kind), target) {
                (Some(failure), None) => What::Fail(failure),
                (None, None) if kind == "kill" => What::Kill,
                (None, Some(mail)) => What::Act(find_in(&ACTS, kind)?, read(mail)?),
                _ => return None,
            };
            let mut place = place.split('.');
            let (name, nth) = (place.next()?, place.next()?.parse().ok()?);
            let place = match (find_in(&MOMENTS, name), place.next()) {
                (Some(moment), None) => Place::Quiet(moment, nth),
                (None, None) => Place::Before(Request { op: Op::parse(name)?, nth }),
                (None, Some("after")) => Place::After(Request { op: Op::parse(name)?, nth }),
                _ => return None,
            };
            Some(Step { place, what })
        };
        let steps = parts.map(step).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
        Ok(Self { mails: chosen, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_schedule() {
        let op = |name| Op::parse(name).expect("an operation");
        let request = |name, nth| Request { op: op(name), nth };
        let steps = vec![
            Step { place: Place::Before(request("reply", 1)), what: What::Fail(Failure::LostAfter) },
            Step { place: Place::After(request("get_conversation", 0)), what: What::Act(Act::NewMail, 1) },
            Step { place: Place::Quiet(Moment::People, 2), what: What::Act(Act::Stop, 0) },
            Step { place: Place::After(request("mcp-add_note", 0)), what: What::Kill },
        ];
        let schedule = Schedule { mails: vec![0, 1], steps };
        let token = schedule.token();
        assert_eq!(
            token,
            "1_0.1_lost-after@reply.1_new-mail:1@get_conversation.0.after_stop:0@people.2_kill@mcp-add_note.0.after"
        );
        assert_eq!(Schedule::parse(&token, 2), Ok(schedule));
        for bad in ["", "1_", "1_2", "2_0", "1_0_lost-after@nothing.0", "1_0_stop@people.0", "1_0_x"] {
            assert!(Schedule::parse(bad, 2).is_err(), "{bad}");
        }
    }
}
