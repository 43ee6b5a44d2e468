//! Failures on demand.

use shared_inbox::Problems;

use super::{Control, api::DocumentedCall};
use crate::{
    faults::{Bundle, ControlCall, Fault, FaultRule, Faults},
    json::nearest::did_you_mean,
    world::{Refusal, Result},
};

impl Control {
    /// Returns the rules, and how often each has fired.
    pub async fn faults(&self) -> Vec<Fault> {
        self.runtime.faults(|faults, _| faults.rules.clone())
    }

    /// Adds a rule that makes requests or webhooks fail. The first rule that fires counts.
    ///
    /// # Errors
    ///
    /// 400 for a rule that makes no sense, or that no route of the service could match.
    pub async fn add_fault(&self, rule: FaultRule) -> Result<Fault> {
        let mut problems = rule.problems();
        for (n, call) in rule.effect.control_calls().iter().enumerate() {
            check_call(n, call, &mut problems);
        }
        problems.or(())?;
        let added = self.runtime.faults(|faults, now| faults.add(rule, None, now));
        self.runtime.notify_control_change("faults");
        Ok(added)
    }

    /// Removes one rule.
    ///
    /// # Errors
    ///
    /// 404 when there is none with this id.
    pub async fn remove_fault(&self, fault: impl AsRef<str>) -> Result<()> {
        let removed = self.runtime.faults(|faults, _| faults.remove(|it| it.id == fault.as_ref()));
        self.runtime.notify_control_change("faults");
        if removed { Ok(()) } else { Err(Refusal::no_such("fault")) }
    }

    /// Returns the sets of rules that can be switched on by name.
    pub async fn bundles(&self) -> Vec<Bundle> {
        self.runtime.faults(|faults, _| faults.bundles())
    }

    /// Switches a bundle on: `bad-day`, `flaky-network` or `deploy`. One that is on already begins anew.
    ///
    /// # Errors
    ///
    /// 404 when there is none of this name.
    pub async fn switch_on(&self, bundle: impl AsRef<str>) -> Result<Vec<Fault>> {
        let on = self.runtime.faults(|faults, now| faults.switch_on(bundle.as_ref(), now));
        self.runtime.notify_control_change("faults");
        on.ok_or_else(no_bundle)
    }

    /// Switches a bundle off.
    ///
    /// # Errors
    ///
    /// 404 when there is none of this name.
    pub async fn switch_off(&self, bundle: impl AsRef<str>) -> Result<()> {
        let off = self.runtime.faults(|faults, _| faults.switch_off(bundle.as_ref()));
        self.runtime.notify_control_change("faults");
        off.ok_or_else(no_bundle)
    }

    /// Removes all rules.
    pub async fn clear_faults(&self) {
        self.runtime.faults(|faults, _| faults.remove(|_| true));
        self.runtime.notify_control_change("faults");
    }
}

/// Adds the problems of a control call that a rule makes, as far as they can be seen before it is made.
fn check_call(n: usize, call: &ControlCall, problems: &mut Problems) {
    let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
    let at = format!("effect.act[{n}]");
    let Some(called) = DocumentedCall::at(&call.method, path) else {
        let asked = format!("{} {path}", call.method);
        let known: Vec<String> = DocumentedCall::all().collect();
        let hint = did_you_mean(&asked, known.iter().map(String::as_str));
        return problems.push(at, format!("there is no `{asked}` in the control API{hint}"));
    };
    let body = call.body.as_ref().map(ToString::to_string).unwrap_or_default();
    for problem in &called.problems(&format!("{at}.body"), query, body.as_bytes()) {
        problems.push(problem.field.clone(), problem.message.clone());
    }
}

fn no_bundle() -> Refusal {
    Refusal::new(404, format!("There is no such bundle; there are {}.", Faults::known_bundles()))
}
