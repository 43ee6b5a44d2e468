//! The explorer with apps in Python and Node. `EXPLORE_SCHEDULES` looks at all of them, and further.

use std::env;

use shared_inbox_explore::explore::{Explore, Oracle};

mod apps;
mod guide;
mod servers;

/// The path of an app's file.
fn app(file: &str) -> String {
    format!("{}/explore/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn schedules() -> Option<u64> {
    env::var("EXPLORE_SCHEDULES").ok().and_then(|number| number.parse().ok())
}

/// All of these in a long exploration, the first of them in a plain run.
fn sample<T>(all: &[T]) -> &[T] {
    if schedules().is_some() { all } else { &all[..1] }
}

/// Explores until the fault of an app is found; with how many steps.
async fn find(explore: Explore, oracle: Oracle) -> usize {
    let report = explore.seconds(3600.0).max_schedules(400).run().await.expect("it ran");
    let [finding] = &report.findings[..] else { panic!("nothing found: {report}") };
    assert_eq!(finding.oracle, oracle, "{report}");
    assert!(finding.steps.len() <= 3, "{report}");
    finding.steps.len()
}

async fn holds(explore: Explore) {
    let report = explore.seconds(7200.0).max_schedules(schedules().unwrap_or(2)).run().await.expect("it ran");
    assert!(report.held(), "{report}");
}
