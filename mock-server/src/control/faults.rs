//! Failures on demand.

use super::{Control, OPENAPI_DOCUMENT};
use crate::{
    faults::{Bundle, ControlCall, Fault, FaultRule, Faults},
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
    /// 400 for a rule that makes no sense.
    pub async fn add_fault(&self, rule: FaultRule) -> Result<Fault> {
        rule.check().map_err(|problem| Refusal::new(400, problem))?;
        if let Some(call) = rule.effect.control_calls().iter().find(|call| !is_control_call(call)) {
            let (method, path) = (&call.method, path_of(call));
            return Err(Refusal::field(
                "effect.act",
                format!("there is no `{method} {path}` in the control API"),
            ));
        }
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
        let removed = self.runtime.faults(|faults, _| faults.remove(fault.as_ref()));
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
        self.runtime.faults(|faults, _| faults.rules.clear());
        self.runtime.notify_control_change("faults");
    }
}

fn path_of(call: &ControlCall) -> &str {
    call.path.split('?').next().unwrap_or_default()
}

/// Returns whether the control API has such a call.
fn is_control_call(call: &ControlCall) -> bool {
    let matches = |template: &str| {
        let (mut wanted, mut given) = (template.split('/'), path_of(call).split('/'));
        wanted
            .by_ref()
            .zip(given.by_ref())
            .all(|(wanted, given)| wanted == given || (wanted.starts_with('{') && !given.is_empty()))
            && wanted.next().is_none()
            && given.next().is_none()
    };
    let paths = OPENAPI_DOCUMENT["paths"].as_object().into_iter().flatten();
    let mut found = paths.filter(|(template, _)| matches(template));
    found.any(|(_, calls)| !calls[call.method.to_ascii_lowercase()].is_null())
}

fn no_bundle() -> Refusal {
    Refusal::new(404, format!("There is no such bundle; there are {}.", Faults::known_bundles()))
}
