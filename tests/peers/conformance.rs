//! The MCP conformance suite of the protocol's own maintainers against the mock's `/mcp` and against the
//! bridge, in the protocol with `initialize` and in the one without. `docs/conformance.md` lists every
//! scenario, and why some do not apply.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use serde_json::Value;
use shared_inbox_mcp::{Bridge, settings::Settings};
use shared_inbox_mock::MockServer;
use shared_inbox_tests::peers;
use tokio::net::TcpListener;

const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";

/// Every scenario for servers, and what becomes of it.
const LIST: &str = include_str!("../../docs/conformance.md");

/// The rows of the list: the scenario, and whether it passes with the mock and with the bridge.
fn rows() -> Vec<(&'static str, [bool; 2])> {
    let rows = LIST.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    rows.map(|row| {
        let cells: Vec<_> = row.split(" | ").collect();
        let [scenario, mock, bridge] = cells[..] else { panic!("three cells in {row}") };
        assert!(!mock.is_empty() && !bridge.is_empty(), "a reason in {row}");
        (scenario.trim_end_matches('`'), [mock, bridge].map(|cell| cell == "passes"))
    })
    .collect()
}

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

/// The suite, and the Node to run it with.
#[derive(Clone)]
struct Suite {
    node: PathBuf,
    script: PathBuf,
}

fn suite() -> Suite {
    let script = peers::npm(&[SUITE]).join("@modelcontextprotocol/conformance/dist/index.js");
    Suite { node: peers::node22(), script }
}

impl Suite {
    /// Runs what passes with one of the two servers.
    async fn run(&self, name: &str, url: &str, passes: impl Fn(&[bool; 2]) -> bool) {
        let results = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance").join(name);
        _ = fs::remove_dir_all(&results);
        for (scenario, _) in rows().into_iter().filter(|(_, row)| passes(row)) {
            let results = results.join(scenario);
            let mut suite = Command::new(&self.node);
            suite
                .arg(&self.script)
                .args(["server", "--url", url, "--scenario", scenario, "-o"])
                .arg(&results);
            let ended = tokio::task::spawn_blocking(move || suite.output());
            let ended = ended.await.expect("it is waited for").expect("the suite runs");
            let checks = checks(&results);
            let with = |status: &'static str| checks.iter().filter(move |check| check["status"] == status);
            let wrong: Vec<_> = with("FAILURE").filter(|check| !is_about_its_own_tools(check)).collect();
            assert!(wrong.is_empty(), "{name} {scenario}: {wrong:#?}");
            assert!(
                with("SUCCESS").count() > 0,
                "{name} {scenario}: {}",
                String::from_utf8_lossy(&ended.stderr)
            );
        }
    }
}

#[test]
fn every_scenario_of_the_suite_is_in_the_list() {
    let suite = suite();
    let output = Command::new(&suite.node).arg(&suite.script).arg("list").output().expect("the suite runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let servers = said.lines().skip_while(|line| !line.starts_with("Server scenarios")).skip(1);
    let known: BTreeSet<_> = servers
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.trim().strip_prefix("- ")?.split_whitespace().next().map(str::to_owned))
        .collect();
    let listed: BTreeSet<_> = rows().into_iter().map(|(scenario, _)| scenario.to_owned()).collect();
    assert!(known.len() > 50, "{said}");
    assert_eq!(listed, known);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_suite_finds_nothing_wrong_with_the_mock() {
    let suite = suite();
    let mock = MockServer::builder().manual_clock().no_rate_limit().start().await;
    let mut proxy = Command::new(&suite.node);
    proxy.args(["-e", PROXY, mock.mcp_url(), mock.live_key()]).stdout(Stdio::piped());
    let mut proxy = Proxy(proxy.spawn().expect("the proxy starts"));
    let mut port = String::new();
    let said = proxy.0.stdout.take().expect("its stdout");
    BufReader::new(said).read_line(&mut port).expect("the proxy says its port");
    suite.run("mock", &format!("http://localhost:{}/mcp", port.trim()), |[mock, _]| *mock).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_suite_finds_nothing_wrong_with_the_bridge() {
    let suite = suite();
    let mock = MockServer::builder().manual_clock().no_rate_limit().start().await;
    let bridge = Arc::new(Bridge::new(Settings::with_client(mock.client())));
    let config =
        StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
    let service = StreamableHttpService::new(
        move || Ok(bridge.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://localhost:{}/mcp", listener.local_addr().expect("its address").port());
    let router = axum::Router::new().nest_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, router).await });
    suite.run("bridge", &url, |[_, bridge]| *bridge).await;
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
