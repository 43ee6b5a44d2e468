//! The store in a directory: what it survives, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shared_inbox::once::FileStore;
use shared_inbox::{Certainty, Client, ErrorKind};

use crate::support::{Outcome, Service, conversation_id};

const TEXT: &str = "It is on its way.";

fn process(service: &Service, directory: &Path) -> Client {
    service.builder().once_store(FileStore::open(directory).unwrap()).build().unwrap()
}

async fn note(client: &Client) -> shared_inbox::Result<(bool, bool)> {
    let note = client.conversation(&conversation_id()).add_note(TEXT).once("key").await?;
    Ok((note.replayed(), note.recovered()))
}

/// The files of records and results.
fn files(directory: &Path, kind: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == kind)).collect()
}

/// A record whose process is gone: the response was lost, and so was every read.
async fn lost(service: &Service, directory: &Path) {
    let client = process(service, directory);
    client.conversation(&conversation_id()).get().await.unwrap();
    service.next_posts([Outcome::LostAfter]);
    service.next_gets([Outcome::Before(404)]);
    note(&client).await.unwrap_err();
    service.clear_faults();
}

#[tokio::test]
async fn another_process_finds_what_the_first_has_left() {
    let (service, directory) = (Service::start().await, tempfile::tempdir().unwrap());
    lost(&service, directory.path()).await;
    let client = process(&service, directory.path());
    assert_eq!(client.once_records().await.unwrap().len(), 1);
    assert_eq!(note(&client).await.unwrap(), (false, true));
    assert_eq!(note(&process(&service, directory.path())).await.unwrap(), (true, false));
    assert_eq!(service.stored(), 1);
}

#[tokio::test]
async fn the_lease_of_a_process_that_is_gone_ends_at_once() {
    let (service, directory) = (Service::start().await, tempfile::tempdir().unwrap());
    let client = process(&service, directory.path());
    service.next_posts([Outcome::Hangs]);
    let task = tokio::spawn(async move { note(&client).await });
    service.until_posts(1).await;
    let other = process(&service, directory.path());
    assert!(other.once_records().await.unwrap()[0].is_held());
    task.abort();
    _ = task.await;
    while other.once_records().await.unwrap()[0].is_held() {
        tokio::task::yield_now().await;
    }
    assert_eq!(note(&other).await.unwrap(), (false, true));
    assert_eq!(service.stored(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_lease_that_cannot_be_read_has_not_ended() {
    let (service, directory) = (Service::start().await, tempfile::tempdir().unwrap());
    let client = process(&service, directory.path());
    let alive = files(directory.path(), "process").remove(0);
    service.next_posts([Outcome::Hangs]);
    let task = tokio::spawn(async move { note(&client).await });
    service.until_posts(1).await;
    let other = process(&service, directory.path());
    // As if too many files were open: it is there, and opening it fails.
    let unreadable = |file: &Path| {
        fs::rename(file, file.with_extension("kept")).unwrap();
        std::os::unix::fs::symlink(file, file).unwrap();
    };
    unreadable(&alive);
    assert!(other.once_records().await.unwrap()[0].is_held(), "its process may be alive");
    unreadable(&files(directory.path(), "record")[0]);
    for error in [note(&other).await.unwrap_err(), other.once_records().await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::OnceStore);
    }
    assert_eq!(service.sent(), 1);
    task.abort();
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_user_can_read_it_and_a_purge_removes_the_text() {
    use std::os::unix::fs::PermissionsExt;
    let (service, home) = (Service::start().await, tempfile::tempdir().unwrap());
    let directory = home.path().join("store");
    let client = process(&service, &directory);
    note(&client).await.unwrap();
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    for file in fs::read_dir(&directory).unwrap().map(|file| file.unwrap()) {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
    let has_text = || {
        let mut files =
            fs::read_dir(&directory).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
        files.any(|file| file.contains(TEXT))
    };
    assert!(has_text());
    client.purge_once_records().await.unwrap();
    assert!(!has_text());
    assert_eq!(note(&client).await.unwrap(), (true, false));
}

#[tokio::test]
async fn a_result_that_a_crash_cut_short_is_looked_up_again() {
    let (service, directory) = (Service::start().await, tempfile::tempdir().unwrap());
    note(&process(&service, directory.path())).await.unwrap();
    let result = files(directory.path(), "result").remove(0);
    fs::write(&result, b"").unwrap();
    assert_eq!(note(&process(&service, directory.path())).await.unwrap(), (false, true));
    assert_eq!(service.stored(), 1);
}

#[tokio::test]
async fn a_damaged_record_is_a_clear_error_and_nothing_is_lost() {
    for damage in ["", "{", "[1]", "the record of another key"] {
        let (service, directory) = (Service::start().await, tempfile::tempdir().unwrap());
        lost(&service, directory.path()).await;
        let file = files(directory.path(), "record").remove(0);
        let other = fs::read_to_string(&file).unwrap().replace("\"key\":\"key\"", "\"key\":\"kex\"");
        let damage = if damage.starts_with("the") { &*other } else { damage };
        fs::write(&file, damage).unwrap();
        let client = process(&service, directory.path());
        for error in [note(&client).await.unwrap_err(), client.once_records().await.unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::OnceStore);
            assert!(error.to_string().contains("damaged") && !error.is_retryable(), "{error}");
        }
        assert_eq!(note(&client).await.unwrap_err().certainty(), Certainty::Unknown);
        client.purge_once_records().await.unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), damage, "it is left as it is");
        let thread = client.conversation(&conversation_id());
        thread.add_note("Another").once("another").await.unwrap();
        assert_eq!((service.stored(), service.sent()), (2, 2), "other keys go on");
    }
}

#[tokio::test]
async fn a_crash_that_takes_the_result_of_a_purged_record_leaves_it_to_a_person() {
    let (service, directory) = (Service::start().await, tempfile::tempdir().unwrap());
    let client = process(&service, directory.path());
    note(&client).await.unwrap();
    client.purge_once_records().await.unwrap();
    assert_eq!(note(&client).await.unwrap(), (true, false), "the result is there");
    fs::remove_file(files(directory.path(), "result").remove(0)).unwrap();
    let error = note(&process(&service, directory.path())).await.unwrap_err();
    assert!(error.to_string().contains("may have been sent"), "{error}");
    assert_eq!((service.stored(), error.certainty()), (1, Certainty::Unknown));
}

#[tokio::test]
async fn a_result_that_cannot_be_read_does_not_say_that_nothing_was_sent() {
    let (service, directory) = (Service::start().await, tempfile::tempdir().unwrap());
    let client = process(&service, directory.path());
    let thread = client.conversation(&conversation_id());
    thread.reply(TEXT).and_send().once("key").await.unwrap();
    let file = files(directory.path(), "result").remove(0);
    let result = fs::read_to_string(&file).unwrap();
    assert!(result.contains("\"messageId\""));
    fs::write(&file, result.replace("\"messageId\"", "\"id\"")).unwrap();
    let error = thread.reply(TEXT).and_send().once("key").await.unwrap_err();
    assert_eq!((error.kind(), error.certainty()), (ErrorKind::OnceStore, Certainty::Unknown));
    assert!(error.to_string().contains("it was created") && !error.is_retryable(), "{error}");
    assert_eq!(service.sent(), 1);
}

#[tokio::test]
async fn a_record_that_a_purge_was_emptying_when_the_machine_crashed_is_known_by_its_result() {
    let (service, directory) = (Service::start().await, tempfile::tempdir().unwrap());
    let client = process(&service, directory.path());
    note(&client).await.unwrap();
    fs::write(files(directory.path(), "record").remove(0), "").unwrap();
    client.purge_once_records().await.unwrap();
    assert_eq!(note(&client).await.unwrap(), (true, false));
    assert_eq!(client.once_records().await.unwrap().len(), 0);
}

#[test]
fn a_directory_of_another_version_or_with_other_files_is_refused() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("letters.txt"), "mine").unwrap();
    let error = FileStore::open(home.path()).unwrap_err().to_string();
    assert!(error.contains("other files"), "{error}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "nothing was written");
    let store = home.path().join("store");
    drop(FileStore::open(&store).unwrap());
    fs::write(store.join("version"), "shared-inbox once 7\n").unwrap();
    let error = FileStore::open(&store).unwrap_err().to_string();
    assert!(error.contains("another version") && error.contains("once 7"), "{error}");
    let error = FileStore::open(home.path().join("letters.txt")).unwrap_err().to_string();
    assert!(error.contains("letters.txt"), "{error}");
}

#[tokio::test]
async fn what_is_over_is_removed_by_itself_now_and_then() {
    let (service, directory) = (Service::start().await, tempfile::tempdir().unwrap());
    let store = FileStore::open(directory.path()).unwrap();
    let client =
        service.builder().once_store(store).once_retention(Duration::ZERO).rate_limit(1_000).build().unwrap();
    let thread = client.conversation(&conversation_id());
    for n in 0..64 {
        thread.add_note(TEXT).once(format!("key {n}")).await.unwrap();
    }
    assert!(files(directory.path(), "result").is_empty() && files(directory.path(), "record").is_empty());
}

#[test]
fn processes_that_open_a_new_directory_at_the_same_time_do_not_take_it_for_something_else() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..100 {
        let directory = folder.path().join(number.to_string());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| drop(FileStore::open(&directory).unwrap()));
            }
        });
    }
}
