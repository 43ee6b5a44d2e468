//! The world's clock.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use shared_inbox::Timestamp;

use super::{
    Control,
    call::{Call, Json, get, post},
    input::JsonBody,
};
use crate::{
    runtime::advance::{AdvanceTarget, Advanced, ClockReading},
    world::{Refusal, Result},
};

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![
        get("/clock", "get_clock", "What the clock shows", |it: Control, ()| async move {
            Ok(Json(it.clock().await))
        }),
        post("/clock", "move_clock", "Moves the clock ahead", |it: Control, JsonBody(to): JsonBody<MoveClock>| async move {
            it.runtime.advance(to.until()?).await.map(Json)
        })
        .about(
            "By `advanceSeconds`, `to` a time, or to the `nextJob`: one of the three. Everything that falls due on the \
             way happens in order, each at its own time, webhook tries included; the answer comes when every try that \
             fell due or was under way has ended. A real clock runs on from the later time.",
        )
        .conflict("The world was replaced or reset meanwhile."),
    ]
}

impl Control {
    /// Returns what the clock shows.
    pub async fn clock(&self) -> ClockReading {
        self.runtime.clock()
    }

    /// Advances the clock. Every job on the way runs in order, each at its own time; webhook attempts that were due or under way have
    /// ended when this returns.
    ///
    /// # Errors
    ///
    /// 409 when the world is replaced or reset meanwhile.
    pub async fn advance(&self, by: Duration) -> Result<Advanced> {
        self.runtime.advance(AdvanceTarget::By(by)).await
    }

    /// Advances the clock to a time, running every job on the way.
    ///
    /// # Errors
    ///
    /// 400 when that time has passed, 409 when the world is replaced or reset meanwhile.
    pub async fn advance_to(&self, time: Timestamp) -> Result<Advanced> {
        self.runtime.advance(AdvanceTarget::Time(time)).await
    }

    /// Advances the clock to the next job, and runs all jobs that are due at that time. Does nothing if there is none.
    ///
    /// # Errors
    ///
    /// 409 when the world is replaced or reset meanwhile.
    pub async fn run_next_job(&self) -> Result<Advanced> {
        self.runtime.advance(AdvanceTarget::NextJob).await
    }
}

/// How far to move the clock: one of the three.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MoveClock {
    /// By so many seconds.
    advance_seconds: Option<f64>,
    /// To this time, which must not have passed.
    to: Option<Timestamp>,
    /// To the time of the next job, with all that is due at that time; stays where it is when there is none.
    next_job: Option<bool>,
}

/// A hundred years; the clock's own range ends in 9999.
const MAX_ADVANCE_SECONDS: u64 = 3_155_760_000;

impl MoveClock {
    fn until(self) -> Result<AdvanceTarget> {
        match (self.advance_seconds, self.to, self.next_job) {
            (Some(seconds), None, None) => Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|by| by.as_secs() <= MAX_ADVANCE_SECONDS)
                .map(AdvanceTarget::By)
                .ok_or_else(|| {
                    Refusal::field("advanceSeconds", "must be from 0 to 3155760000, a hundred years")
                }),
            (None, Some(to), None) => Ok(AdvanceTarget::Time(to)),
            (None, None, Some(true)) => Ok(AdvanceTarget::NextJob),
            (None, None, Some(false)) => Err(Refusal::field("nextJob", "must be true")),
            (None, None, None) => Err(Refusal::field("advanceSeconds", "is required, or `to`, or `nextJob`")),
            _ => Err(Refusal::field(
                "advanceSeconds",
                "goes with neither `to` nor `nextJob`: give one of the three",
            )),
        }
    }
}
