//! What a create costs and what becomes of lost responses, in virtual time: the figures are exact, and the
//! same on every machine.
//!
//!     cargo bench -p shared-inbox --bench creates
//!     strace -f -c -e trace=fsync,fdatasync cargo bench -p shared-inbox --bench creates -- once

#[path = "../tests/client/support/mod.rs"]
mod support;

use std::time::Duration;

use shared_inbox::{ClientBuilder, clock::Clock, create::Verification, once::FileStore};
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

/// CPU time of this process so far, in all threads, where the system tells.
fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let ticks = stat.split(' ').skip(13).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>();
    Some(Duration::from_millis(ticks * 10))
}

/// CPU time of a create, with and without a key. The service is in this process, and costs the same in both.
async fn print_once() {
    const ROUNDS: u32 = 2_000;
    let directory = tempfile::tempdir().expect("a directory");
    let mut took = Vec::new();
    for has_key in [false, true] {
        let service = Service::start().await;
        let store = FileStore::open(directory.path()).expect("a store");
        let client = service.builder().rate_limit(100_000).once_store(store).build().expect("a client");
        let thread = client.conversation(&conversation_id());
        let before = cpu_time();
        for n in 0..ROUNDS {
            let reply = thread.reply("It is on its way.");
            let reply = if has_key { reply.once(format!("order-{n}")).await } else { reply.await };
            reply.expect("a reply");
            service.state().lines.clear();
        }
        took.extend(cpu_time().zip(before).map(|(after, before)| (after - before) / ROUNDS));
    }
    let [plain, keyed] = took[..] else { return println!("this system does not tell the CPU time") };
    println!("CPU of a create, service included: {plain:.0?}; with a key in a directory: {keyed:.0?}");
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    if std::env::args().any(|argument| argument == "once") {
        return runtime.block_on(print_once());
    }
    let [by_default, read_first] =
        [Verification::ReadAfterLoss, Verification::ReadFirst].map(|way| runtime.block_on(in_a_minute(way)));
    println!("notes in a minute through one key (the limit leaves 110 requests to interactive calls)");
    println!("  one request each: {by_default}");
    println!("  with a read first: {read_first}");
    println!("  ratio: {:.2}", f64::from(by_default) / f64::from(read_first));
    runtime.block_on(print_losses());
    runtime.block_on(print_once());
}
