//! Apps with one realistic fault each. The explorer finds it, and shrinks it.

use serde_json::Value;
use shared_inbox_explore::{Explore, Finding, Oracle, Scenario};

use crate::apps::{Api, AppFuture, AppResult, id, is_dealt_with, is_for_people, order, since_last_mail};

pub(crate) mod first;
mod second;

type App = fn(Api) -> AppFuture;

/// A fault: its name, the rule that it breaks, a schedule that shows it, and the app.
struct Planted(&'static str, Oracle, &'static str, App);

fn planted() -> impl Iterator<Item = &'static Planted> {
    first::PLANTED.iter().chain(second::PLANTED)
}

/// Explores an app with two questions.
fn explore(app: App) -> Explore {
    let scenario = Scenario::new(["Where is my order 1042?", "Order 1043 is broken"]);
    Explore::function(scenario, move |context| app(Api::new(context)))
}

async fn replay(planted: &Planted) -> Option<Finding> {
    let Planted(name, _, token, app) = planted;
    let report = explore(*app).replay(token).await;
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
    let report = explore(app).seconds(600.0).run().await.expect("it ran");
    let [finding] = &report.findings[..] else { panic!("{report}") };
    assert!(!report.held(), "the printed test for Rust asserts that it held");
    assert_eq!((finding.oracle, finding.steps.len(), finding.reproduced.as_str()), (oracle, 1, "5 of 5"));
    let story = finding.timeline.join("\n");
    for line in [
        "customer  customer",
        "app       run 1 begins",
        "→ was taken, then the response was lost",
        "person    approves",
    ] {
        assert!(story.contains(line), "{line}: {story}");
    }
    assert!(!story.contains("cnv_"), "people know customers, not ids: {story}");
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
        let explore = explore(*app).seconds(seconds).max_schedules(MAX_SCHEDULES);
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

/// Open conversations with the order that the customer's last email names.
async fn questions(api: &Api) -> AppResult<Vec<(Value, String)>> {
    let mut questions = Vec::new();
    for entry in api.open().await? {
        let conversation = api.read(id(&entry)).await?;
        let order = since_last_mail(&conversation).0.and_then(|mail| order(&mail["text"]));
        if let Some(order) = order.map(str::to_owned) {
            questions.push((conversation, order));
        }
    }
    Ok(questions)
}

/// What an app would answer: the conversation, the order, and whether that is done.
async fn orders(api: &Api) -> AppResult<Vec<(String, String, bool)>> {
    let questions = questions(api).await?.into_iter().filter(|(it, _)| !is_for_people(it));
    Ok(questions
        .map(|(it, order)| (id(&it).to_owned(), order, is_dealt_with(since_last_mail(&it).1)))
        .collect())
}
