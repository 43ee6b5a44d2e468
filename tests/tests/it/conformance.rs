//! The MCP conformance suite of the protocol's own maintainers against the mock's `/mcp`: the scenarios that need no tools,
//! prompts or resources of the suite's own, in the protocol with `initialize` and in the one without.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;

const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";

const SCENARIOS: &[&str] = &[
    "server-initialize",
    "ping",
    "tools-list",
    "dns-rebinding-protection",
    "http-header-validation",
    "server-stateless",
];

/// The suite has no key to send, so this adds one. A foreign `Host` or `Origin` is passed on as it is.
const PROXY: &str = r#"
const http = require("http");
const [target, key] = process.argv.slice(1);
const to = new URL(target);
const ours = (text) => text.replace(/(localhost|127\.0\.0\.1):\d+$/, to.host);
const server = http.createServer((asked, answer) => {
  const headers = { ...asked.headers, authorization: `Bearer ${key}`, host: ours(asked.headers.host) };
  if (headers.origin) headers.origin = ours(headers.origin);
  const request = { host: to.hostname, port: to.port, path: asked.url, method: asked.method, headers };
  const passed = http.request(request, (got) => { answer.writeHead(got.statusCode, got.headers); got.pipe(answer); });
  passed.on("error", (error) => { answer.writeHead(502); answer.end(String(error)); });
  asked.pipe(passed);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"#;

struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_suite_of_the_protocols_maintainers_finds_nothing_wrong() {
    let Some(node) = peers::node22() else { return };
    let Some(modules) = peers::npm(&[SUITE]) else { return };
    let mock = MockServer::builder().manual_clock().no_rate_limit().start().await;
    let mut proxy = Command::new(&node);
    proxy.args(["-e", PROXY, mock.mcp_url(), mock.live_key()]).stdout(Stdio::piped());
    let mut proxy = Proxy(proxy.spawn().expect("the proxy starts"));
    let mut port = String::new();
    let said = proxy.0.stdout.take().expect("its stdout");
    BufReader::new(said).read_line(&mut port).expect("the proxy says its port");
    let url = format!("http://localhost:{}/mcp", port.trim());

    let results = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance");
    _ = fs::remove_dir_all(&results);
    for scenario in SCENARIOS {
        let results = results.join(scenario);
        let mut suite = Command::new(&node);
        suite.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        suite.args(["server", "--url", &url, "--scenario", scenario, "-o"]).arg(&results);
        let ended = tokio::task::spawn_blocking(move || suite.output());
        let ended = ended.await.expect("it is waited for").expect("the suite runs");
        let checks = checks(&results);
        let with = |status: &'static str| checks.iter().filter(move |check| check["status"] == status);
        let wrong: Vec<_> = with("FAILURE").filter(|check| !is_about_its_own_tools(check)).collect();
        assert!(wrong.is_empty(), "{scenario}: {wrong:#?}");
        assert!(with("SUCCESS").count() > 0, "{scenario}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

/// What a scenario has found.
fn checks(results: &Path) -> Vec<Value> {
    let runs = fs::read_dir(results).expect("the suite writes down what it found");
    let files = runs.map(|run| run.expect("a folder").path().join("checks.json"));
    let read =
        |file| serde_json::from_slice::<Vec<Value>>(&fs::read(file).expect("its checks")).expect("a list");
    files.flat_map(read).collect()
}

/// Some checks need a tool that only a server built for the suite has, and say so.
fn is_about_its_own_tools(check: &Value) -> bool {
    check["errorMessage"].as_str().is_some_and(|message| message.starts_with("Not testable"))
}
