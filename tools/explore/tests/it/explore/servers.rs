//! Apps that stay up and receive webhooks: nothing is found in correct ones, and each fault is found.

use std::env;

use futures_util::future::join_all;
use shared_inbox_explore::explore::{AppContext, Explore, Finding, Oracle, Scenario};

use crate::{
    apps::{answer, id, is_for_people, items},
    correct::holds,
    server_apps::{Settings, run},
};

pub(crate) fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken"]).server()
}

fn in_process(name: &'static str) -> Explore {
    Explore::function(scenario(), move |context| run(name, context.into()))
}

/// Not a test: this program as an app, for those that start one.
#[test]
#[ignore = "an app that other tests start"]
fn program() {
    let (Ok(name), Some(settings)) = (env::var("EXPLORE_APP"), Settings::from_env()) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(run(&name, settings)).expect("it stays up");
}

const ASKED: &str = "Did our answer help you?";

/// Not a test: a job beside a server, for those that start one. It asks each customer once who has an answer.
#[tokio::test]
#[ignore = "an app that other tests start"]
async fn nightly() {
    let (Ok(kind), Some(settings)) = (env::var("EXPLORE_JOB"), Settings::from_env()) else { return };
    let api = settings.api();
    for entry in api.open_and_waiting().await.expect("a list") {
        let conversation = api.read(id(&entry)).await.expect("a conversation");
        let own = |text: &str| items(&conversation["timeline"]).iter().any(|item| item["text"] == text);
        let mark = api.file(&format!("asked-{}", id(&entry)));
        let has_asked = if kind == "looks" { own(ASKED) } else { mark.exists() };
        if own(&answer("1042")) && !has_asked && !is_for_people(&conversation) {
            api.send(id(&entry), ASKED).await.expect("it is sent");
            std::fs::write(mark, "").expect("written");
        }
    }
}

#[tokio::test]
async fn a_job_beside_a_server_is_disturbed_and_killed_like_the_rest() {
    let this = env::current_exe().expect("this program");
    let replay = async |kind: &str, token| {
        let kind = format!("EXPLORE_JOB={kind}");
        let words = ["env", &kind, this.to_str().expect("text"), "--exact", "servers::nightly", "--ignored"];
        let scenario = Scenario::new(["Where is my order 1042?"]).server().job(words);
        Explore::function(scenario, |context| run("correct", context.into()))
            .replay(token)
            .await
            .expect("it ran")
    };
    // The first reply is the server's, the second one the job's.
    for (token, line) in
        [("1_0_lost-after@reply.1", "job       fails"), ("1_0_kill@reply.1.after", "job       is killed")]
    {
        let report = replay("marks", token).await;
        let finding = report.findings.first().unwrap_or_else(|| panic!("{token}: {report}"));
        assert_eq!(finding.oracle, Oracle::NeverTwice, "{token}: {report}");
        assert!(finding.timeline.iter().any(|it| it.starts_with(line)), "{token}: {report}");
        let report = replay("looks", token).await;
        assert!(report.held(), "{token}: {report}");
    }
}

/// The command that starts an app of these.
fn command(name: &str) -> Vec<String> {
    let this = env::current_exe().expect("this program");
    let app = format!("EXPLORE_APP={name}");
    let words = ["env", &app, this.to_str().expect("text"), "--exact", "servers::program", "--ignored"];
    words.iter().map(|word| (*word).to_owned()).collect()
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
    let report = in_process("newest_wins").replay(token).await.expect("it ran");
    assert!(report.held(), "{report}");
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
    let finding = replay(in_process("marks_after_the_read"), token).await.expect("a finding");
    assert_eq!(finding.oracle, Oracle::NeverTwice, "{finding}");
    let finding = replay(in_process("marks_before_the_read"), token).await;
    assert!(finding.is_none(), "{}", finding.expect("a finding"));
}

/// At the request that creates, the event is marked already.
#[tokio::test]
#[ignore = "needs minutes"]
async fn a_delivery_that_comes_again_while_the_app_reads_is_found_by_exploring() {
    let report = in_process("marks_after_the_read_and_answers_last").run().await.expect("it ran");
    let [finding] = &report.findings[..] else { panic!("{report}") };
    println!("{} after {} schedules, {:.0} s", finding.replay, report.schedules, report.seconds);
    assert_eq!((finding.oracle, finding.reproduced.as_str()), (Oracle::NeverTwice, "5 of 5"), "{report}");
    assert!(finding.replay.contains("overlap:"), "{report}");
}

#[tokio::test]
#[ignore = "needs minutes"]
async fn a_replay_of_a_server_shows_the_same_twenty_times_of_twenty() {
    let Planted(name, _, token, _) = PLANTED[0];
    let first = replay(in_process(name), token).await.expect("a finding");
    for _ in 1..20 {
        let again = replay(in_process(name), token).await.expect("a finding");
        assert_eq!((again.summary, again.timeline), (first.summary.clone(), first.timeline.clone()));
    }
}

#[tokio::test]
async fn a_server_that_is_killed_is_restarted_as_a_process_too() {
    let Planted(name, oracle, token, _) = PLANTED[2];
    let finding = replay(Explore::command(scenario(), command(name)), token).await.expect("a finding");
    assert_eq!(finding.oracle, oracle, "{finding}");
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
#[ignore = "needs minutes"]
async fn each_planted_fault_of_a_server_is_found_and_its_token_shows_it_until_the_app_is_correct() {
    let chosen = env::var("EXPLORE_PLANTED").ok();
    for Planted(name, oracle, _, corrected) in &PLANTED {
        if chosen.as_ref().is_some_and(|chosen| chosen != name) {
            continue;
        }
        let explore = Explore::command(scenario(), command(name)).seconds(3600.0).max_schedules(400);
        let report = explore.run().await.expect("it ran");
        let Some(finding) = report.findings.first() else { panic!("{name}: nothing found: {report}") };
        let (steps, before) = (finding.steps.len(), finding.shrunk_from);
        println!(
            "{name}: {} {} after {} schedules, {:.1} s, {steps} of {before} steps, {}",
            finding.oracle, finding.replay, report.schedules, report.seconds, finding.reproduced
        );
        assert_eq!(finding.oracle, *oracle, "{name}: {report}");
        assert!(steps <= 3, "{name}: {report}");
        let mut again = 0;
        for _ in 0..20 {
            let found = replay(in_process(name), &finding.replay).await;
            again += usize::from(found.is_some_and(|found| found.oracle == *oracle));
        }
        assert_eq!(again, 20, "{name}");
        let found = replay(in_process(corrected), &finding.replay).await;
        assert!(found.is_none(), "{name}: the correct app breaks a rule too");
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
    let report = job(counts).replay("1_0").await.expect("it ran");
    assert!(report.held(), "{report}");
    let runs = report.timeline.iter().filter(|line| line.starts_with("job       begins")).count();
    assert_eq!(runs, 2, "{report}");
    // At a time of the day, in UTC, and not where that time is none.
    let at = |hour| {
        let script = r#"case "$SHARED_INBOX_TIME" in *T02:30:00.000Z) ;; *) exit 3; esac"#;
        let scenario = Scenario::new(["Where is my order 1042?"]).server().days(2).job(["sh", "-c", script]);
        Explore::function(scenario.job_at(hour, 30), |context| run("correct", context.into())).replay("1_0")
    };
    let report = at(2).await.expect("it ran");
    assert!(report.held(), "{report}");
    assert!(at(3).await.expect_err("too late").to_string().contains("The job beside the server failed"));
    assert!(at(24).await.expect_err("no hour").to_string().contains("job_at: must be a time of the day"));
    let why = job("exit 3").replay("1_0").await.expect_err("it fails without trouble");
    assert!(why.to_string().contains("The job beside the server failed"), "{why}");
}
