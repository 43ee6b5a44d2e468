//! The key in the Secret Service of a Linux desktop.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Stdio},
};

use serde_json::json;
use shared_inbox_tests::peers;
use tokio::process::Command;

use super::fixture::{Answer, Fixture, Older, Person, assert_done, assert_says, connect, run};

/// A session bus with an unlocked gnome-keyring on it. It ends with its input.
struct Session {
    address: String,
    child: Child,
    input: Option<ChildStdin>,
    _home: tempfile::TempDir,
}

impl Session {
    fn start() -> Self {
        let root = peers::debian(&["gnome-keyring", "libgck-1-0", "libgcr-base-3-1"]);
        let home = tempfile::tempdir().unwrap();
        let libraries = format!("{0}/usr/lib/{1}-linux-gnu", root.display(), std::env::consts::ARCH);
        let path = format!("{}/usr/bin:/usr/bin:/bin", root.display());
        let script = "head -n 1 | tr -d '\\n' | gnome-keyring-daemon --unlock --components=secrets >/dev/null && \
                      echo \"$DBUS_SESSION_BUS_ADDRESS\" && cat >/dev/null";
        let mut command = std::process::Command::new("dbus-run-session");
        command.args(["--", "sh", "-c", script]).env("PATH", path).env("LD_LIBRARY_PATH", libraries);
        for name in ["HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
            command.env(name, home.path());
        }
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.expect("dbus-run-session is installed: the package dbus");
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "a password").unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        assert!(!address.is_empty(), "gnome-keyring does not start here");
        Self { address, child, input: Some(input), _home: home }
    }

    /// The program without a key, on this bus.
    fn program(&self, fixture: &Fixture) -> Command {
        let mut command = fixture.program();
        command.env_remove("SHARED_INBOX_API_KEY").env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        command
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        _ = self.child.wait();
    }
}

#[tokio::test]
async fn the_secret_service_keeps_the_key_and_no_settings_hold_it() {
    let session = tokio::task::spawn_blocking(Session::start).await.unwrap();
    let fixture = Fixture::new().await;
    let key = fixture.mock.live_key();
    let ours = async |arguments: &[&str], input: &str| {
        let (status, said) = run(session.program(&fixture).args(arguments), input).await;
        assert!(!said.contains(key), "{arguments:?}: the key is shown");
        (status, said)
    };
    let (status, said) = ours(&["key", "show"], "").await;
    assert!(status == Some(2) && said.contains("no key is stored"), "{said}");
    for malformed in ["", "nonsense"] {
        let (status, said) = ours(&["key", "set"], malformed).await;
        assert_eq!(status, Some(2), "{malformed}: {said}");
    }
    let (status, said) = ours(&["key", "set"], &format!("{key}\n")).await;
    assert!(status == Some(0) && said.contains("Stored a live key"), "{said}");
    let (status, said) = ours(&["key", "show"], "").await;
    assert!(status == Some(0) && said.contains("a live key (SHA-256 "), "{said}");

    let (status, said) = ours(&["doctor"], "").await;
    assert!(status == Some(0) && said.contains("key: it comes from this system's key store"), "{said}");
    for client in ["claude-desktop", "cursor", "zed", "codex", "copilot-cli", "vscode", "claude-code"] {
        let (status, said) = ours(&["config", client], "").await;
        assert!(
            status == Some(0) && !said.contains("API_KEY") && !said.contains("API key"),
            "{client}: {said}"
        );
        assert!(said.contains(fixture.mock.base_url()), "{client}: {said}");
    }
    // What an older entry held in plain text is taken out.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let old = json!({ "mcpServers": { "shared-inbox": { "command": "x", "args": [], "env": { "SHARED_INBOX_API_KEY": key } } } });
    std::fs::write(&file, old.to_string()).unwrap();
    let (status, said) = ours(&["config", "cursor", "--write", "--file", file.to_str().unwrap()], "").await;
    assert!(status == Some(0) && said.contains("SHARED_INBOX_API_KEY was taken out"), "{said}");
    assert!(!std::fs::read_to_string(&file).unwrap().contains(key));

    let client = connect(session.program(&fixture), &Person::who(Answer::No), Older).await;
    assert_done(&client.call("list_tags", json!({})).await);

    let (status, said) = ours(&["key", "delete"], "").await;
    assert!(status == Some(0) && said.contains("Deleted"), "{said}");
    let (status, said) = ours(&["key", "delete"], "").await;
    assert!(status == Some(2) && said.contains("no key is stored"), "{said}");
}

#[tokio::test]
async fn without_a_secret_service_the_error_says_so_names_the_file_and_repeats_no_key() {
    let fixture = Fixture::new().await;
    let key = fixture.mock.live_key();
    for (arguments, code) in
        [(&["key", "set"][..], 2), (&["key", "show"], 2), (&["key", "delete"], 2), (&["doctor"], 1)]
    {
        let mut command = fixture.program();
        command.env_remove("SHARED_INBOX_API_KEY").env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus");
        let (status, said) = run(command.args(arguments), key).await;
        assert_eq!(status, Some(code), "{arguments:?}: {said}");
        assert_says(&said, &["key store cannot be used", "--api-key-file"]);
        assert!(!said.contains(key), "{arguments:?}: the key is repeated");
    }
}
