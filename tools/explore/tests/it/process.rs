//! Apps under test: how they are started, what they leave, and files that users write.

use std::time::Duration;

use shared_inbox_explore::process::{RunEnd, Running, StartError, StateRoot, Thread, TomlDocument, ask};

#[test]
fn each_value_of_a_file_knows_its_line() {
    let text =
        "days = 2\n\n[[mail]]\ntext = \"a\"\n\n[[mail]]\ntext = \"b\"\nmore = [\n  1,\n  { x = 3 },\n]\n";
    let document = TomlDocument::parse(text).expect("TOML");
    for (path, line) in
        [("days", 1), ("mail[0].text", 4), ("mail[1]", 6), ("mail[1].more[0]", 9), ("mail[1].more[1].x", 10)]
    {
        assert_eq!(document.place_of(path).expect(path).line(), line, "{path}");
    }
    // What is not there stands where it should be.
    assert_eq!(document.place_of("mail[1].subject").expect("the table around it").line(), 6);
    assert_eq!(document.place_of("hours"), None);
}

#[test]
fn a_place_is_shown_with_carets_and_a_long_line_is_cut_around_it() {
    let long = "x".repeat(10_000);
    let text = format!("a = '{long}'\r\n\tb = {{ text = '{long}', \"größe\" = '{long}' }}\n");
    let document = TomlDocument::parse(&text).expect("TOML");
    let shown = document.place_of("b.größe").expect("it is there").to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "  |");
    assert!(lines[1].starts_with("2 | …xxx") && lines[1].ends_with("xxx…"), "{shown}");
    assert!(lines[1].chars().count() < 140, "{shown}");
    let carets: String =
        lines[1].chars().zip(lines[2].chars()).filter(|(_, c)| *c == '^').map(|(c, _)| c).collect();
    assert_eq!(carets, "\"größe\"", "{shown}");
    let whole = document.place_of("a").expect("it is there").to_string();
    assert!(whole.starts_with("  |\n1 | a = 'xxx") && whole.ends_with("…\n  | ^"), "{whole}");
    assert!(!format!("{:?}", document.place_of("a")).contains("xxx"));
}

#[test]
fn a_text_that_is_no_toml_is_refused_with_its_line() {
    let error = TomlDocument::parse("days = 2\npeople = approve\n").expect_err("no TOML");
    let shown = error.to_string();
    assert!(shown.starts_with("line 2: "), "{shown}");
    assert!(shown.ends_with("\n  |\n2 | people = approve\n  |          ^^^^^^^"), "{shown}");
    // At the end of the file there is nothing to mark but the end.
    let error = TomlDocument::parse("days = 2\nmails = [").expect_err("no TOML");
    assert!(error.to_string().contains("2 | mails = ["), "{error}");
    assert!(TomlDocument::parse("").is_ok() && TomlDocument::parse("=").is_err());
}

#[tokio::test]
async fn a_function_that_panics_has_failed_and_one_that_waits_can_be_killed() {
    let start = |panics: bool| {
        Thread::start(move || async move {
            assert!(!panics, "as it should");
            std::future::pending::<Result<(), String>>().await
        })
    };
    let mut running = Running::Thread(start(true).expect("a thread"));
    assert_eq!(running.ended().await, RunEnd::failed("it panicked".to_owned()));
    Running::Thread(start(false).expect("a thread")).kill().await;
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_named() {
    let launch = shared_inbox_explore::process::Launch {
        launcher: &[],
        command: &["no-such-program-here".into()],
        variables: Vec::new(),
        secrets: Vec::new(),
        agent: None,
    };
    let error = shared_inbox_explore::process::Process::start(launch).expect_err("there is none");
    assert!(matches!(error, StartError::Spawn { .. }) && error.to_string().contains("no-such-program-here"));
}

#[test]
fn a_folder_for_state_is_removed_with_its_value() {
    let root = StateRoot::new("shared-inbox-process-test-").expect("a folder");
    let folder = root.folder().expect("a folder");
    let path = folder.0.clone();
    assert!(path.is_dir());
    drop(folder);
    assert!(!path.exists());
}

/// Whoever begins removes what was left behind, never what another is just making.
#[test]
fn roots_that_are_made_side_by_side_do_not_remove_each_other() {
    let make = || {
        for _ in 0..300 {
            let root = StateRoot::new("shared-inbox-process-race-").expect("a folder");
            let folders: Vec<_> = (0..3).map(|_| root.folder().expect("a folder in it")).collect();
            assert!(folders.iter().all(|folder| folder.0.exists()));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(make);
        }
    });
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_answers_by_its_status_and_otherwise_it_is_said_how_it_ended() {
    let minute = Duration::from_secs(60);
    for (script, expected) in [
        ("grep -q same", Ok(true)),
        ("grep -q other", Ok(false)),
        ("exit 0", Ok(true)),
        ("exit 7", Err("ended with status 7")),
        ("kill -9 $$", Err("was ended by a signal")),
    ] {
        let answer = ask(&["sh", "-c", script], "the same?", minute).await;
        assert_eq!(answer, expected.map_err(str::to_owned), "{script}");
    }
    let late = ask(&["sleep", "60"], "", Duration::ZERO).await;
    assert_eq!(late, Err("had not ended in time".to_owned()));
    let unknown = ask(&["no-such-command-4711"], "", minute).await.expect_err("there is none");
    assert!(unknown.starts_with("cannot be started: "), "{unknown}");
}
