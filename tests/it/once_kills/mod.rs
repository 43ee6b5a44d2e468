//! Processes that share a directory and are killed: each create is there once.

mod kills;

use kills::file_store;

/// `ONCE_KILLS=200` kills more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_is_made_once_although_its_process_is_killed_at_any_point() {
    let home = tempfile::tempdir().expect("a directory");
    let store = home.path().join("once").to_string_lossy().into_owned();
    kills::one_item_each(file_store, &store, &shared_inbox_tests::example("killed_create"), kills::count())
        .await;
}
