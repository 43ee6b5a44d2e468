//! What a text costs a model, by the tokenizer `o200k_base`.

use std::process::Stdio;

use serde_json::json;
use shared_inbox_tests::peers;
use tokio::{io::AsyncWriteExt, process::Command};

const SCRIPT: &str = r#"
import { createRequire } from 'node:module';
const { encode } = createRequire(`${process.argv[1]}/`)('gpt-tokenizer/encoding/o200k_base');
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const texts = JSON.parse(Buffer.concat(chunks).toString());
console.log(JSON.stringify(texts.map((text) => encode(text).length)));
"#;

/// The tokens of each text. `None`: they cannot be counted here, and a line on stderr says why.
pub(crate) async fn tokens<const N: usize>(texts: [String; N]) -> Option<[usize; N]> {
    let modules = tokio::task::spawn_blocking(|| peers::npm(&["gpt-tokenizer@4.0.0"])).await.unwrap()?;
    let mut node = Command::new("node")
        .args(["--input-type=module", "-e", SCRIPT])
        .arg(modules)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    node.stdin.take().unwrap().write_all(json!(texts.as_slice()).to_string().as_bytes()).await.unwrap();
    let output = node.wait_with_output().await.unwrap();
    let counts: Vec<usize> = serde_json::from_slice(&output.stdout).expect("counts from the tokenizer");
    Some(counts.try_into().expect("a count for each text"))
}
