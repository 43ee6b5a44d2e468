//! The verifier and the replay guard inside a WebAssembly module, which has neither a clock nor a runtime:
//! what a Worker gives them. A test loads it into Node and calls the functions below.
//!
//! A module of its own, because exporting a function by its name counts as unsafe.

use std::pin::pin;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, UNIX_EPOCH};

use shared_inbox_webhooks::replay::{Handled, MemoryGuard, ReplayGuard, once};
use shared_inbox_webhooks::{Event, RawHeaders, Secret, Verified, Verifier};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Where the host writes a request: the three header values and the body, a line each.
static INPUT: [AtomicU8; 4096] = [const { AtomicU8::new(0) }; 4096];
/// The host's time, in milliseconds since 1970.
static NOW: AtomicU64 = AtomicU64::new(0);
static GUARD: LazyLock<MemoryGuard> = LazyLock::new(|| MemoryGuard::new().clock(now));

fn now() -> Duration {
    Duration::from_millis(NOW.load(Ordering::Relaxed))
}

/// Where to write.
#[unsafe(no_mangle)]
pub extern "C" fn input() -> usize {
    INPUT.as_ptr().addr()
}

/// The status for the request of so many bytes, at this time. One that is answered with success for the
/// second time is 208.
#[unsafe(no_mangle)]
pub extern "C" fn receive(length: usize, milliseconds: f64) -> u32 {
    NOW.store(milliseconds as u64, Ordering::Relaxed);
    let verifier = verifier().clock(|| UNIX_EPOCH + now());
    judge(&verifier, &*GUARD, length)
}

/// The same without a clock.
#[unsafe(no_mangle)]
pub extern "C" fn receive_without_clock(length: usize) -> u32 {
    judge(&verifier(), &MemoryGuard::new(), length)
}

/// The status where the verifier has a clock and the guard has none.
#[unsafe(no_mangle)]
pub extern "C" fn guard_without_clock(length: usize, milliseconds: f64) -> u32 {
    NOW.store(milliseconds as u64, Ordering::Relaxed);
    judge(&verifier().clock(|| UNIX_EPOCH + now()), &MemoryGuard::new(), length)
}

fn verifier() -> Verifier {
    Verifier::new(Secret::parse(SECRET))
}

fn judge(verifier: &Verifier, guard: &dyn ReplayGuard, length: usize) -> u32 {
    let bytes: Vec<u8> = INPUT.iter().take(length).map(|byte| byte.load(Ordering::Relaxed)).collect();
    let mut lines = bytes.splitn(4, |byte| *byte == b'\n');
    let mut next = || lines.next().unwrap_or_default();
    let (parts, body) = (RawHeaders::new(next(), next(), next()), next());
    let verified = match verifier.verify(parts, body) {
        Ok(verified) => verified,
        Err(error) => return error.status().into(),
    };
    let event: Verified<Event> = match verified.parse() {
        Ok(event) => event,
        Err(error) => return error.status().into(),
    };
    let delivery = event.delivery("wasm");
    let handling = pin!(once(guard, &delivery, |_| async { Ok::<_, std::convert::Infallible>(()) }));
    match handling.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(Handled::AlreadyDone)) => 208,
        Poll::Ready(Ok(outcome)) => outcome.status().into(),
        Poll::Ready(Err(error)) => error.status().into(),
        Poll::Pending => 0,
    }
}
