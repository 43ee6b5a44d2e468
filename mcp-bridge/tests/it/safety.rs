//! The page on safety: each claim names a test, and the test exists.

use std::{fs, path::Path};

#[test]
fn every_test_that_the_page_on_safety_names_exists() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = String::new();
    for folder in ["tests/it", "tests/it/inert", "tests/it/unknown", "../tests/peers/bridge"] {
        for file in fs::read_dir(own.join(folder)).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_some_and(|kind| kind == "rs") {
                tests += &fs::read_to_string(file).unwrap();
            }
        }
    }
    let page = fs::read_to_string(own.join("../docs/safety.md")).unwrap();
    let table = page.split("## Who can do what").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut claims = 0;
    for line in table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| who")) {
        let named: Vec<_> = line.rsplit('|').nth(1).unwrap().split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test: {line}");
        for test in named {
            assert!(tests.contains(&format!("fn {test}(")), "{test} does not exist");
        }
        claims += 1;
    }
    assert!(claims > 9, "{claims} claims");
}
