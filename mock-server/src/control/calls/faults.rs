//! Failures on demand.

use crate::control::{
    Control,
    call::{Call, Gone, Made, delete, list, post},
    input::{Id, Input},
};

pub(super) fn calls() -> Vec<Call> {
    vec![
        list(
            "/faults",
            "list_faults",
            "The rules, and how often each has fired",
            |it: Control, ()| async move { Ok(it.faults().await) },
        ),
        post("/faults", "add_fault", "Makes requests or webhooks go wrong", |it: Control, Input(rule)| async move {
            it.add_fault(rule).await.map(Made)
        })
        .about(
            "The first rule that fires counts. One effect a rule, and `delayMs` may go with any of them: a number, \
             `{min, max}`, or `{median, p99}`. Without `times` it fires once, with `forSeconds` always; `probability` is \
             the share of those that match. With `webhook` it strikes webhooks: `drop` before (a dead address) or after \
             (the answer is lost), `truncate`, `twice`, `swap` (after the next one), `lateSeconds`, `status`. \
             With `act` it makes control calls, by their paths behind `/_mock`, in this world: right before the request is \
             handled, or with `when` `after` once it took effect and before it is answered. It leaves the request as it \
             is, so the rules after it count too; `acted` shows what the calls were answered.",
        ),
        delete("/faults", "clear_faults", "Removes all rules", |it: Control, ()| async move {
            it.clear_faults().await;
            Ok(Gone)
        }),
        delete("/faults/{id}", "remove_fault", "Removes one rule", |it: Control, Id(id)| async move {
            it.remove_fault(&id).await.map(|()| Gone)
        }),
        list("/bundles", "list_bundles", "Sets of rules to switch on by name", |it: Control, ()| async move {
            Ok(it.bundles().await)
        }),
        post("/bundles/{id}", "switch_on", "Switches a bundle on", |it: Control, Id(name)| async move {
            it.switch_on(&name).await.map(Made)
        })
        .about("`bad-day`, `flaky-network` or `deploy`. One that is on already begins anew."),
        delete("/bundles/{id}", "switch_off", "Switches a bundle off", |it: Control, Id(name)| async move {
            it.switch_off(&name).await.map(|()| Gone)
        }),
    ]
}
