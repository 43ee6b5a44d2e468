//! Apps with one realistic fault each. The explorer finds it, and shrinks it.

use serde_json::Value;
use shared_inbox_explore::explore::{Explore, Finding, Oracle, Scenario};

use crate::explore::{
    apps::{Api, AppFuture, AppResult, asked_orders, id, is_for_people, items, open_orders, order},
    find, sample,
};

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
        // A reader sees both ends, and which of them is wrong.
        let ends =
            finding.timeline.iter().rev().take(2).filter(|line| line.starts_with("end       ")).count();
        assert_eq!(ends == 2, *oracle == Oracle::SameEnd, "{name}: {finding}");
    }
}

#[tokio::test]
async fn a_replay_that_runs_its_schedule_once_does_not_say_that_it_happened_again() {
    let finding = replay(&first::PLANTED[0]).await.expect("a finding");
    assert_eq!((finding.reproduced.as_str(), finding.without_trouble.as_str()), ("0 of 0", "0 of 0"));
    assert!(finding.to_string().contains("it was not run again"), "{finding}");
}

#[tokio::test]
async fn one_cause_is_one_finding_for_who_wants_all_of_them() {
    let blind = |context| async {
        let api = Api::new(context);
        for entry in api.open().await? {
            api.draft(id(&entry), "We are on it.").await?;
            api.set_status(id(&entry), "waiting").await?;
        }
        Ok(())
    };
    let scenario = Scenario::new(["Where is my order 1042?", "Order 1043 is broken"]);
    // The first request of each kind and the second: the same fault for one customer and for the other.
    let explore = Explore::function(scenario, blind).all().max_schedules(40);
    let report = explore.run().await.expect("it ran");
    // Where somebody did something is no other cause.
    let cause = |finding: &Finding| {
        let place = |step: &Value| if step["mail"].is_null() { step["request"].clone() } else { Value::Null };
        let steps: Vec<_> = finding.steps.iter().map(|it| (it["kind"].clone(), place(it))).collect();
        (finding.oracle, steps)
    };
    let causes: Vec<_> = report.findings.iter().map(cause).collect();
    assert!(causes.len() > 1, "{report}");
    assert!(causes.iter().enumerate().all(|(n, it)| !causes[..n].contains(it)), "{report}");
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

#[tokio::test]
async fn each_planted_fault_is_found_by_exploring() {
    for Planted(name, oracle, _, app) in sample(planted()) {
        find(name, *oracle, explore(*app)).await;
    }
}

/// Open conversations with each order that waits for an answer, and whether a person has discarded one since.
async fn questions(api: &Api) -> AppResult<Vec<(Value, String, bool)>> {
    let mut questions = Vec::new();
    for entry in api.open().await? {
        let conversation = api.read(id(&entry)).await?;
        let timeline = items(&conversation["timeline"]);
        let mut asked = asked_orders(&conversation);
        asked.sort_unstable();
        asked.dedup();
        for wanted in asked {
            let names_it = |item: &Value| order(&item["text"]).is_none_or(|named| named == wanted);
            let asks = |item: &Value| item["direction"] == "inbound" && order(&item["text"]) == Some(wanted);
            let since = timeline.iter().rposition(asks).map_or(timeline, |last| &timeline[last + 1..]);
            if !since.iter().any(|item| item["direction"] == "outbound" && names_it(item)) {
                let is_discarded = since.iter().any(|item| item["event"] == "draft-discarded");
                questions.push((conversation.clone(), wanted.to_owned(), is_discarded));
            }
        }
    }
    Ok(questions)
}

/// What an app would answer: the conversation, the order, and whether that is done. Each order that waits for
/// an answer, or the last one.
async fn orders(api: &Api) -> AppResult<Vec<(String, String, bool)>> {
    let mut orders = Vec::new();
    for entry in api.open().await? {
        let conversation = api.read(id(&entry)).await?;
        if is_for_people(&conversation) {
            continue;
        }
        let open = open_orders(&conversation);
        let answered = asked_orders(&conversation).last().copied().filter(|_| open.is_empty());
        for (order, done) in
            open.iter().map(|order| (*order, false)).chain(answered.map(|order| (order, true)))
        {
            orders.push((id(&entry).to_owned(), order.to_owned(), done));
        }
    }
    Ok(orders)
}
