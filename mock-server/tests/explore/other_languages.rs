//! Apps in Python and Node: the same faults in other languages. Every printed test is run in its language, as it stands and with the
//! correct app.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use shared_inbox_mock::explore::{Explore, Finding, Oracle, Scenario};
use shared_inbox_tests::peers;

/// An app: its name, the rule that it breaks, and a schedule that shows it.
type App = (&'static str, Oracle, &'static str);

const PYTHON: [App; 9] = [
    ("retries_blindly", Oracle::NeverTwice, "1_1_lost-after@reply.0"),
    ("answers_what_the_list_shows", Oracle::NeverTwice, "1_1_lost-after@reply.0"),
    ("marks_first", Oracle::NobodyForgotten, "1_1_lost-before@reply.0"),
    ("swallows_every_error", Oracle::NobodyForgotten, "1_1_lost-before@reply.0"),
    ("remembers_in_a_file_too_late", Oracle::NeverTwice, "1_1_lost-after@reply.0"),
    ("ignores_who_has_it", Oracle::PersonsWord, "1_1_assign:1@list_conversations.0"),
    ("drafts_again_what_was_discarded", Oracle::PersonsWord, "1_0_discard:0@end.0"),
    ("knows_its_draft_by_its_words", Oracle::PersonsWord, "1_1_answer:1@list_conversations.0"),
    ("leaves_a_lock_behind", Oracle::WellBehaved, "1_1_kill@reply.0"),
];

const NODE: [App; 6] = [
    ("retriesBlindly", Oracle::NeverTwice, "1_1_lost-after@reply.0"),
    ("marksFirst", Oracle::NobodyForgotten, "1_1_lost-before@reply.0"),
    ("swallows429", Oracle::NobodyForgotten, "1_1_busy@reply.0"),
    ("doesNotAwaitTheAnswer", Oracle::NobodyForgotten, "1_1_lost-before@reply.0"),
    ("remembersTooEarly", Oracle::NobodyForgotten, "1_1_lost-before@reply.0"),
    ("answersHeldMail", Oracle::PersonsWord, "1_1_risk:1@list_conversations.0"),
];

/// Schedules within which each fault is found.
const MAX_SCHEDULES: u64 = 200;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explore")
}

fn app(file: &str) -> String {
    folder().join("other_languages").join(file).to_str().expect("text").to_owned()
}

fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken"])
}

async fn replay(command: &[&str], oracle: Oracle, token: &str) -> Finding {
    let report = Explore::command(scenario(), command.iter().copied()).replay(token).await;
    let report = report.unwrap_or_else(|why| panic!("{}: {why}", command[2]));
    let [finding] = &report.findings[..] else { panic!("{}: nothing found", command[2]) };
    assert_eq!(finding.oracle, oracle, "{}: {report}", command[2]);
    finding.clone()
}

async fn each_is_found(program: &str, file: &str, apps: &[App]) {
    for (name, oracle, _) in apps {
        let explore = Explore::command(scenario(), [program, &app(file), name]).seconds(3600.0);
        let report = explore.max_schedules(MAX_SCHEDULES).run().await.expect("it ran");
        let [finding] = &report.findings[..] else { panic!("{name}: nothing found: {report}") };
        println!(
            "{name}: {} after {} schedules and {:.0} s, {} of {} steps, {}",
            finding.replay,
            report.schedules,
            report.seconds,
            finding.steps.len(),
            finding.shrunk_from,
            finding.reproduced
        );
        assert_eq!(finding.oracle, *oracle, "{report}");
        assert!(finding.steps.len() <= 3, "{report}");
    }
}

async fn nothing_is_found(program: &str, file: &str) {
    let schedules = std::env::var("EXPLORE_SCHEDULES").ok().and_then(|it| it.parse().ok()).unwrap_or(100);
    let explore = Explore::command(scenario(), [program, &app(file), "correct"]).seconds(36_000.0);
    let report = explore.max_schedules(schedules).run().await.expect("it ran");
    println!("{} schedules in {:.0} s", report.schedules, report.seconds);
    assert!(report.held(), "{report}");
}

#[tokio::test]
#[ignore = "needs Python"]
async fn each_fault_of_a_python_app_is_found() {
    each_is_found("python3", "app.py", &PYTHON).await;
}

#[tokio::test]
#[ignore = "needs Python"]
async fn nothing_is_found_in_a_correct_python_app() {
    nothing_is_found("python3", "app.py").await;
}

#[tokio::test]
#[ignore = "needs Node"]
async fn each_fault_of_a_node_app_is_found() {
    each_is_found("node", "app.mjs", &NODE).await;
}

#[tokio::test]
#[ignore = "needs Node"]
async fn nothing_is_found_in_a_correct_node_app() {
    nothing_is_found("node", "app.mjs").await;
}

/// A printed test with this line in place of the one with its command.
fn with_command(test: &str, start: &str, line: &str) -> String {
    let lines = test.lines().map(|it| if it.starts_with(start) { line } else { it });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs the printed tests of all apps at once: all fail as they stand, and all pass with the correct app.
fn fail_until_the_app_is_correct(
    tests: &[(String, String)],
    program: &str,
    file: &str,
    file_name: impl Fn(&str) -> String,
    command: impl Fn(&str, &[&str]) -> String,
    home: &Path,
    run: impl Fn() -> Output,
) {
    for correct in [false, true] {
        for (name, test) in tests {
            let app = app(file);
            let words = [program, app.as_str(), if correct { "correct" } else { name.as_str() }];
            fs::write(home.join(file_name(name)), command(test, &words)).expect("a file");
        }
        let said = said(&run());
        let counted = format!("{} {}", tests.len(), if correct { "passed" } else { "failed" });
        let other = if correct { " failed" } else { " passed" };
        assert!(said.contains(&counted) && !said.contains(other), "{counted}: {said}");
        // They fail by what they claim, and not because something is missing.
        assert!(correct || said.matches("AssertionError").count() >= tests.len(), "{said}");
    }
}

async fn findings(program: &str, file: &str, apps: &[App]) -> Vec<(String, Finding)> {
    let mut found = Vec::new();
    for (name, oracle, token) in apps {
        found.push(((*name).to_owned(), replay(&[program, &app(file), name], *oracle, token).await));
    }
    found
}

#[tokio::test]
#[ignore = "needs Python"]
async fn each_printed_python_test_fails_until_the_app_is_correct() {
    let Some(python) = peers::python(&["pytest==9.2.0"]) else { return };
    for (program, file, apps) in [("python3", "app.py", &PYTHON[..]), ("node", "app.mjs", &NODE)] {
        let found = findings(program, file, apps).await;
        let home = tempfile::tempdir().expect("a folder");
        let tests: Vec<_> = found.into_iter().map(|(name, it)| (name, it.tests.python)).collect();
        let command = |test: &str, words: &[&str]| {
            with_command(test, "COMMAND = ", &format!("COMMAND = {}", serde_json::json!(words)))
        };
        let run = || {
            Command::new(&python)
                .args([
                    "-m",
                    "pytest",
                    "-q",
                    "-p",
                    "shared_inbox_mock.pytest_plugin",
                    "-p",
                    "no:cacheprovider",
                ])
                .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("python"))
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .env("SHARED_INBOX_MOCK", env!("CARGO_BIN_EXE_shared-inbox-mock"))
                .current_dir(home.path())
                .output()
                .expect("it starts")
        };
        let name = |name: &str| format!("test_{name}.py");
        fail_until_the_app_is_correct(&tests, program, file, name, command, home.path(), run);
    }
}

#[tokio::test]
#[ignore = "needs Node and Python"]
#[cfg(unix)]
async fn each_printed_typescript_test_fails_until_the_app_is_correct() {
    use std::os::unix::fs::symlink;
    let Some(node) = peers::node22() else { return };
    let Some(modules) = peers::npm(&["vitest@4.1.12"]) else { return };
    for (program, file, apps) in [("python3", "app.py", &PYTHON[..]), ("node", "app.mjs", &NODE)] {
        let found = findings(program, file, apps).await;
        let home = tempfile::tempdir().expect("a folder");
        let into = home.path().join("node_modules");
        fs::create_dir_all(into.join("shared-inbox-mock")).expect("a folder");
        for package in fs::read_dir(&modules).expect("packages").flatten() {
            symlink(package.path(), into.join(package.file_name())).expect("a link");
        }
        for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("node")).expect("files").flatten()
        {
            fs::copy(file.path(), into.join("shared-inbox-mock").join(file.file_name())).expect("a copy");
        }
        fs::write(home.path().join("package.json"), r#"{"type": "module"}"#).expect("a file");
        let tests: Vec<_> = found.into_iter().map(|(name, it)| (name, it.tests.typescript)).collect();
        let command = |test: &str, words: &[&str]| {
            let line = format!("const COMMAND: string[] = {};", serde_json::json!(words));
            with_command(test, "const COMMAND", &line)
        };
        let run = || {
            let mut vitest = Command::new(&node);
            vitest.arg(modules.join("vitest/vitest.mjs")).args(["run", "--maxWorkers=1", "--no-isolate"]);
            vitest.env("NO_COLOR", "1").env("SHARED_INBOX_MOCK", env!("CARGO_BIN_EXE_shared-inbox-mock"));
            vitest.current_dir(home.path()).output().expect("Node starts")
        };
        let name = |name: &str| format!("{name}.test.ts");
        fail_until_the_app_is_correct(&tests, program, file, name, command, home.path(), run);
    }
}

/// The tests in Rust are those of the folder `printed`, where they are compiled and run.
#[tokio::test]
#[ignore = "needs Python"]
async fn the_printed_rust_tests_are_those_that_are_run() {
    for (name, finding) in findings("python3", "app.py", &PYTHON).await {
        let line = "const COMMAND: &[&str] = &[\"python3\", APP, NAME];";
        let test = with_command(&finding.tests.rust, "const COMMAND", line);
        // There, it is a part of a file, and another function is the test.
        let test = with_command(&test, "#[tokio::test]", "// #[tokio::test]");
        let allowed = "// #![allow(dead_code, unused_imports)]";
        let test = with_command(&test, "#![allow(dead_code, unused_imports)]", allowed);
        let file = folder().join("printed").join(format!("{name}.rs"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&file, &test).expect("a file");
        }
        let there = fs::read_to_string(&file).unwrap_or_default();
        assert!(there == test, "printed/{name}.rs is not what is printed; write it anew with UPDATE_DOCS=1");
    }
}
