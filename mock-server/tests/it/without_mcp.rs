//! A build without the feature `mcp`: what `cargo test -p shared-inbox-mock` tests. With `--workspace` the
//! feature is on.

use serde_json::json;

use crate::kit::Kit;

#[tokio::test]
async fn the_mcp_endpoint_says_that_it_was_left_out() {
    let kit = Kit::start().await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let request = kit.http().post(kit.mock.mcp_url()).bearer_auth(kit.mock.live_key()).json(&call);
    let error = kit.ask(request).await.error(404);
    assert!(error.contains("feature `mcp`"), "{error}");
}
