//! Apps in Python and Node: the same faults in other languages. Every printed test is run in its language, as it stands and with the
//! correct app.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use shared_inbox_explore::{Explore, Finding, Oracle, Scenario};
use shared_inbox_tests::peers;

use crate::servers;

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

async fn replay(explore: Explore, oracle: Oracle, token: &str) -> Finding {
    let report = explore.replay(token).await.unwrap_or_else(|why| panic!("{token}: {why}"));
    let [finding] = &report.findings[..] else { panic!("{token}: nothing found") };
    assert_eq!(finding.oracle, oracle, "{token}: {report}");
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

/// What was found in an app, and how it and the correct one are started.
struct Found {
    name: String,
    finding: Finding,
    faulty: Vec<String>,
    corrected: Vec<String>,
}

async fn found_in_jobs(program: &str, file: &str, apps: &[App]) -> Vec<Found> {
    let command = |name: &str| vec![program.to_owned(), app(file), name.to_owned()];
    let mut found = Vec::new();
    for (name, oracle, token) in apps {
        let finding = replay(Explore::command(scenario(), command(name)), *oracle, token).await;
        let (name, faulty) = ((*name).to_owned(), command(name));
        found.push(Found { name, finding, faulty, corrected: command("correct") });
    }
    found
}

async fn found_in_servers() -> Vec<Found> {
    let mut found = Vec::new();
    for servers::Planted(name, oracle, token, corrected) in &servers::PLANTED {
        let (faulty, corrected) = (servers::command(name), servers::command(corrected));
        let finding = replay(Explore::command(servers::scenario(), faulty.clone()), *oracle, token).await;
        found.push(Found { name: format!("server_{name}"), finding, faulty, corrected });
    }
    found
}

/// The apps of each kind.
async fn found() -> Vec<Found> {
    let mut all = found_in_jobs("python3", "app.py", &PYTHON).await;
    all.extend(found_in_jobs("node", "app.mjs", &NODE).await);
    all.extend(found_in_servers().await);
    all
}

/// Runs the printed tests of all apps at once: all fail as they stand, and all pass with the correct app.
fn fail_until_the_app_is_correct(
    found: &[Found],
    write: impl Fn(&Found, &[String]) -> (String, String),
    home: &Path,
    run: impl Fn() -> Output,
) {
    for correct in [false, true] {
        for it in found {
            let (name, test) = write(it, if correct { &it.corrected } else { &it.faulty });
            fs::write(home.join(name), test).expect("a file");
        }
        let said = said(&run());
        let counted = format!("{} {}", found.len(), if correct { "passed" } else { "failed" });
        // One test for each app: when all of them failed, none passed.
        assert!(said.contains(&counted), "{counted}: {said}");
        // They fail by what they claim, and not because something is missing.
        let asserted = |line: &&str| line.contains("AssertionError") || line.starts_with("E       assert");
        assert!(correct || said.lines().filter(asserted).count() >= found.len(), "{said}");
    }
}

#[tokio::test]
#[ignore = "needs Python and Node"]
async fn each_printed_python_test_fails_until_the_app_is_correct() {
    let Some(python) = peers::python(&["pytest==9.2.0"]) else { return };
    let home = tempfile::tempdir().expect("a folder");
    let write = |it: &Found, words: &[String]| {
        let line = format!("COMMAND = {}", serde_json::json!(words));
        let test = with_command(&it.finding.tests.python, "COMMAND = ", &line);
        (format!("test_{}.py", it.name), test)
    };
    let run = || {
        Command::new(&python)
            .args(["-m", "pytest", "-q", "-p", "shared_inbox_mock.pytest_plugin", "-p", "no:cacheprovider"])
            .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("SHARED_INBOX_MOCK", env!("CARGO_BIN_EXE_shared-inbox-mock"))
            .current_dir(home.path())
            .output()
            .expect("it starts")
    };
    fail_until_the_app_is_correct(&found().await, write, home.path(), run);
}

#[tokio::test]
#[ignore = "needs Node and Python"]
#[cfg(unix)]
async fn each_printed_typescript_test_fails_until_the_app_is_correct() {
    use std::os::unix::fs::symlink;
    let Some(node) = peers::node22() else { return };
    let Some(modules) = peers::npm(&["vitest@4.1.12"]) else { return };
    let home = tempfile::tempdir().expect("a folder");
    let into = home.path().join("node_modules");
    fs::create_dir_all(into.join("shared-inbox-mock")).expect("a folder");
    for package in fs::read_dir(&modules).expect("packages").flatten() {
        symlink(package.path(), into.join(package.file_name())).expect("a link");
    }
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("node")).expect("files").flatten() {
        fs::copy(file.path(), into.join("shared-inbox-mock").join(file.file_name())).expect("a copy");
    }
    fs::write(home.path().join("package.json"), r#"{"type": "module"}"#).expect("a file");
    let write = |it: &Found, words: &[String]| {
        let line = format!("const COMMAND: string[] = {};", serde_json::json!(words));
        let test = with_command(&it.finding.tests.typescript, "const COMMAND", &line);
        (format!("{}.test.ts", it.name), test)
    };
    let run = || {
        let mut vitest = Command::new(&node);
        vitest.arg(modules.join("vitest/vitest.mjs")).args(["run", "--maxWorkers=1", "--no-isolate"]);
        vitest.env("NO_COLOR", "1").env("SHARED_INBOX_MOCK", env!("CARGO_BIN_EXE_shared-inbox-mock"));
        vitest.current_dir(home.path()).output().expect("Node starts")
    };
    fail_until_the_app_is_correct(&found().await, write, home.path(), run);
}

/// The tests in Rust are those of the folder `printed`, where they are compiled and run.
#[tokio::test]
#[ignore = "needs Python"]
async fn the_printed_rust_tests_are_those_that_are_run() {
    let mut found = found_in_jobs("python3", "app.py", &PYTHON).await;
    let server = ["python3".to_owned(), app("server.py"), "no_dedupe".to_owned()];
    let finding = Explore::command(servers::scenario(), server);
    let finding = replay(finding, Oracle::NeverTwice, "1_1_twice@turn-changed.0").await;
    let (faulty, corrected) = (Vec::new(), Vec::new());
    found.push(Found { name: "no_dedupe".to_owned(), finding, faulty, corrected });
    for Found { name, finding, .. } in found {
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
