//! What a create costs and what becomes of lost responses, in virtual time: the figures are exact, and the same on every
//! machine.
//!
//!     cargo bench -p shared-inbox --bench creates

#[path = "../tests/client/support/mod.rs"]
mod support;

use std::time::Duration;

use shared_inbox::{ClientBuilder, clock::Clock, create::Verification};
use support::losses::{LOSSES, measure};
use support::{Kind, Service, conversation_id};

const CREATES: u32 = 200;

/// How many notes a minute one key can write.
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

async fn print_losses() {
    let read_first: fn(ClientBuilder) -> ClientBuilder =
        |builder| builder.verification(Verification::ReadFirst);
    println!(
        "lost responses, {CREATES} each: recovered, duplicates, false words, median until it is known after the loss"
    );
    for loss in &LOSSES {
        for kind in [Kind::Note, Kind::Draft, Kind::Request] {
            let by_default = measure(loss, kind, CREATES, |builder| builder).await;
            let reading = measure(loss, kind, CREATES, read_first).await;
            println!(
                "  {:<33} {:<8} default: {:>3} of {CREATES}, {}, {}, {:>4} ms   read first: {:>3} of {CREATES}",
                loss.name,
                format!("{kind:?}"),
                by_default.recovered,
                by_default.duplicates,
                by_default.false_words,
                by_default.median().as_millis(),
                reading.recovered,
            );
        }
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let [by_default, read_first] =
        [Verification::ReadBack, Verification::ReadFirst].map(|way| runtime.block_on(in_a_minute(way)));
    println!("notes in a minute through one key (the limit leaves 110 requests to interactive calls)");
    println!("  one request each: {by_default}");
    println!("  with a read first: {read_first}");
    println!("  ratio: {:.2}", f64::from(by_default) / f64::from(read_first));
    runtime.block_on(print_losses());
}
