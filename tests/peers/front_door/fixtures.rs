//! What the fixtures do with a server that died, an option that is wrong and a test that failed, and which versions they work with.

use std::fs;

use crate::front_door::{
    packages::{NEWEST_VITEST, OLDEST_VITEST},
    project::{Project, assert_has, ended},
};
use shared_inbox_peer_tests::root;

#[test]
fn a_server_that_died_fails_the_pytest_tests_that_use_it_with_one_line_each() {
    let project = Project::new();
    let Some(mut pytest) = project.pytest("test_server_dies.py") else { return };
    pytest.arg("--tb=short");
    let (said, status) = ended(pytest);
    assert_eq!(status, Some(1), "{said}");
    assert_has(&said, &["AssertionError: the test's own words", "2 failed, 2 passed, 1 error"]);
    let lines = said.lines().filter(|line| *line == "shared-inbox-mock has ended, by signal SIGKILL.");
    // Two tests and the journal of the one that failed by itself.
    assert_eq!(lines.count(), 3, "{said}");
    for noise in ["INTERNALERROR", "Traceback", "Connection refused", "urllib"] {
        assert!(!said.contains(noise), "{said}");
    }
}

#[test]
fn a_server_that_died_fails_the_node_tests_that_use_it_with_one_line_each() {
    let project = Project::new();
    let Some(vitest) = project.vitest(NEWEST_VITEST, &["dies.spec"]) else { return };
    let Some(mut node) = project.node(NEWEST_VITEST) else { return };
    node.args(["--test", "--test-reporter=spec", "dies.test.mjs"]);
    for (command, counts) in [(vitest, ["2 failed", "2 passed"]), (node, ["fail 2", "pass 2"])] {
        let (said, status) = ended(command);
        assert_eq!(status, Some(1), "{said}");
        assert_has(&said, &counts);
        assert_has(&said, &["the test's own words", "shared-inbox-mock has ended, by signal SIGKILL."]);
        assert!(!said.contains("fetch failed") && !said.contains("ECONNREFUSED"), "{said}");
    }
}

#[test]
fn a_wrong_option_of_a_pytest_world_is_named() {
    let project = Project::new();
    let Some(pytest) = project.pytest("test_options.py") else { return };
    let (said, _) = ended(pytest);
    let named = [
        "clock must be 'manual' or 'real', not 'manuel'",
        "takes its options by name, such as empty=True, not True",
        "unexpected keyword argument 'emtpy'",
        "empty must be True or False, not 'yes'",
        "converse: unknown; did you mean conversations?",
        "5 errors",
    ];
    assert_has(&said, &named);
    assert!(!said.contains("Traceback") && !said.contains("During handling"), "{said}");
}

#[test]
fn flags_of_the_server_are_a_list_and_may_have_spaces() {
    let project = Project::new();
    let settings = "[pytest]\nshared_inbox_flags = --rate-limit=off '--ready-file=of the settings.json'\n";
    fs::write(project.home.path().join("pytest.ini"), settings).expect("a file");
    let passes = |arguments: &[&str]| {
        let mut pytest = project.pytest("test_waits.py")?;
        pytest.args(["-k", "passes"]).args(arguments);
        let (said, status) = ended(pytest);
        assert_eq!(status, Some(0), "{said}");
        Some(())
    };
    let Some(()) = passes(&[]) else { return };
    assert!(project.home.path().join("of the settings.json").exists());
    fs::remove_file(project.home.path().join("pytest.ini")).expect("it was there");
    passes(&["--shared-inbox-flag=--ready-file", "--shared-inbox-flag=of the command line.json"]);
    assert!(project.home.path().join("of the command line.json").exists());
}

#[test]
fn a_failure_of_a_pytest_fixture_shows_the_journal_too() {
    let project = Project::new();
    let Some(pytest) = project.pytest("test_fixture_fails.py") else { return };
    let (said, _) = ended(pytest);
    assert_has(
        &said,
        &["ERROR at setup of test_before", "ERROR at teardown of test_after", "1 passed, 2 errors"],
    );
    assert_eq!(said.matches("  200  GET /api/v1/me").count(), 2, "{said}");
    // The trace ends in the test's own file.
    assert_eq!(said.matches("test_fixture_fails.py:10: NotMet").count(), 2, "{said}");
}

#[test]
fn a_receiver_in_the_event_loop_of_a_test_gets_its_events() {
    let project = Project::new();
    let Some(pytest) = project.pytest("test_async.py") else { return };
    let (said, status) = ended(pytest);
    assert_eq!(status, Some(0), "{said}");
}

#[test]
fn the_oldest_and_the_newest_vitest_start_worlds_as_told_and_an_older_one_is_refused() {
    for version in [OLDEST_VITEST, NEWEST_VITEST] {
        let project = Project::new();
        let Some(vitest) = project.vitest(version, &["options.spec"]) else { return };
        let (said, status) = ended(vitest);
        assert!(status == Some(0) && said.contains("3 passed"), "{version}: {said}");
    }
    let package = fs::read_to_string(root().join("mock-server/node/package.json")).expect("it is there");
    let (range, _) = OLDEST_VITEST.rsplit_once('.').expect("a version");
    assert_has(&package, &[&format!(r#""peerDependencies": {{ "vitest": ">={range}" }}"#)]);

    let project = Project::new();
    let Some(vitest) = project.vitest("3.2.4", &["options.spec"]) else { return };
    let (said, status) = ended(vitest);
    assert_eq!(status, Some(1), "{said}");
    assert_has(&said, &[&format!("needs vitest {range} or newer")]);
}

#[test]
fn a_failure_in_vitest_leads_to_the_line_of_the_test_and_shows_the_journal() {
    let project = Project::new();
    let Some(vitest) = project.vitest(NEWEST_VITEST, &["fails.spec"]) else { return };
    let (said, _) = ended(vitest);
    assert_has(
        &said,
        &["3 failed", "❯ fails.spec.mjs:8:", "❯ mine fails.spec.mjs:14:", "  200  GET /api/v1/me"],
    );
    assert_has(&said, &["A world has no option emtpy; its options are empty, seed and clock."]);
    assert!(!said.contains("http.js") && !said.contains("control.js"), "{said}");
}

#[test]
fn the_test_of_node_can_be_skipped_left_for_later_or_run_alone() {
    let project = Project::new();
    let Some(mut node) = project.node(NEWEST_VITEST) else { return };
    node.args(["--test", "--test-reporter=spec", "kinds.test.mjs"]);
    let (said, _) = ended(node);
    assert_has(&said, &["skipped 2", "todo 1", "pass 1", "fail 2", "0 conversations"]);
    assert_has(&said, &["clock must be 'manual' or 'real', not 'manuel'", "kinds.test.mjs:13:"]);
    assert!(!said.contains("http.js") && !said.contains("control.js"), "{said}");

    let Some(mut node) = project.node(NEWEST_VITEST) else { return };
    node.args(["--test", "--test-only", "--test-reporter=spec", "only.test.mjs"]);
    let (said, status) = ended(node);
    assert!(status == Some(0) && said.contains("pass 1"), "{said}");
}

/// What the fixtures say about a fault that never fired.
const UNFIRED: &str = "the fault flt_1 (/conversations/*/replies) never fired: nothing matched it";

#[test]
fn what_had_no_effect_is_a_warning_of_pytest_or_a_failure() {
    let project = Project::new();
    let Some(pytest) = project.pytest("test_unused.py") else { return };
    let (said, status) = ended(pytest);
    assert_eq!(status, Some(1), "{said}");
    assert_has(
        &said,
        &[
            "UnusedWarning",
            "2 failed, 2 passed, 1 warning, 1 error",
            "strict must be True or False, not 'yes'",
        ],
    );
    assert_has(&said, &[UNFIRED, "nobody in a conversation has the address nobody@customer.example"]);
    assert!(!said.contains("Traceback"), "{said}");
    fs::write(project.home.path().join("pytest.ini"), "[pytest]\nshared_inbox_strict = true\n")
        .expect("a file");
    let Some(pytest) = project.pytest("test_unused.py") else { return };
    assert_has(&ended(pytest).0, &["3 failed, 1 passed, 1 error"]);
}

#[test]
fn what_had_no_effect_is_a_warning_of_vitest_and_node_or_a_failure() {
    let project = Project::new();
    let Some(vitest) = project.vitest(NEWEST_VITEST, &["unused.spec"]) else { return };
    let Some(mut node) = project.node(NEWEST_VITEST) else { return };
    node.args(["--test", "--test-reporter=spec", "unused.test.mjs"]);
    for (command, counts) in [(vitest, ["1 failed", "2 passed"]), (node, ["fail 1", "pass 2"])] {
        let (said, status) = ended(command);
        assert_eq!(status, Some(1), "{said}");
        assert_has(&said, &counts);
        assert_has(&said, &["The test set up what had no effect", UNFIRED]);
        assert!(said.matches(UNFIRED).count() >= 2, "the warning and the failure: {said}");
    }
}

#[test]
fn a_program_that_is_not_there_is_one_sentence() {
    let project = Project::new();
    for (fixture, status) in [("", 1), ("_explore", 1), ("_redteam", 2)] {
        let test = format!("def test_it(shared_inbox{fixture}):\n    pass\n");
        fs::write(project.home.path().join("test_gone.py"), test).expect("a file");
        let Some(mut pytest) = project.pytest("test_gone.py") else { return };
        pytest.env("SHARED_INBOX_MOCK", "/nonexistent/x");
        let (said, ended_with) = ended(pytest);
        assert_eq!(ended_with, Some(status), "{said}");
        assert_has(&said, &["\nSHARED_INBOX_MOCK names /nonexistent/x, which is not there.\n"]);
        for noise in ["Traceback", "_server.py", "pytest_plugin.py"] {
            assert!(!said.contains(noise), "{noise}: {said}");
        }
    }
}

/// A file that is there and is no program.
fn not_executable(project: &Project) -> String {
    let file = project.home.path().join("notes.txt");
    fs::write(&file, "notes").expect("a file");
    file.to_str().expect("text").to_owned()
}

#[test]
fn a_program_that_is_not_executable_is_one_sentence() {
    let project = Project::new();
    let named = not_executable(&project);
    for (fixture, status) in [("", 1), ("_explore", 1), ("_redteam", 2)] {
        let test = format!("def test_it(shared_inbox{fixture}):\n    pass\n");
        fs::write(project.home.path().join("test_gone.py"), test).expect("a file");
        let Some(mut pytest) = project.pytest("test_gone.py") else { return };
        pytest.env("SHARED_INBOX_MOCK", &named);
        let (said, ended_with) = ended(pytest);
        assert_eq!(ended_with, Some(status), "{said}");
        assert_has(&said, &[&format!("\nSHARED_INBOX_MOCK names {named}, which is not executable.\n")]);
        assert!(!said.contains("Traceback"), "{said}");
    }
    let Some(mut node) = project.node(NEWEST_VITEST) else { return };
    node.arg("node_modules/shared-inbox-mock/cli.js").env("SHARED_INBOX_MOCK", &named);
    let (said, status) = ended(node);
    assert_eq!(status, Some(2), "{said}");
    assert_has(&said, &[&format!("SHARED_INBOX_MOCK names {named}, which is not executable.")]);
}

#[test]
fn a_program_that_is_not_there_is_one_sentence_in_node_too() {
    let project = Project::new();
    let Some(vitest) = project.vitest(NEWEST_VITEST, &["unused.spec"]) else { return };
    let Some(mut node) = project.node(NEWEST_VITEST) else { return };
    node.args(["--test", "--test-reporter=spec", "unused.test.mjs"]);
    let Some(mut program) = project.node(NEWEST_VITEST) else { return };
    program.arg("node_modules/shared-inbox-mock/cli.js");
    for (mut command, fails_with) in [(vitest, 1), (node, 1), (program, 2)] {
        command.env("SHARED_INBOX_MOCK", "/nonexistent/x");
        let (said, status) = ended(command);
        assert_eq!(status, Some(fails_with), "{said}");
        assert_has(&said, &["SHARED_INBOX_MOCK names /nonexistent/x, which is not there."]);
        for noise in ["index.js", "runner.js", "    at "] {
            assert!(!said.contains(noise), "{noise}: {said}");
        }
    }
}
