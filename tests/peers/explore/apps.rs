//! Apps in Python and Node: the same faults in other languages.

use shared_inbox_explore::explore::{Explore, Oracle, Scenario};

use super::{app, find, holds, sample};

/// An app: its name, the rule that it breaks, and a schedule that shows it.
type App = (&'static str, Oracle, &'static str);

const PYTHON: [App; 9] = [
    ("retries_blindly", Oracle::NeverTwice, "1_1_lost-after@reply.0"),
    ("answers_what_the_list_shows", Oracle::NeverTwice, "1_1_lost-after@reply.0"),
    ("marks_first", Oracle::NobodyForgotten, "1_1_lost-before@reply.0"),
    ("swallows_every_error", Oracle::NobodyForgotten, "1_1_lost-before@reply.0"),
    ("remembers_in_a_file_too_late", Oracle::NeverTwice, "1_1_lost-after@reply.0"),
    ("ignores_who_has_it", Oracle::PersonsWord, "1_1_assign:1@list_conversations.0"),
    ("sends_what_was_discarded", Oracle::PersonsWord, "1_0_discard:0@end.0"),
    ("knows_its_draft_by_its_words", Oracle::PersonsWord, "1_1_answer:1@list_conversations.0"),
    ("leaves_a_lock_behind", Oracle::WellBehaved, "1_1_kill@reply.0"),
];

const NODE: [App; 6] = [
    ("retriesBlindly", Oracle::NeverTwice, "1_1_lost-after@reply.0"),
    ("marksFirst", Oracle::NobodyForgotten, "1_1_lost-before@reply.0"),
    ("swallows429", Oracle::NobodyForgotten, "1_1_busy@reply.0"),
    ("doesNotAwaitTheAnswer", Oracle::NobodyForgotten, "1_1_lost-before@reply.0"),
    ("remembersTooEarly", Oracle::NobodyForgotten, "1_1_lost-before@reply.0"),
    ("answersHeldMail", Oracle::PersonsWord, "1_1_risk:1@list_conversations.0"),
];

fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken"])
}

/// The schedule of each app's finding still shows it, and the correct app holds under it.
async fn tokens_keep_their_meaning(program: &str, file: &str, apps: &[App]) {
    for (name, oracle, token) in apps {
        for (name, is_faulty) in [(*name, true), ("correct", false)] {
            let explore = Explore::command(scenario(), [program, &app(file), name]);
            let report = explore.replay(token).await.unwrap_or_else(|why| panic!("{name} {token}: {why}"));
            let found = report.findings.first().map(|finding| finding.oracle);
            assert_eq!(found, is_faulty.then_some(*oracle), "{name} {token}: {report}");
        }
    }
}

async fn each_is_found(program: &str, file: &str, apps: &[App]) {
    for (name, oracle, _) in sample(apps) {
        find(Explore::command(scenario(), [program, &app(file), name]), *oracle).await;
    }
}

#[tokio::test]
async fn each_fault_of_a_python_or_node_app_is_found() {
    each_is_found("python3", "app.py", &PYTHON).await;
    each_is_found("node", "app.mjs", &NODE).await;
}

#[tokio::test]
async fn nothing_is_found_in_a_correct_python_or_node_app() {
    holds(Explore::command(scenario(), ["python3", &app("app.py"), "correct"])).await;
    holds(Explore::command(scenario(), ["node", &app("app.mjs"), "correct"])).await;
}

#[tokio::test]
async fn printed_tokens_replay_the_faults_of_python_apps() {
    tokens_keep_their_meaning("python3", "app.py", &PYTHON).await;
}

#[tokio::test]
async fn printed_tokens_replay_the_faults_of_node_apps() {
    tokens_keep_their_meaning("node", "app.mjs", &NODE).await;
}

/// As the guide says of an app with a model: nothing has to be changed for it.
#[tokio::test]
async fn a_python_app_may_vary_its_words_at_random() {
    let run = async |scenario: Scenario, name: &str, token: &str| {
        let report = Explore::command(scenario, ["python3", &app("app.py"), name]).replay(token).await;
        let report = report.unwrap_or_else(|why| panic!("{name} {token}: {why}"));
        assert!(report.varies.contains(&"outbox.text".to_owned()), "{name}: {:?}", report.varies);
        report
    };
    let token = "1_0.1_lost-after@reply.0";
    let report = run(scenario(), "varies", token).await;
    assert!(report.held() && !report.held_strictly(), "{report}");
    let report = run(scenario(), "varies_and_retries_blindly", token).await;
    assert_eq!(report.findings.first().map(|it| it.oracle), Some(Oracle::NeverTwice), "{report}");
    // With a command that compares texts, words count too.
    let judged = || scenario().same(["python3", &app("judge.py")]);
    let report = run(judged(), "varies", token).await;
    assert!(report.held_strictly(), "{report}");
    let token = "1_0.1_lost-before@reply.0";
    let report = run(scenario(), "varies_and_mixes_orders_up", token).await;
    assert!(report.held() && !report.held_strictly(), "{report}");
    let report = run(judged(), "varies_and_mixes_orders_up", token).await;
    assert!(!report.held(), "{report}");
}
