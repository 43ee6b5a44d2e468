//! Processes that share a directory and are killed: each create is there once.
//!
//! `ONCE_KILLS=200 cargo test -p shared-inbox-tests --test once_kills` kills more. The program without the
//! test harness is also the process that is killed.
#![cfg_attr(not(unix), allow(unused))]

#[cfg(unix)]
mod kills;

#[cfg(unix)]
fn main() {
    use std::{env, sync::Arc};

    use shared_inbox::{
        clock::BoxFuture,
        once::{FileStore, OnceStore},
    };

    fn open(path: String) -> BoxFuture<'static, Arc<dyn OnceStore>> {
        Box::pin(async move { Arc::new(FileStore::open(path).expect("a store")) as Arc<dyn OnceStore> })
    }

    if env::var_os("ONCE_POINT").is_some() {
        return kills::worker(open);
    }
    if env::args().any(|argument| argument == "--list") {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let store = home.path().join("once").to_string_lossy().into_owned();
    let program = env::current_exe().expect("this program");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(kills::one_item_each(open, &store, &program, kills::count()));
    println!("test a_create_is_made_once_although_its_process_is_killed_at_any_point ... ok");
}

#[cfg(not(unix))]
fn main() {}
