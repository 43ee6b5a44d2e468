//! The program: what it takes, what it says, how it ends.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

/// A client for tests that start no server in this process, which would have provided for TLS.
fn requests() -> reqwest::Client {
    _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).build().expect("a client")
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Ends with its test, whatever becomes of that.
struct RunningProgram(Child);

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program on a free port, with these flags; its ready document.
fn start(flags: &[&str]) -> (RunningProgram, Value) {
    start_with(program().args(["--listen", "127.0.0.1:0", "--json"]).args(flags))
}

/// A program that is started with `--json`; its ready document.
fn start_with(command: &mut Command) -> (RunningProgram, Value) {
    let mut running = RunningProgram(command.spawn().expect("it runs"));
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    (running, serde_json::from_str(&line).expect("one line of JSON"))
}

#[cfg(unix)]
fn signal(running: &RunningProgram, name: &str) {
    let id = running.0.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().expect("kill runs").success());
}

/// That the program does not start, and that its one line names all this.
#[track_caller]
fn assert_refused(arguments: &[&str], named: &[&str]) {
    let output = program().args(arguments).output().expect("it runs");
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(output.stdout.is_empty());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "one line: {message}");
    for part in named {
        assert!(message.contains(part), "{message} should name {part}");
    }
}

#[tokio::test]
async fn the_ready_document_has_the_addresses_and_the_fixed_keys() {
    let (_running, ready) = start(&[]);
    let base_url = ready["base_url"].as_str().expect("an address");
    let root = base_url.strip_suffix("/api/v1").expect("the prefix");
    assert_eq!(ready["mcp_url"], format!("{root}/mcp"));
    assert_eq!(ready["control_url"], format!("{root}/_mock"));
    assert_eq!(ready["console_url"], format!("{root}/"));
    assert_eq!(ready["keys"]["live"], shared_inbox_mock::LIVE_KEY);
    assert_eq!(ready["keys"]["test"], shared_inbox_mock::TEST_KEY);
    for (key, livemode) in [("live", true), ("test", false)] {
        let key = ready["keys"][key].as_str().expect("a key");
        assert_eq!(key.len(), "rk_live_".len() + 48);
        let me = requests().get(format!("{base_url}/me")).bearer_auth(key).send().await.expect("an answer");
        let me: Value = serde_json::from_str(&me.text().await.expect("text")).expect("JSON");
        assert_eq!(me["scopes"], serde_json::json!(["read", "write", "draft", "send", "record"]));
        assert_eq!(me["livemode"], livemode);
    }
}

#[test]
fn the_ready_file_appears_whole_and_replaces_an_old_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ready.json");
    std::fs::write(&file, "stale").expect("written");
    // Someone who waits for it never sees a part of it.
    let reader = std::thread::spawn({
        let file = file.clone();
        move || loop {
            match std::fs::read_to_string(&file) {
                Ok(text) if text != "stale" => return text,
                _ => std::thread::yield_now(),
            }
        }
    });
    let (_running, ready) = start(&["--ready-file", file.to_str().expect("text")]);
    let seen = reader.join().expect("no panic");
    assert_eq!(serde_json::from_str::<Value>(&seen).expect("JSON"), ready);
    // It is there before the line on stdout is.
    let written: Value = serde_json::from_slice(&std::fs::read(&file).expect("written")).expect("JSON");
    assert_eq!(written, ready);
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(left.len(), 1, "nothing else stays behind");
}

#[test]
fn a_ready_file_of_a_former_run_is_gone_when_this_one_does_not_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ready.json");
    std::fs::write(&file, "stale").expect("written");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let flags = ["--listen", &address, "--ready-file", file.to_str().expect("text")];
    assert_refused(&flags, &[&address, "--listen"]);
    assert!(!file.exists(), "it would speak for a server that is not there");
}

#[cfg(unix)]
#[test]
fn sigterm_and_sigint_end_it_with_status_0() {
    for name in ["-TERM", "-INT"] {
        let (mut running, _) = start(&[]);
        signal(&running, name);
        assert_eq!(running.0.wait().expect("it ends").code(), Some(0), "{name}");
    }
}

/// A mock that ends with its parent, and the parent's end of its stdin.
#[cfg(unix)]
fn running_with_parent() -> (RunningProgram, Value, std::process::ChildStdin) {
    let mut command = program();
    command.args(["--listen", "127.0.0.1:0", "--json", "--quiet", "--exit-with-parent"]);
    let (mut running, ready) = start_with(command.stdin(Stdio::piped()));
    let stdin = running.0.stdin.take().expect("a pipe");
    (running, ready, stdin)
}

#[cfg(unix)]
#[test]
fn with_exit_with_parent_a_closed_stdin_ends_it_with_status_0() {
    let (mut running, _, stdin) = running_with_parent();
    drop(stdin);
    assert_eq!(running.0.wait().expect("it ends").code(), Some(0));
}

#[cfg(unix)]
#[tokio::test]
async fn with_exit_with_parent_ctrl_c_is_left_to_the_parent_and_sigterm_still_ends_it() {
    let (mut running, ready, _stdin) = running_with_parent();
    signal(&running, "-INT");
    for _ in 0..100 {
        assert_eq!(ask(&ready, "GET", "/_mock/health", "", "").await.0, 200, "it serves on");
    }
    signal(&running, "-TERM");
    assert_eq!(running.0.wait().expect("it ends").code(), Some(0));
}

/// The shell is the parent. It leaves behind a process that holds stdin open, as a forked worker of a test
/// run does.
#[cfg(unix)]
#[test]
fn with_exit_with_parent_the_end_of_the_parent_ends_it_although_stdin_stays_open() {
    let script = r#""$MOCK" --listen 127.0.0.1:0 --json --quiet --exit-with-parent <&3 & read -r _"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 3<&0; {script}")]).env("MOCK", env!("CARGO_BIN_EXE_shared-inbox-mock"));
    let mut shell = RunningProgram(
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs"),
    );
    let stdin = shell.0.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(shell.0.stdout.take().expect("a pipe"));
    let mut line = String::new();
    lines.read_line(&mut line).expect("a line");
    assert!(line.contains("base_url"), "{line}");
    shell.0.kill().expect("it runs");
    shell.0.wait().expect("it ends");
    // The mock has the other end of this pipe; it closes when the mock has ended.
    lines.read_to_string(&mut line).expect("it ends");
    drop(stdin);
}

#[cfg(unix)]
#[tokio::test]
async fn a_delayed_answer_does_not_hold_up_the_end() {
    let (mut running, ready) = start(&["--quiet"]);
    let slow = r#"{"path": "/me", "effect": {"delayMs": 3600000}}"#;
    assert_eq!(ask(&ready, "POST", "/_mock/faults", "", slow).await.0, 201);
    let response = tokio::spawn({
        let ready = ready.clone();
        async move { ask(&ready, "GET", "/api/v1/me", shared_inbox_mock::LIVE_KEY, "").await.0 }
    });
    while ask(&ready, "GET", "/_mock/faults", "", "").await.1[0]["fired"] != 1 {
        tokio::task::yield_now().await;
    }
    signal(&running, "-TERM");
    assert_eq!(response.await.expect("no panic"), 200, "the answer comes at once");
    assert_eq!(running.0.wait().expect("it ends").code(), Some(0));
}

#[cfg(unix)]
#[tokio::test]
async fn more_idle_connections_than_it_may_open_keep_nobody_out_and_are_told_of() {
    // A limit of its own, and not that of this process: other tests need their files meanwhile.
    let mut few = Command::new("sh");
    few.args(["-c", "ulimit -n 256; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_shared-inbox-mock")]);
    few.args(["--listen", "127.0.0.1:0", "--json", "--quiet"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut running, ready) = start_with(&mut few);
    let address = ready["console_url"].as_str().expect("an address").trim_start_matches("http://");
    let connect = || std::net::TcpStream::connect(address.trim_end_matches('/')).ok();
    let idle: Vec<_> = std::iter::from_fn(connect).take(400).collect();
    assert_eq!(idle.len(), 400);
    assert_eq!(ask(&ready, "GET", "/_mock/health", "", "").await.0, 200);
    assert_eq!(ask(&ready, "GET", "/api/v1/me", shared_inbox_mock::LIVE_KEY, "").await.0, 200);
    running.0.kill().expect("it ends");
    let mut log = String::new();
    running.0.stderr.take().expect("a pipe").read_to_string(&mut log).expect("text");
    assert!(log.contains("idle connection"), "{log}");
}

#[tokio::test]
async fn the_banner_shows_addresses_keys_and_a_command_to_try() {
    let mut running = RunningProgram(program().args(["--listen", "127.0.0.1:0"]).spawn().expect("it runs"));
    let mut banner = String::new();
    let mut lines = BufReader::new(running.0.stdout.take().expect("a pipe"));
    while !banner.contains("curl") {
        assert_ne!(lines.read_line(&mut banner).expect("a line"), 0, "{banner}");
    }
    for part in ["/api/v1", "/mcp", "/_mock", "rk_live_", "rk_test_"] {
        assert!(banner.contains(part), "{banner}");
    }
}

#[tokio::test]
async fn one_log_line_a_request_without_the_key_unless_it_is_quiet() {
    for quiet in [false, true] {
        let (mut running, ready) = start(if quiet { &["--empty", "--quiet"] } else { &["--empty"] });
        let (base_url, key) = (ready["base_url"].as_str().expect("an address"), shared_inbox_mock::LIVE_KEY);
        let url = format!("{base_url}/conversations?q=secret-word");
        requests().get(url).bearer_auth(key).send().await.expect("an answer");
        // A key where it does not belong.
        reqwest::get(format!("{base_url}/conversations/{key}")).await.expect("an answer");
        running.0.kill().expect("it ends");
        let mut log = String::new();
        running.0.stderr.take().expect("a pipe").read_to_string(&mut log).expect("text");
        if quiet {
            assert_eq!(log, "");
        } else {
            assert_eq!(log.lines().count(), 2, "{log}");
            assert!(log.starts_with("GET /api/v1/conversations 200 ") && log.contains("agt_"), "{log}");
            assert!(!log.contains(&key[8..]) && !log.contains("secret-word"), "{log}");
            assert!(log.contains("GET /api/v1/conversations/rk_(key) 401 "), "{log}");
        }
    }
}

#[test]
fn a_bad_flag_is_one_line_and_status_2() {
    assert_refused(&["--clock", "sundial"], &["--clock", "manual"]);
    assert_refused(&["--rate-limit", "many"], &["--rate-limit", "off"]);
    assert_refused(&["--memory-limit", "0"], &["--memory-limit", "MiB"]);
    assert_refused(&["--webhook-targets", "everywhere"], &["--webhook-targets", "loopback"]);
    assert_refused(&["--listen", "here"], &["--listen"]);
    assert_refused(&["--nonsense"], &["--nonsense"]);
    // With a tip where one is near.
    assert_refused(&["expore"], &["expore", "tip: ", "'explore'"]);
    assert_refused(&["--port", "4010"], &["--port", "tip: use --listen 127.0.0.1:PORT"]);
    assert_refused(&["--listen", "4010"], &["--listen", "tip: 127.0.0.1:4010"]);
    assert_refused(&["--rate-limt", "5"], &["--rate-limt", "tip: ", "'--rate-limit'"]);
    assert_refused(&["--seed"], &["--seed"]);
    assert_refused(&["--empty", "--seed", "x"], &["--empty", "--seed"]);
}

#[test]
fn an_address_that_others_can_reach_needs_a_control_token() {
    assert_refused(&["--listen", "0.0.0.0:0"], &["--control-token"]);
    assert_refused(&["--listen", "[::]:0"], &["--control-token"]);
}

#[test]
fn a_bad_seed_is_one_line_with_line_and_field_and_status_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let seed = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("written");
        file.to_str().expect("text").to_owned()
    };
    assert_refused(
        &["--seed", &seed("a.json", "{\n  \"workspace\": nonsense\n}")],
        &["a.json", "line 2", "workspace"],
    );
    let wrong = "{\n\"workspace\": {\"id\": \"wsp_1\", \"plan\": \"gold\"}}";
    assert_refused(&["--seed", &seed("b.json", wrong)], &["line 2", "workspace.plan", "gold"]);
    assert_refused(&["--seed", &seed("c.json", "{}")], &["mailboxes", "required"]);
    let missing = folder.path().join("none.json");
    assert_refused(&["--seed", missing.to_str().expect("text")], &["none.json"]);
}

#[tokio::test]
async fn a_seed_is_the_document_that_the_control_api_gives() {
    let first = shared_inbox_mock::MockServer::builder().manual_clock().start().await;
    let document = first.control().state().await.expect("a document");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("world.json");
    std::fs::write(&file, &document).expect("written");
    let (_running, ready) = start(&["--clock", "manual", "--seed", file.to_str().expect("text")]);
    let url = format!("{}/state", ready["control_url"].as_str().expect("an address"));
    let again = reqwest::get(url).await.expect("an answer").text().await.expect("text");
    assert_eq!(again, document);
}

#[test]
fn a_container_asks_the_program_itself_whether_it_is_well_and_needs_no_token() {
    let (running, ready) = start(&["--control-token", "secret"]);
    let url = ready["console_url"].as_str().expect("an address");
    let at = url.trim_start_matches("http://").trim_end_matches('/');
    let health = program().args(["health", at]).output().expect("it runs");
    assert!(health.status.success(), "{}", String::from_utf8_lossy(&health.stderr));
    drop(running);
    assert_refused(&["health", at], &[at, "does not respond"]);
    assert_refused(&["health", "nowhere"], &["ADDR", "must be an address and a port"]);
}

#[test]
fn help_and_version_end_with_status_0() {
    for flag in ["--help", "--version"] {
        let output = program().arg(flag).output().expect("it runs");
        assert!(output.status.success());
        assert!(!output.stdout.is_empty());
    }
}

/// The answer of a server that was started with these flags.
async fn ask(ready: &Value, method: &str, url: &str, token: &str, body: &str) -> (u16, Value) {
    static HTTP: std::sync::LazyLock<reqwest::Client> = std::sync::LazyLock::new(requests);
    let url = format!(
        "{}{url}",
        ready["base_url"].as_str().and_then(|it| it.strip_suffix("/api/v1")).expect("an address")
    );
    let request = HTTP.request(method.parse().expect("a method"), url).bearer_auth(token);
    let answer = request.body(body.to_owned()).send().await.expect("an answer");
    (answer.status().as_u16(), serde_json::from_str(&answer.text().await.expect("text")).unwrap_or_default())
}

#[tokio::test]
async fn every_flag_does_what_it_says() {
    let key = shared_inbox_mock::LIVE_KEY;
    let webhook = r#"{"url":"http://127.0.0.1:9/in","livemode":true,"scope":"team"}"#;
    let (_running, plain) = start(&[]);
    assert_eq!(ask(&plain, "GET", "/_mock/clock", "", "").await.1["mode"], "real");
    assert_eq!(ask(&plain, "POST", "/_mock/webhooks", "", webhook).await.0, 201);
    let open = ask(&plain, "GET", "/api/v1/conversations", key, "").await.1;
    assert!(open.as_array().is_some_and(|list| !list.is_empty()), "the demo workspace");

    let flags = "--empty --clock manual --start-at 2026-03-01T09:00:00Z --rate-limit 2 --webhook-targets public \
                 --control-token s3cret";
    let (_running, set) = start(&flags.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ask(&set, "GET", "/_mock/clock", "wrong", "").await.0, 401);
    let clock = ask(&set, "GET", "/_mock/clock", "s3cret", "").await.1;
    assert_eq!(clock, serde_json::json!({ "now": "2026-03-01T09:00:00.000Z", "mode": "manual" }));
    assert_eq!(ask(&set, "POST", "/_mock/webhooks", "s3cret", webhook).await.0, 400);
    assert_eq!(ask(&set, "GET", "/api/v1/conversations", key, "").await, (200, serde_json::json!([])));
    assert_eq!(ask(&set, "GET", "/api/v1/me", key, "").await.0, 200);
    assert_eq!(ask(&set, "GET", "/api/v1/me", key, "").await.0, 429);

    let (_running, free) = start(&["--empty", "--clock", "manual", "--rate-limit", "off"]);
    for _ in 0..121 {
        assert_eq!(ask(&free, "GET", "/api/v1/me", key, "").await.0, 200);
    }
}
