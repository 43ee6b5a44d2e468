//! Failures on demand.

use shared_inbox::Problems;

use super::{Control, Expectation, api::DocumentedCall};
use crate::{
    faults::{Bundle, ControlCall, Fault, FaultRule, Faults},
    json::{add_all, nearest::did_you_mean},
    runtime::clock::ClockMode,
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
        check_rule(&rule, self.runtime.clock().mode).or(())?;
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

/// Returns the problems of a rule and of the control calls that it makes.
fn check_rule(rule: &FaultRule, mode: ClockMode) -> Problems {
    let mut problems = rule.problems();
    for (n, call) in rule.effect.control_calls().iter().enumerate() {
        check_call(&format!("effect.act[{n}]"), call, mode, &mut problems);
    }
    problems
}

/// Adds the problems of a control call that a rule makes, as far as they can be seen before it is made.
fn check_call(at: &str, call: &ControlCall, mode: ClockMode, problems: &mut Problems) {
    let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
    let Some(called) = DocumentedCall::at(&call.method, path) else {
        let segment = |part: &str| if part.contains('_') { "{id}".to_owned() } else { part.to_owned() };
        let plain: Vec<String> = path.split('/').map(segment).collect();
        let known: Vec<String> = DocumentedCall::all().collect();
        let asked = format!("{} {}", call.method, plain.join("/"));
        let hint = did_you_mean(&asked, known.iter().map(String::as_str));
        return problems.push(at, format!("there is no `{} {path}` in the control API{hint}", call.method));
    };
    for problem in &called.problems_of_query(query) {
        problems
            .push(format!("{at}.path"), format!("query parameter {}: {}", problem.field, problem.message));
    }
    let (body, text) =
        (format!("{at}.body"), call.body.as_ref().map(ToString::to_string).unwrap_or_default());
    let by_schema = called.problems_of_body(&body, text.as_bytes());
    if !by_schema.is_empty() {
        return add_all(problems, "", &by_schema);
    }
    let by_type = match called.name() {
        "expect" => serde_json::from_str(&text).map(|wanted: Expectation| wanted.problems(mode)),
        "add_fault" => serde_json::from_str(&text).map(|rule| check_rule(&rule, mode)),
        _ => return,
    };
    match by_type {
        Ok(found) => add_all(problems, &body, &found),
        Err(error) => problems.push(body, error.to_string()),
    }
}

fn no_bundle() -> Refusal {
    Refusal::new(404, format!("There is no such bundle; there are {}.", Faults::known_bundles()))
}
