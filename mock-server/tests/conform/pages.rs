//! The pages about the suite say what is true.

use std::{fs, path::PathBuf};

use shared_inbox_mock::conform::{Conform, RuleInfo};

fn page(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    fs::read_to_string(path).expect("the page is there")
}

/// Whether a pattern, in which `*` stands for anything, means this id.
fn means(pattern: &str, id: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == id,
        Some((start, rest)) => id
            .strip_prefix(start)
            .is_some_and(|id| (0..=id.len()).any(|at| id.is_char_boundary(at) && means(rest, &id[at..]))),
    }
}

#[test]
fn every_rule_has_its_sentence_and_every_sentence_its_rules_or_a_reason() {
    let rules = Conform::rules();
    let page = page("conform-rules.md");
    let mut named: Vec<&RuleInfo> = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| section")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [section, sentence, how] = cells.as_slice() else { panic!("three cells: {row}") };
        assert!(!sentence.is_empty(), "{row}");
        if let Some(why) = how.strip_prefix("not tried: ") {
            assert!(why.len() > 15, "a reason: {row}");
            continue;
        }
        for pattern in how.split_whitespace().map(|it| it.trim_matches('`')) {
            let found: Vec<&RuleInfo> =
                rules.iter().filter(|rule| rule.section == *section && means(pattern, &rule.id)).collect();
            assert!(!found.is_empty(), "no rule of {section} is {pattern}: {row}");
            named.extend(found);
        }
    }
    let left_out: Vec<&str> =
        rules.iter().filter(|rule| !named.contains(rule)).map(|rule| rule.id.as_str()).collect();
    assert!(left_out.is_empty(), "without a sentence: {left_out:?}");
}

#[test]
fn ids_are_unique_and_sections_are_those_of_the_document() {
    let rules = Conform::rules();
    let mut ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "each id once");
    assert!(count >= 250, "{count} rules");
    for rule in &rules {
        assert!(
            !rule.says.is_empty() && rule.section.starts_with(|c: char| ('1'..='9').contains(&c)),
            "{rule:?}"
        );
    }
    println!(
        "{}",
        rules.iter().map(|rule| format!("{} {}", rule.section, rule.id)).collect::<Vec<_>>().join("\n")
    );
}
