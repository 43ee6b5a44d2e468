//! Failures on demand.

use super::{
    call::{Call, Created, Json, NoContent, delete, list, post},
    input::{JsonBody, PathId},
};
use crate::control::Control;

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![
        list(
            "/faults",
            "list_faults",
            "The rules, and how often each has fired",
            |control: Control, ()| async move { Ok(Json(control.faults().await)) },
        ),
        post(
            "/faults",
            "add_fault",
            "Makes requests or webhooks go wrong",
            |control: Control, JsonBody(rule)| async move { control.add_fault(rule).await.map(Created) },
        )
        .about(
            "The first rule that fires counts. One effect a rule, and `delayMs` may go with any of them: \
             a number, `{min, max}`, or `{median, p99}`. Without `times` it fires once, with `forSeconds` \
             always; `probability` is the share of those that match. With `webhook` it strikes webhooks: \
             `drop` before (a dead address) or after (the answer is lost), `truncate`, `twice`, `swap` \
             (after the next one), `lateSeconds`, `status`. With `act` it makes control calls, by their \
             paths behind `/_mock`, in this world: right before the request is handled, or with `when` \
             `after` once it took effect and before the response. It leaves the request as it is, so the \
             rules after it count too; `acted` shows the statuses of the calls.",
        ),
        delete(
            "/faults/{id}",
            "remove_fault",
            "Removes one rule",
            |control: Control, PathId(fault)| async move { control.remove_fault(fault).await.map(NoContent) },
        ),
        list(
            "/bundles",
            "list_bundles",
            "Sets of rules to switch on by name",
            |control: Control, ()| async move { Ok(Json(control.bundles().await)) },
        ),
        post(
            "/bundles/{id}",
            "switch_on",
            "Switches a bundle on",
            |control: Control, PathId(bundle)| async move { control.switch_on(bundle).await.map(Created) },
        )
        .about("`bad-day`, `flaky-network` or `deploy`. One that is on already begins anew."),
        delete(
            "/bundles/{id}",
            "switch_off",
            "Switches a bundle off",
            |control: Control, PathId(bundle)| async move { control.switch_off(bundle).await.map(NoContent) },
        ),
        delete("/faults", "clear_faults", "Removes all rules", |control: Control, ()| async move {
            control.clear_faults().await;
            Ok(NoContent(()))
        }),
    ]
}
