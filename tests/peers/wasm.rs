//! Verifier, events and replay guard inside WebAssembly, without a clock of its own, run by Node.

use std::path::{Path, PathBuf};
use std::process::Command;

use shared_inbox_tests::peers;
use shared_inbox_webhooks::{Secret, Signer};

const TARGET: &str = "wasm32-unknown-unknown";
const NOW: u64 = 1_700_000_000;

const JAVASCRIPT: &str = r#"
const [module, calls] = [process.argv[1], JSON.parse(process.argv[2])];
WebAssembly.instantiate(require("fs").readFileSync(module)).then(({ instance: { exports } }) => {
  const answers = calls.map(([name, request, milliseconds]) => {
    const bytes = new TextEncoder().encode(request);
    new Uint8Array(exports.memory.buffer, exports.input(), bytes.length).set(bytes);
    return exports[name](bytes.length, milliseconds);
  });
  console.log(JSON.stringify(answers));
});
"#;

/// The module, built.
fn module() -> PathBuf {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let library =
        Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output().unwrap();
    let is_installed = Path::new(String::from_utf8_lossy(&library.stdout).trim()).is_dir();
    assert!(is_installed, "the target {TARGET} is not installed: rustup target add {TARGET}");
    // In the build's own directory, where the macros that it needs have been built already.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "-p", "shared-inbox-wasm", "--target", TARGET, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo is there");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join(TARGET).join("debug/shared_inbox_wasm.wasm")
}

#[test]
fn a_worker_verifies_reads_and_guards_by_the_hosts_clock() {
    let (module, node) = (module(), peers::node22());
    let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let request = |id: &str, at: u64, body: &str| {
        let headers = Signer::new([secret.clone()]).sign(id, at, body.as_bytes());
        format!("{}\n{}\n{}\n{body}", headers.id, headers.timestamp, headers.signature)
    };
    let good = request("evt_1", NOW, r#"{"id":"evt_1","type":"moon.rose","created_at":7}"#);
    let milliseconds = NOW * 1000;
    let day_later = milliseconds + 30 * 60 * 60 * 1000;
    let calls = serde_json::json!([
        ["receive_without_clock", good, 0],
        ["guard_without_clock", good, milliseconds],
        ["receive", good, milliseconds],
        ["receive", good, milliseconds + 60_000],
        ["receive", good.replace("moon", "noon"), milliseconds],
        ["receive", good, milliseconds + 301_000],
        ["receive", request("evt_2", NOW, "{"), milliseconds],
        ["receive", request("evt_1", NOW + 30 * 60 * 60, r#"{"id":"evt_1"}"#), day_later],
    ]);
    let out = Command::new(node)
        .args(["-e", JAVASCRIPT, "--"])
        .arg(module)
        .arg(calls.to_string())
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let answers: Vec<u32> = serde_json::from_slice(&out.stdout).unwrap();
    // No trap without a clock; once, then remembered; forged; too old; no JSON; forgotten after the
    // retention.
    assert_eq!(answers, [500, 503, 200, 208, 401, 401, 400, 200]);
}
