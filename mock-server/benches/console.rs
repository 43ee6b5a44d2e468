//! What the console costs: bytes in the binary, and the time to its first list with ten conversations and with ten
//! thousand, side by side in one browser.
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
    let files = std::fs::read_dir(home.join("console")).expect("a folder").map_while(Result::ok);
    let files = files.filter(|file| file.file_name() != "jsconfig.json");
    let bytes: u64 = files.map(|file| file.metadata().map_or(0, |about| about.len())).sum();
    println!("embedded: {:.1} KB", bytes as f64 / 1_000.0);

    let Some(browser) = peers::browser() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (few, many) = runtime.block_on(async { (world(10).await, world(10_000).await) });
    let urls = [&few, &many].map(|mock| mock.ready().console_url.clone()).join(" ");
    let mut script = browser.script(&home.join("benches/console.mjs"));
    let output = script.env("CONSOLE_URLS", urls).output().expect("Node starts");
    let took: [f64; 2] = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    println!("first list with     10 conversations: {:6.1} ms", took[0]);
    println!(
        "first list with 10,000 conversations: {:6.1} ms, {:.2} times as long",
        took[1],
        took[1] / took[0]
    );
}

async fn world(conversations: usize) -> MockServer {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let address = mock.control().mailboxes().await.expect("inboxes")[0].address.clone();
    for i in 0..conversations {
        let from = format!("customer{i}@customer.example");
        let mail = InboundMail::new(&address, from, "It flickers since Monday.").subject(format!("Lamp {i}"));
        mock.control().inbound(mail).await.expect("it is taken");
    }
    mock
}
