//! A process that makes one create under a key, and is killed on the way.

#[path = "../../tests/once_kills/kills.rs"]
mod kills;

use std::sync::Arc;

use shared_inbox::{clock::BoxFuture, once::OnceStore};
use shared_inbox_stores::{Postgres, Redis};

fn open(url: String) -> BoxFuture<'static, Arc<dyn OnceStore>> {
    Box::pin(async move {
        if url.starts_with("redis") {
            return Arc::new(Redis::connect(url).await.expect("a store").once_keys()) as Arc<dyn OnceStore>;
        }
        Arc::new(Postgres::connect(&url).await.expect("a store").once_keys())
    })
}

fn main() {
    kills::worker(open);
}
