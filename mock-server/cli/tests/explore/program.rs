//! The program: its flags, its scenario, its statuses.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::apps::{Api, answer, id, items, order};

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
        ("mails = [\"Hi\"]\nmode = \"server\"\nwebhook_path = \"x\"", "webhook_path: must be"),
        ("mails = [\"Hi\"]\nwebhook_path = \"/hooks\"", "webhook_path: goes with mode = \"server\""),
        ("mails = [{ text = \"Hi\", sbject = \"Order\" }]", "mails[0].sbject: is no field of a mail"),
        ("mails = [\"Hi\"]\nexpect = [1]", "expect: must be"),
        ("mails = [\"Hi\"]\ndays = -1", "days: must be a whole number"),
        ("mails = [\"Hi\"]\ndays = 1000", "days: must be a whole number"),
        ("mails = [\"Hi\"]\nrules = []", "rules: must be a table"),
        ("mails = [\"Hi\"]\nrules = { persons-word = 1 }", "rules.persons-word: must be true or false"),
        ("mails = [\"Hi\"]\nrules = { persons-wrod = false }", "rules.persons-wrod: is no rule"),
        ("mails = [{ text = \"Hi\", follow_up = 1 }]", "mails[0].follow_up: must be true or false"),
        ("mails = [{ text = \"Hi\", follow_up = true }]", "mails[0].follow_up: there is no earlier mail"),
        ("mail = [\"Hi\"]", "mail: is no key"),
        ("mails = [", "line 1"),
    ] {
        let (status, said) = explore(folder.path(), scenario, &[], &["true"]);
        assert_eq!(status, Some(2), "{said}");
        assert!(
            said.starts_with("shared-inbox-mock: --scenario ") && said.contains(named),
            "{named}: {said}"
        );
        assert!(said.contains("scenario.toml: "), "it names the file: {said}");
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
fn an_app_that_fails_without_trouble_is_no_start_and_its_last_words_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "echo first >&2; echo \"no order 1042, key $SHARED_INBOX_API_KEY\" >&2; exit 3";
    let (status, said) = explore(folder.path(), "mails = [\"Hi\"]", &[], &["sh", "-c", script]);
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains("the run without trouble breaks a rule") && said.contains("exit status 3"),
        "{said}"
    );
    assert!(said.contains("| first\n") && said.contains("| no order 1042, key …\n"), "{said}");
    assert!(!said.contains("rk_live_"), "{said}");
}

#[test]
#[cfg(unix)]
fn an_app_that_makes_no_request_is_no_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let (status, said) = explore(folder.path(), "mails = [\"Hi\"]", &["--seconds", "0.5"], &["true"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("made no request") && said.contains("SHARED_INBOX_BASE_URL"), "{said}");
}

#[test]
fn without_a_bound_every_single_step_is_tried_and_the_last_line_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = app_command("program::an_app_that_only_reads");
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let json = folder.path().join("report.json");
    let flags = ["--json", json.to_str().expect("text")];
    let (status, said) = explore(folder.path(), "mails = [\"Hi\"]", &flags, &command);
    assert_eq!(status, Some(0), "{said}");
    let report: Value = serde_json::from_slice(&fs::read(json).expect("a report")).expect("JSON");
    let singles = &report["coverage"]["singles"];
    assert!(singles["of"].as_u64().is_some_and(|of| of > 5), "{report}");
    assert_eq!(singles["tried"], singles["of"], "{report}");
    assert_eq!(
        (&report["coverage"]["requests"], &report["coverage"]["random"]),
        (&1.into(), &0.into()),
        "{report}"
    );

    // A bound that is too short leaves some, and says how many.
    let flags = ["--schedules", "3", "--seconds", "600"];
    let (status, said) = explore(folder.path(), "mails = [\"Hi\"]", &flags, &command);
    assert_eq!(status, Some(0), "{said}");
    let of = singles["of"].as_u64().expect("a number");
    assert!(said.contains(&format!("nothing found: 3 of {of} single steps tried, ")), "{said}");
    assert!(said.contains(&format!("{} single steps are left", of - 3)), "{said}");
}

/// The command of an app that drafts what the list shows: this test program, with the test below.
fn app_command(test: &str) -> Vec<String> {
    let program = std::env::current_exe().expect("a program").to_str().expect("text").to_owned();
    [&program, "--ignored", "--exact", test].map(str::to_owned).to_vec()
}

/// The service as an app that is a program finds it; none where this is no app.
fn api_of_variables() -> Option<Api> {
    let variable = |name: &str| std::env::var(name).ok();
    let state_dir = variable("SHARED_INBOX_STATE_DIR")?.into();
    Some(Api::with(variable("SHARED_INBOX_BASE_URL")?, variable("SHARED_INBOX_API_KEY")?, state_dir))
}

#[tokio::test]
#[ignore = "is run by other tests, as a program of its own"]
async fn a_server_that_only_reads() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let Some(port) = std::env::var("PORT").ok().and_then(|port| port.parse::<u16>().ok()) else { return };
    let api = api_of_variables().expect("variables");
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.expect("a port");
    loop {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        if stream.read(&mut [0; 65_536]).await.is_ok_and(|read| read > 0) {
            api.open().await.ok();
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await.ok();
        }
    }
}

#[tokio::test]
#[ignore = "is run by other tests, as a program of its own"]
async fn an_app_that_only_reads() {
    let Some(api) = api_of_variables() else { return };
    api.open().await.expect("a list");
}

#[tokio::test]
#[ignore = "is run by other tests, as a program of its own"]
async fn the_app_that_other_tests_run() {
    let Some(api) = api_of_variables() else { return };
    for entry in api.open().await.expect("a list") {
        if let Some(order) = order(&entry["snippet"]) {
            api.draft(id(&entry), &answer(order)).await.expect("a draft");
            api.set_status(id(&entry), "waiting").await.expect("a status");
        }
    }
}

#[tokio::test]
#[cfg(unix)]
async fn a_finding_can_be_opened_in_the_console_with_its_requests_and_how_it_was_before_the_last_step() {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = folder.path().join("scenario.toml");
    fs::write(&scenario, "mails = [\"Where is my order 1042?\"]").expect("written");
    let mut program = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"))
        .args(["explore", "--open", "--replay", "1_0_lost-after@reply.0", "--scenario"])
        .arg(&scenario)
        .arg("--")
        .args(app_command("program::the_app_that_other_tests_run"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(program.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let line = lines.into_iter().find(|line| line.starts_with("open: ")).expect("an address");
    let url = line.split(' ').nth(1).expect("an address").to_owned();

    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().expect("a client");
    let page = http.get(&url).send().await.expect("a page");
    assert_eq!(page.status(), 200, "{url}");
    let (origin, world) = url.split_once("/?world=").expect("a world");
    let world = world.split(['#', '&']).next().unwrap_or_default();
    let read = async |path: &str| {
        let got = http.get(format!("{origin}/_mock/worlds/{world}{path}")).send().await.expect("a response");
        serde_json::from_slice::<Value>(&got.bytes().await.expect("a body")).expect("JSON")
    };
    let drafts = |requests: &Value| {
        items(requests)
            .iter()
            .filter(|it| it["path"].as_str().is_some_and(|it| it.ends_with("/replies")))
            .count()
    };
    assert_eq!(drafts(&read("/requests").await), 2);
    assert_eq!(items(&read("/outbox").await).len(), 2);
    let before = read("/snapshots/before-the-last-step").await;
    assert_eq!((items(&before["conversations"]).len(), items(&before["outbox"]).len()), (1, 0));
    let kept = serde_json::to_string(&before).expect("JSON");
    assert!(kept.contains("order 1042?") && !kept.contains("is on its way"), "{kept}");

    let pid = program.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("it starts").success());
    assert_eq!(program.wait().expect("it ends").code(), Some(1));
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_explorer_takes_the_app_with_it_and_the_next_one_removes_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let (scenario, pids) = (folder.path().join("scenario.toml"), folder.path().join("pids"));
    fs::write(&scenario, "mails = [\"Hi\"]").expect("written");
    let state = folder.path().join("state");
    fs::create_dir(&state).expect("a folder");
    let explore = |command: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"));
        program.args(["explore", "--app-timeout", "600", "--schedules", "1", "--scenario"]).arg(&scenario);
        program.arg("--").args(command).env("TMPDIR", &state).env("PIDS", &pids);
        program
    };
    let mut killed =
        explore(&["sh", "-c", "echo \"$$ .\" > \"$PIDS\"; exec sleep 600"]).spawn().expect("it starts");
    let started = loop {
        match fs::read_to_string(&pids) {
            Ok(text) if text.contains('.') => break text,
            _ => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    };
    let folders = || fs::read_dir(&state).expect("a folder").count();
    assert_eq!(folders(), 1);
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    while runs(started.split(' ').next().expect("a number")) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(folders(), 1, "nobody could remove it");
    // A link to a folder of somebody else's is left alone.
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::write(elsewhere.join("lock"), "").expect("written");
    std::os::unix::fs::symlink(&elsewhere, state.join("shared-inbox-explore-0")).expect("a link");
    assert_eq!(explore(&["true"]).status().expect("it starts").code(), Some(2));
    assert_eq!(folders(), 1, "only the link is left");
    assert!(elsewhere.join("lock").exists());
}

#[test]
#[cfg(unix)]
fn the_line_that_a_finding_prints_is_a_test_whose_status_is_the_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = app_command("program::the_app_that_other_tests_run");
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let mails = "mails = [\"Where is my order 1042?\"]";
    let (status, said) = explore(folder.path(), mails, &["--replay", "1_0_lost-after@reply.0"], &command);
    assert_eq!(status, Some(1), "{said}");
    let line = said.lines().find_map(|line| line.trim().strip_prefix("again: ")).expect("a line");
    let program = Path::new(env!("CARGO_BIN_EXE_shared-inbox-mock")).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let shell =
        |line: &str| Command::new("sh").args(["-c", line]).env("PATH", &path).output().expect("it starts");
    let again = shell(line);
    assert_eq!(again.status.code(), Some(1), "{line}");
    // The same line with an app that the schedule does not break.
    let harmless = line.replace("program::the_app_that_other_tests_run", "program::an_app_that_only_reads");
    assert_eq!(shell(&harmless).status.code(), Some(0), "{harmless}");
}

#[test]
#[cfg(unix)]
fn a_program_is_told_the_time_of_the_world_at_the_start_of_each_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let times = folder.path().join("times");
    let script = format!("echo \"$SHARED_INBOX_TIME\" >> {}", times.display());
    let scenario = "mails = [\"Hi\"]\ndays = 2";
    let (status, said) = explore(folder.path(), scenario, &["--schedules", "1"], &["sh", "-c", &script]);
    // It makes no request, which is said when the run without trouble has ended.
    assert_eq!(status, Some(2), "{said}");
    let times = fs::read_to_string(times).expect("times");
    let mut days: Vec<_> = times.lines().map(|time| time.split('T').next().expect("a date")).collect();
    days.sort_unstable();
    days.dedup();
    assert_eq!(days.len(), 3, "{times}");
    assert!(times.lines().all(|time| shared_inbox::Timestamp::parse(time).is_ok()), "{times}");
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
    assert_eq!(program.wait().expect("it ends").code(), Some(130));
    for app in started.split_whitespace().filter(|word| *word != ".") {
        while runs(app) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[test]
#[cfg(unix)]
fn an_interrupt_ends_a_server_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let (scenario, started) = (folder.path().join("scenario.toml"), folder.path().join("started"));
    fs::write(&scenario, "mode = \"server\"\nmails = [\"Where is my order 1042?\"]").expect("written");
    let script = "sleep 600 & echo \"$$ $! $SHARED_INBOX_STATE_DIR\" >> \"$STARTED\"; exec \"$@\"";
    let mut program = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"))
        .args(["explore", "--seconds", "600", "--scenario"])
        .arg(&scenario)
        .args(["--", "sh", "-c", script, "sh"])
        .args(app_command("program::a_server_that_only_reads"))
        .env("STARTED", &started)
        .spawn()
        .expect("it starts");
    let poll = || std::thread::sleep(std::time::Duration::from_millis(10));
    let listed = || fs::read_to_string(&started).unwrap_or_default();
    while listed().lines().count() < 5 {
        poll();
    }
    let pid = program.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("it starts").success());
    assert_eq!(program.wait().expect("it ends").code(), Some(130));
    for line in listed().lines() {
        let [app, started, state] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        while runs(app) || runs(started) {
            poll();
        }
        assert!(!Path::new(state).exists(), "{state}");
    }
}

#[test]
fn help_teaches_how_to_begin() {
    let out = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock")).args(["explore", "--help"]).output();
    let said = String::from_utf8(out.expect("it starts").stdout).expect("text");
    for taught in [
        "mails = [",
        "--schedules",
        "--open",
        "SHARED_INBOX_STATE_DIR",
        "-- python app.py",
        "Status 0: nothing found",
        "130: interrupted",
        "--replay",
        "--app-timeout",
    ] {
        assert!(said.contains(taught), "{taught}: {said}");
    }
}
