//! What the console costs: bytes in the binary, the time to its first list with ten conversations and with
//! ten thousand, side by side in one browser, and the longest task in a minute beside an app that makes fifty
//! calls a second.
//!
//! `cargo bench -p shared-inbox-mock --bench console`

use std::path::Path;

use shared_inbox_mock::{InboundMail, MockServer};
use shared_inbox_tests::peers;

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let browser = peers::browser();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (few, many) = runtime.block_on(async { (world(10).await, world(10_000).await) });
    let urls = [&few, &many].map(|mock| mock.ready().console_url.clone()).join(" ");
    let mut script = browser.script(&home.join("benches/console.mjs"));
    let output = script.env("CONSOLE_URLS", urls).output().expect("Node starts");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let took = [&found["first"][0], &found["first"][1]].map(number);
    println!("embedded: {:.1} KB", number(&found["embedded"]) / 1_000.0);
    println!("first list with     10 conversations: {:6.1} ms", took[0]);
    println!(
        "first list with 10,000 conversations: {:6.1} ms, {:.2} times as long",
        took[1],
        took[1] / took[0]
    );
    println!(
        "longest task while {:.0} calls were shown in 60 s: {:.0} ms (0: none over 50 ms)",
        number(&found["calls"]),
        number(&found["longest"])
    );
}

async fn world(conversations: usize) -> MockServer {
    let mock = MockServer::builder().manual_clock().empty().no_rate_limit().start().await;
    let address = mock.control().mailboxes().await.expect("inboxes")[0].address.clone();
    for i in 0..conversations {
        let from = format!("customer{i}@customer.example");
        let mail = InboundMail::new(&address, from, "It flickers since Monday.").subject(format!("Lamp {i}"));
        mock.control().inbound(mail).await.expect("it is taken");
    }
    mock
}
