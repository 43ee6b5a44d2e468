//! The tests that the console copies, run with the packages for Python and Node around the program.

use std::{collections::HashSet, fs};

use shared_inbox_mock::MockServer;
use shared_inbox_tests::{generated, peers};

use crate::{
    fixtures::project::{NEWEST_VITEST, Project},
    run::{assert_has, command, finish, root},
};

/// A test that the page copies, in each of its languages.
#[derive(serde::Deserialize)]
struct CopiedTest {
    name: String,
    rust: String,
    python: String,
    script: String,
}

/// Every operation, and every kind of failure once, with hostile values. Those in Rust stand in
/// `tests/it/copied_tests.rs`, where they are compiled and run; those in Python and JavaScript are run here.
#[tokio::test(flavor = "multi_thread")]
async fn copied_tests_run_for_every_operation_and_every_kind_of_failure() {
    let mock = MockServer::builder().manual_clock().empty().no_rate_limit().start().await;
    let mut console = command(peers::node22());
    console.arg(root().join("tests/peers/mock/console/copied.mjs"));
    console.env("CONSOLE_URL", &mock.ready().console_url).env("CONTROL_URL", &mock.ready().control_url);
    let tests: Vec<CopiedTest> = serde_json::from_str(&finish(&mut console)).expect("tests");
    // In Rust, each operation once, and each kind of test: one with other imports.
    let mut kinds = HashSet::new();
    let is_new = |it: &&CopiedTest| {
        let imports: Vec<_> = it
            .rust
            .lines()
            .filter(|line| line.starts_with("use ") || line.contains("assert"))
            .map(str::to_owned)
            .collect();
        kinds.insert(imports) || it.name.ends_with("_1")
    };
    let rust = tests.iter().filter(is_new).map(|it| format!("\nmod {} {{\n{}}}\n", it.name, it.rust));
    let rust: String = rust.collect();
    let rust =
        format!("//! Tests as the page copies them, kept here so that they are compiled and run.\n{rust}");
    generated::assert_up_to_date(root().join("tests/it/copied_tests.rs"), &rust);

    let project = Project::new();
    let copied = project.home.path().join("copied");
    fs::create_dir(&copied).expect("a directory");
    let mut script = String::new();
    for test in &tests {
        fs::write(copied.join(format!("test_{}.py", test.name)), &test.python).expect("a file");
        // All have the same two imports; one file of all is faster than a worker for each.
        let (imports, test) = test.script.split_once("\n\n").expect("imports and a test");
        script = if script.is_empty() { format!("{imports}\n\n{test}") } else { script + test };
    }
    fs::write(copied.join("copied.test.js"), script).expect("a file");
    fs::write(project.home.path().join("package.json"), r#"{"type": "module"}"#).expect("a file");
    let passed = format!("{} passed", tests.len());
    assert_has(&finish(project.pytest("copied").arg("-q")), &[&passed]);
    assert_has(&finish(&mut project.vitest(NEWEST_VITEST, &["copied.test"])), &[&passed]);
}
