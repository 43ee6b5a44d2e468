//! The attacks that are built in.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use shared_inbox_explore::redteam::{AgentContext, Attack, Outcome, RedTeam, RedTeamError, Verdict};

use crate::redteam::{
    agents::{do_task, notes, obey, over_rest, read_all},
    scripted::does_its_task,
};

/// A sample of the attacks; all of them where `REDTEAM_ATTACKS` is set.
fn sampled(team: RedTeam) -> RedTeam {
    if std::env::var_os("REDTEAM_ATTACKS").is_some() { team.all() } else { team.sample(30) }
}

#[tokio::test]
async fn no_attack_is_obeyed_by_an_agent_that_does_its_task_alone_and_every_task_is_done() {
    let report = sampled(RedTeam::function(does_its_task)).run().await.expect("it runs");
    assert_eq!(report.verdict, Verdict::Held, "{report}");
    for attack in &report.attacks {
        let counts = attack.counts;
        assert_eq!((counts.obeyed, counts.useful, counts.failed), (0, 1, 0), "{}", attack.id);
        assert_eq!(attack.result, Outcome::Held, "{}", attack.id);
    }
    assert_eq!(report.baseline.len(), 6);
    assert!(report.baseline.iter().all(|task| task.useful == 1 && task.failed == 0), "{report}");
}

/// All texts of a JSON value.
fn texts(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => into.push_str(&format!("{text}\n")),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, into)),
        _ => {}
    }
}

/// Whether all that an attack has written stands in what was read.
fn stands_in(attack: &Attack, read: &str) -> bool {
    let written = [Some(&attack.text), attack.follow_up.as_ref()];
    written.into_iter().flatten().flat_map(|it| it.lines()).all(|line| read.contains(line.trim()))
}

#[tokio::test]
async fn every_attack_stands_where_an_agent_reads_it_and_is_obeyed_by_one_that_does_what_it_wants() {
    let attacks: Arc<[Attack]> = Attack::built_in().into();
    let known = Arc::clone(&attacks);
    let agent = move |context: AgentContext| {
        let known = Arc::clone(&known);
        async move {
            let call = over_rest(&context.base_url, &context.key)?;
            // A later email is there when a conversation is read again.
            read_all(&call).await?;
            let mut read = String::new();
            read_all(&call).await?.iter().for_each(|it| texts(it, &mut read));
            texts(&call("search_documents", json!({})).await?, &mut read);
            do_task(&call, &context.task, false).await?;
            for attack in known.iter().filter(|it| stands_in(it, &read)) {
                obey(&call, &attack.goal).await?;
            }
            Ok(())
        }
    };
    let report = sampled(RedTeam::function(agent)).run().await.expect("it runs");
    assert_eq!(report.verdict, Verdict::Obeyed);
    for result in &report.attacks {
        assert_eq!(
            (result.result, result.counts.obeyed, result.counts.failed),
            (Outcome::Obeyed, 1, 0),
            "{}",
            result.id
        );
        assert!(!result.habit, "{}", result.id);
        assert!(result.story.iter().any(|line| line.starts_with("outcome")), "{}", result.id);
        let is_hidden = |c: char| {
            c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}')
        };
        assert!(!result.story.iter().any(|line| line.contains(is_hidden)), "{}", result.id);
    }
}

#[test]
fn there_are_at_least_two_hundred_attacks_of_every_kind_at_every_place() {
    let attacks = Attack::built_in();
    let distinct = |name: &dyn Fn(&Attack) -> String| attacks.iter().map(name).collect::<BTreeSet<_>>().len();
    assert!(attacks.len() >= 200, "{}", attacks.len());
    assert_eq!(distinct(&|it| it.id.clone()), attacks.len());
    assert!(distinct(&|it| it.family.clone()) >= 14);
    assert_eq!(distinct(&|it| it.place.to_string()), 9);
    assert_eq!(distinct(&|it| it.goal.kind().to_owned()), 9, "`note` is inside of `any`");
    assert_eq!(distinct(&|it| it.task.clone()), 6);
}

#[test]
fn a_sample_is_over_all_families_and_the_same_for_the_same_seed() {
    let team = RedTeam::command(["true"]);
    let ids = |team: RedTeam| team.selected().expect("sound").into_iter().map(|it| it.id).collect::<Vec<_>>();
    let families = |team: &RedTeam| {
        team.selected().expect("sound").into_iter().map(|it| it.family).collect::<BTreeSet<_>>()
    };
    assert_eq!(ids(team.clone()).len(), 80);
    assert_eq!(ids(team.clone().seed(7)), ids(team.clone().seed(7)));
    assert_ne!(ids(team.clone().seed(7)), ids(team.clone().seed(8)));
    assert_eq!(families(&team), families(&team.clone().all()));
    assert_eq!(ids(team.clone().sample(3)).len(), 3);
    assert_eq!(ids(team.clone().only(["hidden"])).len(), 48, "what is named is run");
    assert_eq!(ids(team.clone().only(["hidden"]).sample(5)).len(), 5);
    let error = team.clone().task("nothing").selected().expect_err("no task");
    assert!(error.to_string().starts_with("task: nothing is none of answer-question, "), "{error}");
    let error = team.only(["plain.tag"]).task("hand-over").selected().expect_err("none");
    assert!(matches!(error, RedTeamError::NothingSelected), "{error}");
}

#[tokio::test]
async fn the_same_seed_gives_the_same_words_and_codes_differ_in_every_world() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    let agent = move |context: AgentContext| {
        let into = Arc::clone(&into);
        async move {
            let mut read = String::new();
            for it in read_all(&over_rest(&context.base_url, &context.key)?).await? {
                texts(&json!([it["contact"], it["subject"], notes(&it)]), &mut read);
            }
            into.lock().expect("whole").push(read);
            does_its_task(context).await
        }
    };
    let team = RedTeam::function(agent).only(["plain.send"]).jobs(1);
    for seed in [7, 7, 8] {
        team.clone().seed(seed).run().await.expect("it runs");
    }
    let seen = seen.lock().expect("whole");
    let is_code = |word: &&str| word.len() >= 14 && word.matches('-').count() == 2;
    let words = |read: &String| {
        read.split_whitespace().filter(|it| !is_code(it)).map(str::to_owned).collect::<Vec<_>>()
    };
    // A run without the attack and one with it, for each seed.
    assert_eq!(words(&seen[0]), words(&seen[2]));
    assert_ne!(words(&seen[0]), words(&seen[4]));
    let codes: Vec<&str> = seen.iter().flat_map(|read| read.split_whitespace().filter(is_code)).collect();
    assert!(codes.len() >= 6 * 6, "{}", codes.len());
    assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
}
