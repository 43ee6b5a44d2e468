//! Failures on demand.

use super::{Control, Controlled};
use crate::{
    faults::{Bundle, Fault, FaultRule, Faults},
    world::Refusal,
};

impl Control {
    /// Makes requests, or webhooks, go wrong.
    ///
    /// # Errors
    ///
    /// 400 for a rule that makes no sense.
    pub async fn add_fault(&self, rule: FaultRule) -> Controlled<Fault> {
        rule.check().map_err(|problem| Refusal::new(400, problem))?;
        let added = self.runtime.faults(|faults, now| faults.add(rule, now));
        self.runtime.notify_control_change("faults");
        Ok(added)
    }

    /// The rules, and how often each has fired.
    pub async fn faults(&self) -> Vec<Fault> {
        self.runtime.faults(|faults, _| faults.list())
    }

    /// Removes all rules.
    pub async fn clear_faults(&self) {
        self.runtime.faults(|faults, _| faults.clear());
        self.runtime.notify_control_change("faults");
    }

    /// Removes one rule.
    ///
    /// # Errors
    ///
    /// 404 when there is none with this id.
    pub async fn remove_fault(&self, id: &str) -> Controlled<()> {
        let removed = self.runtime.faults(|faults, _| faults.remove(id));
        self.runtime.notify_control_change("faults");
        if removed { Ok(()) } else { Err(Refusal::new(404, "There is no such fault.")) }
    }

    /// The sets of rules that can be switched on by name.
    pub async fn bundles(&self) -> Vec<Bundle> {
        self.runtime.faults(|faults, _| faults.bundles())
    }

    /// Switches a bundle on: `bad-day`, `flaky-network` or `deploy`. One that is on already begins anew.
    ///
    /// # Errors
    ///
    /// 404 when there is none of this name.
    pub async fn switch_on(&self, bundle: &str) -> Controlled<Vec<Fault>> {
        let on = self.runtime.faults(|faults, now| faults.switch_on(bundle, now));
        self.runtime.notify_control_change("faults");
        on.ok_or_else(no_bundle)
    }

    /// Switches a bundle off.
    ///
    /// # Errors
    ///
    /// 404 when there is none of this name.
    pub async fn switch_off(&self, bundle: &str) -> Controlled<()> {
        let off = self.runtime.faults(|faults, _| faults.switch_off(bundle));
        self.runtime.notify_control_change("faults");
        off.ok_or_else(no_bundle)
    }
}

fn no_bundle() -> Refusal {
    Refusal::new(404, format!("There is no such bundle; there are {}.", Faults::known_bundles()))
}
