//! When the app is to be killed: at a request that a rule in its world waits for.

use crate::explore::{
    plan::step::{Step, What},
    run::world::{POLL_INTERVAL, WorldHandle},
};

/// Completes when one more of the kills among these rules is due than were done.
pub(crate) async fn kill_is_due(world: &WorldHandle, rules: &[(Step, String)], done: usize) {
    let kills = || rules.iter().filter(|(step, _)| step.what == What::Kill);
    if kills().next().is_none() {
        std::future::pending::<()>().await;
    }
    loop {
        let faults = world.control.faults().await;
        let fired = |id: &String| faults.iter().any(|fault| fault.id == *id && fault.fired != 0);
        if kills().filter(|(_, id)| fired(id)).count() > done {
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
