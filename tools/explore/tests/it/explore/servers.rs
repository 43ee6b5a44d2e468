//! Apps that stay up and receive webhooks: nothing is found in correct ones, and each fault is found.

use futures_util::future::join_all;
use shared_inbox_explore::explore::{AppContext, Explore, Finding, Oracle, Scenario};
use shared_inbox_tests::example;

use crate::explore::{assert_replay, correct::holds, find, long_schedules, sample, server_apps::run};

pub(crate) fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken"]).server()
}

fn in_process(name: &'static str) -> Explore {
    Explore::function(scenario(), move |context| run(name, context.into()))
}

#[tokio::test]
async fn a_job_beside_a_server_is_disturbed_and_killed_like_the_rest() {
    let replay = async |kind: &str, token| {
        let scenario = Scenario::new(["Where is my order 1042?"]).server().job(program(kind));
        Explore::function(scenario, |context| run("correct", context.into()))
            .replay(token)
            .await
            .expect("it ran")
    };
    let is_disturbed = async |token, line| {
        let (marks, looks) = tokio::join!(replay("job-that-marks", token), replay("job-that-looks", token));
        let finding = marks.findings.first().unwrap_or_else(|| panic!("{token}: {marks}"));
        assert_eq!(finding.oracle, Oracle::NeverTwice, "{token}: {marks}");
        assert!(finding.timeline.iter().any(|it| it.starts_with(line)), "{token}: {marks}");
        assert!(looks.held(), "{token}: {looks}");
    };
    // The first reply is the server's, the second one the job's.
    tokio::join!(
        is_disturbed("1_0_lost-after@reply.1", "job       fails"),
        is_disturbed("1_0_kill@reply.1.after", "job       is killed"),
    );
}

/// The command of `program.rs`, as this app.
fn program(app: &str) -> [String; 2] {
    [example("explored_program").to_str().expect("text").to_owned(), app.to_owned()]
}

#[tokio::test]
async fn nothing_is_found_in_a_server_with_the_client_and_the_verifier() {
    holds(in_process("sdk")).await;
}

#[tokio::test]
async fn nothing_is_found_in_a_server_that_reads_before_it_drafts() {
    holds(in_process("correct").seed(2)).await;
}

#[tokio::test]
async fn nothing_is_found_in_a_server_that_answers_at_once_and_keeps_a_queue() {
    holds(in_process("queue").seed(3)).await;
}

#[tokio::test]
async fn nothing_is_found_in_a_server_that_dedupes_by_event_id() {
    holds(in_process("by_event_id").seed(4)).await;
}

#[tokio::test]
async fn nothing_is_found_in_a_server_that_reads_who_has_a_conversation() {
    holds(in_process("newest_wins").seed(5)).await;
}

#[tokio::test]
async fn an_event_that_comes_after_the_reply_has_left_takes_nothing_again() {
    let token = "1_1_lost-after@set_status.0_lost-after@reply.0_lost@turn-changed.0";
    assert_replay(in_process("newest_wins"), token, None).await;
}

/// A fault: the app, the rule that it breaks, a schedule that shows it, and the corrected app.
pub(crate) struct Planted(&'static str, Oracle, &'static str, &'static str);

pub(crate) const PLANTED: [Planted; 8] = [
    Planted("no_dedupe", Oracle::NeverTwice, "1_1_twice@turn-changed.0", "correct"),
    Planted("by_message_id", Oracle::SameEnd, "1_1_late@draft-approved.0", "by_event_id"),
    Planted("in_memory", Oracle::NeverTwice, "1_1_kill@set_status.0", "correct"),
    Planted("believes_the_event", Oracle::PersonsWord, "1_1_assign:1@get_conversation.0", "correct"),
    Planted("answers_before_the_work", Oracle::NobodyForgotten, "1_1_kill@reply.0", "correct"),
    Planted("older_wins", Oracle::SameEnd, "1_1_late@conversation-assigned.0", "newest_wins"),
    Planted("marks_first", Oracle::NobodyForgotten, "1_1_lost-before@reply.0", "correct"),
    Planted("exits", Oracle::WellBehaved, "1_0_risk:0@run.0", "correct"),
];

async fn replay(explore: Explore, token: &str) -> Option<Finding> {
    explore.replay(token).await.expect("it ran").findings.first().cloned()
}

#[tokio::test]
async fn each_planted_fault_of_a_server_shows_in_its_schedule() {
    join_all(PLANTED.iter().map(async |Planted(name, oracle, token, _)| {
        let finding = replay(in_process(name), token).await;
        let finding = finding.unwrap_or_else(|| panic!("{name}: nothing found"));
        assert_eq!(finding.oracle, *oracle, "{name}: {finding}");
        assert_eq!(finding.replay, *token);
    }))
    .await;
}

#[tokio::test]
async fn the_same_schedules_find_nothing_in_the_corrected_servers() {
    join_all(PLANTED.iter().map(async |Planted(name, _, token, corrected)| {
        let finding = replay(in_process(corrected), token).await;
        assert!(finding.is_none(), "{name}: {}", finding.expect("a finding"));
    }))
    .await;
}

#[tokio::test]
async fn a_delivery_comes_again_while_the_app_reads() {
    let token = "1_1_unanswered@turn-changed.0_overlap:1@get_conversation.0.after";
    let (after, before) = tokio::join!(
        replay(in_process("marks_after_the_read"), token),
        replay(in_process("marks_before_the_read"), token),
    );
    let finding = after.expect("a finding");
    assert_eq!(finding.oracle, Oracle::NeverTwice, "{finding}");
    assert!(before.is_none(), "{}", before.expect("a finding"));
}

#[tokio::test]
async fn a_replay_of_a_server_shows_the_same_each_time() {
    let Planted(name, _, token, _) = PLANTED[0];
    let first = replay(in_process(name), token).await.expect("a finding");
    for _ in 1..long_schedules().map_or(3, |_| 20) {
        let again = replay(in_process(name), token).await.expect("a finding");
        assert_eq!((again.summary, again.timeline), (first.summary.clone(), first.timeline.clone()));
    }
}

#[tokio::test]
async fn a_server_that_is_killed_is_restarted_as_a_process_too() {
    let explore = Explore::command(scenario(), program("server"));
    let finding = replay(explore, "1_1_kill@set_status.0").await.expect("a finding");
    assert_eq!(finding.oracle, Oracle::NeverTwice, "{finding}");
}

#[tokio::test]
async fn a_server_that_does_not_take_its_webhooks_is_no_start() {
    let explore =
        Explore::function(scenario().webhook_path("/elsewhere"), |context| run("correct", context.into()));
    let why = explore.run().await.expect_err("it does not start");
    assert!(why.to_string().contains("the app responded to the webhook turn.changed with 404"), "{why}");
}

#[tokio::test]
async fn a_server_that_does_not_listen_is_no_start() {
    let app = |_: AppContext| std::future::pending();
    let explore = Explore::function(scenario(), app).app_timeout(std::time::Duration::from_millis(200));
    let why = explore.run().await.expect_err("it does not start");
    assert!(why.to_string().contains("does not accept connections on its port"), "{why}");
}

#[tokio::test]
async fn two_mails_of_one_customer_are_refused_for_a_server() {
    let mail = r#"{ from = "kim@customer.example", text = "Where is my order 1042?" }"#;
    let scenario = format!("mode = \"server\"\nmails = [{mail}, {mail}]");
    let why = Scenario::parse(&scenario).expect_err("refused");
    assert!(why.to_string().contains("mails[1].from"), "{why}");
}

#[tokio::test]
async fn each_planted_fault_of_a_server_is_found_by_exploring() {
    // At the request that creates, the event is marked already in the last one.
    let others =
        ["no_dedupe_varied", "marks_after_the_read_and_answers_last"].map(|name| (name, Oracle::NeverTwice));
    for (name, oracle) in sample(PLANTED.iter().map(|it| (it.0, it.1)).chain(others)) {
        find(name, oracle, in_process(name)).await;
    }
}

#[tokio::test]
#[cfg(unix)]
async fn a_job_beside_a_server_runs_once_a_day_with_the_same_state_folder() {
    let job = |script: &'static str| {
        let scenario = Scenario::new(["Where is my order 1042?"]).server().days(2).job(["sh", "-c", script]);
        Explore::function(scenario, |context| run("correct", context.into()))
    };
    let counts =
        r#"echo ran >> "$SHARED_INBOX_STATE_DIR/ran"; test "$(wc -l < "$SHARED_INBOX_STATE_DIR/ran")" -le 2"#;
    let report = assert_replay(job(counts), "1_0", None).await;
    let runs = report.timeline.iter().filter(|line| line.starts_with("job       begins")).count();
    assert_eq!(runs, 2, "{report}");
    // At a time of the day, in UTC, and not where that time is none.
    let at = |hour| {
        let script = r#"case "$SHARED_INBOX_TIME" in *T02:30:00.000Z) ;; *) exit 3; esac"#;
        let scenario = Scenario::new(["Where is my order 1042?"]).server().days(2).job(["sh", "-c", script]);
        Explore::function(scenario.job_at(hour, 30), |context| run("correct", context.into())).replay("1_0")
    };
    let (right, late, none, failing) = tokio::join!(at(2), at(3), at(24), job("exit 3").replay("1_0"));
    let report = right.expect("it ran");
    assert!(report.held(), "{report}");
    assert!(late.expect_err("too late").to_string().contains("The job beside the server failed"));
    assert!(none.expect_err("no hour").to_string().contains("job_at: must be a time of the day"));
    let why = failing.expect_err("it fails without trouble");
    assert!(why.to_string().contains("The job beside the server failed"), "{why}");
}
