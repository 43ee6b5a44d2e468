//! The program's command line, from outside.

use std::process::{Command, Output};

pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mcp"));
    for name in ["SHARED_INBOX_BASE_URL", "SHARED_INBOX_API_KEY", "SHARED_INBOX_API_KEY_FILE", "RUST_LOG"] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn out(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn help_teaches_how_to_start() {
    let output = program().arg("--help").output().unwrap();
    assert!(output.status.success());
    insta::assert_snapshot!(out(&output).0);
}

#[test]
fn a_key_as_an_argument_is_refused_and_not_repeated() {
    let key = format!("rk_live_{}", "a".repeat(48));
    for arguments in
        [vec![key.clone()], vec!["--api-key".into(), key.clone()], vec![format!("--api-key={key}")]]
    {
        let output = program().args(&arguments).output().unwrap();
        let (said, complained) = out(&output);
        assert_eq!(output.status.code(), Some(2));
        assert!(complained.contains("--api-key-file"), "{complained}");
        assert!(!said.contains(&key) && !complained.contains(&key), "the key was repeated");
    }
}

#[test]
fn wrong_flags_end_with_status_2() {
    for arguments in [["--tools", "no_such_tool"], ["--max-chars", "10"], ["--send", "always"]] {
        let output = program().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(out(&output).1.contains(arguments[1]), "{arguments:?}");
    }
}

#[test]
fn doctor_says_what_is_missing() {
    let output = program().arg("doctor").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = out(&output).0;
    assert!(said.contains("FAIL") && said.contains("SHARED_INBOX_BASE_URL"), "{said}");

    let output =
        program().arg("doctor").env("SHARED_INBOX_BASE_URL", "https://x.example/api/v1").output().unwrap();
    let said = out(&output).0;
    assert!(said.contains("SHARED_INBOX_API_KEY") && said.contains("--api-key-file"), "{said}");
}
