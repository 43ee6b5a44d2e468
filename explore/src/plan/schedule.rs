//! A schedule: what goes wrong, and where. Its token is its text.

use crate::{
    plan::op::{Delivery, Op, Request},
    plan::step::{ACTS, Act, FAILURES, MOMENTS, Place, Step, TROUBLES, What, find_in, name_in},
};

/// Which mails come, and what happens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Schedule {
    /// The mails of the scenario that come, by number.
    pub(crate) mails: Vec<usize>,
    pub(crate) steps: Vec<Step>,
}

impl Schedule {
    pub(crate) fn calm(mails: Vec<usize>) -> Self {
        Self { mails, steps: Vec::new() }
    }

    pub(crate) fn with(&self, step: Step) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Self { mails: self.mails.clone(), steps }
    }

    /// Returns whether two steps cannot be at once.
    pub(crate) fn clashes(&self) -> bool {
        let fails = |step: &&Step| !matches!(step.what, What::Act(..));
        let mut seen = Vec::new();
        self.steps.iter().filter(fails).any(|step| {
            let target = (step.request(), step.delivery());
            seen.contains(&target) || (seen.push(target), false).1
        }) || self.steps.iter().enumerate().any(|(n, step)| self.steps[..n].contains(step))
    }

    pub(crate) fn acts(&self) -> impl Iterator<Item = (Act, usize)> + '_ {
        self.steps.iter().filter_map(Step::act)
    }

    /// A text that stands for the schedule, on every machine.
    pub(crate) fn token(&self) -> String {
        let mails: Vec<_> = self.mails.iter().map(ToString::to_string).collect();
        let step = |step: &Step| {
            let target = step.act().map(|(_, mail)| format!(":{mail}")).unwrap_or_default();
            let prefix = |op: Op| if op.mcp { "mcp-" } else { "" };
            let place = match step.place {
                Place::Before(it) => format!("{}{}.{}", prefix(it.op), it.op.name(), it.nth),
                Place::After(it) => format!("{}{}.{}.after", prefix(it.op), it.op.name(), it.nth),
                Place::Delivery(it) => format!("{}.{}", it.name(), it.nth),
                Place::Quiet(moment, round) => format!("{}.{round}", name_in(&MOMENTS, moment)),
            };
            format!("_{}{target}@{place}", step.kind())
        };
        format!("1_{}{}", mails.join("."), self.steps.iter().map(step).collect::<String>())
    }

    /// Returns the schedule of a token.
    pub(crate) fn parse(token: &str, mails: usize) -> Result<Self, String> {
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
            let what = match (find_in(&FAILURES, kind), find_in(&TROUBLES, kind), target) {
                (Some(failure), None, None) => What::Fail(failure),
                (None, Some(trouble), None) => What::Deliver(trouble),
                (None, None, None) if kind == "kill" => What::Kill,
                (None, None, Some(mail)) => What::Act(find_in(&ACTS, kind)?, read(mail)?),
                _ => return None,
            };
            let mut place = place.split('.');
            let (name, nth) = (place.next()?, place.next()?.parse().ok()?);
            let place = match (find_in(&MOMENTS, name), place.next()) {
                (None, None) if matches!(what, What::Deliver(_)) => {
                    Place::Delivery(Delivery::parse(name, nth)?)
                }
                _ if matches!(what, What::Deliver(_)) => return None,
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
    use crate::plan::step::{Failure, Moment, Trouble};

    #[test]
    fn a_token_is_the_schedule() {
        let op = |name| Op::parse(name).expect("an operation");
        let request = |name, nth| Request { op: op(name), nth };
        let steps = vec![
            Step { place: Place::Before(request("reply", 1)), what: What::Fail(Failure::LostAfter) },
            Step { place: Place::After(request("get_conversation", 0)), what: What::Act(Act::NewMail, 1) },
            Step { place: Place::Quiet(Moment::People, 2), what: What::Act(Act::Stop, 0) },
            Step { place: Place::After(request("mcp-add_note", 0)), what: What::Kill },
            Step {
                place: Place::Delivery(Delivery { event: "turn.changed", nth: 1 }),
                what: What::Deliver(Trouble::Lost),
            },
            Step { place: Place::Quiet(Moment::Run, 1), what: What::Act(Act::Nudge, 0) },
            Step { place: Place::Before(request("reply", 0)), what: What::Act(Act::Upload, 0) },
            Step { place: Place::Quiet(Moment::End, 0), what: What::Act(Act::Reminder, 0) },
        ];
        let schedule = Schedule { mails: vec![0, 1], steps };
        let token = schedule.token();
        assert_eq!(
            token,
            "1_0.1_lost-after@reply.1_new-mail:1@get_conversation.0.after_stop:0@people.2_kill@mcp-add_note.0.after_lost@turn-changed.1_nudge:0@run.1_upload:0@reply.0_reminder:0@end.0"
        );
        assert_eq!(Schedule::parse(&token, 2), Ok(schedule));
        for bad in [
            "",
            "1_",
            "1_2",
            "2_0",
            "1_0_lost-after@nothing.0",
            "1_0_stop@people.0",
            "1_0_lost@reply.0",
            "1_0_x",
        ] {
            assert!(Schedule::parse(bad, 2).is_err(), "{bad}");
        }
    }
}
