//! The program: its flags, its scenario, its statuses.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

fn explore(folder: &Path, scenario: &str, flags: &[&str], command: &[&str]) -> (Option<i32>, String) {
    let file = folder.join("scenario.toml");
    fs::write(&file, scenario).expect("written");
    let out = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"))
        .arg("explore")
        .arg("--scenario")
        .arg(&file)
        .args(flags)
        .arg("--")
        .args(command)
        .output()
        .expect("it starts");
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    (out.status.code(), said)
}

#[test]
fn a_bad_scenario_is_refused_by_the_name_of_its_key() {
    let folder = tempfile::tempdir().expect("a folder");
    for (scenario, named) in [
        ("", "mails: is required"),
        ("mails = []", "mails: must have"),
        ("mails = [1]", "mails[0]: must be"),
        ("mails = [{ subject = \"Hi\" }]", "mails[0].text: is required"),
        ("mails = [{ text = \"Hi\", to = \"x\" }]", "mails[0].to"),
        ("mails = [\"Hi\"]\nmode = \"robot\"", "mode: must be"),
        ("mails = [\"Hi\"]\npeople = true", "people: must be"),
        ("mails = [\"Hi\"]\nscopes = [\"fly\"]", "scopes: \"fly\" is none of"),
        ("mails = [\"Hi\"]\nignore = [\"weather\"]", "ignore: \"weather\" is none of"),
        ("mails = [\"Hi\"]\nwebhook_path = \"x\"", "webhook_path: must be"),
        ("mails = [\"Hi\"]\nexpect = [1]", "expect: must be"),
        ("mail = [\"Hi\"]", "mail: is no key"),
        ("mails = [", "line 1"),
    ] {
        let (status, said) = explore(folder.path(), scenario, &[], &["true"]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.starts_with("shared-inbox-mock: --scenario") && said.contains(named), "{named}: {said}");
    }
}

#[test]
fn a_command_that_cannot_be_started_is_said_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("report.json");
    let flags = ["--json", json.to_str().expect("text")];
    let (status, said) = explore(folder.path(), "mails = [\"Hi\"]", &flags, &["no-such-program"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("no-such-program cannot be started"), "{said}");
    let report: Value = serde_json::from_slice(&fs::read(json).expect("a report")).expect("JSON");
    assert_eq!(report["verdict"], "could-not-run");
}

#[test]
fn a_token_that_is_none_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (status, said) = explore(folder.path(), "mails = [\"Hi\"]", &["--replay", "nonsense"], &["true"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("--replay nonsense: is no token"), "{said}");
}

#[test]
#[cfg(unix)]
fn an_app_that_fails_without_trouble_is_no_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let (status, said) = explore(folder.path(), "mails = [\"Hi\"]", &[], &["false"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains("the run without trouble breaks a rule") && said.contains("exit status 1"),
        "{said}"
    );
}

#[test]
#[cfg(unix)]
fn an_app_that_does_nothing_breaks_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (status, said) = explore(folder.path(), "mails = [\"Hi\"]", &["--seconds", "0.5"], &["true"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("nothing found"), "{said}");
}

/// Whether a process is there.
#[cfg(unix)]
fn runs(pid: &str) -> bool {
    let found = Command::new("kill").args(["-0", pid]).output().expect("it starts");
    found.status.success()
}

#[test]
#[cfg(unix)]
fn an_interrupt_ends_it_and_the_app_and_what_the_app_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let (scenario, pids) = (folder.path().join("scenario.toml"), folder.path().join("pids"));
    fs::write(&scenario, "mails = [\"Hi\"]").expect("written");
    let script = "sleep 600 & echo \"$$ $! .\" > \"$PIDS\"; wait";
    let mut program = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"))
        .args(["explore", "--app-timeout", "600", "--scenario"])
        .arg(&scenario)
        .args(["--", "sh", "-c", script])
        .env("PIDS", &pids)
        .spawn()
        .expect("it starts");
    let started = loop {
        match fs::read_to_string(&pids) {
            Ok(text) if text.contains('.') => break text,
            _ => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    };
    let pid = program.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("it starts").success());
    assert_eq!(program.wait().expect("it ends").code(), Some(2));
    for app in started.split_whitespace().filter(|word| *word != ".") {
        while runs(app) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[test]
fn help_teaches_how_to_begin() {
    let out = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock")).args(["explore", "--help"]).output();
    let said = String::from_utf8(out.expect("it starts").stdout).expect("text");
    for taught in [
        "mails = [",
        "SHARED_INBOX_STATE_DIR",
        "-- python app.py",
        "Status 0: nothing found",
        "--replay",
        "--app-timeout",
    ] {
        assert!(said.contains(taught), "{taught}: {said}");
    }
}
