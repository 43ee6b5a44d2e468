//! Apps in Python and Node: the same faults in other languages, and the printed tests as they stand.

use std::{fs, path::Path, process::Command};

use shared_inbox_mock::explore::{Explore, Finding, Oracle, Scenario};
use shared_inbox_tests::peers;

fn app(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explore/other_languages").join(name);
    file.to_str().expect("text").to_owned()
}

fn scenario() -> Scenario {
    Scenario::new(["Where is my order 1042?", "Order 1043 is broken"])
}

async fn finding(command: &[&str], oracle: Oracle) -> Finding {
    let explore = Explore::command(scenario(), command.iter().copied()).seconds(300.0);
    let report = explore.run().await.expect("it ran");
    let [finding] = &report.findings[..] else { panic!("{}: nothing found: {report}", command[2]) };
    println!(
        "{}: {} after {} schedules and {:.0} s, {} of {} steps, {}",
        command[2],
        finding.replay,
        report.schedules,
        report.seconds,
        finding.steps.len(),
        finding.shrunk_from,
        finding.reproduced
    );
    assert_eq!(finding.oracle, oracle, "{report}");
    assert!(finding.steps.len() <= 3, "{report}");
    finding.clone()
}

/// Runs a printed test with this command in place of its own.
fn pytest(python: &Path, test: &str, command: &[&str]) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let listed = serde_json::to_string(command).expect("JSON");
    let lines = test.lines().map(|line| match line.starts_with("COMMAND = ") {
        true => format!("COMMAND = {listed}"),
        false => line.to_owned(),
    });
    let text: Vec<String> = lines.collect();
    fs::write(folder.path().join("test_found.py"), text.join("\n")).expect("written");
    let out = Command::new(python)
        .args(["-m", "pytest", "-q", "-p", "shared_inbox_mock.pytest_plugin", "test_found.py"])
        .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("python"))
        .env("SHARED_INBOX_MOCK", env!("CARGO_BIN_EXE_shared-inbox-mock"))
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    (out.status.success(), said)
}

const PYTHON: [(&str, Oracle); 9] = [
    ("retries_blindly", Oracle::NeverTwice),
    ("answers_what_the_list_shows", Oracle::NeverTwice),
    ("marks_first", Oracle::NobodyForgotten),
    ("swallows_every_error", Oracle::NobodyForgotten),
    ("remembers_in_a_file_too_late", Oracle::NeverTwice),
    ("ignores_who_has_it", Oracle::PersonsWord),
    ("drafts_again_what_was_discarded", Oracle::PersonsWord),
    ("knows_its_draft_by_its_words", Oracle::PersonsWord),
    ("leaves_a_lock_behind", Oracle::WellBehaved),
];

#[tokio::test]
#[ignore = "needs Python and a quiet machine"]
async fn each_fault_of_a_python_app_is_found_and_its_printed_test_fails_until_the_app_is_correct() {
    let Some(python) = peers::python(&["pytest==9.2.0"]) else { return };
    let (program, file) = (python.to_str().expect("text"), app("app.py"));
    for (name, oracle) in PYTHON {
        let command = [program, file.as_str(), name];
        let finding = finding(&command, oracle).await;
        let (passes, said) = pytest(&python, &finding.tests.python, &command);
        assert!(
            !passes && said.contains("AssertionError") || said.contains("assert "),
            "{name}: {said}\n{}",
            finding.tests.python
        );
        let (passes, said) = pytest(&python, &finding.tests.python, &[program, file.as_str(), "correct"]);
        assert!(passes, "{name}: {said}\n{}", finding.tests.python);
    }
}

#[tokio::test]
#[ignore = "needs Python and a quiet machine"]
async fn nothing_is_found_in_a_correct_python_app() {
    let Some(python) = peers::python(&["pytest==9.2.0"]) else { return };
    let command = [python.to_str().expect("text").to_owned(), app("app.py"), "correct".to_owned()];
    let report = Explore::command(scenario(), command).seconds(60.0).run().await.expect("it ran");
    println!("{} schedules in {:.0} s", report.schedules, report.seconds);
    assert!(report.held(), "{report}");
}

const NODE: [(&str, Oracle); 6] = [
    ("retriesBlindly", Oracle::NeverTwice),
    ("marksFirst", Oracle::NobodyForgotten),
    ("swallows429", Oracle::NobodyForgotten),
    ("doesNotAwaitTheAnswer", Oracle::NobodyForgotten),
    ("remembersTooEarly", Oracle::NobodyForgotten),
    ("answersHeldMail", Oracle::PersonsWord),
];

#[tokio::test]
#[ignore = "needs Node and a quiet machine"]
async fn each_fault_of_a_node_app_is_found() {
    let file = app("app.mjs");
    for (name, oracle) in NODE {
        finding(&["node", &file, name], oracle).await;
    }
}

#[tokio::test]
#[ignore = "needs Node and a quiet machine"]
async fn nothing_is_found_in_a_correct_node_app() {
    let command = ["node".to_owned(), app("app.mjs"), "correct".to_owned()];
    let report = Explore::command(scenario(), command).seconds(60.0).run().await.expect("it ran");
    println!("{} schedules in {:.0} s", report.schedules, report.seconds);
    assert!(report.held(), "{report}");
}
