//! The key in the system's store: which key is taken, what is said without a store, and the Secret Service itself.

use std::{process::Stdio, sync::Once};

use keyring_core::{Entry, Error, mock};
use serde_json::json;
use shared_inbox_mcp::settings::{KeySource, ServiceAccess, delete_key, store_key, stored_key};
use tokio::{io::AsyncWriteExt, process::Command};

use crate::{
    fixture::{Answer, Client, Fixture, Older, Person, assert_done, assert_refused},
    program::out,
};

/// Puts keyring's own store in memory in the place of the system's, for the bridges of this process.
fn use_mock_store() {
    static SET: Once = Once::new();
    SET.call_once(|| keyring_core::set_default_store(mock::Store::new().unwrap()));
}

async fn start(fixture: &Fixture) -> Client {
    use_mock_store();
    let address = format!("--base-url={}", fixture.mock.base_url());
    fixture.start_over(None, &Person::who(Answer::No), Older, &[&address]).await
}

fn access(fixture: &Fixture) -> ServiceAccess {
    let mut access = ServiceAccess::default();
    access.base_url = Some(fixture.mock.base_url().to_owned());
    access
}

#[tokio::test]
async fn a_stored_key_works_and_one_that_is_replaced_works_in_the_next_call() {
    let fixture = Fixture::new().await;
    let client = start(&fixture).await;
    assert_refused(&client.call("list_tags", json!({})).await, "key set");

    let made = fixture
        .mock
        .control()
        .create_key(shared_inbox_mock::NewKey::live("Bridge", vec![shared_inbox::Scope::Read]));
    let made = made.await.unwrap();
    store_key(fixture.mock.base_url(), &made.key).unwrap();
    assert_done(&client.call("list_tags", json!({})).await);

    fixture.mock.control().revoke_key(made.agent_id.as_ref()).await.unwrap();
    assert_refused(&client.call("list_tags", json!({})).await, "key set");
    store_key(fixture.mock.base_url(), fixture.mock.live_key()).unwrap();
    assert_done(&client.call("list_tags", json!({})).await);
}

#[tokio::test]
async fn a_key_file_goes_before_the_store_and_each_service_has_its_own_key() {
    use_mock_store();
    let (folder, fixture, other) = (tempfile::tempdir().unwrap(), Fixture::new().await, Fixture::new().await);
    store_key(fixture.mock.base_url(), "stored").unwrap();
    let (key, source) = access(&fixture).find_key().unwrap();
    assert_eq!((key.as_str(), source), ("stored", KeySource::Store));
    assert!(access(&other).find_key().unwrap_err().contains("--api-key-file"));
    assert_eq!(stored_key(&format!("{}/", fixture.mock.base_url())).unwrap().as_deref(), Some("stored"));

    let file = folder.path().join("key");
    std::fs::write(&file, "in a file\n").unwrap();
    let mut named = access(&fixture);
    named.key_file = Some(file.clone());
    assert_eq!(named.find_key().unwrap(), ("in a file".to_owned(), KeySource::File(file)));

    assert!(delete_key(fixture.mock.base_url()).unwrap());
    assert!(!delete_key(fixture.mock.base_url()).unwrap());
    assert!(access(&fixture).find_key().is_err());
}

#[tokio::test]
async fn a_store_that_stays_locked_is_named_and_so_is_the_file_and_the_key_is_not() {
    let fixture = Fixture::new().await;
    let client = start(&fixture).await;
    store_key(fixture.mock.base_url(), fixture.mock.live_key()).unwrap();
    for error in
        [Error::NoStorageAccess("it is locked".into()), Error::BadEncoding(fixture.mock.live_key().into())]
    {
        let entry = Entry::new("shared-inbox-mcp", fixture.mock.base_url()).unwrap();
        entry.as_any().downcast_ref::<mock::Cred>().unwrap().set_error(error);
        let refused = client.call("list_tags", json!({})).await;
        for said in ["key store cannot be used", "--api-key-file"] {
            assert_refused(&refused, said);
        }
        assert!(!format!("{refused:?}").contains(fixture.mock.live_key()));
    }
    assert_done(&client.call("list_tags", json!({})).await);
}

/// The program without a key, and without a bus by which it could reach a store.
#[cfg(target_os = "linux")]
fn without_store(fixture: &Fixture) -> Command {
    let mut command = fixture.program();
    command.env_remove("SHARED_INBOX_API_KEY").env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus");
    command
}

/// Runs a command of the program with this text on its standard input: its status, and what it said.
async fn run(command: &mut Command, input: &str) -> (Option<i32>, String) {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // A program that refuses at once does not read.
    _ = child.stdin.take().unwrap().write_all(input.as_bytes()).await;
    let output = child.wait_with_output().await.unwrap();
    let (stdout, stderr) = out(&output);
    (output.status.code(), stdout + &stderr)
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn where_there_is_no_store_the_error_says_so_and_names_the_file() {
    let fixture = Fixture::new().await;
    for action in ["set", "show", "delete"] {
        let (status, said) =
            run(without_store(&fixture).args(["key", action]), fixture.mock.live_key()).await;
        assert_eq!(status, Some(2), "{action}: {said}");
        assert!(
            said.contains("key store cannot be used") && said.contains("--api-key-file"),
            "{action}: {said}"
        );
        assert!(!said.contains(fixture.mock.live_key()), "{action}: the key is repeated");
    }
    let (status, said) = run(without_store(&fixture).arg("doctor"), "").await;
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("key store cannot be used") && said.contains("--api-key-file"), "{said}");
    let (status, said) = run(without_store(&fixture).args(["config", "cursor"]), "").await;
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("<your API key"), "settings with a place for the key: {said}");

    let mut nowhere = without_store(&fixture);
    let (status, said) = run(nowhere.env_remove("SHARED_INBOX_BASE_URL").args(["key", "set"]), "x").await;
    assert!(status == Some(2) && said.contains("--base-url"), "{said}");
}

#[tokio::test]
async fn doctor_says_where_the_key_came_from_and_a_flag_goes_before_a_variable_with_the_key_and_that_before_its_file()
 {
    let (folder, fixture) = (tempfile::tempdir().unwrap(), Fixture::new().await);
    let file = folder.path().join("key");
    std::fs::write(&file, fixture.mock.live_key()).unwrap();
    let doctor = async |change: fn(&mut Command, &std::path::Path)| {
        let mut command = fixture.program();
        change(&mut command, &file);
        run(command.arg("doctor"), "").await.1
    };
    let named = format!("key: it comes from the file {}", file.display());
    let flag = doctor(|command, file| _ = command.arg("--api-key-file").arg(file)).await;
    assert!(flag.contains(&named), "{flag}");
    let both = doctor(|command, file| _ = command.env("SHARED_INBOX_API_KEY_FILE", file)).await;
    assert!(both.contains("key: it comes from the variable SHARED_INBOX_API_KEY"), "{both}");
    let alone = doctor(|command, file| {
        command.env("SHARED_INBOX_API_KEY_FILE", file).env_remove("SHARED_INBOX_API_KEY");
    });
    let alone = alone.await;
    assert!(alone.contains(&named), "{alone}");
}

#[cfg(all(feature = "keyring", target_os = "linux"))]
mod secret_service {
    use std::{
        io::{BufRead, BufReader, Write},
        path::PathBuf,
        process::{Child, ChildStdin},
    };

    use shared_inbox_tests::peers;

    use super::*;

    /// A session bus with an unlocked gnome-keyring on it. It ends with its input.
    struct Session {
        address: String,
        child: Child,
        input: Option<ChildStdin>,
        _home: tempfile::TempDir,
    }

    impl Session {
        fn start() -> Option<Self> {
            let root: PathBuf = peers::debian(&["gnome-keyring", "libgck-1-0", "libgcr-base-3-1"])?;
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
            let Ok(mut child) = spawned else { return peers::skip("there is no dbus-run-session") };
            let mut input = child.stdin.take().unwrap();
            writeln!(input, "a password").unwrap();
            let mut address = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
            let address = address.trim().to_owned();
            if address.is_empty() {
                return peers::skip("gnome-keyring does not start here");
            }
            Some(Self { address, child, input: Some(input), _home: home })
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
    #[ignore = "needs a Secret Service"]
    async fn the_secret_service_keeps_the_key_and_no_settings_hold_it() {
        let Some(session) = tokio::task::spawn_blocking(Session::start).await.unwrap() else { return };
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
        let (status, said) =
            ours(&["config", "cursor", "--write", "--file", file.to_str().unwrap()], "").await;
        assert!(status == Some(0) && said.contains("SHARED_INBOX_API_KEY was taken out"), "{said}");
        assert!(!std::fs::read_to_string(&file).unwrap().contains(key));

        let client =
            crate::fixture::connect(session.program(&fixture), &Person::who(Answer::No), Older).await;
        assert_done(&client.call("list_tags", json!({})).await);

        let (status, said) = ours(&["key", "delete"], "").await;
        assert!(status == Some(0) && said.contains("Deleted"), "{said}");
        let (status, said) = ours(&["key", "delete"], "").await;
        assert!(status == Some(2) && said.contains("no key is stored"), "{said}");
    }
}
