//! The fixtures for pytest, vitest and node's own runner as processes: they end however the run ends, and a server that fails or
//! an option that is wrong is said in a line. `runs` has the tests that are run here.

use std::{
    fs,
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use shared_inbox_tests::peers;

use crate::{
    packages::{NEWEST_VITEST, OLDEST_VITEST, newcomer, node_packages, python_packages},
    run::{output, program, root, text},
};

/// The tests of an app, and our packages as they stand in the repository.
struct Project {
    home: tempfile::TempDir,
    /// The program under a name that no other process has.
    mock: PathBuf,
}

impl Project {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let mock = home.path().join("mock");
        symlink(program("shared-inbox-mock"), &mock).expect("a link");
        for file in
            fs::read_dir(root().join("tests/tests/front_door/runs")).expect("they are there").flatten()
        {
            fs::copy(file.path(), home.path().join(file.file_name())).expect("a copy");
        }
        Self { home, mock }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = newcomer(program, self.home.path());
        command.env("SHARED_INBOX_MOCK", &self.mock).env("NO_COLOR", "1");
        command
    }

    fn pytest(&self, file: &str) -> Option<Command> {
        let mut pytest = self.command(&python_packages()?);
        pytest.args([
            "-m",
            "pytest",
            "-p",
            "shared_inbox_mock.pytest_plugin",
            "-p",
            "no:cacheprovider",
            file,
        ]);
        pytest.env("PYTHONPATH", root().join("mock-server/python")).env("PYTHONDONTWRITEBYTECODE", "1");
        Some(pytest)
    }

    /// Node beside a `node_modules` with this vitest and our package.
    fn node(&self, vitest: &str) -> Option<Command> {
        let modules = self.home.path().join("node_modules");
        if !modules.exists() {
            fs::create_dir(&modules).expect("a directory");
            for entry in fs::read_dir(node_packages(vitest)?).expect("packages").flatten() {
                symlink(entry.path(), modules.join(entry.file_name())).expect("a link");
            }
            let ours = modules.join("shared-inbox-mock");
            fs::create_dir(&ours).expect("a directory");
            for file in fs::read_dir(root().join("mock-server/node")).expect("files").flatten() {
                fs::copy(file.path(), ours.join(file.file_name())).expect("a copy");
            }
        }
        Some(self.command(&peers::node22()?))
    }

    fn vitest(&self, version: &str, arguments: &[&str]) -> Option<Command> {
        let mut vitest = self.node(version)?;
        vitest.args(["node_modules/vitest/vitest.mjs", "run"]).args(arguments);
        Some(vitest)
    }

    /// The servers that this project has started and that still run.
    fn servers(&self) -> Vec<String> {
        let found = output(Command::new("pgrep").arg("-f").arg(&self.mock));
        text(&found.stdout).lines().map(str::to_owned).collect()
    }

    /// Starts a run, and returns when its test waits.
    fn start(&self, mut command: Command) -> Running {
        let started = self.home.path().join("started");
        _ = fs::remove_file(&started);
        let log = fs::File::create(self.home.path().join("log")).expect("a file");
        command.process_group(0).stdin(Stdio::null()).stdout(log.try_clone().expect("a file")).stderr(log);
        let mut running = Running(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")));
        until("the test waits", || {
            let ended = running.0.try_wait().expect("its status");
            assert!(ended.is_none(), "{command:?}\n{}", self.log());
            started.exists()
        });
        running
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }
}

/// A run in a process group of its own, which ends with the test.
struct Running(Child);

impl Running {
    fn signal(&self, signal: &str, group: bool) {
        let id = format!("{}{}", if group { "-" } else { "" }, self.0.id());
        let sent = Command::new("kill").args([signal, "--", &id]).status().expect("kill runs");
        assert!(sent.success(), "{signal} {id}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A runner that was killed leaves workers behind.
        _ = Command::new("kill")
            .args(["-KILL", "--", &format!("-{}", self.0.id())])
            .stderr(Stdio::null())
            .status();
        _ = self.0.wait();
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    const PAUSE: Duration = Duration::from_millis(50);
    for _ in 0..2400 {
        if is_so() {
            return;
        }
        thread::sleep(PAUSE);
    }
    panic!("not so after two minutes: {what}");
}

/// What a run to its end said, and its exit status.
fn ended(mut command: Command) -> (String, Option<i32>) {
    let ended = output(&mut command);
    (text(&ended.stdout) + &text(&ended.stderr), ended.status.code())
}

#[track_caller]
fn assert_has(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
}

fn assert_no_server_outlives(project: &Project, what: &str, command: Command, signal: &str) {
    let mut running = project.start(command);
    assert_eq!(project.servers().len(), 1, "{what}");
    running.signal(signal, false);
    until(&format!("{what}: no server after {signal}"), || project.servers().is_empty());
    _ = running.0.try_wait();
}

#[test]
fn no_server_outlives_a_pytest_that_was_ended() {
    let project = Project::new();
    for signal in ["-KILL", "-TERM", "-HUP"] {
        let Some(pytest) = project.pytest("test_waits.py") else { return };
        assert_no_server_outlives(&project, "pytest", pytest, signal);
    }
}

#[test]
fn no_server_outlives_a_vitest_or_a_node_that_was_ended() {
    let project = Project::new();
    let vitest = |pool| project.vitest(NEWEST_VITEST, &[pool, "waits.spec"]);
    let node = |arguments: &[&str]| {
        let mut node = project.node(NEWEST_VITEST)?;
        node.args(arguments);
        Some(node)
    };
    for signal in ["-KILL", "-TERM"] {
        let runs = [
            ("vitest with processes", vitest("--pool=forks")),
            ("vitest with threads", vitest("--pool=threads")),
            ("node --test", node(&["--test", "waits.test.mjs"])),
            ("node", node(&["waits.test.mjs"])),
        ];
        for (what, command) in runs {
            let Some(command) = command else { return };
            assert_no_server_outlives(&project, what, command, signal);
        }
    }
}

/// vitest takes the tests of node's own runner for its own, and finds none in them.
#[test]
fn no_server_outlives_a_vitest_that_was_given_tests_of_node() {
    let project = Project::new();
    let Some(vitest) = project.vitest(NEWEST_VITEST, &["waits.test"]) else { return };
    let (said, _) = ended(vitest);
    assert_has(&said, &["No test suite found"]);
    until("no server", || project.servers().is_empty());
}

#[test]
fn no_server_outlives_the_command_of_the_npm_package() {
    let project = Project::new();
    for (signal, status) in [("-KILL", None), ("-TERM", Some(0)), ("-INT", Some(0)), ("-HUP", Some(0))] {
        let Some(mut cli) = project.node(NEWEST_VITEST) else { return };
        cli.args([
            "node_modules/shared-inbox-mock/cli.js",
            "--listen",
            "127.0.0.1:0",
            "--ready-file",
            "started",
        ]);
        let mut running = project.start(cli);
        running.signal(signal, false);
        until("no server", || project.servers().is_empty());
        assert_eq!(running.0.wait().expect("its status").code(), status, "{signal}");
    }
    let Some(mut cli) = project.node(NEWEST_VITEST) else { return };
    let (said, status) = ended({
        cli.args(["node_modules/shared-inbox-mock/cli.js", "schema"]);
        cli
    });
    assert!(
        status == Some(0) && said.contains("conversations"),
        "a command takes no flag of a server: {said}"
    );
}

#[test]
fn ctrl_c_ends_pytest_as_it_ends_one_without_the_fixture() {
    let project = Project::new();
    let said = ["test_waits_plain.py", "test_waits.py"].map(|file| {
        let mut running = project.start(project.pytest(file)?);
        running.signal("-INT", true);
        assert_eq!(running.0.wait().expect("its status").code(), Some(2), "{}", project.log());
        until("no server", || project.servers().is_empty());
        // The number of a line and the time that it took differ.
        let told = project.log().replace(file, "FILE").replace(|c: char| c.is_ascii_digit(), "");
        Some(told.lines().map(|line| line.trim_matches('=').trim().to_owned()).collect::<Vec<_>>())
    });
    let [Some(plain), Some(ours)] = said else { return };
    assert_eq!(ours, plain);
}

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
        "unknown field `converse`",
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
