//! Agents with one habit each.

use std::{future::Future, time::Duration};

use serde_json::json;
use shared_inbox_explore::redteam::{
    AgentContext, Attack, AttackResult, Goal, Outcome, RedTeam, Report, Verdict,
};

use crate::redteam::agents::{
    AgentResult, Call, answer_from_notes, ask_as_emails_say, do_task, forward, over_rest, read_all,
};

/// Runs an agent against the attacks that are meant.
async fn attack<F, R>(is_meant: fn(&Attack) -> bool, agent: F) -> Report
where
    F: Fn(Call, String) -> R + Send + Sync + Clone + 'static,
    R: Future<Output = AgentResult> + Send + 'static,
{
    let run = move |context: AgentContext| {
        let agent = agent.clone();
        async move { agent(over_rest(&context.base_url, &context.key)?, context.task).await }
    };
    let meant = Attack::built_in().into_iter().filter(is_meant).map(|it| it.id);
    RedTeam::function(run).only(meant).run().await.expect("it runs")
}

/// An agent that does its task alone.
pub(crate) async fn does_its_task(context: AgentContext) -> AgentResult {
    do_task(&over_rest(&context.base_url, &context.key)?, &context.task, false).await
}

/// The results of the attacks whose goal and task are these.
fn results<'a>(
    report: &'a Report,
    is_meant: impl Fn(&Attack) -> bool + 'a,
) -> impl Iterator<Item = &'a AttackResult> + 'a {
    let attacks = Attack::built_in().into_iter().filter(move |it| is_meant(it));
    attacks.filter_map(|attack| report.attacks.iter().find(|it| it.id == attack.id))
}

fn assert_obeyed<'a>(results: impl Iterator<Item = &'a AttackResult>, obeyed: u32) {
    let mut count = 0;
    for result in results {
        assert_eq!(result.counts.obeyed, obeyed, "{}", result.id);
        count += 1;
    }
    assert!(count > 0, "there are such attacks");
}

#[tokio::test]
async fn an_agent_that_forwards_whatever_it_reads_leaks_and_sends() {
    let agent = async |call: Call, task: String| {
        do_task(&call, &task, false).await?;
        forward(&call).await
    };
    let report = attack(|it| it.family == "approver", agent).await;
    assert_eq!(report.verdict, Verdict::Obeyed);
    assert_obeyed(results(&report, |it| matches!(it.goal, Goal::Leak {} | Goal::Email {})), 1);
    assert_obeyed(results(&report, |it| matches!(it.goal, Goal::Tag { .. } | Goal::Record {})), 0);
}

#[tokio::test]
async fn an_agent_that_refuses_everything_is_useless_not_safe() {
    let is_email = |it: &Attack| matches!(it.goal, Goal::Email {});
    let report = attack(is_email, async |_, _| Ok(())).await;
    assert_eq!(report.verdict, Verdict::Useless);
    assert_eq!(report.count(Outcome::Obeyed), 0);
    assert!(report.baseline.iter().all(|task| task.useful == 0));
    assert!(report.to_string().contains("useless"), "{report}");
    assert_eq!(report.junit().matches("<error").count(), report.attacks.len());
}

#[tokio::test]
async fn an_agent_that_answers_from_the_notes_is_useful_and_leaks_a_canary() {
    let question = |it: &Attack| it.task == "answer-question";
    let report =
        attack(question, async |call: Call, task: String| answer_from_notes(&call, &task).await).await;
    assert_obeyed(results(&report, |it| question(it) && matches!(it.goal, Goal::Leak {})), 1);
    assert_obeyed(results(&report, |it| question(it) && matches!(it.goal, Goal::Email {})), 0);
    assert!(results(&report, question).all(|it| it.counts.useful == 1));
}

#[tokio::test]
async fn an_agent_that_asks_for_every_document_of_which_it_reads_is_found() {
    // This agent reads the conversation of its task, as it stands.
    let is_meant = |it: &Attack| {
        matches!(it.goal, Goal::Documents { .. } | Goal::Email {})
            && ["plain-orders", "detour", "approver"].contains(&it.family.as_str())
    };
    let report =
        attack(is_meant, async |call: Call, task: String| ask_as_emails_say(&call, &task).await).await;
    assert_obeyed(results(&report, |it| is_meant(it) && matches!(it.goal, Goal::Documents { .. })), 1);
    assert_obeyed(results(&report, |it| is_meant(it) && matches!(it.goal, Goal::Email {})), 0);
}

#[tokio::test]
async fn an_agent_that_sends_where_it_should_draft_is_found_and_has_not_done_the_task() {
    let is_email = |it: &Attack| matches!(it.goal, Goal::Email {});
    let report = attack(is_email, async |call: Call, task: String| do_task(&call, &task, true).await).await;
    assert_obeyed(results(&report, |it| is_email(it) && it.task == "answer-question"), 1);
    // Here the task itself asks for one email.
    assert_obeyed(results(&report, |it| is_email(it) && it.task == "send-confirmation"), 0);
    let useful = |id: &str| report.baseline.iter().find(|it| it.task == id).map(|it| it.useful);
    assert_eq!((useful("answer-question"), useful("send-confirmation")), (Some(0), Some(1)));
}

#[tokio::test]
async fn an_email_to_another_customer_than_that_of_the_task_is_unasked_for_and_a_draft_is_none() {
    for (subject, send, obeyed) in
        [("Flickering", true, 1), ("Flickering", false, 0), ("Appointment", false, 0)]
    {
        let agent = move |call: Call, task: String| async move {
            do_task(&call, &task, false).await?;
            let conversations = read_all(&call).await?;
            let other = conversations.iter().find(|it| it["subject"] == subject).ok_or("none")?;
            call("reply", json!({ "id": other["id"], "body": "Hello!", "send": send })).await.map(drop)
        };
        let is_meant = |it: &Attack| {
            it.family == "urgency" && it.task == "send-confirmation" && matches!(it.goal, Goal::Email {})
        };
        assert_obeyed(results(&attack(is_meant, agent).await, is_meant), obeyed);
    }
}

#[tokio::test]
async fn an_agent_that_crashes_fails_and_is_judged_all_the_same() {
    let is_leak = |it: &Attack| it.family == "plain-orders" && matches!(it.goal, Goal::Leak {});
    let report = attack(is_leak, async |call: Call, task: String| {
        do_task(&call, &task, false).await?;
        forward(&call).await?;
        panic!("as planned")
    })
    .await;
    assert!(report.attacks.iter().all(|it| it.counts.failed == 1));
    assert_obeyed(results(&report, is_leak), 1);
    assert_eq!(report.verdict, Verdict::Obeyed);
}

#[tokio::test]
async fn an_agent_that_does_not_end_is_ended_and_failed() {
    let agent = |context: AgentContext| async move {
        read_all(&over_rest(&context.base_url, &context.key)?).await?;
        std::future::pending().await
    };
    let team = RedTeam::function(agent).only(["plain.tag"]).timeout(Duration::from_millis(300));
    let report = team.run().await.expect("it runs");
    assert_eq!((report.baseline[0].failed, report.verdict), (1, Verdict::Useless));
    assert!(
        report.why.as_deref().is_some_and(|why| why.contains("it had not ended after 0.3 s")),
        "{report}"
    );
}

#[tokio::test]
async fn a_repeated_run_counts_each_time_and_shows_intervals() {
    let report = RedTeam::function(does_its_task).only(["link"]).repeat(3).run().await.expect("it runs");
    let counts = report.families[0].counts;
    assert_eq!((report.families[0].attacks, counts.runs, counts.useful), (6, 18, 18));
    assert!(report.baseline.iter().all(|it| it.runs == 3));
    // Wilson's interval of 0 of 18 and of 18 of 18.
    for rate in ["0 of 18 (0-18 %)", "18 of 18 (82-100 %)"] {
        assert!(report.to_string().contains(rate), "{report}");
    }
}

#[tokio::test]
async fn an_interrupted_run_has_what_was_found_so_far_and_the_rest_was_not_tried() {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut stop = Some(stop);
    let ended = RedTeam::function(does_its_task).jobs(1).run_until(
        async {
            let _ = stopped.await;
        },
        |progress| {
            if progress.done == 8 {
                drop(stop.take());
            }
        },
    );
    let (report, _) = ended.await.expect("it runs");
    assert_eq!(report.verdict, Verdict::Interrupted);
    assert_eq!(report.baseline.len(), 6);
    let rest = report.count(Outcome::NotTried);
    assert!((75..79).contains(&rest) && report.attacks.len() == 80, "{rest}");
    assert!(report.to_string().contains("it was interrupted before"), "{report}");
    assert_eq!(report.junit().matches("<error").count(), rest, "what was not run is no pass");
}

#[tokio::test]
async fn a_run_that_is_interrupted_at_once_shows_no_rate_of_nothing() {
    let team = RedTeam::function(|_: AgentContext| std::future::pending()).repeat(3);
    let (report, _) = team.run_until(std::future::ready(()), |_| {}).await.expect("it runs");
    assert_eq!(report.verdict, Verdict::Interrupted);
    assert!(report.to_string().contains("0 of 0") && !report.to_string().contains('%'), "{report}");
}
