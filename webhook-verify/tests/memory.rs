//! What is taken from memory: nothing to verify a request, and no more than its capacity by a guard.
//!
//! A program of its own with one thread: the counter is the whole process's allocator.

use std::alloc::System;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, UNIX_EPOCH};

use shared_inbox_webhooks::replay::{Claim, ClaimStatus, Delivery, MemoryGuard, ReplayGuard};
use shared_inbox_webhooks::{RawHeaders, Secret, Signer, Verifier};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const NOW: u64 = 1_700_000_000;
const TESTS: [(&str, fn()); 3] = [
    ("verification_allocates_nothing", verification_allocates_nothing),
    ("a_guard_takes_no_more_than_its_capacity", a_guard_takes_no_more_than_its_capacity),
    ("endless_failures_take_no_memory", endless_failures_take_no_memory),
];

/// Speaks with those who run tests: `--list` names them, a name chooses one.
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let chosen: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    for (name, test) in TESTS {
        if given("--ignored") || !(chosen.is_empty() || chosen.iter().any(|part| name.contains(*part))) {
            continue;
        }
        if given("--list") {
            println!("{name}: test");
        } else {
            test();
            println!("test {name} ... ok");
        }
    }
}

fn verification_allocates_nothing() {
    let secrets = || [[1; 24], [2; 24], [3; 24]].map(|bytes| Secret::from_bytes(&bytes).unwrap());
    let verifier = Verifier::new(secrets()).clock(|| UNIX_EPOCH + Duration::from_secs(NOW));
    let body = vec![b'x'; 100_000];
    let [_, _, last] = secrets();
    let good = Signer::new([last.clone()]).sign("evt_1", NOW, &body);
    let foreign = Signer::new([Secret::from_bytes(&[9; 32]).unwrap()]).sign("evt_1", NOW, &body);
    let many = [foreign.signature.as_str(); 15].join(" ") + " " + &good.signature;
    let requests = [
        ("a good one", &*good.id, &*good.timestamp, &*good.signature, "ok"),
        ("the last of sixteen signatures", &*good.id, &*good.timestamp, &*many, "ok"),
        ("a foreign signature", &*good.id, &*good.timestamp, &*foreign.signature, "signature_mismatch"),
        ("a bad id", "", &*good.timestamp, &*good.signature, "id_invalid"),
        ("a bad timestamp", &*good.id, "x", &*good.signature, "timestamp_invalid"),
        ("an old timestamp", &*good.id, "1", &*good.signature, "timestamp_too_old"),
        ("no usable signature", &*good.id, &*good.timestamp, "v1,", "signature_none_usable"),
    ];
    for (name, id, timestamp, signature, expected) in requests {
        let mut one = http::HeaderMap::new();
        for (header, value) in
            [("webhook-id", id), ("webhook-timestamp", timestamp), ("webhook-signature", signature)]
        {
            one.insert(header, value.parse().unwrap());
        }
        let pairs = [("Webhook-Id", id), ("Webhook-Timestamp", timestamp), ("Webhook-Signature", signature)];
        let code = |verdict: Result<(), _>| {
            verdict.map_or_else(|error: shared_inbox_webhooks::VerifyError| error.code(), |()| "ok")
        };
        let count = |how: &str, verify: &dyn Fn() -> &'static str| {
            let region = Region::new(ALLOCATOR);
            let verdict = black_box(verify());
            let change = region.change();
            assert_eq!(verdict, expected, "{name}, {how}");
            let counts = (change.allocations, change.reallocations, change.bytes_allocated);
            assert_eq!(counts, (0, 0, 0), "{name}, {how}: allocations, reallocations, bytes");
        };
        count("values", &|| code(verifier.verify((id, timestamp, signature), &body).map(drop)));
        count("http 1", &|| code(verifier.verify(&one, &body).map(drop)));
        count("pairs", &|| {
            let parts = RawHeaders::from_pairs(pairs.iter().map(|(name, value)| (*name, value.as_bytes())));
            code(parts.and_then(|parts| verifier.verify(parts, &body).map(drop)))
        });
    }

    // The counter counts: the same comparison fails for something that allocates.
    let region = Region::new(ALLOCATOR);
    black_box(Signer::new([last]));
    assert!(region.change().allocations > 0);
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a guard in memory has nothing to wait for"),
    }
}

/// Bytes held now that were not held when the region began.
fn held(region: &Region<'_, System>) -> isize {
    let change = region.change();
    change.bytes_allocated as isize - change.bytes_deallocated as isize
}

fn delivery(event: &str) -> Delivery {
    Delivery::new("orders", event)
}

fn a_guard_takes_no_more_than_its_capacity() {
    const CAPACITY: usize = 1000;
    let region = Region::new(ALLOCATOR);
    let guard = MemoryGuard::new().capacity(CAPACITY);
    for n in 0..20 * CAPACITY {
        let event = delivery(&format!("evt_{n:026}"));
        let Ok(Claim::Granted(fence)) = now(guard.claim(&event)) else { panic!("it is new") };
        assert_eq!(now(guard.commit(&event, fence)).unwrap(), ClaimStatus::Held);
    }
    assert_eq!(guard.len(), CAPACITY);
    let each = held(&region) / CAPACITY as isize;
    assert!((100..=500).contains(&each), "{each} bytes for an event");
}

fn endless_failures_take_no_memory() {
    let guard = MemoryGuard::new();
    // One that takes its time: whatever fails after it stands behind it in line.
    now(guard.claim(&delivery("evt_slow"))).unwrap();
    let region = Region::new(ALLOCATOR);
    for _ in 0..100_000 {
        let event = delivery("evt_1");
        let Ok(Claim::Granted(fence)) = now(guard.claim(&event)) else { panic!("it was given back") };
        assert_eq!(now(guard.release(&event, fence)).unwrap(), ClaimStatus::Held);
    }
    assert!(held(&region) < 64 * 1024, "{} bytes", held(&region));
    assert_eq!(guard.len(), 1);
}
