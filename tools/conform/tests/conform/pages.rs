//! The pages about the suite say what is true.

use std::{fs, path::PathBuf};

use shared_inbox_conform::{Conform, RuleInfo};

fn page(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
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

/// Whether `file::name` is a test of this repository.
fn is_a_test(test: &str) -> bool {
    let Some((file, name)) = test.split_once("::") else { return false };
    let source = fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(file));
    source.is_ok_and(|source| source.contains(&format!("fn {name}(")))
}

/// Every part of the document that demands something.
const SECTIONS: &[&str] = &[
    "1", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "3.1", "3.2", "3.3", "4.1", "4.2",
    "4.3", "4.4", "4.5", "4.6", "4.7", "4.8", "4.9", "4.10", "4.11", "4.12", "4.13", "4.14", "4.15", "4.16",
    "5", "6.1", "6.2", "7", "8", "8.3", "9",
];

#[test]
fn every_section_has_its_rows() {
    let page = page("conform-rules.md");
    for section in SECTIONS {
        assert!(page.lines().any(|line| line.starts_with(&format!("| {section} | "))), "no row of {section}");
    }
    for rule in Conform::rules() {
        assert!(SECTIONS.contains(&rule.section.as_str()), "{rule:?}");
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
            for test in why.split(['`', ' ']).filter(|it| it.contains("::")) {
                assert!(is_a_test(test), "no test {test}: {row}");
            }
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
}
