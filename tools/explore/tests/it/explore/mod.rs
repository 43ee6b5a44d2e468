//! The explorer: small apps with one fault each, which it finds, and correct ones, in which it finds nothing.
//!
//! A plain run explores a sample of them. It is bounded by schedules, never by the clock, and so is the
//! whole:
//!
//!     EXPLORE_SCHEDULES=400 cargo test -p shared-inbox-explore --test it explore:: -- --nocapture

use shared_inbox_explore::explore::{Explore, Finding, Oracle, Report};

mod apps;
mod correct;
mod days;
mod follow_ups;
mod interrupt;
mod planted;
mod server_apps;
mod servers;
mod story;
mod support_worker;
mod varying;

/// How many schedules a long exploration may try; none in a plain run.
fn long_schedules() -> Option<u64> {
    std::env::var("EXPLORE_SCHEDULES").ok().and_then(|number| number.parse().ok())
}

/// All of these in a long exploration, the first of them in a plain run.
fn sample<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().take(if long_schedules().is_some() { usize::MAX } else { 1 })
}

/// Explores until the fault of an app is found: in five runs of five, with the rule that it breaks and with
/// few steps.
async fn find(name: &str, oracle: Oracle, explore: Explore) -> Finding {
    let report = explore.seconds(3600.0).max_schedules(400).run().await.expect("it ran");
    let Some(finding) = report.findings.first() else { panic!("{name}: nothing found: {report}") };
    println!("{name}: {} after {} schedules, {:.1} s", finding.replay, report.schedules, report.seconds);
    assert_eq!((finding.oracle, finding.reproduced.as_str()), (oracle, "5 of 5"), "{name}: {report}");
    assert!(finding.steps.len() <= 3, "{name}: {report}");
    finding.clone()
}

/// Replays a schedule, which breaks this rule, or none.
async fn assert_replay(explore: Explore, token: &str, broken: Option<Oracle>) -> Report {
    let report = explore.replay(token).await.unwrap_or_else(|why| panic!("{token}: {why}"));
    assert_eq!(report.findings.first().map(|finding| finding.oracle), broken, "{token}: {report}");
    assert_eq!(report.held(), broken.is_none(), "{token}: {report}");
    report
}
