//! Failures on demand.

use super::{
    Control,
    call::{NoContent, delete},
    calls::calls,
};
use crate::{
    faults::{Bundle, Fault, FaultRule, Faults},
    world::Refusal,
};

calls! {
    list "/faults" "list_faults" "The rules, and how often each has fired"
    fn faults() -> Fault as Json { |it| it.runtime.faults(|faults, _| faults.rules.clone()) }

    post "/faults" "add_fault" "Makes requests or webhooks go wrong"
        about "The first rule that fires counts. One effect a rule, and `delayMs` may go with any of them: a number, \
               `{min, max}`, or `{median, p99}`. Without `times` it fires once, with `forSeconds` always; `probability` is \
               the share of those that match. With `webhook` it strikes webhooks: `drop` before (a dead address) or after \
               (the answer is lost), `truncate`, `twice`, `swap` (after the next one), `lateSeconds`, `status`. \
               With `act` it makes control calls, by their paths behind `/_mock`, in this world: right before the request is \
               handled, or with `when` `after` once it took effect and before the response. It leaves the request as it \
               is, so the rules after it count too; `acted` shows the statuses of the calls."
        errors "400 for a rule that makes no sense."
    fn add_fault(body rule: FaultRule) -> Fault as Created {
        |it| {
            rule.check().map_err(|problem| Refusal::new(400, problem))?;
            let added = it.runtime.faults(|faults, now| faults.add(rule, None, now));
            it.runtime.notify_control_change("faults");
            Ok(added)
        }
    }

    delete "/faults/{id}" "remove_fault" "Removes one rule"
        errors "404 when there is none with this id."
    fn remove_fault(id fault) -> () as NoContent {
        |it| {
            let removed = it.runtime.faults(|faults, _| faults.remove(fault.as_ref()));
            it.runtime.notify_control_change("faults");
            if removed { Ok(()) } else { Err(Refusal::no_such("fault")) }
        }
    }

    list "/bundles" "list_bundles" "Sets of rules to switch on by name"
    fn bundles() -> Bundle as Json { |it| it.runtime.faults(|faults, _| faults.bundles()) }

    post "/bundles/{id}" "switch_on" "Switches a bundle on"
        about "`bad-day`, `flaky-network` or `deploy`. One that is on already begins anew."
        errors "404 when there is none of this name."
    fn switch_on(id bundle) -> Vec<Fault> as Created {
        |it| {
            let on = it.runtime.faults(|faults, now| faults.switch_on(bundle.as_ref(), now));
            it.runtime.notify_control_change("faults");
            on.ok_or_else(no_bundle)
        }
    }

    delete "/bundles/{id}" "switch_off" "Switches a bundle off"
        errors "404 when there is none of this name."
    fn switch_off(id bundle) -> () as NoContent {
        |it| {
            let off = it.runtime.faults(|faults, _| faults.switch_off(bundle.as_ref()));
            it.runtime.notify_control_change("faults");
            off.ok_or_else(no_bundle)
        }
    }

    ; also [
        delete("/faults", "clear_faults", "Removes all rules", |it: Control, ()| async move {
            it.clear_faults().await;
            Ok(NoContent(()))
        }),
    ]
}

impl Control {
    /// Removes all rules.
    pub async fn clear_faults(&self) {
        self.runtime.faults(|faults, _| faults.rules.clear());
        self.runtime.notify_control_change("faults");
    }
}

fn no_bundle() -> Refusal {
    Refusal::new(404, format!("There is no such bundle; there are {}.", Faults::known_bundles()))
}
