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
            |control: Control, ()| async move { Ok(Json(control.faults().await)) },
        ),
        post("/faults", "add_fault", |control: Control, JsonBody(rule)| async move {
            control.add_fault(rule).await.map(Created)
        }),
        delete("/faults/{id}", "remove_fault", |control: Control, PathId(fault)| async move {
            control.remove_fault(fault).await.map(NoContent)
        }),
        list(
            "/bundles",
            "list_bundles",
            |control: Control, ()| async move { Ok(Json(control.bundles().await)) },
        ),
        post("/bundles/{id}", "switch_on", |control: Control, PathId(bundle)| async move {
            control.switch_on(bundle).await.map(Created)
        }),
        delete("/bundles/{id}", "switch_off", |control: Control, PathId(bundle)| async move {
            control.switch_off(bundle).await.map(NoContent)
        }),
        delete("/faults", "clear_faults", |control: Control, ()| async move {
            control.clear_faults().await;
            Ok(NoContent(()))
        }),
    ]
}
