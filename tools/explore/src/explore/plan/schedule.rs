//! A schedule: what goes wrong, and where. Its token is its text.

use crate::explore::{
    error::{ExploreError, Result},
    plan::op::{Delivery, Op, Request},
    plan::step::{Act, Failure, Place, Step, What, find, name},
};

/// Which mails come, and what happens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
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
        let fails_at = |step: &Step| step.act().is_none().then_some((step.request(), step.delivery()));
        let clash = |a: &Step, b: &Step| a == b || (fails_at(a).is_some() && fails_at(a) == fails_at(b));
        self.steps.iter().enumerate().any(|(n, step)| self.steps[..n].iter().any(|other| clash(step, other)))
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
                Place::Quiet(moment, round) => format!("{}.{round}", name(moment)),
            };
            format!("_{}{target}@{place}", step.kind())
        };
        format!("1_{}{}", mails.join("."), self.steps.iter().map(step).collect::<String>())
    }

    /// Returns the schedule of a token.
    pub(crate) fn parse(token: &str, mails: usize) -> Result<Self> {
        Self::read(token, mails).ok_or_else(|| ExploreError::Token(token.to_owned()))
    }

    fn read(token: &str, mails: usize) -> Option<Self> {
        let read_mail = |number: &str| number.parse().ok().filter(|number| *number < mails);
        // Names of operations have underscores too. A kind has none, and stands right before its `@`.
        let mut steps: Vec<&str> = token.strip_prefix("1_")?.split('@').collect();
        let mut end = steps.pop()?;
        let mut read = Vec::new();
        for before in steps.into_iter().rev() {
            let (before, what) = before.rsplit_once('_')?;
            read.push(Step { what: read_what(what, read_mail)?, place: read_place(end)? });
            end = before;
        }
        read.reverse();
        let fails_as_deliveries = |step: &Step| match step.what {
            What::Fail(failure) => Failure::OF_DELIVERIES.contains(&failure),
            _ => false,
        };
        let fits = |step: &Step| fails_as_deliveries(step) == step.delivery().is_some();
        let mails = end.split('.').map(read_mail).collect::<Option<_>>()?;
        read.iter().all(fits).then_some(Self { mails, steps: read })
    }
}

fn read_what(text: &str, read_mail: impl Fn(&str) -> Option<usize>) -> Option<What> {
    if let Some((act, mail)) = text.split_once(':') {
        return Some(What::Act(find(act)?, read_mail(mail)?));
    }
    if text == "kill" { Some(What::Kill) } else { find(text).map(What::Fail) }
}

fn read_place(text: &str) -> Option<Place> {
    let mut parts = text.split('.');
    let (name, nth, end) = (parts.next()?, parts.next()?.parse().ok()?, parts.next());
    let request = || Op::parse(name).map(|op| Request { op, nth });
    match end {
        None => find(name)
            .map(|moment| Place::Quiet(moment, nth))
            .or_else(|| request().map(Place::Before))
            .or_else(|| Delivery::parse(name, nth).map(Place::Delivery)),
        Some("after") => request().map(Place::After),
        Some(_) => None,
    }
}
