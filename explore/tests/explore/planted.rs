//! Apps with one realistic fault each. The explorer finds it, and shrinks it.

use std::{future::Future, pin::Pin};

use shared_inbox_explore::{AppContext, Explore, Finding, Oracle, Scenario};

use crate::apps::{Api, Done, id, is_dealt_with, is_for_people, order, since_last_mail};

mod first;
mod second;

type App = fn(AppContext) -> Pin<Box<dyn Future<Output = Done> + Send>>;

/// A fault: its name, the rule that it breaks, a schedule that shows it, and the app.
struct Planted(&'static str, Oracle, &'static str, App);

fn planted() -> impl Iterator<Item = &'static Planted> {
    first::PLANTED.iter().chain(second::PLANTED)
}

fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken"])
}

async fn replay(planted: &Planted) -> Option<Finding> {
    let Planted(name, _, token, app) = planted;
    let report = Explore::function(scenario(), *app).replay(token).await;
    report.unwrap_or_else(|why| panic!("{name}: {why}")).findings.first().cloned()
}

#[tokio::test]
async fn each_planted_fault_shows_in_its_schedule() {
    for planted in planted() {
        let Planted(name, oracle, token, _) = planted;
        let finding = replay(planted).await.unwrap_or_else(|| panic!("{name}: nothing found"));
        assert_eq!(finding.oracle, *oracle, "{name}: {finding}");
        assert_eq!(finding.replay, *token);
    }
}

#[tokio::test]
async fn a_replay_shows_the_same_twenty_times_of_twenty() {
    let planted = &first::PLANTED[0];
    let first = replay(planted).await.expect("a finding");
    for _ in 1..20 {
        let again = replay(planted).await.expect("a finding");
        assert_eq!((again.summary, again.timeline), (first.summary.clone(), first.timeline.clone()));
    }
}

#[tokio::test]
async fn what_is_found_is_shrunk_and_told_in_plain_words_with_a_test_that_replays_it() {
    let Planted(_, oracle, _, app) = first::PLANTED[0];
    let report = Explore::function(scenario(), app).seconds(600.0).run().await.expect("it ran");
    let [finding] = &report.findings[..] else { panic!("{report}") };
    assert_eq!((finding.oracle, finding.steps.len(), finding.reproduced.as_str()), (oracle, 1, "5 of 5"));
    let told = finding.timeline.join("\n");
    for line in [
        "customer  customer",
        "app       run 1 begins",
        "→ was taken, then the response was lost",
        "person    approves",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(!told.contains("cnv_"), "people know customers, not ids: {told}");
    let replay = format!("Explore::function(scenario, app).replay({:?})", finding.replay);
    assert!(finding.tests.rust.contains(&replay), "{}", finding.tests.rust);
}

/// Schedules within which each fault is found.
const MAX_SCHEDULES: u64 = 400;

/// Bounded by schedules and not by the clock, so that it is the same on a busy machine. `EXPLORE_SECONDS` is for measuring.
#[tokio::test]
#[ignore = "needs minutes"]
async fn each_planted_fault_is_found_by_exploring() {
    let seconds = std::env::var("EXPLORE_SECONDS").ok().and_then(|it| it.parse().ok()).unwrap_or(3600.0);
    let (mut found, mut small) = (0, 0);
    for Planted(name, oracle, _, app) in planted() {
        let explore = Explore::function(scenario(), *app).seconds(seconds).max_schedules(MAX_SCHEDULES);
        let report = explore.run().await.expect("it ran");
        let Some(finding) = report.findings.first() else {
            println!("{name}: nothing found, {} schedules", report.schedules);
            continue;
        };
        found += 1;
        small += usize::from(finding.steps.len() <= 3);
        println!(
            "{name}: {} {} after {} schedules, {:.1} s, {} of {} steps, {}",
            finding.oracle,
            finding.replay,
            report.schedules,
            report.seconds,
            finding.steps.len(),
            finding.shrunk_from,
            finding.reproduced
        );
        assert_eq!(finding.reproduced, "5 of 5", "{name}");
        assert_eq!(finding.oracle, *oracle, "{name}: {report}");
    }
    println!("{found} of {} found, {small} with 3 steps or fewer", planted().count());
    assert_eq!((found, small), (planted().count(), planted().count()));
}

/// What an app would answer: the conversation, the order, and whether that is done.
async fn orders(api: &Api) -> Done<Vec<(String, String, bool)>> {
    let mut orders = Vec::new();
    for entry in api.open().await? {
        let conversation = api.read(id(&entry)).await?;
        let (mail, since) = since_last_mail(&conversation);
        let order = mail.and_then(|mail| order(&mail["text"]));
        if let Some(order) = order.filter(|_| !is_for_people(&conversation)) {
            orders.push((id(&entry).to_owned(), order.to_owned(), is_dealt_with(since)));
        }
    }
    Ok(orders)
}
