//! A process that connects to a store by its own view of which certificates to trust.

use shared_inbox_stores::{Redis, StoreError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StoreError> {
    let url = std::env::args().nth(1).expect("the address of a store");
    Redis::builder(url).timeout(std::time::Duration::from_secs(5)).connect().await.map(drop)
}
