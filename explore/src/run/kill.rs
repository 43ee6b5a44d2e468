//! When the app is to be killed: at a request that a rule in its world waits for.

use crate::{
    plan::{schedule::Schedule, step::What},
    run::world::{POLL_INTERVAL, WorldHandle},
};

/// Completes when one more of the kills among these rules is due than were done.
pub(crate) async fn kill_is_due(
    world: &WorldHandle,
    schedule: &Schedule,
    rules: &[(usize, String)],
    done: u32,
) {
    if schedule.steps.iter().all(|step| step.what != What::Kill) {
        std::future::pending::<()>().await;
    }
    while fired_kills(world, schedule, rules).await <= done {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns how many of the kills among these rules are due or done.
async fn fired_kills(world: &WorldHandle, schedule: &Schedule, rules: &[(usize, String)]) -> u32 {
    let faults = world.control.faults().await;
    let fired = |(n, id): &&(usize, String)| {
        schedule.steps[*n].what == What::Kill
            && faults.iter().any(|fault| fault.id == *id && fault.fired != 0)
    };
    u32::try_from(rules.iter().filter(fired).count()).unwrap_or(u32::MAX)
}
