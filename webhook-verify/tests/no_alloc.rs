//! Verification allocates nothing, whatever the request looks like.
//!
//! A program of its own with one thread: the counter is the whole process's allocator.

use std::alloc::System;
use std::hint::black_box;
use std::time::{Duration, UNIX_EPOCH};

use shared_inbox_webhooks::{Parts, Secret, Signer, Verifier};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const NOW: u64 = 1_700_000_000;

fn main() {
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
        let mut two = http02::HeaderMap::new();
        for (header, value) in
            [("webhook-id", id), ("webhook-timestamp", timestamp), ("webhook-signature", signature)]
        {
            one.insert(header, value.parse().unwrap());
            two.insert(header, value.parse().unwrap());
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
        count("http 0.2", &|| code(verifier.verify(&two, &body).map(drop)));
        count("pairs", &|| {
            let parts = Parts::from_pairs(pairs.iter().map(|(name, value)| (*name, value.as_bytes())));
            code(parts.and_then(|parts| verifier.verify(parts, &body).map(drop)))
        });
    }

    // The counter counts: the same comparison fails for something that allocates.
    let region = Region::new(ALLOCATOR);
    black_box(Signer::new([last]));
    assert!(region.change().allocations > 0);
    println!("verify: no allocation in {} requests read in 4 ways", requests.len());
}
