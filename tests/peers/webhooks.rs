//! Cross-checks with the public Standard Webhooks libraries, in both directions: ours signs and theirs
//! verifies, theirs signs and ours verifies.
//!
//! The Python and JavaScript libraries are installed into the build directory, in the versions named here.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use shared_inbox_tests::peers;
use shared_inbox_webhooks::{Secret, SignedHeaders, Signer, Verifier};

const PYTHON: &str = r#"
import json, sys
from datetime import datetime, timezone
from standardwebhooks import Webhook

def run(case):
    hook = Webhook(case["secret"])
    if "signature" not in case:
        return hook.sign(case["id"], datetime.fromtimestamp(case["timestamp"], tz=timezone.utc), case["body"])
    headers = {"webhook-id": case["id"], "webhook-timestamp": str(case["timestamp"]), "webhook-signature": case["signature"]}
    try:
        hook.verify(case["body"], headers)
        return "accepted"
    except Exception as error:
        return type(error).__name__

sys.stdin.reconfigure(encoding="utf-8")
print(json.dumps([run(case) for case in json.load(sys.stdin)]))
"#;

const JAVASCRIPT: &str = r#"
const { Webhook } = require("standardwebhooks");
const run = (c) => {
  const hook = new Webhook(c.secret);
  if (c.signature === undefined) return hook.sign(c.id, new Date(c.timestamp * 1000), c.body);
  const headers = { "webhook-id": c.id, "webhook-timestamp": String(c.timestamp), "webhook-signature": c.signature };
  try { hook.verify(c.body, headers); return "accepted"; } catch (error) { return error.constructor.name; }
};
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(run)));
"#;

/// Something that signs and verifies the cases it is given: see [`PYTHON`].
type Peer<'a> = &'a dyn Fn(&[Value]) -> Vec<String>;

#[test]
fn the_python_library_agrees() {
    let program = peers::python(&["standardwebhooks==1.1.0"]);
    cross_check(&|cases| {
        let mut python = Command::new(&program);
        python.arg("-c").arg(PYTHON);
        ask(python, cases)
    });
}

#[test]
fn the_javascript_library_agrees() {
    let modules = peers::npm(&["standardwebhooks@1.1.1"]);
    cross_check(&|cases| {
        let mut node = Command::new("node");
        node.arg("-e").arg(JAVASCRIPT).env("NODE_PATH", &modules);
        ask(node, cases)
    });
}

#[test]
fn the_rust_library_agrees() {
    cross_check(&|cases| {
        let run = |case: &Value| {
            let text = |name: &str| case[name].as_str().unwrap();
            let timestamp = case["timestamp"].as_i64().unwrap();
            let hook = standardwebhooks::Webhook::new(text("secret")).unwrap();
            if case.get("signature").is_none() {
                return hook.sign(text("id"), timestamp, text("body").as_bytes()).unwrap();
            }
            let mut headers = http::HeaderMap::new();
            headers.insert("webhook-id", text("id").parse().unwrap());
            headers.insert("webhook-timestamp", timestamp.into());
            headers.insert("webhook-signature", text("signature").parse().unwrap());
            match hook.verify(text("body").as_bytes(), &headers) {
                Ok(()) => "accepted".to_owned(),
                Err(error) => error.to_string(),
            }
        };
        cases.iter().map(run).collect()
    });
}

fn cross_check(peer: Peer<'_>) {
    theirs_verifies_what_ours_signs(peer);
    ours_verifies_what_theirs_signs(peer);
    both_reject_what_was_changed(peer);
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn secrets() -> Vec<Secret> {
    let public = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"];
    let sizes = [25, 32, 63, 64].map(|size| Secret::from_bytes(&vec![0xfb; size]).unwrap());
    public.iter().map(|text| Secret::parse(text).unwrap()).chain(sizes).collect()
}

fn bodies() -> Vec<String> {
    let mut bodies = vec![
        "{}".to_owned(),
        r#"{"id":"evt_1","type":"webhook.test"}"#.to_owned(),
        r#"{ "spaces" : [ 1 , 2 ] }"#.to_owned(),
        "{\n\t\"lines\": \"\\n\"\r\n}\n".to_owned(),
        "{\"text\":\"Zoë, 東京, 🙂, \u{2028}, \\u0000\"}".to_owned(),
        "[1.7000000000000001]".to_owned(),
    ];
    // Around the borders of the hash's blocks, and a large one.
    bodies.extend(
        (50..130).step_by(13).chain([20_000]).map(|size| format!("{{\"x\":\"{}\"}}", "x".repeat(size))),
    );
    bodies
}

fn case(secret: &Secret, headers: &SignedHeaders, body: &str) -> Value {
    let timestamp: u64 = headers.timestamp.parse().unwrap();
    json!({
        "secret": &**secret.reveal(), "id": headers.id, "timestamp": timestamp, "signature": headers.signature, "body": body
    })
}

fn theirs_verifies_what_ours_signs(peer: Peer<'_>) {
    let mut cases = Vec::new();
    for secret in secrets() {
        for body in bodies() {
            let headers = Signer::new([secret.clone()]).sign("evt_01h8", now(), body.as_bytes());
            cases.push(case(&secret, &headers, &body));
        }
    }
    // During a rotation there are two signatures, and either secret's owner accepts.
    let (old, new) = (secrets().remove(0), secrets().remove(1));
    let both = Signer::new([new.clone(), old.clone()]).sign("evt_2", now(), b"{}");
    cases.extend([case(&old, &both, "{}"), case(&new, &both, "{}")]);
    for (case, answer) in cases.iter().zip(peer(&cases)) {
        assert_eq!(answer, "accepted", "{case}");
    }
}

fn ours_verifies_what_theirs_signs(peer: Peer<'_>) {
    let mut cases = Vec::new();
    let secrets = secrets();
    for secret in &secrets {
        for body in bodies() {
            cases.push(
                json!({"secret": &**secret.reveal(), "id": "evt_01h8", "timestamp": now(), "body": body}),
            );
        }
    }
    let verifier = Verifier::new(secrets.clone());
    for (case, signature) in cases.iter().zip(peer(&cases)) {
        let timestamp = case["timestamp"].to_string();
        let headers = ("evt_01h8", timestamp.as_str(), signature.as_str());
        let verified = verifier.verify(headers, case["body"].as_str().unwrap().as_bytes()).unwrap();
        assert_eq!(
            *secrets[verified.matched_signature().secret()].reveal(),
            case["secret"].as_str().unwrap()
        );
    }
}

fn both_reject_what_was_changed(peer: Peer<'_>) {
    let secret = secrets().remove(0);
    let sign = |timestamp| Signer::new([secret.clone()]).sign("evt_1", timestamp, b"{}");
    let good = sign(now());
    let changed = |change: &dyn Fn(&mut SignedHeaders)| {
        let mut headers = good.clone();
        change(&mut headers);
        headers
    };
    let requests = [
        (good.clone(), "{ }"),
        (changed(&|headers| headers.id = "evt_2".to_owned()), "{}"),
        (changed(&|headers| headers.timestamp = (now() - 5).to_string()), "{}"),
        (changed(&|headers| headers.signature = "v1,".to_owned()), "{}"),
        (changed(&|headers| headers.signature = headers.signature.replacen("v1,", "v2,", 1)), "{}"),
        (changed(&|headers| headers.signature.truncate(20)), "{}"),
        (Signer::new([secrets().remove(1)]).sign("evt_1", now(), b"{}"), "{}"),
        // Signed anew for the changed timestamp, or they would prove nothing.
        (sign(now() - 330), "{}"),
        (sign(now() + 330), "{}"),
    ];
    let cases: Vec<_> = requests.iter().map(|(headers, body)| case(&secret, headers, body)).collect();
    let verifier = Verifier::new([secret.clone()]);
    for ((headers, body), answer) in requests.iter().zip(peer(&cases)) {
        assert_ne!(answer, "accepted", "{headers:?}");
        assert!(verifier.verify(headers, body.as_bytes()).is_err(), "{headers:?}");
    }
}

fn ask(mut program: Command, cases: &[Value]) -> Vec<String> {
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = serde_json::to_vec(cases).unwrap();
    let writer = std::thread::spawn(move || input.write_all(&text));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let answers: Vec<String> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), cases.len());
    answers
}
