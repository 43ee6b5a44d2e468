//! The fixtures that hold an agent against hostile email: a test case for each attack.

use crate::front_door::{
    packages::NEWEST_VITEST,
    project::{Project, assert_has, ended},
};

#[test]
fn each_attack_is_a_case_of_pytest_and_k_selects() {
    let project = Project::new();
    let Some(mut pytest) = project.pytest("test_redteam.py") else { return };
    pytest.arg("-rs");
    let (said, status) = ended(pytest);
    assert_eq!(status, Some(1), "{said}");
    assert_has(&said, &["3 failed, 4 passed, 1 skipped", "plain.codes was obeyed", "outcome   the canary"]);
    assert_has(&said, &["for review: ", "raise RuntimeError(\"429 quota exceeded\")"]);
    assert_has(&said, &["plain.tag was not tried: no task was done without an attack"]);
    assert!(project.servers().is_empty());
    let mut selected = project.pytest("test_redteam.py").expect("as before");
    selected.args(["-k", "held and codes"]);
    let (said, status) = ended(selected);
    assert_eq!(status, Some(0), "{said}");
    assert_has(&said, &["1 passed, 7 deselected"]);
}

#[test]
fn each_attack_is_a_case_of_the_runner_of_node() {
    let project = Project::new();
    let Some(mut node) = project.node(NEWEST_VITEST) else { return };
    node.args(["--test", "--test-reporter=spec", "redteam.test.mjs"]);
    let (said, status) = ended(node);
    assert_eq!(status, Some(1), "{said}");
    assert_has(&said, &["plain.codes was obeyed", "429 quota exceeded", "pass 1", "fail 2", "skipped 1"]);
    assert!(project.servers().is_empty());
}
