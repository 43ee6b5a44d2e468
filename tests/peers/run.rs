//! Runs programs as a newcomer would.
#![forbid(unsafe_code)]

use std::{
    env,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use shared_inbox_tests::peers::skip;

/// The root of the workspace, where a newcomer stands.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the package lies two folders below")
        .to_owned()
}

/// A program that knows nothing of an inbox or a terminal in this environment.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for name in ["SHARED_INBOX_BASE_URL", "SHARED_INBOX_API_KEY", "SHARED_INBOX_WEBHOOK_SECRET"] {
        command.env_remove(name);
    }
    command
}

/// One of the examples.
pub fn example(name: &str) -> Command {
    command(built(&["--example", name], name))
}

/// A program of the workspace.
pub fn program(name: &str) -> PathBuf {
    built(&["--bin", name, "--example", "triage"], name)
}

/// Whether `cargo run` and `cargo build` find this example or program from the root, without being told where it is or
/// what to turn on.
pub fn found_from_the_root(kind: &str, name: &str) -> bool {
    let said = cargo().args(["metadata", "--no-deps", "--offline", "--format-version=1"]).output();
    let all: Value = serde_json::from_slice(&said.expect("cargo runs").stdout).expect("cargo writes JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let default = list(&all["workspace_default_members"]);
    let members = list(&all["packages"]).into_iter().filter(|package| default.contains(&package["id"]));
    let mut targets = members.flat_map(|package| list(&package["targets"]));
    targets.any(|it| it["name"] == name && it["kind"] == json!([kind]) && it["required-features"].is_null())
}

/// The cargo that runs this test.
pub fn cargo() -> Command {
    let mut cargo = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_package(&mut cargo);
    cargo
}

/// Takes away what cargo told this test of its package. The build script of `ring` looks at these variables: with others than
/// before, it and everything behind it would be built again, here and in the next `cargo test`.
pub fn forget_package(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
}

/// Has cargo build something, which may take minutes where it has not been built yet. Gives what cargo says.
///
/// With `--workspace` and an example, cargo chooses the same features as for the tests, and finds everything built already.
fn build(what: &[&str]) -> String {
    let chosen =
        if what.iter().any(|name| WITH_FEATURES.contains(name)) { FEATURED } else { &["--workspace"] };
    let cargo = cargo().args(["build", "--message-format=json"]).args(chosen).args(what).output();
    let cargo = cargo.expect("cargo runs");
    assert!(cargo.status.success(), "cargo build {what:?}\n{}", text(&cargo.stderr));
    text(&cargo.stdout)
}

/// Examples that need a store's driver or actix-web.
const WITH_FEATURES: [&str; 3] = ["receiver_fleet", "worker_fleet", "webhook_actix"];

/// The packages that the tests with such features are built from, in `.ci/all-tests`.
const FEATURED: &[&str] = &[
    "-p",
    "shared-inbox",
    "-p",
    "shared-inbox-webhooks",
    "-p",
    "shared-inbox-store-tests",
    "-p",
    "shared-inbox-examples",
    "--all-features",
];

/// Builds it, and says where it is.
fn built(what: &[&str], name: &str) -> PathBuf {
    let messages = build(what);
    let mut executables = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        (message["target"]["name"] == name).then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    executables.next_back().unwrap_or_else(|| panic!("cargo did not say where {name} is"))
}

/// The target whose programs are static, where its standard library can be had.
pub fn static_target() -> Option<String> {
    static TARGET: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        // Where there is no rustup, the standard library may have come in another way.
        _ = Command::new("rustup").args(["target", "add", &target]).output();
        let print = ["--print", "target-libdir", "--target", &target];
        let library = text(&output(Command::new("rustc").args(print)).stdout);
        Path::new(library.trim()).is_dir().then_some(target)
    };
    TARGET.get_or_init(find).clone()
}

/// The variable that names the C compiler for a target.
pub fn c_compiler_of(target: &str) -> String {
    format!("CC_{}", target.replace('-', "_"))
}

/// Runs a program to its end, and gives what it wrote. It must succeed within two minutes.
pub fn finish(command: &mut Command) -> String {
    let output = output(command);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}\n{out}\n{err}", output.status);
    out
}

/// Runs a program to its end, however it ends.
pub fn output(command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let (done, waiting) = mpsc::channel();
    let id = child.id();
    thread::spawn(move || done.send(child.wait_with_output()));
    match waiting.recv_timeout(Duration::from_secs(120)) {
        Ok(output) => output.expect("its output can be read"),
        Err(_) => panic!("{command:?} (process {id}) does not come to an end"),
    }
}

/// Whether there is a Python; says so where there is none.
pub fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    found || skip("there is no Python").unwrap_or(false)
}

/// Runs Python tests that start the mock's program.
pub fn python(script: &str) {
    if !has_python() {
        return;
    }
    // -B: leaves no compiled files in the source tree.
    let ended = output(
        command("python3").args(["-B", script]).env("SHARED_INBOX_MOCK", program("shared-inbox-mock")),
    );
    let said = text(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("Ran 4 tests"), "{said}");
}

/// What a server on this machine answers, head and body; by hand, since this crate has no HTTP client.
pub fn get(url: &str, key: &str) -> String {
    let (host, path) = url.strip_prefix("http://").and_then(|it| it.split_once('/')).expect("a plain URL");
    let mut server = TcpStream::connect(host).expect("it listens");
    let head = format!("Host: {host}\r\nAuthorization: Bearer {key}\r\nConnection: close");
    write!(server, "GET /{path} HTTP/1.1\r\n{head}\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    server.read_to_string(&mut answer).expect("it answers");
    answer
}

/// Returns what a program wrote.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program writes UTF-8")
}
