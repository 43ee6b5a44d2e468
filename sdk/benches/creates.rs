//! How many notes a minute one key can write, beside a client that reads the conversation before each. In virtual time: the
//! figures are exact, and the same on every machine.

#[path = "../tests/client/support/mod.rs"]
mod support;

use std::time::Duration;

use shared_inbox::{Clock, Verification};
use support::{Service, conversation_id};

async fn in_a_minute(verification: Verification) -> u32 {
    let service = Service::start().await;
    let client = service.builder().verification(verification).build().expect("a client");
    let thread = client.conversation(&conversation_id());
    let end = service.clock.now() + Duration::from_secs(60);
    let mut made = 0;
    loop {
        let left = end.saturating_duration_since(service.clock.now());
        if thread.add_note(format!("Note {made}")).deadline(left).await.is_err() {
            return made;
        }
        made += 1;
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let [now, read_first] =
        [Verification::ReadBack, Verification::ReadFirst].map(|way| runtime.block_on(in_a_minute(way)));
    println!("notes in a minute through one key (the limit leaves 110 requests to interactive calls)");
    println!("  one request each: {now}");
    println!("  with a read first: {read_first}");
    println!("  ratio: {:.2}", f64::from(now) / f64::from(read_first));
}
