//! Runs programs as a newcomer would.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

pub(crate) use shared_inbox_tests::{program, root};

/// The text of a file of this repository.
pub(crate) fn page(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fenced blocks of this language.
pub(crate) fn blocks(markdown: &str, language: &str) -> Vec<String> {
    let start = format!("```{language}\n");
    let after = markdown.split(&start).skip(1);
    after.map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// Writes the files that a page shows, each under its title.
pub(crate) fn unpack(markdown: &str, to: &Path) {
    for shown in markdown.split(" title=\"").skip(1) {
        let (name, rest) = shown.split_once("\"\n").expect("a title and a line end");
        fs::write(to.join(name), rest.split("```").next().unwrap_or_default()).expect("a file");
    }
}

/// A program that knows nothing of an inbox or a terminal in this environment.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for name in ["SHARED_INBOX_BASE_URL", "SHARED_INBOX_API_KEY", "SHARED_INBOX_WEBHOOK_SECRET"] {
        command.env_remove(name);
    }
    command
}

/// One of the examples.
pub(crate) fn example(name: &str) -> Command {
    command(shared_inbox_tests::example(name))
}

/// A program in the environment of somebody who has just come: an empty home, and no setting of this machine
/// but where programs are.
pub(crate) fn newcomer(program: impl AsRef<Path>, home: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env_clear().current_dir(home).env("HOME", home);
    for name in ["PATH", "CARGO_HOME", "RUSTUP_HOME", "PIP_INDEX_URL", "npm_config_registry"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// A `node_modules` in this folder with links to those packages, and our package for Node as it stands in the
/// repository.
pub(crate) fn node_modules(packages: &Path, home: &Path) -> PathBuf {
    let modules = home.join("node_modules");
    let ours = modules.join("shared-inbox-mock");
    if !modules.exists() {
        fs::create_dir_all(&ours).expect("a directory");
        for entry in fs::read_dir(packages).expect("packages").flatten() {
            std::os::unix::fs::symlink(entry.path(), modules.join(entry.file_name())).expect("a link");
        }
        for file in fs::read_dir(root().join("tools/cli/node")).expect("the package").flatten() {
            if file.path().is_file() {
                fs::copy(file.path(), ours.join(file.file_name())).expect("a copy");
            }
        }
    }
    modules
}

/// Runs a program to its end, and gives what it wrote on stdout. It must succeed.
pub(crate) fn finish(command: &mut Command) -> String {
    let output = output(command);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}\n{out}\n{err}", output.status);
    out
}

/// What a run to its end said on both streams, and its exit status.
pub(crate) fn ended(mut command: Command) -> (String, Option<i32>) {
    let ended = output(&mut command);
    (text(&ended.stdout) + &text(&ended.stderr), ended.status.code())
}

/// Runs a program to its end within ten minutes, however it ends.
pub(crate) fn output(command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let (done, waiting) = mpsc::channel();
    let id = child.id();
    thread::spawn(move || done.send(child.wait_with_output()));
    match waiting.recv_timeout(Duration::from_secs(600)) {
        Ok(output) => output.expect("its output can be read"),
        Err(_) => panic!("{command:?} (process {id}) does not come to an end"),
    }
}

#[track_caller]
pub(crate) fn assert_has(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
}

/// Returns what a program wrote.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program writes UTF-8")
}
