//! The world's clock.

use std::time::Duration;

use shared_inbox::Timestamp;

use super::Control;
use crate::{
    runtime::advance::{AdvanceTarget, ClockAdvance, ClockReading},
    world::Result,
};

impl Control {
    /// Returns what the clock shows.
    pub async fn clock(&self) -> ClockReading {
        self.runtime.clock()
    }

    /// Advances the clock. Every job on the way runs in order, each at its own time; webhook attempts that
    /// were due or under way have ended when this returns.
    ///
    /// # Errors
    ///
    /// 409 when the world is replaced or reset meanwhile.
    pub async fn advance(&self, by: Duration) -> Result<ClockAdvance> {
        self.runtime.advance(AdvanceTarget::By(by)).await
    }

    /// Advances the clock to a time, running every job on the way.
    ///
    /// # Errors
    ///
    /// 400 when that time has passed, 409 when the world is replaced or reset meanwhile.
    pub async fn advance_to(&self, time: Timestamp) -> Result<ClockAdvance> {
        self.runtime.advance(AdvanceTarget::Time(time)).await
    }

    /// Advances the clock to the next job, and runs all jobs that are due at that time. Does nothing if there
    /// is none.
    ///
    /// # Errors
    ///
    /// 409 when the world is replaced or reset meanwhile.
    pub async fn run_next_job(&self) -> Result<ClockAdvance> {
        self.runtime.advance(AdvanceTarget::NextJob).await
    }
}
