//! The page at `/`: where everything is and what to try first, for a person with a browser.

use bytes::Bytes;
use http::{HeaderValue, Response, header};

use crate::ready::Ready;

/// The page of the main world. It shows the two keys, which are the same at every start and worth nothing elsewhere.
pub(crate) fn page(ready: &Ready) -> Response<Bytes> {
    let Ready { base_url, mcp_url, control_url, keys, .. } = ready;
    let text = format!(
        r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>shared-inbox-mock</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }}
pre {{ background: #8882; padding: .75rem; overflow-x: auto }}</style>
<h1>shared-inbox-mock</h1>
<p>The whole service in memory.</p>
<dl>
<dt>REST API</dt><dd><code>{base_url}</code> (its OpenAPI description is at <code>/openapi.json</code> behind it)</dd>
<dt>MCP</dt><dd><code>{mcp_url}</code></dd>
<dt>Control API</dt><dd><code>{control_url}</code></dd>
<dt>Live key</dt><dd><code>{live}</code></dd>
<dt>Test key</dt><dd><code>{test}</code></dd>
</dl>
<h2>First commands</h2>
<pre>curl -H 'Authorization: Bearer {live}' '{base_url}/conversations?limit=3'
curl -H 'Authorization: Bearer {live}' '{base_url}/mailboxes'
curl '{control_url}/requests'
curl -X POST '{control_url}/clock' -d '{{"advanceSeconds": 600}}'
curl -X POST '{control_url}/reset'</pre>
</html>
"#,
        live = keys.live,
        test = keys.test,
    );
    let mut response = Response::new(Bytes::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}
