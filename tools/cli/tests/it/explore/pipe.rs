//! `explore --pipe`: a function of the process that started the program, as the fixtures for Python and Node
//! use it.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use super::apps::{Api, AppResult, answer, asked_orders, id, is_for_people, open_orders, order};

/// The program, and the process that has the functions.
struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Host {
    fn start(folder: &Path, first: &Value) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"))
            .args(["explore", "--pipe"])
            .env("TMPDIR", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut host = Self { stdin: child.stdin.take(), stdout, child };
        host.write(first);
        host
    }

    fn write(&mut self, line: &Value) {
        writeln!(self.stdin.as_mut().expect("open"), "{line}").expect("written");
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_default()
    }

    fn status(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().expect("it ends").code()
    }
}

/// The service of a world, as a fixture gets it.
fn api_of_world(world: &Value) -> Api {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    Api::with(text(&world["base_url"]), text(&world["keys"]["live"]), text(&world["state_dir"]).into())
}

/// Answers calls until the last line, which is returned with the status of the program. Nothing is left in
/// the temporary folder.
async fn explore(
    options: Value,
    app: impl AsyncFn(Api) -> AppResult,
    check: Option<&dyn Fn(&Value) -> AppResult>,
) -> (Value, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let first = json!({ "language": "python", "check": check.is_some(), "options": options });
    let mut host = Host::start(folder.path(), &first);
    let last = loop {
        let line = host.read();
        let world = &line["world"];
        let (number, ended) = match (&line["run"], &line["check"]) {
            (Value::Number(number), _) => (number, app(api_of_world(world)).await),
            (_, Value::Number(number)) => (number, check.expect("a check")(world)),
            _ => break line,
        };
        host.write(&match ended {
            Ok(()) => json!({ "done": number }),
            Err(error) => json!({ "failed": number, "error": error }),
        });
    };
    let status = host.status();
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    (last, status)
}

fn options(more: Value) -> Value {
    let mut options = json!({ "mails": ["Where is my order 1042?", "Order 1043 is broken"], "seconds": 600 });
    let Value::Object(more) = more else { panic!("{more}") };
    options.as_object_mut().expect("an object").extend(more);
    options
}

async fn drafts(api: Api) -> AppResult {
    for entry in api.open_and_waiting().await? {
        let conversation = api.read(id(&entry)).await?;
        if asked_orders(&conversation).is_empty() || is_for_people(&conversation) {
            continue;
        }
        for order in open_orders(&conversation) {
            api.draft(id(&entry), &answer(order)).await?;
        }
        api.set_status(id(&entry), "waiting").await?;
    }
    Ok(())
}

/// Drafts what the list shows.
async fn drafts_blindly(api: Api) -> AppResult {
    for entry in api.open().await? {
        if let Some(order) = order(&entry["snippet"]).filter(|_| !is_for_people(&entry)) {
            api.draft(id(&entry), &answer(order)).await?;
            api.set_status(id(&entry), "waiting").await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_function_of_another_process_is_explored_and_what_breaks_it_is_told_in_its_language() {
    let (last, status) = explore(options(json!({})), drafts_blindly, None).await;
    assert_eq!(status, Some(1), "{last}");
    let finding = &last["report"]["findings"][0];
    assert_eq!((&finding["oracle"], &finding["reproduced"]), (&json!("never-twice"), &json!("5 of 5")));
    let text = last["text"].as_str().expect("a text");
    for part in [
        "BROKEN never-twice:",
        "→ was taken, then the response was lost",
        "def test_nobody_gets_the_same_text_twice(shared_inbox_explore):\n    shared_inbox_explore(app, mails=[\"Where is my order 1042?\", ",
        ", replay=\"1_",
        "1 finding: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let replay = options(json!({ "replay": finding["replay"] }));
    let (again, status) = explore(replay, drafts_blindly, None).await;
    assert_eq!((status, &again["report"]["schedules"]), (Some(1), &json!(1)), "{again}");
    assert_eq!(again["report"]["findings"][0]["summary"], finding["summary"]);
}

#[tokio::test]
async fn nothing_is_found_in_a_correct_function_of_another_process() {
    let (last, status) = explore(options(json!({ "schedules": 25 })), drafts, None).await;
    assert_eq!(status, Some(0), "{}", last["text"].as_str().unwrap_or_default());
    assert_eq!(last["report"]["schedules"], 25);
}

#[tokio::test]
async fn a_function_that_is_killed_reaches_the_service_no_more_and_is_run_again() {
    let app = async |api: Api| {
        let ended = drafts(api.clone()).await;
        // A process that was killed could not do this.
        if ended.is_err() {
            for _ in 0..3 {
                assert!(api.note("cnv_1", "It failed").await.is_err(), "it was cut off");
            }
        }
        ended
    };
    let replay = options(json!({ "replay": "1_0_kill@reply.0" }));
    let (last, status) = explore(replay, app, None).await;
    assert_eq!(status, Some(0), "{last}");
}

#[tokio::test]
async fn a_check_that_does_not_hold_is_a_finding() {
    let app = async |api: Api| {
        let ended = drafts(api.clone()).await;
        if ended.is_err() {
            std::fs::write(api.file("failed"), "").map_err(|error| error.to_string())?;
        }
        ended
    };
    let never_failed = |world: &Value| {
        let file = Path::new(world["state_dir"].as_str().expect("a folder")).join("failed");
        if file.exists() { Err("AssertionError: a run failed".to_owned()) } else { Ok(()) }
    };
    let (last, status) = explore(options(json!({})), app, Some(&never_failed)).await;
    assert_eq!(status, Some(1), "{last}");
    let finding = &last["report"]["findings"][0];
    assert_eq!(finding["oracle"], "expect");
    assert_eq!(finding["summary"], "check does not hold: AssertionError: a run failed");
}

#[tokio::test]
async fn a_function_that_fails_without_trouble_is_no_start() {
    let (last, status) =
        explore(options(json!({})), async |_: Api| Err("ValueError: no".to_owned()), None).await;
    assert_eq!(status, Some(2), "{last}");
    let error = last["error"].as_str().expect("an error");
    assert!(
        error.contains("the run without trouble breaks a rule") && error.contains("ValueError: no"),
        "{error}"
    );
}

#[tokio::test]
async fn a_wrong_option_is_named() {
    for (wrong, named) in [
        (json!({ "mails": [] }), "mails: must have"),
        (json!({ "seconds": "x" }), "seconds: \"x\" is no number of seconds"),
        (json!({ "app_timeout": 0 }), "app_timeout: 0 is no number of seconds"),
        (json!({ "appTimeout": -1 }), "appTimeout: -1 is no number of seconds"),
        (json!({ "seed": -1 }), "seed: -1 is no whole number"),
        (json!({ "schedules": 1.5 }), "schedules: 1.5 is no whole number"),
        (json!({ "replay": 1 }), "replay: 1 is no token"),
        (json!({ "replay": "nonsense" }), "replay nonsense: is no token"),
        (json!({ "mode": "server" }), "mode: is no option; there are mails"),
        (json!({ "people": "some" }), "people: must be"),
        (json!({ "colour": "red" }), "colour: is no option; there are mails"),
        (json!({ "scenario": "nowhere.toml" }), "mails: belongs into the file of the scenario"),
        (json!({ "command": "python app.py" }), "app: a command is a list of its words"),
    ] {
        let (last, status) = explore(options(wrong), drafts, None).await;
        assert_eq!(status, Some(2), "{last}");
        let said = last["wrong"].as_str().unwrap_or_default();
        assert!(said.starts_with(named), "{named}: {last}");
    }
}

#[test]
fn it_ends_when_the_process_that_has_the_function_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut host = Host::start(folder.path(), &json!({ "options": options(json!({})) }));
    assert_eq!(host.read()["run"], 1);
    assert_eq!(host.status(), Some(130));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
