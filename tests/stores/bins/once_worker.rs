//! A process that makes one create under a key, and is killed on the way.

#[path = "../../it/once_kills/kills.rs"]
mod kills;
#[allow(dead_code)]
#[path = "../support.rs"]
mod support;

use std::sync::Arc;

use shared_inbox::{clock::BoxFuture, once::OnceStore};

fn open(url: String) -> BoxFuture<'static, Arc<dyn OnceStore>> {
    Box::pin(async move {
        if url.starts_with("redis") {
            return Arc::new(support::redis(url).await.once_keys()) as Arc<dyn OnceStore>;
        }
        Arc::new(support::postgres(&url).await.once_keys())
    })
}

fn main() {
    kills::worker(open);
}
