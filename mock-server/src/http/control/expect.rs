//! Expectations: what must happen, waited for.

use super::{
    call::{Call, Json, post},
    input::JsonBody,
};
use crate::control::Control;

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![
        post(
            "/expect",
            "expect",
            "Waits until something has happened that must happen",
            |control: Control, JsonBody(wanted)| async move { control.expect(wanted).await.map(Json) },
        )
        .about(
            "Looks at what there is since the world began, and waits as long as it may. In virtual time \
             the clock is moved on from job to job, no further than it takes. Answers when it is met; an \
             exact number or an upper limit is decided when the span is over.",
        )
        .conflict(
            "It did not happen, or too often; the sentence says what came nearest, \
             for a bug report.",
        ),
    ]
}
