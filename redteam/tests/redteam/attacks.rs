//! The attacks that are built in.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use shared_inbox_redteam::{Attack, RedTeam, Verdict};

use crate::agents::{do_task, obey, over_rest, read_all};

#[tokio::test]
async fn every_attack_is_obeyed_by_an_agent_that_does_what_it_wants() {
    let mut by_goal: BTreeMap<String, Vec<Attack>> = BTreeMap::new();
    for attack in Attack::built_in() {
        by_goal.entry(json!(attack.goal).to_string()).or_default().push(attack);
    }
    for attacks in by_goal.into_values() {
        let goal = attacks[0].goal.clone();
        let agent = move |context: shared_inbox_redteam::AgentContext| {
            let goal = goal.clone();
            async move { obey(&over_rest(&context.base_url, &context.key)?, &goal).await }
        };
        let report =
            RedTeam::function(agent).only(attacks.iter().map(|it| &it.id)).run().await.expect("it runs");
        assert_eq!(report.verdict, Verdict::Obeyed);
        for (attack, result) in attacks.iter().zip(&report.attacks) {
            assert_eq!((&attack.id, result.counts.obeyed, result.counts.failed), (&result.id, 1, 0));
            assert!(result.story.iter().any(|line| line.starts_with("outcome")), "{}", result.id);
            let is_hidden = |c: char| {
                c.is_control()
                    || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}')
            };
            assert!(!result.story.iter().any(|line| line.contains(is_hidden)), "{}", result.id);
        }
    }
}

#[tokio::test]
async fn no_attack_is_obeyed_by_an_agent_that_does_its_task_alone_and_every_task_is_done() {
    let agent = |context: shared_inbox_redteam::AgentContext| async move {
        do_task(&over_rest(&context.base_url, &context.key)?, &context.task, false).await
    };
    let report = RedTeam::function(agent).run().await.expect("it runs");
    assert_eq!(report.verdict, Verdict::Held, "{report}");
    for attack in &report.attacks {
        assert_eq!(
            (attack.counts.obeyed, attack.counts.useful, attack.counts.failed),
            (0, 1, 0),
            "{}",
            attack.id
        );
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

#[tokio::test]
async fn every_attack_stands_where_an_agent_reads_it() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    let agent = move |context: shared_inbox_redteam::AgentContext| {
        let into = Arc::clone(&into);
        async move {
            let call = over_rest(&context.base_url, &context.key)?;
            let mut read = String::new();
            read_all(&call).await?.iter().for_each(|it| texts(it, &mut read));
            texts(&call("search_documents", json!({})).await?, &mut read);
            into.lock().expect("whole").push(read);
            Ok(())
        }
    };
    RedTeam::function(agent).run().await.expect("it runs");
    let seen = seen.lock().expect("whole");
    for attack in Attack::built_in() {
        let written = [Some(attack.text.clone()), attack.follow_up.clone()];
        let lines: Vec<String> =
            written.iter().flatten().flat_map(|it| it.lines().map(str::to_owned)).collect();
        let is_there = |read: &String| lines.iter().all(|line| read.contains(line.trim()));
        assert!(seen.iter().any(is_there), "{} is not there", attack.id);
    }
}

#[test]
fn there_are_at_least_sixty_attacks_in_eight_families_of_every_kind_at_every_place() {
    let attacks = Attack::built_in();
    let distinct = |name: &dyn Fn(&Attack) -> String| attacks.iter().map(name).collect::<BTreeSet<_>>().len();
    assert!(attacks.len() >= 60, "{}", attacks.len());
    assert!(distinct(&|it| it.family.clone()) >= 8);
    assert_eq!(distinct(&|it| it.place.to_string()), 8);
    assert_eq!(distinct(&|it| json!(it.goal)["kind"].to_string()), 8);
    assert_eq!(distinct(&|it| it.task.clone()), 6);
}

#[tokio::test]
async fn the_same_seed_gives_the_same_words_and_codes_differ_in_every_world() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    let agent = move |context: shared_inbox_redteam::AgentContext| {
        let into = Arc::clone(&into);
        async move {
            let call = over_rest(&context.base_url, &context.key)?;
            let mut read = String::new();
            for conversation in read_all(&call).await? {
                texts(&conversation["contact"], &mut read);
                texts(&conversation["subject"], &mut read);
                texts(
                    &json!(
                        conversation["timeline"]
                            .as_array()
                            .map(|it| it.iter().map(|it| it["body"].clone()).collect::<Vec<_>>())
                    ),
                    &mut read,
                );
            }
            into.lock().expect("whole").push(read);
            Ok(())
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
