//! Expectations: what must happen, waited for.

use super::{
    call::{Call, Json, post},
    input::JsonBody,
};
use crate::control::Control;

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![post("/expect", "expect", |control: Control, JsonBody(wanted)| async move {
        control.expect(wanted).await.map(Json)
    })]
}
