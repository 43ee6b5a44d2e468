//! What the suite says when it cannot run: one line, status 2, and nothing half-created without a word about
//! it.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::{Value, json};
use shared_inbox_mock::{MockServer, NewKey};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// The proxy of the suite's own tests, of which these need a part.
#[allow(dead_code)]
#[path = "../../../conform/tests/conform/proxy.rs"]
mod proxy;

use proxy::{Changes, Proxy, ProxyRequest, Route};

const KEY: &str = "rk_test_000000000000000000000000000000000000000000000000";

/// Runs the program in another thread, so that servers of the test can answer it.
async fn program(arguments: &[&str], key: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"));
    command.arg("conform").args(arguments).stdin(Stdio::null());
    command.env_remove("SHARED_INBOX_API_KEY").env_remove("SHARED_INBOX_CONTROL_TOKEN");
    if let Some(key) = key {
        command.env("SHARED_INBOX_API_KEY", key);
    }
    tokio::task::spawn_blocking(move || command.output().expect("it runs")).await.expect("it ends")
}

/// That the program could not run, and that its one line has these words and no key.
async fn refused(arguments: &[&str], key: Option<&str>, words: &[&str]) {
    let output = program(arguments, key).await;
    let (said, plan) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}{plan}");
    assert_eq!(
        said.trim_end().lines().filter(|it| !it.starts_with("warning")).count(),
        1,
        "one line: {said}"
    );
    for word in words {
        assert!(said.contains(word), "{said} should say {word}");
    }
    assert!(key.is_none_or(|key| !said.contains(key) && !plan.contains(key)), "no key in {said}{plan}");
}

/// A server that answers every connection with this, or with nothing when it is empty.
async fn saying(answer: &'static str) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/api/v1", listener.local_addr().expect("an address"));
    let requests = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    (url, requests)
}

#[tokio::test]
async fn what_is_no_such_service_is_said_in_one_line_after_one_request() {
    let html = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 13\r\nconnection: close\r\n\r\n<html></html>";
    let redirect = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let throttled = "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: 21\r\nconnection: close\r\n\r\n{\"error\":\"Slow down\"}";
    let other = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\nconnection: close\r\n\r\n{\"hello\":\"you\"}";
    for (answer, words) in [
        (html, "text/html"),
        (redirect, "redirect"),
        (throttled, "429"),
        (other, "describes no agent"),
        ("", "closed"),
        ("nonsense\r\n\r\n", "closed"),
    ] {
        let (url, requests) = saying(answer).await;
        refused(&["--base-url", &url], Some(KEY), &[words]).await;
        assert_eq!(requests.load(Ordering::Relaxed), 1, "{words}");
    }
    refused(&["--base-url", "http://127.0.0.1:1/api/v1"], Some(KEY), &["no connection"]).await;
}

#[tokio::test]
async fn a_wrong_argument_is_named() {
    let base = ["--base-url", "http://127.0.0.1:1/api/v1"];
    refused(&base, None, &["--key-file", "SHARED_INBOX_API_KEY"]).await;
    refused(&[], Some(KEY), &["--base-url"]).await;
    refused(&["--base-url", "localhost"], Some(KEY), &["--base-url"]).await;
    refused(&["--base-url", "ftp://localhost/api/v1"], Some(KEY), &["--base-url", "http"]).await;
    for (flags, key, named) in [
        (&["--only", "notes.body.most"][..], Some(KEY), "--only notes.body.most"),
        (&["--skip", "4.99"], Some(KEY), "--skip 4.99"),
        (&["--only", "4.4", "--skip", "4"], Some(KEY), "no rule"),
        (&["--budget", "0"], Some(KEY), "--budget"),
        (&["--key-file", "/nowhere/key"], None, "--key-file /nowhere/key"),
        (&["--json", "/nowhere/report"], Some(KEY), "--json /nowhere/report"),
    ] {
        refused(&[&base, flags].concat(), key, &[named]).await;
    }
}

#[tokio::test]
async fn a_key_that_must_not_be_used_is_refused_with_no_request_but_one() {
    let mock = MockServer::start().await;
    let proxy = Proxy::start(mock.base_url()).await;
    let url = proxy.base_url();
    refused(&["--base-url", &url], Some(mock.live_key()), &["live key", "--read-only"]).await;
    refused(&["--base-url", &url], Some(KEY), &["401"]).await;
    let none = mock.control().create_key(NewKey::test("None", [])).await.expect("a key");
    refused(&["--base-url", &url], Some(&none.key), &["read"]).await;
    let me = |change: fn(&mut Value)| Changes {
        after: Some(Arc::new(move |request, response| {
            if request.is("GET /me") {
                let mut json = response.json();
                change(&mut json);
                response.set_json(&json);
            }
        })),
        ..Changes::default()
    };
    proxy.change(me(|it| it["livemode"] = json!(true)));
    refused(&["--base-url", &url], Some(mock.test_key()), &["livemode: true"]).await;
    refused(&["--base-url", &url, "--read-only"], Some(mock.test_key()), &["livemode: true"]).await;
    proxy.change(me(|it| drop(it.as_object_mut().map(|it| it.remove("livemode")))));
    refused(&["--base-url", &url], Some(mock.test_key()), &["livemode"]).await;
    proxy.change(me(|it| it["scopes"] = json!(["write"])));
    refused(&["--base-url", &url], Some(mock.test_key()), &["`read`"]).await;
    let seen = proxy.seen();
    assert!(seen.iter().all(|(_, path)| path == "/api/v1/me"), "{seen:?}");
    assert_eq!(seen.len(), 6, "one for each but the live key, which needs none");
}

#[tokio::test]
async fn a_key_without_a_scope_leaves_out_its_rules_and_warns() {
    let mock = MockServer::builder().manual_clock().no_rate_limit().start().await;
    let new = NewKey::test("Reader", [shared_inbox::Scope::Read]);
    let key = mock.control().create_key(new).await.expect("a key");
    let proxy = Proxy::start(mock.base_url()).await;
    for control in [true, false] {
        proxy.change(if control { Changes::default() } else { without_control() });
        let sections = ["--only", "1", "--only", "2", "--only", "4.4"];
        let output =
            program(&[&["--base-url", &proxy.base_url()], &sections[..]].concat(), Some(&key.key)).await;
        let (said, report) =
            (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        assert_eq!(output.status.code(), Some(0), "{said}{report}");
        assert!(said.contains("warning") && said.contains("`write`"), "{said}");
        assert!(report.contains("the key lacks the scope `write`"), "{report}");
    }
    let wrote =
        mock.control().requests().await.iter().filter(|it| it.method == "POST" && it.path != "/mcp").count();
    assert_eq!(wrote, 0, "nothing was written with a key that may not");
}

/// As if there were no control API.
fn without_control() -> Changes {
    let before = |request: &mut ProxyRequest| match request.path.starts_with("/_mock") {
        true => Route::respond(404, &json!({ "error": "Nothing here." })),
        false => Route::Forward,
    };
    Changes { before: Some(Arc::new(before)), ..Changes::default() }
}

#[tokio::test]
async fn reports_are_written_and_compared() {
    let mock = MockServer::start().await;
    let proxy = Proxy::start(mock.base_url()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let mut key = std::fs::File::create(file("key")).expect("a file");
    writeln!(key, "{}", mock.test_key()).expect("written");
    let run = async |json: &str, junit: &str| {
        let url = proxy.base_url();
        let (key, reports) = (file("key"), ["--json", json, "--junit", junit]);
        let arguments = [&["--base-url", &url, "--key-file", &key, "--only", "4.4"], &reports[..]].concat();
        let output = program(&arguments, None).await;
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (status, said) = run(&file("old.json"), &file("old.xml")).await;
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("rules to try") && said.contains("conforms"), "{said}");
    let (status, _) = run(&file("same.json"), &file("same.xml")).await;
    assert_eq!(status, Some(0));
    proxy.change(Changes {
        after: Some(Arc::new(|request, response| {
            if request.is("POST /conversations/*/notes") && response.status == 201 {
                response.status = 200;
            }
        })),
        ..Changes::default()
    });
    let (status, said) = run(&file("new.json"), &file("new.xml")).await;
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("DIFFERS  notes.status  (4.4)") && said.contains("expected  201"), "{said}");

    let report: Value =
        serde_json::from_slice(&std::fs::read(file("new.json")).expect("a report")).expect("JSON");
    assert_eq!((&report["verdict"], &report["baseUrl"]), (&json!("differs"), &json!(proxy.base_url())));
    let rules = report["rules"].as_array().expect("rules");
    let rule = rules.iter().find(|it| it["id"] == "notes.status").expect("there");
    assert_eq!(
        (&rule["section"], &rule["kind"], &rule["result"]),
        (&json!("4.4"), &json!("demanded"), &json!("differs"))
    );
    assert!(rule["request"].as_str().is_some_and(|it| it.starts_with("POST /conversations/cnv_")), "{rule}");
    let xml = std::fs::read_to_string(file("new.xml")).expect("a report");
    assert!(xml.contains(r#"failures="1""#) && xml.contains(r#"<failure message="expected 201"#), "{xml}");
    assert!(!xml.contains(mock.test_key()) && !report.to_string().contains(mock.test_key()));

    let compare = async |one: &str, other: &str| {
        let output = program(&["diff", &file(one), &file(other)], None).await;
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(compare("old.json", "same.json").await.0, Some(0));
    let (status, said) = compare("old.json", "new.json").await;
    assert_eq!(status, Some(1));
    assert!(
        said.contains("notes.status") && said.contains("old  holds") && said.contains("new  differs"),
        "{said}"
    );
    assert_eq!(compare("old.json", "key").await.0, Some(2));
    assert_eq!(compare("none.json", "old.json").await.0, Some(2));
}

#[tokio::test]
async fn two_reports_to_one_file_are_refused_before_anything_runs() {
    let mock = MockServer::start().await;
    let proxy = Proxy::start(mock.base_url()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    std::fs::write(file("key"), mock.test_key()).expect("written");
    std::fs::create_dir(file("below")).expect("a folder");
    let (report, detour) = (file("report"), file("below/../report"));
    for (flags, said) in [
        (["--json", &report, "--junit", &report], "--junit "),
        (["--junit", &report, "--html", &detour], "--html "),
        (["--json", "-", "--markdown", "-"], "--markdown -: --json writes there already"),
    ] {
        let (url, key) = (proxy.base_url(), file("key"));
        let arguments = [&["--base-url", &url, "--key-file", &key, "--only", "4.4"], &flags[..]].concat();
        let output = program(&arguments, None).await;
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said) && error.contains(" writes there already"), "{error}");
        assert!(!std::path::Path::new(&report).exists(), "{flags:?}: nothing is left behind");
    }
    assert_eq!(proxy.seen().len(), 0, "nothing was asked");
    let arguments = ["--base-url", &proxy.base_url(), "--key-file", &file("key"), "--only", "notes.status"];
    let several = ["--json", "/dev/null", "--junit", "/dev/null"];
    if cfg!(unix) {
        assert_eq!(program(&[&arguments[..], &several].concat(), None).await.status.code(), Some(0));
    }
}

/// The call that adds webhooks is out of order.
fn without_webhooks() -> Changes {
    let before = |request: &mut ProxyRequest| match request.is("POST /_mock/worlds/*/webhooks") {
        true => Route::respond(500, &json!({ "error": "Out of order." })),
        false => Route::Forward,
    };
    Changes { before: Some(Arc::new(before)), ..Changes::default() }
}

#[tokio::test]
async fn each_verdict_has_its_status_and_leaves_its_report() {
    let mock = MockServer::start().await;
    let proxy = Proxy::start(mock.base_url()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (json, xml, page) = (file("report.json"), file("report.xml"), file("report.html"));
    let url = proxy.base_url();
    let run = async |flags: &[&str]| {
        let rules = ["--base-url", &url, "--only", "notes.status", "--only", "secret.form"];
        let files = ["--json", &json, "--junit", &xml, "--html", &page];
        let output = program(&[&rules[..], &files, flags].concat(), Some(mock.test_key())).await;
        let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("a report")).expect("JSON");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), report, said)
    };
    let (status, report, said) = run(&[]).await;
    assert_eq!((status, &report["verdict"]), (Some(0), &json!("conforms")), "{said}");
    assert_eq!(
        (&report["tried"], &report["notTried"]),
        (&json!(2), &json!({ "bySettings": 0, "failed": 0 }))
    );
    assert!(said.trim_end().lines().last().is_some_and(|line| line.contains("2 of 2 rules tried")), "{said}");

    proxy.change(without_webhooks());
    let (status, report, said) = run(&[]).await;
    assert_eq!((status, &report["verdict"]), (Some(2), &json!("incomplete")), "{said}");
    assert_eq!(
        (&report["tried"], &report["notTried"]),
        (&json!(1), &json!({ "bySettings": 0, "failed": 1 }))
    );
    let last = said.trim_end().lines().last().unwrap_or_default();
    assert!(
        last.contains("1 of 2 rules tried; 1 not: the control API answered 500 to POST /webhooks"),
        "{said}"
    );
    let junit = std::fs::read_to_string(&xml).expect("a report");
    assert!(junit.contains("<error message=\"the control API answered 500"), "{junit}");
    let html = std::fs::read_to_string(&page).expect("a page");
    assert!(html.contains(r#""verdict":"incomplete""#) && !html.contains(mock.test_key()), "{html}");
    assert_eq!(run(&["--max-not-tried", "1"]).await.0, Some(0));

    let after = |request: &ProxyRequest, response: &mut proxy::ProxyResponse| {
        if request.is("POST /conversations/*/notes") {
            response.status = 200;
        }
    };
    proxy.change(Changes { after: Some(Arc::new(after)), ..without_webhooks() });
    let (status, report, said) = run(&[]).await;
    assert_eq!((status, &report["verdict"]), (Some(1), &json!("differs")), "{said}");
}

#[tokio::test]
async fn markdown_on_stdout_stands_alone_there() {
    let mock = MockServer::start().await;
    let arguments = ["--base-url", mock.base_url(), "--only", "4.4", "--markdown", "-"];
    let output = program(&arguments, Some(mock.test_key())).await;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("## ✅ conform: `conforms`") && said.contains("rules tried"), "{said}");
    assert!(!said.contains("rules to try"), "{said}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("rules to try"));
}

#[tokio::test]
async fn the_list_names_profiles_rules_and_calls_without_a_service() {
    let output = program(&["--list", "--profile", "webhooks"], None).await;
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for words in ["profile ", "webhooks ", "secret.form  (6.1)", "needs control: POST /webhooks"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("notes.status"), "{said}");
    let output = program(&["--list", "--json", "-"], None).await;
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(list["profiles"].as_array().map(Vec::len), Some(4));
    assert!(list["rules"].as_array().is_some_and(|rules| rules.len() > 700));
    refused(&["--list", "--profile", "everything"], None, &["everything", "webhooks"]).await;
}
