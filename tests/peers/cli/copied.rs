//! The tests that the console copies, run with the packages for Python and Node around the program.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Where the console's scripts are.
fn console_tests() -> PathBuf {
    here().join("../../mock-server/tests/it/console")
}

/// A test that the page copies, in each of its languages.
#[derive(serde::Deserialize)]
struct CopiedTest {
    name: String,
    rust: String,
    python: String,
    script: String,
}

/// Every operation, and every kind of failure once, with hostile values. The tests in Rust are those in `copied_tests.rs`, where they
/// are compiled and run; those in Python and JavaScript are run here.
#[tokio::test]
#[ignore = "needs Python and Node"]
async fn copied_tests_run_for_every_operation_and_every_kind_of_failure() {
    let Some(node) = peers::node22() else { return };
    let mock = MockServer::builder().manual_clock().empty().no_rate_limit().start().await;
    let mut command = Command::new(&node);
    command.arg(console_tests().join("copied.mjs")).env("CONSOLE_URL", &mock.ready().console_url);
    let output = command.env("CONTROL_URL", &mock.ready().control_url).output().expect("Node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tests: Vec<CopiedTest> = serde_json::from_slice(&output.stdout).expect("tests");
    let rust: String = tests.iter().map(|it| format!("\nmod {} {{\n{}}}\n", it.name, it.rust)).collect();
    let rust =
        format!("//! Tests as the page copies them, kept here so that they are compiled and run.\n{rust}");
    let file = here().join("tests/it/copied_tests.rs");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &rust).expect("a file");
    }
    let there = std::fs::read_to_string(file).expect("text");
    assert!(there == rust, "copied_tests.rs is not what the page copies; write it anew with UPDATE_DOCS=1");

    let home = tempfile::tempdir().expect("a directory");
    let mut script = String::new();
    for test in &tests {
        std::fs::write(home.path().join(format!("test_{}.py", test.name)), &test.python).expect("a file");
        // All have the same two imports; one file of all is faster than a worker for each.
        let (imports, test) = test.script.split_once("\n\n").expect("imports and a test");
        script = if script.is_empty() { format!("{imports}\n\n{test}") } else { script + test };
    }
    std::fs::write(home.path().join("copied.test.js"), script).expect("a file");
    let program = env!("CARGO_BIN_EXE_shared-inbox-mock");
    let packages = here().join("../../mock-server");
    if let Some(python) = peers::python(&["pytest==9.2.0"]) {
        let mut pytest = Command::new(python);
        pytest.args(["-m", "pytest", "-q", "-p", "shared_inbox_mock.pytest_plugin"]).current_dir(home.path());
        pytest.env("PYTHONPATH", packages.join("python")).env("SHARED_INBOX_MOCK", program);
        all_passed(&pytest.output().expect("Python starts"), tests.len());
    }
    let Some(modules) = peers::npm(&["vitest@4.1.12"]) else { return };
    let into = home.path().join("node_modules");
    std::fs::create_dir_all(into.join("shared-inbox-mock")).expect("a directory");
    for package in std::fs::read_dir(&modules).expect("packages").flatten() {
        std::os::unix::fs::symlink(package.path(), into.join(package.file_name())).expect("a link");
    }
    for file in std::fs::read_dir(packages.join("node")).expect("the package").flatten() {
        if file.path().is_file() {
            let copy = into.join("shared-inbox-mock").join(file.file_name());
            std::fs::copy(file.path(), copy).expect("a copy");
        }
    }
    std::fs::write(home.path().join("package.json"), r#"{"type": "module"}"#).expect("a file");
    let mut vitest = Command::new(node);
    vitest.arg(modules.join("vitest/vitest.mjs")).arg("run").current_dir(home.path());
    vitest.env("NO_COLOR", "1").env("SHARED_INBOX_MOCK", program);
    all_passed(&vitest.output().expect("Node starts"), tests.len());
}

#[track_caller]
fn all_passed(output: &Output, tests: usize) {
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains(&format!("{tests} passed")), "{said}");
}
