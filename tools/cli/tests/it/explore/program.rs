//! The program: its flags, its scenario, its statuses.

use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use serde_json::Value;
use shared_inbox_tests::example;

use super::apps::{TIMEOUT, http_client, items};

/// The program with a scenario, which is written into this folder.
fn explorer(folder: &Path, scenario: &str, flags: &[&str], command: &[impl AsRef<OsStr>]) -> Command {
    let file = folder.join("scenario.toml");
    fs::write(&file, scenario).expect("written");
    let mut program = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"));
    program.args(["explore", "--scenario"]).arg(file).args(flags).arg("--").args(command);
    program
}

/// Its status, and what it says.
fn explore(
    folder: &Path,
    scenario: &str,
    flags: &[&str],
    command: &[impl AsRef<OsStr>],
) -> (Option<i32>, String) {
    let out = explorer(folder, scenario, flags, command).output().expect("it starts");
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    (out.status.code(), text)
}

/// Interrupts the program; its status.
#[cfg(unix)]
fn interrupt(mut program: Child) -> Option<i32> {
    let id = program.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("it starts").success());
    program.wait().expect("it ends").code()
}

/// The text of a file, once it is whole.
#[cfg(unix)]
fn read_once(file: &Path, is_whole: impl Fn(&str) -> bool) -> String {
    loop {
        match fs::read_to_string(file) {
            Ok(text) if is_whole(&text) => return text,
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Waits until no such process runs. One that has ended and is not reaped yet does not run.
#[cfg(unix)]
fn wait_for_end(pid: &str) {
    let has_ended =
        || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "));
    let is_there = || Command::new("kill").args(["-0", pid]).output().expect("it starts").status.success();
    while is_there() && !has_ended() {
        std::thread::sleep(Duration::from_millis(10));
    }
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
        ("mails = [\"Hi\"]\nscopes = [\"fly\"]", "scopes[0]: \"fly\" is none of `read`, "),
        ("mails = [\"Hi\"]\nignore = [\"weather\"]", "ignore[0]: \"weather\" is none of `"),
        ("mails = [\"Hi\"]\nmode = \"server\"\nwebhook_path = \"x\"", "webhook_path: must be"),
        ("mails = [\"Hi\"]\nwebhook_path = \"/hooks\"", "webhook_path: goes with mode = \"server\""),
        ("mails = [{ text = \"Hi\", sbject = \"Order\" }]", "mails[0].sbject: is no field of a mail"),
        ("mails = [\"Hi\"]\nexpect = [1]", "expect[0]: "),
        ("mails = [\"Hi\"]\ndays = -1", "days: must be a whole number"),
        ("mails = [\"Hi\"]\ndays = 1000", "days: must be a whole number"),
        ("mails = [\"Hi\"]\nrules = []", "rules: must be a table"),
        ("mails = [\"Hi\"]\nrules = { persons-word = 1 }", "rules.persons-word: "),
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
    let command = app_command("reads");
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

/// The command of an app in `program.rs` of these tests.
fn app_command(app: &str) -> [String; 2] {
    [example("tested_program").to_str().expect("text").to_owned(), app.to_owned()]
}

#[test]
fn what_could_not_be_judged_is_status_2_for_who_is_strict() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = app_command("varies");
    for (strict, wanted) in [(None, 0), (Some("--strict"), 2)] {
        let flags: Vec<&str> = ["--schedules", "1", "--seconds", "600"].into_iter().chain(strict).collect();
        let (status, said) =
            explore(folder.path(), "mails = [\"Hi\"]\nrules = { never-twice = false }", &flags, &command);
        assert_eq!(status, Some(wanted), "{said}");
        assert!(said.contains("not judged: same-end of outbox.text"), "{said}");
    }
}

#[tokio::test]
#[cfg(unix)]
async fn a_finding_can_be_opened_in_the_console_with_its_requests_and_how_it_was_before_the_last_step() {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().expect("a folder");
    let (mails, flags) =
        ("mails = [\"Where is my order 1042?\"]", ["--open", "--replay", "1_0_lost-after@reply.0"]);
    let command = app_command("drafts");
    let mut program = explorer(folder.path(), mails, &flags, &command)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(program.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let line = lines.into_iter().find(|line| line.starts_with("open: ")).expect("an address");
    let url = line.split(' ').nth(1).expect("an address").to_owned();

    let http = http_client(TIMEOUT);
    let page = http.get(&url).send().await.expect("a page");
    assert_eq!(page.status(), 200, "{url}");
    let (origin, world) = url.split_once("/?world=").expect("a world");
    let world = world.split(['#', '&']).next().unwrap_or_default();
    let read = async |path: &str| {
        let got = http.get(format!("{origin}/_mock/worlds/{world}{path}")).send().await.expect("a response");
        serde_json::from_slice::<Value>(&got.bytes().await.expect("a body")).expect("JSON")
    };
    let is_draft = |it: &&Value| it["path"].as_str().is_some_and(|it| it.ends_with("/replies"));
    assert_eq!(items(&read("/requests").await).iter().filter(is_draft).count(), 2);
    assert_eq!(items(&read("/outbox").await).len(), 2);
    let before = read("/snapshots/before-the-last-step").await;
    assert_eq!((items(&before["conversations"]).len(), items(&before["outbox"]).len()), (1, 0));
    let kept = serde_json::to_string(&before).expect("JSON");
    assert!(kept.contains("order 1042?") && !kept.contains("is on its way"), "{kept}");

    assert_eq!(interrupt(program), Some(1));
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_explorer_takes_the_app_with_it_and_the_next_one_removes_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let (state, pids) = (folder.path().join("state"), folder.path().join("pids"));
    fs::create_dir(&state).expect("a folder");
    let start = |command: &[&str]| {
        let flags = ["--app-timeout", "600", "--schedules", "1"];
        let mut program = explorer(folder.path(), "mails = [\"Hi\"]", &flags, command);
        program.env("TMPDIR", &state).env("PIDS", &pids).spawn().expect("it starts")
    };
    let mut killed = start(&["sh", "-c", "echo \"$$ .\" > \"$PIDS\"; exec sleep 600"]);
    let started = read_once(&pids, |text| text.contains('.'));
    let folders = || fs::read_dir(&state).expect("a folder").count();
    assert_eq!(folders(), 1);
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    wait_for_end(started.split(' ').next().expect("a number"));
    assert_eq!(folders(), 1, "nobody could remove it");
    // A link to a folder of somebody else's is left alone.
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::write(elsewhere.join("lock"), "").expect("written");
    std::os::unix::fs::symlink(&elsewhere, state.join("shared-inbox-explore-0")).expect("a link");
    assert_eq!(start(&["true"]).wait().expect("it ends").code(), Some(2));
    assert_eq!(folders(), 1, "only the link is left");
    assert!(elsewhere.join("lock").exists());
}

#[test]
#[cfg(unix)]
fn the_line_that_a_finding_prints_is_a_test_whose_status_is_the_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = app_command("drafts");
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
    let harmless = line.replace("tested_program drafts", "tested_program reads");
    assert_eq!(shell(&harmless).status.code(), Some(0), "{harmless}");
}

#[test]
fn in_junit_a_finding_is_a_failure_and_what_was_not_run_or_not_judged_is_no_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report.xml");
    let finding = app_command("drafts");
    let varying = app_command("varies");
    let missing = ["no-such-program", "at-all"].map(str::to_owned);
    let (all, some) = ("", "rules = { never-twice = false }");
    for (rules, flags, command, counts, said) in [
        (all, ["--replay", "1_0_lost-after@reply.0"], finding, [1, 0], "classname=\"never-twice\""),
        (some, ["--schedules", "1"], varying, [0, 0], "<skipped message=\"not judged: "),
        (all, ["--seed", "1"], missing, [0, 1], "no-such-program cannot be started"),
    ] {
        let flags = [&flags[..], &["--junit", file.to_str().expect("text"), "--json", "-"]].concat();
        let scenario = &format!("mails = [\"Where is my order 1042?\"]\n{rules}");
        let output = explorer(folder.path(), scenario, &flags, &command).output().expect("it starts");
        let xml = fs::read_to_string(&file).expect("a report");
        let of = |element: &str| xml.matches(&format!("<{element} ")).count();
        assert_eq!(["failure", "error"].map(of), counts, "{xml}");
        assert!(xml.contains(said) && xml.contains("name=\"exploration\""), "{xml}");
        // What is meant for people stands on stderr then.
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON alone");
    }
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

#[test]
#[cfg(unix)]
fn an_interrupt_ends_it_and_the_app_and_what_the_app_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let pids = folder.path().join("pids");
    let command = ["sh", "-c", "sleep 600 & echo \"$$ $! .\" > \"$PIDS\"; wait"];
    let mut program = explorer(folder.path(), "mails = [\"Hi\"]", &["--app-timeout", "600"], &command);
    let program = program.env("PIDS", &pids).spawn().expect("it starts");
    let started = read_once(&pids, |text| text.contains('.'));
    assert_eq!(interrupt(program), Some(130));
    started.split_whitespace().filter(|word| *word != ".").for_each(wait_for_end);
}

#[test]
#[cfg(unix)]
fn an_interrupt_ends_a_server_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let started = folder.path().join("started");
    let script = "sleep 600 & echo \"$$ $! $SHARED_INBOX_STATE_DIR\" >> \"$STARTED\"; exec \"$@\"";
    let mut command = ["sh", "-c", script, "sh"].map(str::to_owned).to_vec();
    command.extend(app_command("serves"));
    let scenario = "mode = \"server\"\nmails = [\"Where is my order 1042?\"]";
    let mut program = explorer(folder.path(), scenario, &["--seconds", "600"], &command);
    let program = program.env("STARTED", &started).spawn().expect("it starts");
    read_once(&started, |text| text.lines().count() >= 5);
    assert_eq!(interrupt(program), Some(130));
    for line in fs::read_to_string(started).expect("text").lines() {
        let [app, child, state] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        wait_for_end(app);
        wait_for_end(child);
        assert!(!Path::new(state).exists(), "{state}");
    }
}

#[test]
fn help_teaches_how_to_begin() {
    let out = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock")).args(["explore", "--help"]).output();
    let said = String::from_utf8(out.expect("it starts").stdout).expect("text");
    let flags = ["--schedules", "--open", "--replay", "--app-timeout"];
    let lines = [
        "mails = [",
        "SHARED_INBOX_STATE_DIR",
        "-- python app.py",
        "Status 0: nothing found",
        "130: interrupted",
    ];
    for taught in flags.into_iter().chain(lines) {
        assert!(said.contains(taught), "{taught}: {said}");
    }
}
