//! The world's clock.

use std::time::Duration;

use serde::Deserialize;
use shared_inbox::Timestamp;

use super::{
    call::{Call, Json, get, post},
    input::JsonBody,
};
use crate::{
    control::Control,
    runtime::advance::ClockAdvance,
    world::{Refusal, Result},
};

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![
        get("/clock", "get_clock", |control: Control, ()| async move { Ok(Json(control.clock().await)) }),
        post("/clock", "move_clock", |control: Control, JsonBody(to): JsonBody<MoveClock>| async move {
            to.advance(&control).await.map(Json)
        }),
    ]
}

/// How far to move the clock: one of the three.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct MoveClock {
    /// By this many seconds.
    advance_seconds: Option<f64>,
    /// To this time, which must not have passed.
    to: Option<Timestamp>,
    /// To the time of the next job, with all that is due at that time; stays where it is when there is none.
    next_job: Option<bool>,
}

/// A hundred years; the clock's own range ends in 9999.
const MAX_ADVANCE_SECONDS: u64 = 3_155_760_000;

impl MoveClock {
    async fn advance(self, control: &Control) -> Result<ClockAdvance> {
        match (self.advance_seconds, self.to, self.next_job) {
            (Some(seconds), None, None) => {
                let by = Duration::try_from_secs_f64(seconds).ok();
                let by = by.filter(|by| by.as_secs() <= MAX_ADVANCE_SECONDS).ok_or_else(|| {
                    Refusal::field("advanceSeconds", "must be from 0 to 3155760000, a hundred years")
                })?;
                control.advance(by).await
            }
            (None, Some(to), None) => control.advance_to(to).await,
            (None, None, Some(true)) => control.run_next_job().await,
            (None, None, Some(false)) => Err(Refusal::field("nextJob", "must be true")),
            (None, None, None) => Err(Refusal::field("advanceSeconds", "is required, or `to`, or `nextJob`")),
            _ => Err(Refusal::field(
                "advanceSeconds",
                "goes with neither `to` nor `nextJob`: give one of the three",
            )),
        }
    }
}
