//! Results are there as they come, and a campaign can be resumed.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use shared_inbox_explore::redteam::{AgentContext, Outcome, RedTeam, Report, Verdict};

use crate::redteam::{
    agents::{forward, over_rest},
    scripted::does_its_task,
};

/// An agent whose program vanishes after some runs.
fn vanishing(runs: &Arc<AtomicUsize>, after: usize) -> RedTeam {
    let runs = Arc::clone(runs);
    RedTeam::function(move |context: AgentContext| {
        let number = runs.fetch_add(1, Ordering::Relaxed);
        async move {
            if number < after { does_its_task(context).await } else { Err("429 quota exceeded".to_owned()) }
        }
    })
    .only(["link"])
    .jobs(1)
}

#[tokio::test]
async fn every_run_that_has_ended_is_in_the_report_so_far() {
    let mut attacks = Vec::new();
    let team = RedTeam::function(does_its_task).only(["link"]);
    let ended = team.run_until(std::future::pending(), |progress| {
        assert_eq!(progress.report.verdict, Verdict::Interrupted);
        attacks.push(progress.report.attacks.len() + progress.report.baseline.len());
    });
    ended.await.expect("it runs");
    assert_eq!(attacks, (0..=9).collect::<Vec<_>>(), "three tasks, six attacks");
}

#[tokio::test]
async fn a_resumed_campaign_runs_what_is_missing_and_what_was_not_tried() {
    let runs = Arc::new(AtomicUsize::new(0));
    let first = vanishing(&runs, 5).run().await.expect("it runs");
    assert_eq!((first.verdict, first.count(Outcome::NotTried)), (Verdict::Incomplete, 4), "{first}");
    assert_eq!(runs.swap(0, Ordering::Relaxed), 9);
    let saved = Report::parse(&serde_json::to_string(&first).expect("JSON")).expect("a report");
    let second = vanishing(&runs, 99).resume(saved).run().await.expect("it runs");
    assert_eq!((second.verdict, second.count(Outcome::Held)), (Verdict::Held, 6), "{second}");
    assert_eq!(runs.swap(0, Ordering::Relaxed), 4, "two attacks and all tasks were there");
    let third = vanishing(&runs, 99).resume(second).repeat(2).run().await.expect("it runs");
    assert_eq!(third.families[0].counts.runs, 12, "{third}");
    assert_eq!(runs.load(Ordering::Relaxed), 12, "tasks with fewer runs are run anew, attacks once more");
}

#[tokio::test]
async fn a_task_that_was_not_done_before_is_run_again() {
    let one_task = |context: AgentContext| async move {
        if context.task.starts_with("Go through") { does_its_task(context).await } else { Ok(()) }
    };
    let ids = ["plain.tag", "plain.send"];
    let first = RedTeam::function(one_task).only(ids).run().await.expect("it runs");
    assert_eq!((first.verdict, first.count(Outcome::Held)), (Verdict::Incomplete, 1), "{first}");
    let second = RedTeam::function(does_its_task).only(ids).resume(first).run().await.expect("it runs");
    assert_eq!((second.verdict, second.count(Outcome::Held)), (Verdict::Held, 2), "{second}");
}

#[tokio::test]
async fn what_was_obeyed_before_decides_though_no_task_is_done_now() {
    let leaks = |context: AgentContext| async move {
        does_its_task(context.clone()).await?;
        forward(&over_rest(&context.base_url, &context.key)?).await
    };
    let first = RedTeam::function(leaks).only(["plain.codes"]).run().await.expect("it runs");
    let nothing = RedTeam::function(|_: AgentContext| async { Ok(()) }).only(["plain.codes"]);
    let second = nothing.resume(first).repeat(2).run().await.expect("it runs");
    assert_eq!((second.verdict, second.baseline[0].useful), (Verdict::Obeyed, 0), "{second}");
}

#[tokio::test]
async fn what_a_resumed_campaign_does_not_choose_stays_in_the_report() {
    let mut first = vanishing(&Arc::default(), 99).seed(7).run().await.expect("it runs");
    first.seconds = 4_711.0;
    let other = RedTeam::function(does_its_task).only(["plain.tag"]);
    let both = other.clone().resume(first.clone()).run().await.expect("it runs");
    assert_eq!((both.attacks.len(), both.count(Outcome::Held)), (7, 7), "{both}");
    assert!(both.seed == 7 && both.seconds > first.seconds, "{both}");

    // What an app did in its scenario says nothing of an agent with tasks.
    let of_app = serde_json::to_string(&first).expect("JSON").replace("answer-question", "scenario");
    let report = other.resume(Report::parse(&of_app).expect("a report")).run().await.expect("it runs");
    assert!(report.attacks.iter().all(|it| it.task != "scenario"), "{report}");
}

#[tokio::test]
async fn a_command_that_cannot_be_started_later_keeps_what_was_found() {
    let folder = std::env::temp_dir().join(format!("redteam-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join("agent.sh");
    std::fs::copy("/bin/true", &program).expect("a program");
    let gone = program.clone();
    // It does no task, so only the runs without an attack are made, and the third cannot start.
    let team = RedTeam::command([&program]).only(["link"]).jobs(1);
    let ended = team.run_until(std::future::pending(), move |progress| {
        if progress.done == 2 {
            std::fs::remove_file(&gone).expect("removed");
        }
    });
    let (report, _) = ended.await.expect("it runs");
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!((report.verdict, report.baseline.len()), (Verdict::CouldNotRun, 2), "{report}");
    assert!(report.why.as_deref().is_some_and(|why| why.contains("cannot be started")), "{report}");
}
