//! A schedule: what goes wrong, and where. Its token is its text.

use crate::{
    error::{ExploreError, Result},
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
    /// The mails come, and nothing happens beside.
    pub(crate) fn undisturbed(mails: Vec<usize>) -> Self {
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
    pub(crate) fn parse(token: &str, mails: usize) -> Result<Self> {
        let wrong = || ExploreError::Token(token.to_owned());
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
