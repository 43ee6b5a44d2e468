//! Verification side by side with the `standardwebhooks` crate and with a bare prepared HMAC; reading an
//! event beside the two steps done apart; the whole route beside one that takes bytes; claims beside a
//! million others. All in one run.
//!
//!     cargo bench -p shared-inbox-webhooks
//!
//! Every round times all contenders one after the other, each for so short a time that most rounds pass
//! undisturbed. Each one's best round counts: what else the machine does can only add to a time.

use std::hint::black_box;
use std::io::{Read, Write};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::routing::post;
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, Request};
use serde::Deserialize;
use sha2::Sha256;
use shared_inbox_webhooks::replay::{Claim, Delivery, MemoryGuard, ReplayGuard};
use shared_inbox_webhooks::{
    Event, Receiver, Secret, SignedHeaders, Signer, Verified, Verifier, VerifyError, Webhook,
};
use tower::Service;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID: &str = "evt_01h8xyzabcdefghijklmnop";
/// How long one contender runs in one round.
const BATCH: Duration = Duration::from_micros(200);
/// How long the rounds of one comparison go on.
const TOTAL: Duration = Duration::from_secs(4);

fn main() {
    // What is promised depends on whether the CPU has instructions for SHA-256, which `standardwebhooks` does
    // not use.
    let sha = has_sha_instructions();
    println!("SHA instructions: {}", if sha { "yes" } else { "no" });
    println!(
        "{:>8}  {:>11} {:>11} {:>16}  {:>16} {:>16}",
        "body", "bare HMAC", "ours", "standardwebhooks", "theirs / ours", "ours / bare"
    );
    for (name, size) in [("200 B", 200), ("1 KiB", 1024), ("20 KiB", 20 * 1024), ("1 MiB", 1 << 20)] {
        let (times, faster, overhead) = bodies(size);
        let [bare, ours, theirs] = times.map(shown);
        let faster = judged(faster, Some(if sha { 4.0 } else { 1.0 / 1.2 }), |ratio, target| ratio >= target);
        println!("{name:>8}  {bare:>11} {ours:>11} {theirs:>16}  {faster:>16} {overhead:>16.2}");
    }
    bogus_signatures();
    events();
    route();
    claims();
}

fn has_sha_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("sha");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("sha2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}

/// Times at one size, how many times slower the crate is than ours, and how many times slower ours is than a
/// bare HMAC.
fn bodies(size: usize) -> ([Duration; 3], f64, f64) {
    let body = format!("{{\"x\":\"{}\"}}", "x".repeat(size - 8));
    let secret = Secret::parse(SECRET).unwrap();
    let signed = Signer::new([secret.clone()]).sign(ID, now(), body.as_bytes());
    let headers = header_map(&signed);
    let ours = Verifier::new([secret]);
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

/// What it costs to reject many signatures by a foreign key, over a body of 1 KiB.
fn bogus_signatures() {
    let body = "x".repeat(1024);
    let ours = Verifier::new([Secret::parse(SECRET).unwrap()]);
    let foreign = Signer::new([Secret::from_bytes(&[9; 32]).unwrap()]).sign(ID, now(), body.as_bytes());
    let with = |count: usize| {
        let signature = vec![foreign.signature.as_str(); count].join(" ");
        let mut many = foreign.clone();
        many.signature = signature;
        header_map(&many)
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

/// An event of 1 KiB, as the service might send it: its summary at the limit, and a long address in the app.
fn event() -> String {
    let summary = "A customer replied. ".repeat(10);
    let start = format!(
        r#"{{"id":"{ID}","type":"client.replied","version":1,"created_at":"2026-03-01T09:30:00.000Z","workspace":"wsp_01h8xyzabcdefghijklmnop","livemode":true,"data":{{"summary":"{summary}","conversation_id":"cnv_01h8xyzabcdefghijklmnop","message_id":"msg_01h8xyzabcdefghijklmnop","mailbox_id":"mbx_01h8xyzabcdefghijklmnop","secure":false,"reference":"order-1042","url":"https://app.example/"#
    );
    let end = r#""}}"#;
    format!("{start}{}{end}", "c".repeat(1024 - start.len() - end.len()))
}

/// The same fields by hand, with no rule but their types: as fast as `serde_json` can be.
#[derive(Deserialize)]
#[expect(dead_code, reason = "what counts is that they are read")]
struct Plain {
    id: String,
    r#type: String,
    version: u32,
    created_at: String,
    workspace: String,
    livemode: bool,
    data: PlainData,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what counts is that they are read")]
struct PlainData {
    summary: String,
    url: String,
    conversation_id: String,
    message_id: String,
    mailbox_id: String,
    secure: bool,
    reference: String,
}

/// Verifying and reading an event, beside a bare HMAC and `serde_json`, each by itself.
fn events() {
    let body = event();
    assert_eq!(body.len(), 1024);
    let secret = Secret::parse(SECRET).unwrap();
    let signed = Signer::new([secret.clone()]).sign(ID, now(), body.as_bytes());
    let headers = header_map(&signed);
    let verifier = Verifier::new([secret]);
    let key = Hmac::<Sha256>::new_from_slice(&key_bytes()).unwrap();
    let message = [ID, ".", &signed.timestamp, ".", &body].concat();
    let [hmac, into_event, into_plain, ours] = measure([
        &mut || {
            black_box(key.clone().chain_update(black_box(&message)).finalize());
        },
        &mut || {
            black_box(serde_json::from_slice::<Event>(black_box(body.as_bytes())).unwrap());
        },
        &mut || {
            black_box(serde_json::from_slice::<Plain>(black_box(body.as_bytes())).unwrap());
        },
        &mut || {
            let verified = verifier.verify(black_box(&headers), black_box(body.as_bytes())).unwrap();
            let event: Verified<Event> = verified.parse().unwrap();
            black_box(event);
        },
    ]);
    let ratio = judged(ours / (hmac + into_event), Some(1.25), |ratio, target| ratio <= target);
    let [shown_hmac, shown_event, shown_plain, shown_ours] =
        [hmac, into_event, into_plain, ours].map(|time| shown(Duration::from_secs_f64(time)));
    println!(
        "verify and parse 1 KiB: {shown_ours}; apart: HMAC {shown_hmac}, serde_json {shown_event}: {ratio}"
    );
    let plain = ours / (hmac + into_plain);
    println!("  with a struct of texts instead of checked types, serde_json takes {shown_plain}: {plain:.2}");
}

fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("there is nothing to wait for"),
    }
}

/// The whole axum route with our extractor, beside one that takes the bytes and looks at nothing: as a sender
/// sees it, over a connection that stays open, and inside the process, where next to nothing is left of the
/// route that looks at nothing.
fn route() {
    async fn hook(Webhook(event): Webhook<Event>) {
        black_box(event);
    }
    async fn bytes(body: Bytes) {
        black_box(body);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _inside = runtime.enter();
    let secret = Secret::parse(SECRET).unwrap();
    let body = event();
    let headers = header_map(&Signer::new([secret.clone()]).sign(ID, now(), body.as_bytes()));
    let body = Bytes::from(body);
    let receiver = Receiver::new(Verifier::new([secret]));
    let router = || {
        let ours = Router::new().route("/", post(hook)).with_state(receiver.clone());
        [Router::new().route("/", post(bytes)), ours]
    };

    let [mut plain, mut ours] = router().map(|router| Connection::to(&runtime, router, &headers, &body));
    let [plain, ours] = measure([&mut || plain.request(), &mut || ours.request()]);
    let ratio = judged(ours / plain, Some(2.2), |ratio, target| ratio <= target);
    let [plain, ours] = [plain, ours].map(|time| shown(Duration::from_secs_f64(time)));
    println!("axum route, 1 KiB, over a connection: {ours}; one that takes `Bytes`: {plain}: {ratio}");

    let [mut plain, mut ours]: [Router; 2] = router();
    let request = || {
        let mut request = Request::post("/").body(Body::from(body.clone())).unwrap();
        *request.headers_mut() = headers.clone();
        request
    };
    let key = Hmac::<Sha256>::new_from_slice(&key_bytes()).unwrap();
    let [plain, ours, least] = measure([
        &mut || assert!(at_once(plain.call(request())).unwrap().status().is_success()),
        &mut || assert!(at_once(ours.call(request())).unwrap().status().is_success()),
        &mut || {
            black_box(key.clone().chain_update(black_box(&body)).finalize());
            black_box(serde_json::from_slice::<Plain>(black_box(&body)).unwrap());
        },
    ]);
    let (ratio, least) = (ours / plain, (plain + least) / plain);
    let [plain, ours] = [plain, ours].map(|time| shown(Duration::from_secs_f64(time)));
    println!(
        "  inside the process: {ours}; {plain}: {ratio:.2} (with a bare HMAC and texts for types: {least:.2})"
    );
}

/// A sender whose connection stays open.
struct Connection {
    stream: std::net::TcpStream,
    request: Vec<u8>,
}

impl Connection {
    fn to(runtime: &tokio::runtime::Runtime, router: Router, headers: &HeaderMap, body: &[u8]) -> Self {
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        runtime.spawn(async { axum::serve(listener, router).await });
        let mut request = b"POST / HTTP/1.1\r\n".to_vec();
        for (name, value) in headers {
            request.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        request.extend([b"\r\n", body].concat());
        Self { stream, request }
    }

    fn request(&mut self) {
        let mut answer = [0; 512];
        self.stream.write_all(&self.request).unwrap();
        let length = self.stream.read(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200") && answer[..length].ends_with(b"\r\n\r\n"));
    }
}

/// The longest claim while a guard fills up to a million events and then all of them fall due at once, in CPU
/// time of this thread. The worst of three runs counts.
fn claims() {
    const EVENTS: usize = 1_000_000;
    let runs = [(); 3].map(|()| {
        let hand = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let clock = std::sync::Arc::clone(&hand);
        let guard = MemoryGuard::new()
            .capacity(EVENTS)
            .clock(move || Duration::from_secs(clock.load(std::sync::atomic::Ordering::Relaxed)));
        let (mut longest, mut all) = (Duration::ZERO, Duration::ZERO);
        for n in 0..EVENTS + EVENTS / 5 {
            if n == EVENTS + EVENTS / 10 {
                hand.store(30 * 60 * 60, std::sync::atomic::Ordering::Relaxed);
            }
            let id = format!("evt_{:026}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let delivery = Delivery::new("orders", id);
            let start = cpu();
            let Ok(Claim::Granted(fence)) = at_once(guard.claim(&delivery)) else { panic!("it is new") };
            _ = at_once(guard.commit(&delivery, fence)).unwrap();
            let took = cpu() - start;
            (longest, all) = (longest.max(took), all + took);
        }
        (longest, all / u32::try_from(EVENTS + EVENTS / 5).unwrap())
    });
    let (longest, each) = *runs.iter().max().unwrap();
    let verdict = if longest <= Duration::from_millis(20) { "ok: 20 ms" } else { "MISSED: 20 ms" };
    let runs = runs.map(|(longest, _)| shown(longest)).join(", ");
    println!(
        "claim and commit among a million: {} each, the longest of each run {runs} ({verdict})",
        shown(each)
    );
}

#[cfg(unix)]
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(not(unix))]
fn cpu() -> Duration {
    UNIX_EPOCH.elapsed().unwrap_or_default()
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
