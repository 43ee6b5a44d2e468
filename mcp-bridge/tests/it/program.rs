//! The program's command line, from outside.

use regex::Regex;

use crate::fixture::{assert_says, out, program};

/// The long options of the program with their variables, as its help names them.
fn options() -> Vec<(String, String)> {
    let help = out(&program().arg("--help").output().unwrap()).0;
    let option = Regex::new(r"(?m)^ +(?:-\w, )?--([a-z-]+)(?: <\w+>)?(?:\.\.\.)?$").unwrap();
    let variable = Regex::new(r"\[env: (\w+)=").unwrap();
    let found = option.captures_iter(&help).map(|found| {
        let rest = &help[found.get(0).unwrap().end()..];
        let own = &rest[..option.find(rest).map_or(rest.len(), |next| next.start())];
        (found[1].to_owned(), variable.captures(own).map(|name| name[1].to_owned()).unwrap_or_default())
    });
    found.filter(|(name, _)| !matches!(name.as_str(), "help" | "version")).collect()
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
fn values_that_make_no_sense_are_refused_by_the_name_of_their_flag() {
    for (flag, value) in [
        ("--send", "sometimes"),
        ("--read-only", "flase"),
        ("--max-chars", "10"),
        ("--tools", "list_tags,no_such_tool"),
        ("--tools", "list_tags,"),
        ("--exclude-tools", ","),
        ("--mailbox", "orders"),
        ("--mailbox", "orders@shop.example,"),
    ] {
        let variable = format!("SHARED_INBOX_{}", flag[2..].to_uppercase().replace('-', "_"));
        let by_variable = program().arg("doctor").env(variable, value).output().unwrap();
        let by_flag = program().arg("doctor").arg(format!("{flag}={value}")).output().unwrap();
        for output in [by_variable, by_flag] {
            assert_eq!(output.status.code(), Some(2), "{flag}={value}");
            assert!(out(&output).1.contains(flag), "{flag}={value}: {}", out(&output).1);
        }
    }
    // As with a variable of a shell that is not set: it must not open all inboxes.
    for flag in ["--mailbox", "--tools", "--exclude-tools"] {
        let output = program().args(["doctor", flag, ""]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{flag}");
        assert!(out(&output).1.contains(flag), "{flag}: {}", out(&output).1);
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

#[test]
fn variables_stand_for_flags_and_the_command_line_goes_before_them() {
    let settings = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut program = program();
        program.args(["--sandbox", "config", "cursor"]).args(arguments).envs(variables.to_vec());
        let (said, complained) = out(&program.output().unwrap());
        let parsed: serde_json::Value = serde_json::from_str(&said).map_err(|_| complained).unwrap();
        parsed["mcpServers"]["shared-inbox"]["args"].as_array().unwrap().to_vec()
    };
    let given = settings(
        &[
            ("SHARED_INBOX_SEND", "never"),
            ("SHARED_INBOX_READ_ONLY", "1"),
            ("SHARED_INBOX_TOOLS", "list_tags,reply"),
            ("SHARED_INBOX_MAX_CHARS", "9000"),
        ],
        &[],
    );
    assert_eq!(
        given,
        ["--sandbox", "--send=never", "--read-only", "--tools=list_tags,reply", "--max-chars=9000"]
    );
    let over = settings(
        &[("SHARED_INBOX_SEND", "never"), ("SHARED_INBOX_READ_ONLY", "off")],
        &["--send=allow", "--exclude-tools", "reply,add_note"],
    );
    assert_eq!(over, ["--sandbox", "--send=allow", "--exclude-tools=reply,add_note"]);
}

#[test]
fn every_option_has_a_variable_that_is_named_for_it_and_is_refused_by_name_when_it_is_set_to_nothing() {
    let all = options();
    assert!(all.len() > 10, "{all:?}");
    for (option, name) in all {
        assert_eq!(name, format!("SHARED_INBOX_{}", option.to_uppercase().replace('-', "_")), "--{option}");
        for nothing in ["", " "] {
            let output = program().args(["--sandbox", "doctor"]).env(&name, nothing).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{name:?}: {:?}", out(&output));
            assert_says(&out(&output).1, &[&format!("{name} is set to nothing")]);
        }
    }
    let output = program().arg("--help").env("SHARED_INBOX_MAILBOX", "").output().unwrap();
    assert!(output.status.success(), "help is for those who made a mistake");
}
