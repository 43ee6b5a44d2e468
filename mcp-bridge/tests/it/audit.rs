//! `--audit`: what is written down of each call, and what never is.

use std::{fs, path::Path, time::Duration};

use rmcp::model::{GetPromptRequestParams, ReadResourceRequestParams};
use serde_json::{Value, json};

use crate::{
    fixture::{Client, ERAS, Fixture, Older, Person, Says, connect, params, until},
    program::{out, program},
};

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.ends_with('\n') || text.is_empty(), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn inside(
    fixture: &Fixture,
    person: &Person,
    era: crate::fixture::Era,
    file: &Path,
    more: &[&str],
) -> Client {
    let audit = format!("--audit={}", file.display());
    fixture.start_in_process(person, era, &[&[audit.as_str()], more].concat()).await
}

#[tokio::test]
async fn each_call_is_a_line_with_ids_outcome_and_who_agreed_how() {
    for era in ERAS {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit.jsonl");
        let fixture = Fixture::new().await;
        let id = &fixture.conversation;
        let send = |body: &str| json!({ "id": id, "body": body, "send": true });
        for (says, expected) in
            [(Says::Yes, "scheduled"), (Says::No, "failed"), (Says::CannotBeAsked, "draft")]
        {
            _ = fs::remove_file(&file);
            let client = inside(&fixture, &Person::who(says), era, &file, &[]).await;
            client.call("reply", send(&format!("{says:?}"))).await;
            let last = lines(&file).pop().unwrap();
            assert_eq!((&last["tool"], &last["conversation"]), (&json!("reply"), &json!(id)), "{last}");
            assert_eq!(last["outcome"], expected, "{era:?} {says:?}: {last}");
            let (asked, answer) = match says {
                Says::Yes => ("form", json!("yes")),
                Says::No => ("form", json!("no")),
                _ => ("nobody", Value::Null),
            };
            assert_eq!((&last["asked"], &last["answer"]), (&json!(asked), &answer), "{era:?}: {last}");
            assert_eq!(last["message"].is_string(), says != Says::No, "{era:?}: {last}");
            assert!(last["at"].as_str().unwrap().ends_with('Z') && last["client"] == "test", "{last}");
        }
        let client = inside(&fixture, &Person::who(Says::Yes), era, &file, &["--send=allow"]).await;
        client.call("reply", send("Allowed")).await;
        assert_eq!(lines(&file).pop().unwrap()["asked"], "setting", "{era:?}");
    }
}

#[tokio::test]
async fn no_words_are_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let fixture = Fixture::new().await;
    let client = inside(&fixture, &Person::who(Says::No), Older, &file, &[]).await;
    let id = fixture.conversation.clone();
    client.call("get_conversation", json!({ "id": id })).await;
    client.call("get_conversation", json!({ "id": "xylophone" })).await;
    client.call("list_conversations", json!({ "q": "xylophone" })).await;
    client.call("add_note", json!({ "id": id, "body": "xylophone" })).await;
    client.call("reply", json!({ "id": id, "body": "xylophone", "summary": "xylophone" })).await;
    _ = client
        .service
        .read_resource(ReadResourceRequestParams::new(format!("inbox://conversations/{id}")))
        .await;
    _ = client.service.read_resource(ReadResourceRequestParams::new("inbox://xylophone")).await;
    let prompt = GetPromptRequestParams::new("draft_reply");
    let arguments = json!({ "conversation": id, "intent": "xylophone" }).as_object().unwrap().clone();
    _ = client.service.get_prompt(prompt.with_arguments(arguments)).await;
    let written = lines(&file);
    let outcomes: Vec<_> = written
        .iter()
        .map(|line| (line["tool"].as_str().unwrap(), line["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("get_conversation", "done"),
            ("get_conversation", "failed"),
            ("list_conversations", "done"),
            ("add_note", "intent"),
            ("add_note", "done"),
            ("reply", "intent"),
            ("reply", "draft"),
            ("resources/read", "done"),
            ("resources/read", "failed"),
            ("prompts/get", "done"),
        ]
    );
    assert_eq!(written[9]["conversation"], json!(id));
    let text = fs::read_to_string(&file).unwrap();
    for word in ["xylophone", "Kim", "kim@", "Order", "Where is", fixture.mock.live_key()] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[tokio::test]
async fn an_answer_that_no_call_waits_for_is_a_line_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let fixture = Fixture::new().await;
    let person = Person::who_takes_time(Says::Yes);
    let client = inside(&fixture, &person, Older, &file, &[]).await;
    let late = async {
        until(async || person.clock.waiting() == 3).await;
        person.clock.forward(Duration::from_secs(45));
    };
    let call = json!({ "id": fixture.conversation, "body": "Later", "send": true });
    tokio::join!(client.call("reply", call), late);
    person.answers.add_permits(1);
    until(async || lines(&file).len() == 3).await;
    let written = lines(&file);
    assert_eq!(
        (&written[0]["outcome"], &written[0]["asked"], &written[0]["answer"]),
        (&json!("asked"), &json!("form"), &Value::Null),
        "{written:?}"
    );
    for (line, outcome) in written[1..].iter().zip(["intent", "scheduled"]) {
        assert_eq!((&line["outcome"], &line["answer"]), (&json!(outcome), &json!("yes")), "{written:?}");
        assert_eq!(line["call"], written[0]["call"], "{written:?}");
    }
    client.call("reply", json!({ "id": fixture.conversation, "body": "Later", "send": true })).await;
    let repeat = lines(&file).pop().unwrap();
    assert_eq!(repeat["outcome"], "repeat", "{repeat}");
    assert!(repeat["message"] == written[2]["message"] && repeat["call"] != written[0]["call"], "{repeat}");
}

#[tokio::test]
async fn a_cancelled_call_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let fixture = Fixture::new().await;
    let person = Person::who_takes_time(Says::Yes);
    let client = inside(&fixture, &person, Older, &file, &[]).await;
    let call = json!({ "id": fixture.conversation, "body": "Never", "send": true });
    let call = client.start(params("reply", call)).await;
    until(async || person.questions().len() == 1).await;
    call.cancel(None).await.unwrap();
    until(async || lines(&file).iter().any(|line| line["outcome"] == "cancelled")).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn an_email_that_cannot_be_written_down_is_not_sent() {
    let fixture = Fixture::new().await;
    let client =
        inside(&fixture, &Person::who(Says::No), Older, Path::new("/dev/full"), &["--send=allow"]).await;
    let result =
        client.call("reply", json!({ "id": fixture.conversation, "body": "Unseen", "send": true })).await;
    assert!(crate::fixture::text(&result).contains("--audit"), "{}", crate::fixture::text(&result));
    assert_eq!(fixture.mails().await, crate::fixture::Mails::none());
    let result = client.call("add_note", json!({ "id": fixture.conversation, "body": "A note" })).await;
    assert!(!crate::fixture::is_error(&result), "a full disk does not keep a person from working");
}

#[tokio::test]
#[cfg(target_os = "linux")]
#[ignore = "needs strace"]
async fn other_calls_are_answered_while_a_slow_disk_holds_an_email_up() {
    if std::process::Command::new("strace").arg("-V").output().is_err() {
        shared_inbox_tests::peers::skip::<()>("no strace on this machine");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let fixture = Fixture::new().await;
    let bridge = fixture.program();
    const DELAY: &str = "inject=fdatasync:delay_enter=60000000"; // a minute
    let slow = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", DELAY];
    let mut command = tokio::process::Command::new("strace");
    command.args(slow).arg(bridge.as_std().get_program()).args(["--send=allow", "--audit"]).arg(&file);
    command.envs(bridge.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
    let client = connect(command, &Person::who(Says::No), Older).await;
    let reply = json!({ "id": fixture.conversation, "body": "On its way", "send": true });
    let _reply = client.start(params("reply", reply)).await;
    until(async || file.exists() && lines(&file).iter().any(|line| line["outcome"] == "intent")).await;
    let other = tokio::time::timeout(Duration::from_secs(30), client.call("list_tags", json!({}))).await;
    assert!(!crate::fixture::is_error(&other.expect("an answer before the disk's")));
    assert_eq!(fixture.mails().await, crate::fixture::Mails::none(), "the email waits for the disk");
}

#[tokio::test]
async fn calls_that_share_one_answer_make_one_line_that_says_scheduled() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let fixture = Fixture::new().await;
    let person = Person::who_takes_time(Says::Yes);
    let client = inside(&fixture, &person, Older, &file, &[]).await;
    let call = |summary: &str| json!({ "id": fixture.conversation, "body": "Once", "summary": summary, "send": true });
    let answers = async {
        until(async || person.clock.waiting() == 5).await;
        person.answers.add_permits(1);
    };
    tokio::join!(client.call("reply", call("a")), client.call("reply", call("b")), answers);
    until(async || lines(&file).len() == 3).await;
    let mut outcomes: Vec<_> =
        lines(&file).iter().map(|line| line["outcome"].as_str().unwrap().to_owned()).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["intent", "repeat", "scheduled"]);
}

#[tokio::test]
async fn the_program_adds_to_the_file_which_is_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let fixture = Fixture::new().await;
    for calls in 1..=2 {
        let mut command = fixture.program();
        command.arg("--audit").arg(&file);
        let client = connect(command, &Person::who(Says::No), Older).await;
        client.call("list_tags", json!({})).await;
        assert_eq!(lines(&file).len(), calls);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let output = program().args(["--audit", "/no/such/folder/audit"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(out(&output).1.contains("--audit: /no/such/folder/audit"), "{}", out(&output).1);
}
