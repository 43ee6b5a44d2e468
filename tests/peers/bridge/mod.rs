//! The bridge on a desktop: clients of others, a browser, another user, a key store, a slow disk.

#[path = "../../../mcp-bridge/tests/it/browser.rs"]
#[allow(dead_code, reason = "the bridge's own tests use the rest")]
mod browser;
mod clients;
#[path = "../../../mcp-bridge/tests/it/fixture.rs"]
#[allow(dead_code, reason = "the bridge's own tests use the rest")]
mod fixture;
#[path = "../../../mcp-bridge/tests/it/inert/judges.rs"]
#[allow(dead_code, reason = "the bridge's own tests use the rest")]
mod judges;
mod models;
mod page_in_browser;
mod registry;
mod schemas;
mod second_user;
mod secret_service;
mod slow_disk;
mod tokens;
#[path = "../../../mcp-bridge/tests/it/window.rs"]
#[allow(dead_code, reason = "the bridge's own tests use the rest")]
mod window;

/// Installs a peer; the test fails where it cannot be had.
async fn installed<T: Send + 'static>(install: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(install).await.expect("it installs")
}
