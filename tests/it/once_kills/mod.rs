//! Processes that share a directory and are killed: each create is there once.

mod kills;

use std::sync::Arc;

use shared_inbox::{
    clock::BoxFuture,
    once::{FileStore, OnceStore},
};

fn open(path: String) -> BoxFuture<'static, Arc<dyn OnceStore>> {
    Box::pin(async move { Arc::new(FileStore::open(path).expect("a store")) as Arc<dyn OnceStore> })
}

#[test]
#[ignore = "a process that another test starts"]
fn a_worker() {
    kills::worker(open);
}

/// `ONCE_KILLS=200 cargo test -p shared-inbox-tests --test it kills -- --nocapture` kills more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_is_made_once_although_its_process_is_killed_at_any_point() {
    let home = tempfile::tempdir().expect("a directory");
    let store = home.path().join("once").to_string_lossy().into_owned();
    kills::one_item_each(open, &store, "once_kills::a_worker", kills::count()).await;
}
