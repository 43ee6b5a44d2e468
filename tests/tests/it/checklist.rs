//! The checklist of the API's rules against the tests that are really there.

use std::{collections::BTreeSet, fs, path::Path};

/// Every part of the API's description that holds rules.
const SECTIONS: &[&str] = &[
    "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "3.1", "3.2", "3.3", "4.1", "4.2", "4.3",
    "4.4", "4.5", "4.6", "4.7", "4.8", "4.9", "4.10", "4.11", "4.12", "4.13", "4.14", "4.15", "4.16", "5",
    "6.1", "6.2", "7", "8", "8.3", "9",
];

struct Row<'a> {
    section: &'a str,
    rule: &'a str,
    file: &'a str,
    test: &'a str,
}

fn rows(checklist: &str) -> Vec<Row<'_>> {
    checklist
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| section") && !line.starts_with("|---"))
        .map(|line| {
            let cells: Vec<&str> =
                line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            let [section, rule, file, test] = cells[..] else { panic!("four cells: {line}") };
            Row { section, rule, file, test }
        })
        .collect()
}

#[test]
fn every_rule_is_proven_by_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let checklist = fs::read_to_string(root.join("tests/checklist.md")).expect("the checklist is there");
    let rows = rows(&checklist);
    assert!(rows.len() > 100, "the checklist has {} rows", rows.len());
    let missing: Vec<String> = rows
        .iter()
        .filter(|row| !exists(&root.join(row.file), row.test))
        .map(|row| format!("{} {}: no test `{}` in {}", row.section, row.rule, row.test, row.file))
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_section_is_on_the_checklist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let checklist = fs::read_to_string(root.join("checklist.md")).expect("the checklist is there");
    let there: BTreeSet<&str> = rows(&checklist).iter().map(|row| row.section).collect();
    let missing: Vec<_> = SECTIONS.iter().filter(|section| !there.contains(*section)).collect();
    assert!(missing.is_empty(), "no rule of {missing:?}");
    let strange: Vec<_> = there.iter().filter(|section| !SECTIONS.contains(section)).collect();
    assert!(strange.is_empty(), "there is no section {strange:?}");
}

/// Whether the file has a test of that name: an attribute that makes one, then the function.
fn exists(file: &Path, test: &str) -> bool {
    let Ok(source) = fs::read_to_string(file) else { return false };
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let function = |line: &str| {
        let rest = line.trim_start_matches("async ").strip_prefix("fn ");
        rest.and_then(|rest| rest.strip_prefix(test)).is_some_and(|rest| rest.starts_with('('))
    };
    lines.iter().enumerate().any(|(i, line)| {
        let marked = || {
            lines[..i]
                .iter()
                .rev()
                .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
                .any(|line| line.contains("test"))
        };
        // Tables of tests: a macro turns `name: …` into a test of that name.
        (function(line) && marked()) || line.strip_prefix(test).is_some_and(|rest| rest.starts_with(": "))
    })
}
