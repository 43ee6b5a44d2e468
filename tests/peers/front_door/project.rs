//! A project whose tests use the fixtures for pytest, vitest and node's own runner, as they stand in the repository. `runs` has its
//! tests.

use std::{
    fs,
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use shared_inbox_tests::peers;

use crate::front_door::packages::{newcomer, node_packages, python_packages};
use shared_inbox_peer_tests::{output, program, root, text};

/// The tests of an app, and our packages as they stand in the repository.
pub(crate) struct Project {
    pub(crate) home: tempfile::TempDir,
    /// The program under a name that no other process has.
    mock: PathBuf,
}

impl Project {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let mock = home.path().join("mock");
        symlink(program("shared-inbox-mock"), &mock).expect("a link");
        for file in fs::read_dir(root().join("tests/peers/runs")).expect("they are there").flatten() {
            fs::copy(file.path(), home.path().join(file.file_name())).expect("a copy");
        }
        Self { home, mock }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = newcomer(program, self.home.path());
        command.env("SHARED_INBOX_MOCK", &self.mock).env("NO_COLOR", "1");
        command
    }

    pub(crate) fn pytest(&self, file: &str) -> Option<Command> {
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
    pub(crate) fn node(&self, vitest: &str) -> Option<Command> {
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

    pub(crate) fn vitest(&self, version: &str, arguments: &[&str]) -> Option<Command> {
        let mut vitest = self.node(version)?;
        vitest.args(["node_modules/vitest/vitest.mjs", "run"]).args(arguments);
        Some(vitest)
    }

    /// The servers that this project has started and that still run.
    pub(crate) fn servers(&self) -> Vec<String> {
        let found = output(Command::new("pgrep").arg("-f").arg(&self.mock));
        text(&found.stdout).lines().map(str::to_owned).collect()
    }

    /// Starts a run, and returns when its test waits.
    pub(crate) fn start(&self, command: Command) -> Running {
        let mut command = with_default_signals(command);
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

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }
}

/// A run in a process group of its own, which ends with the test.
pub(crate) struct Running(pub(crate) Child);

/// The same command with the signals as a terminal gives them: a check that runs in the background ignores some, and its children
/// would inherit that.
fn with_default_signals(command: Command) -> Command {
    if !cfg!(target_os = "linux") {
        return command;
    }
    let mut env = Command::new("env");
    env.arg("--default-signal=HUP,INT,TERM").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => env.env(name, value),
            None => env.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        env.current_dir(folder);
    }
    env
}

impl Running {
    pub(crate) fn signal(&self, signal: &str, group: bool) {
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

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
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
pub(crate) fn ended(mut command: Command) -> (String, Option<i32>) {
    let ended = output(&mut command);
    (text(&ended.stdout) + &text(&ended.stderr), ended.status.code())
}

#[track_caller]
pub(crate) fn assert_has(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
}
