//! Failures on demand.

use super::{Control, Controlled};
use crate::{
    server::faults::{Fault, FaultRule},
    world::Refusal,
};

impl Control {
    /// Makes requests go wrong.
    ///
    /// # Errors
    ///
    /// 400 for a rule that makes no sense.
    pub async fn add_fault(&self, rule: FaultRule) -> Controlled<Fault> {
        rule.check().map_err(|problem| Refusal::new(400, problem))?;
        Ok(self.realm.faults(|faults| faults.add(rule)))
    }

    /// The rules, and how often each has fired.
    pub async fn faults(&self) -> Vec<Fault> {
        self.realm.faults(|faults| faults.list())
    }

    /// Removes all rules.
    pub async fn clear_faults(&self) {
        self.realm.faults(|faults| faults.clear());
    }

    /// Removes one rule.
    ///
    /// # Errors
    ///
    /// 404 when there is none with this id.
    pub async fn remove_fault(&self, id: &str) -> Controlled<()> {
        let removed = self.realm.faults(|faults| faults.remove(id));
        if removed { Ok(()) } else { Err(Refusal::new(404, "There is no such fault.")) }
    }
}
