//! The key in the system's store: which key is taken, and what is said without a store.

use std::sync::Once;

use keyring_core::{Entry, Error, mock};
use serde_json::json;
use shared_inbox_mcp::settings::{KeySource, ServiceAccess, delete_key, store_key, stored_key};
use tokio::process::Command;

use crate::fixture::{
    Answer, Client, Fixture, Older, Person, assert_done, assert_refused, assert_says, is_error, run, text,
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

    let reading = shared_inbox_mock::NewKey::live("Bridge", vec![shared_inbox::Scope::Read]);
    let made = fixture.mock.control().create_key(reading).await.unwrap();
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
        assert!(is_error(&refused));
        assert_says(text(&refused), &["key store cannot be used", "--api-key-file"]);
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

#[tokio::test]
#[cfg(target_os = "linux")]
async fn where_there_is_no_store_the_error_says_so_and_names_the_file() {
    let fixture = Fixture::new().await;
    let key = fixture.mock.live_key();
    for (command, code) in
        [(&["key", "set"][..], 2), (&["key", "show"], 2), (&["key", "delete"], 2), (&["doctor"], 1)]
    {
        let (status, said) = run(without_store(&fixture).args(command), key).await;
        assert_eq!(status, Some(code), "{command:?}: {said}");
        assert_says(&said, &["key store cannot be used", "--api-key-file"]);
        assert!(!said.contains(key), "{command:?}: the key is repeated");
    }
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
    let named = format!("key: it comes from the file {}", file.display());
    for (is_flag, has_key, expected) in [
        (true, true, &*named),
        (false, true, "key: it comes from the variable SHARED_INBOX_API_KEY"),
        (false, false, &named),
    ] {
        let mut command = fixture.program();
        if is_flag {
            command.arg("--api-key-file").arg(&file);
        } else {
            command.env("SHARED_INBOX_API_KEY_FILE", &file);
        }
        if !has_key {
            command.env_remove("SHARED_INBOX_API_KEY");
        }
        assert_says(&run(command.arg("doctor"), "").await.1, &[expected]);
    }
}
