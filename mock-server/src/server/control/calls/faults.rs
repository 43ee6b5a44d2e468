//! Failures on demand.

use crate::{
    control::Control,
    server::control::{
        call::{Call, Gone, Made, delete, list, post},
        input::{Id, Input},
    },
};

pub(super) fn calls() -> Vec<Call> {
    vec![
        list(
            "/faults",
            "list_faults",
            "The rules, and how often each has fired",
            |it: Control, ()| async move { Ok(it.faults().await) },
        ),
        post("/faults", "add_fault", "Makes requests go wrong", |it: Control, Input(rule)| async move {
            it.add_fault(rule).await.map(Made)
        }),
        delete("/faults", "clear_faults", "Removes all rules", |it: Control, ()| async move {
            it.clear_faults().await;
            Ok(Gone)
        }),
        delete("/faults/{id}", "remove_fault", "Removes one rule", |it: Control, Id(id)| async move {
            it.remove_fault(&id).await.map(|()| Gone)
        }),
    ]
}
