//! Verification side by side with the `standardwebhooks` crate and with a bare prepared HMAC, in one run.
//!
//!     cargo bench -p shared-inbox-webhooks
//!
//! Every round times all contenders one after the other, each for so short a time that most rounds pass undisturbed. Each
//! one's best round counts: what else the machine does can only add to a time.

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use sha2::Sha256;
use shared_inbox_webhooks::{Secret, SignedHeaders, Signer, Verifier, VerifyError};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID: &str = "evt_01h8xyzabcdefghijklmnop";
/// How long one contender runs in one round.
const BATCH: Duration = Duration::from_micros(200);
/// How long the rounds of one comparison go on.
const TOTAL: Duration = Duration::from_secs(4);

fn main() {
    #[cfg(target_arch = "x86_64")]
    println!("SHA-NI: {}", if std::is_x86_feature_detected!("sha") { "yes" } else { "no" });
    println!(
        "{:>8}  {:>11} {:>11} {:>16}  {:>16} {:>14}",
        "body", "bare HMAC", "ours", "standardwebhooks", "crate / ours", "ours / bare"
    );
    for (name, size, crate_target, bare_target) in [
        ("200 B", 200, None, Some(2.0)),
        ("1 KiB", 1024, Some(5.0), None),
        ("20 KiB", 20 * 1024, Some(5.0), Some(1.1)),
        ("1 MiB", 1 << 20, Some(5.0), None),
    ] {
        let (times, faster, overhead) = bodies(size);
        let [bare, ours, theirs] = times.map(shown);
        let faster = judged(faster, crate_target, |ratio, target| ratio >= target);
        let overhead = judged(overhead, bare_target, |ratio, target| ratio <= target);
        println!("{name:>8}  {bare:>11} {ours:>11} {theirs:>16}  {faster:>16} {overhead:>14}");
    }
    bogus_signatures();
}

/// Times at one size, how many times slower the crate is than ours, and how many times slower ours is than a bare HMAC.
fn bodies(size: usize) -> ([Duration; 3], f64, f64) {
    let body = format!("{{\"x\":\"{}\"}}", "x".repeat(size - 8));
    let secret = Secret::parse(SECRET).unwrap();
    let signed = Signer::new([secret.clone()]).sign(ID, now(), body.as_bytes());
    let headers = header_map(&signed);
    let ours = Verifier::new([secret.clone()]);
    let theirs = standardwebhooks::Webhook::new(SECRET).unwrap();
    let key = Hmac::<Sha256>::new_from_slice(&key_bytes()).unwrap();
    let message = [ID, ".", &signed.timestamp, ".", &body].concat();
    let times = measure([
        &mut || {
            black_box(key.clone().chain_update(black_box(&message)).finalize());
        },
        &mut || {
            black_box(ours.verify(black_box(&headers), black_box(body.as_bytes())).unwrap());
        },
        &mut || theirs.verify(black_box(body.as_bytes()), black_box(&headers)).unwrap(),
    ]);
    let [bare, ours, theirs] = times;
    (times.map(Duration::from_secs_f64), theirs / ours, ours / bare)
}

/// What it costs to refuse many signatures by a foreign key, over a body of 1 KiB.
fn bogus_signatures() {
    let body = "x".repeat(1024);
    let ours = Verifier::new([Secret::parse(SECRET).unwrap()]);
    let foreign = Signer::new([Secret::from_bytes(&[9; 32]).unwrap()]).sign(ID, now(), body.as_bytes());
    let with = |count: usize| {
        let signature = vec![foreign.signature.as_str(); count].join(" ");
        header_map(&SignedHeaders { signature, ..foreign.clone() })
    };
    let (sixteen, thousand) = (with(16), with(1000));
    let [sixteen, thousand] = measure([
        &mut || {
            assert_eq!(ours.verify(black_box(&sixteen), body.as_bytes()).unwrap_err(), VerifyError::Mismatch)
        },
        &mut || {
            let verdict = ours.verify(black_box(&thousand), body.as_bytes());
            assert_eq!(verdict.unwrap_err(), VerifyError::SignaturesTooLong);
        },
    ]);
    let ratio = judged(thousand / sixteen, Some(1.0), |ratio, target| ratio <= target);
    let [sixteen, thousand] = [sixteen, thousand].map(|time| shown(Duration::from_secs_f64(time)));
    println!("bogus signatures: 16 cost {sixteen}, 1,000 cost {thousand}: {ratio}");
}

/// Seconds for one call of each contender, in its best round.
fn measure<const N: usize>(mut contenders: [&mut dyn FnMut(); N]) -> [f64; N] {
    let calls = contenders.each_mut().map(|contender| {
        let start = Instant::now();
        let mut calls = 0;
        while calls == 0 || start.elapsed() < BATCH {
            contender();
            calls += 1;
        }
        calls
    });
    let mut best = [f64::INFINITY; N];
    let start = Instant::now();
    while start.elapsed() < TOTAL {
        for ((contender, calls), best) in contenders.iter_mut().zip(calls).zip(&mut best) {
            let start = Instant::now();
            (0..calls).for_each(|_| contender());
            *best = best.min(start.elapsed().as_secs_f64() / f64::from(calls));
        }
    }
    best
}

fn shown(time: Duration) -> String {
    let nanos = time.as_nanos();
    if nanos < 100_000 { format!("{nanos} ns") } else { format!("{} µs", time.as_micros()) }
}

/// The ratio, and whether it reaches what the crate promises.
fn judged(ratio: f64, target: Option<f64>, reached: fn(f64, f64) -> bool) -> String {
    match target {
        None => format!("{ratio:.2}"),
        Some(target) if reached(ratio, target) => format!("{ratio:.2} (ok: {target})"),
        Some(target) => format!("{ratio:.2} (MISSED: {target})"),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn key_bytes() -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(&SECRET["whsec_".len()..]).unwrap()
}

/// The headers among those that a request usually has.
fn header_map(headers: &SignedHeaders) -> HeaderMap {
    let usual = [
        ("host", "hooks.example.com"),
        ("user-agent", "shared-inbox/1.0"),
        ("content-type", "application/json"),
        ("content-length", "1024"),
        ("accept", "*/*"),
        ("accept-encoding", "gzip"),
        ("x-forwarded-for", "203.0.113.7"),
        ("x-forwarded-proto", "https"),
        ("x-request-id", "4bf92f3577b34da6a3ce929d0e0e4736"),
    ];
    let all = usual.into_iter().chain(headers.pairs());
    all.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}
