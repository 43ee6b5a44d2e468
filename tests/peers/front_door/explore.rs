//! The fixtures that explore: a function that breaks a rule fails its test with all that is needed to mend it.

use std::fs;

use crate::front_door::{
    packages::NEWEST_VITEST,
    project::{Project, assert_has, ended, until},
};

/// What a failing test says, whatever its language.
const FOUND: [&str; 5] = [
    "BROKEN never-twice: customer",
    "→ was taken, then the response was lost",
    "it happened again 5 of 5 times",
    "_lost-after@reply.0",
    "A test that replays it:",
];

#[test]
fn a_function_is_explored_in_pytest() {
    let project = Project::new();
    let Some(mut pytest) = project.pytest("test_explore.py") else { return };
    pytest.args(["-rP", "--junitxml=report.xml"]);
    let (said, status) = ended(pytest);
    assert_eq!(status, Some(1), "{said}");
    assert_has(&said, &FOUND);
    assert_has(
        &said,
        &["def test_nobody_gets_the_same_text_twice(shared_inbox_explore):", "1 failed, 12 passed"],
    );
    // A test that passes says how far it looked.
    let how_far = "nothing found: 30 of ";
    assert_has(&said, &["- Captured shared_inbox_explore call -", how_far]);
    let junit = fs::read_to_string(project.home.path().join("report.xml")).expect("it was written");
    assert_has(&junit, &[&format!("<property name=\"shared_inbox_explore\" value=\"{how_far}")]);
    assert!(project.servers().is_empty());

    // The printed test, below an import, fails for the same reason, and passes with the correct function.
    let file = project.home.path().join("test_printed.py");
    let printed = fs::read_to_string(&file).expect("it was written");
    let (said, status) = ended(project.pytest("test_printed.py").expect("as before"));
    assert_eq!(status, Some(1), "{said}");
    assert_has(&said, &["BROKEN never-twice"]);
    fs::write(&file, printed.replace("(blind, ", "(correct, ")).expect("written");
    let (said, status) = ended(project.pytest("test_printed.py").expect("as before"));
    assert_eq!(status, Some(0), "{said}\n{printed}");
}

#[test]
fn a_function_is_explored_in_vitest_and_in_the_runner_of_node() {
    let project = Project::new();
    let Some(vitest) = project.vitest(NEWEST_VITEST, &["explore.spec"]) else { return };
    let (said, status) = ended(vitest);
    assert_eq!(status, Some(1), "{said}");
    assert_has(&said, &FOUND);
    assert_has(&said, &["test('nobody gets the same text twice', () => explore(blind, { mails: ["]);
    assert_has(&said, &["1 failed | 6 passed", "shared-inbox explore: nothing found: 30 of "]);

    let printed = || ended(project.vitest(NEWEST_VITEST, &["printed.test.ts"]).expect("as before"));
    let (said, status) = printed();
    assert_eq!(status, Some(1), "{said}");
    assert_has(&said, &["BROKEN never-twice"]);
    let file = project.home.path().join("printed.test.ts");
    let test = fs::read_to_string(&file).expect("it was written");
    fs::write(&file, test.replace("explore(blind, ", "explore(correct, ")).expect("written");
    let (said, status) = printed();
    assert_eq!(status, Some(0), "{said}");

    let Some(mut node) = project.node(NEWEST_VITEST) else { return };
    node.args(["--test", "--test-reporter=spec", "explore.test.mjs"]);
    let (said, status) = ended(node);
    assert_eq!(status, Some(1), "{said}");
    assert_has(&said, &FOUND);
    assert_has(&said, &["pass 1", "fail 1", "skipped 1"]);
    assert!(project.servers().is_empty());
}

#[test]
fn no_explorer_outlives_the_tests_that_started_it() {
    let project = Project::new();
    for signal in ["-KILL", "-TERM", "-INT"] {
        let Some(pytest) = project.pytest("test_explore_waits.py") else { return };
        let Some(mut node) = project.node(NEWEST_VITEST) else { return };
        node.args(["--test", "--test-name-pattern=waits", "explore.test.mjs"]).env("WAITS", "1");
        for command in [pytest, node] {
            let running = project.start(command);
            assert_eq!(project.servers().len(), 1);
            running.signal(signal, signal == "-INT");
            until(&format!("no explorer after {signal}"), || project.servers().is_empty());
        }
    }
}
