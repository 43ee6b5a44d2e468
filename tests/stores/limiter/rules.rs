//! The rules of every limiter, in a store and in real time, in which a minute is six seconds.

#[macro_use]
#[path = "../../../stores/tests/suite/limiter.rs"]
mod suite;

use std::{sync::Arc, time::Duration};

use shared_inbox_tests::stores;

use super::process;

async fn in_a_store(limit: u32) -> suite::Case {
    let (store, minute) = (stores::valkey(), Duration::from_secs(6));
    let builder = || process(store.url(), Duration::from_secs(5)).limit(limit).window(minute);
    assert!(builder().declare_unused(None).await.unwrap());
    let limiter = Arc::new(builder().await.unwrap());
    let other = Arc::new(builder().await.unwrap());
    suite::Case { limiter, other, minute, _keep: Some(Box::new(store)) }
}

rules!(tokio::test, suite, in_a_store);
