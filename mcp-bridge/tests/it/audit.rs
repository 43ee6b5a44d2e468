//! `--audit`: what is written down of each call, and what never is.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use shared_inbox_mock::{Effect, FaultRule};

use crate::fixture::{
    Answer, ERAS, Fixture, Mails, Older, Person, assert_done, assert_lacks, assert_refused, call_gives_up,
    in_process, is_error, leaping, out, program, text, until,
};

/// An audit file in a folder of its own.
pub(crate) struct AuditFile {
    folder: tempfile::TempDir,
}

impl AuditFile {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("audit.jsonl")
    }

    /// The option that names it.
    pub(crate) fn option(&self) -> String {
        format!("--audit={}", self.path().display())
    }

    /// Its lines, all of them whole.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path()).unwrap_or_default();
        assert!(text.ends_with('\n') || text.is_empty(), "{text}");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[tokio::test]
async fn each_call_is_a_line_with_ids_outcome_and_who_agreed_how() {
    for era in ERAS {
        let (file, fixture) = (AuditFile::new(), Fixture::new().await);
        let id = &fixture.conversation;
        for (says, expected) in
            [(Answer::Yes, "scheduled"), (Answer::No, "failed"), (Answer::CannotBeAsked, "draft")]
        {
            let client = fixture.start_in_process(&Person::who(says), era, &[&file.option()]).await;
            client.call("reply", fixture.reply(&format!("{says:?}"))).await;
            let last = file.lines().pop().unwrap();
            assert_eq!((&last["tool"], &last["conversation"]), (&json!("reply"), &json!(id)), "{last}");
            assert_eq!(last["outcome"], expected, "{era:?} {says:?}: {last}");
            let (asked, answer) = match says {
                Answer::Yes => ("form", json!("yes")),
                Answer::No => ("form", json!("no")),
                _ => ("nobody", Value::Null),
            };
            assert_eq!((&last["asked"], &last["answer"]), (&json!(asked), &answer), "{era:?}: {last}");
            assert_eq!(last["message"].is_string(), says != Answer::No, "{era:?}: {last}");
            assert!(last["at"].as_str().unwrap().ends_with('Z') && last["client"] == "test", "{last}");
        }
        let arguments = ["--send=allow", &file.option()];
        let client = fixture.start_in_process(&Person::who(Answer::Yes), era, &arguments).await;
        client.call("reply", fixture.reply("Allowed")).await;
        assert_eq!(file.lines().pop().unwrap()["asked"], "setting", "{era:?}");
    }
}

#[tokio::test]
async fn no_words_are_written_down() {
    let file = AuditFile::new();
    let (fixture, _, client) = in_process(Person::who(Answer::No), Older, &[&file.option()]).await;
    let id = fixture.conversation.clone();
    client.call("get_conversation", json!({ "id": id })).await;
    client.call("get_conversation", json!({ "id": "xylophone" })).await;
    client.call("list_conversations", json!({ "q": "xylophone" })).await;
    client.call("add_note", json!({ "id": id, "body": "xylophone" })).await;
    client.call("reply", json!({ "id": id, "body": "xylophone", "summary": "xylophone" })).await;
    _ = client.read(&format!("inbox://conversations/{id}")).await;
    _ = client.read("inbox://xylophone").await;
    _ = client.prompt("draft_reply", json!({ "conversation": id, "intent": "xylophone" })).await;
    let written = file.lines();
    let outcome = |line: &Value| format!("{} {}", line["tool"], line["outcome"]).replace('"', "");
    let expected = [
        "get_conversation done",
        "get_conversation failed",
        "list_conversations done",
        "add_note intent",
        "add_note done",
        "reply intent",
        "reply draft",
        "resources/read done",
        "resources/read failed",
        "prompts/get done",
    ];
    assert_eq!(written.iter().map(outcome).collect::<Vec<_>>(), expected);
    assert_eq!(written[9]["conversation"], json!(id));
    let text = fs::read_to_string(file.path()).unwrap();
    assert_lacks(&text, &["xylophone", "Kim", "kim@", "Order", "Where is", fixture.mock.live_key()]);
}

#[tokio::test]
async fn a_question_outlives_the_minute_that_a_client_waits_and_its_yes_counts_and_is_a_line_of_its_own() {
    let file = AuditFile::new();
    let person = Person::who_takes_time(Answer::Yes);
    let (fixture, person, client) = in_process(person, Older, &[&file.option()]).await;
    let (result, ()) = tokio::join!(client.call("reply", fixture.reply("Later")), call_gives_up(&person));
    assert_refused(&result, "has not answered");
    assert_eq!(fixture.mails().await, Mails::none());
    person.answers.add_permits(1);
    until(async || file.lines().len() == 3).await;
    let written = file.lines();
    assert_eq!(
        (&written[0]["outcome"], &written[0]["asked"], &written[0]["answer"]),
        (&json!("asked"), &json!("form"), &Value::Null),
        "{written:?}"
    );
    for (line, outcome) in written[1..].iter().zip(["intent", "scheduled"]) {
        assert_eq!((&line["outcome"], &line["answer"]), (&json!(outcome), &json!("yes")), "{written:?}");
        assert_eq!(line["call"], written[0]["call"], "{written:?}");
    }
    let again = client.call("reply", fixture.reply("Later")).await;
    assert!(!is_error(&again) && text(&again).contains("repeats a call"), "{}", text(&again));
    let repeat = file.lines().pop().unwrap();
    assert_eq!(repeat["outcome"], "repeat", "{repeat}");
    assert!(repeat["message"] == written[2]["message"] && repeat["call"] != written[0]["call"], "{repeat}");
    assert_eq!((person.questions().len(), fixture.mails().await), (1, Mails::sent("Later")));
}

#[tokio::test]
async fn a_change_whose_response_was_lost_is_unknown_and_one_that_was_refused_is_not() {
    for (effect, expected) in [(Effect::status_after(500), "unknown"), (Effect::status(409), "failed")] {
        let file = AuditFile::new();
        let (fixture, _, client) = leaping(Person::who(Answer::No), Older, &[&file.option()]).await;
        let rule = FaultRule::new(effect).method("POST").always();
        fixture.fault(rule).await;
        let sent = json!({ "messageId": "<1@shop.example>", "reference": "1042", "to": ["kim@customer.example"],
            "subject": "Order 1042" });
        let status = json!({ "id": fixture.conversation, "status": "closed" });
        for (tool, arguments) in [("record_sent", sent), ("set_status", status)] {
            let result = client.call(tool, arguments).await;
            assert!(is_error(&result), "{tool}: {}", text(&result));
            assert_eq!(file.lines().pop().unwrap()["outcome"], expected, "{tool}: {}", text(&result));
        }
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn an_email_that_cannot_be_written_down_is_not_sent() {
    let fixture = Fixture::new().await;
    let arguments = ["--audit=/dev/full", "--send=allow"];
    let client = fixture.start_in_process(&Person::who(Answer::No), Older, &arguments).await;
    let result = client.call("reply", fixture.reply("Unseen")).await;
    assert!(text(&result).contains("--audit"), "{}", text(&result));
    assert_eq!(fixture.mails().await, Mails::none());
    // A full disk does not keep a person from working.
    assert_done(&client.call("add_note", json!({ "id": fixture.conversation, "body": "A note" })).await);
}

#[tokio::test]
async fn the_program_adds_to_the_file_which_is_for_its_owner_only() {
    let (file, fixture) = (AuditFile::new(), Fixture::new().await);
    for calls in 1..=2 {
        let client = fixture.start_program(&Person::who(Answer::No), Older, &[&file.option()]).await;
        client.call("list_tags", json!({})).await;
        assert_eq!(file.lines().len(), calls);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let output = program().args(["--audit", "/no/such/folder/audit"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(out(&output).1.contains("--audit: /no/such/folder/audit"), "{}", out(&output).1);
}

#[test]
fn the_readme_has_every_outcome() {
    let names = include_str!("../../src/audit.rs").split("fn name(self)").nth(1).unwrap();
    let names: Vec<_> = names.split("\n    }\n").next().unwrap().split('"').skip(1).step_by(2).collect();
    assert!(names.len() > 10, "{names:?}");
    let table = include_str!("../../README.md").split("| `outcome` | the call |").nth(1).unwrap();
    let table = table.split("\n\n").next().unwrap();
    names.iter().for_each(|name| assert!(table.contains(&format!("`{name}`")), "{name}"));
}

#[tokio::test]
async fn the_readme_shows_the_two_lines_of_an_email_as_they_are_written() {
    let file = AuditFile::new();
    let person = Person { client: "claude-ai", ..Person::who(Answer::Yes) };
    let (fixture, _, client) = in_process(person, Older, &[&file.option()]).await;
    client.call("reply", fixture.reply("Hello Kim")).await;
    let written = fs::read_to_string(file.path()).unwrap().replace('\n', "");
    let readme = include_str!("../../README.md").lines().skip_while(|line| !line.starts_with("    {\"at\""));
    let shown: String = readme.take_while(|line| line.starts_with("    ")).map(str::trim).collect();
    let of_one_run = regex::Regex::new(r#""(at|call|conversation|message)":"[^"]+""#).unwrap();
    assert_eq!(of_one_run.replace_all(&shown, "$1"), of_one_run.replace_all(&written, "$1"));
}
