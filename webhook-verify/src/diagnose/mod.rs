//! For the operator: why does verification fail? Tries the mistakes that people make and says which of them explains
//! the request at hand. Slow next to a verification, and its results help a forger too: never send them to the caller.

mod body;
mod hint;
mod order;

use std::cell::Cell;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::error::VerifyError;
use crate::headers::{RawHeaders, WebhookHeaders};
use crate::key::secret::{PREFIX, Secret};
use crate::key::signatures::{MAC, Signatures};
use crate::key::{Backend, Key};
use crate::verifier::Verifier;

pub use hint::{Diagnosis, Hint, SignatureForm};

/// The most bytes of a body on which rewritings are tried: fifty times a large event.
pub(crate) const MAX_BODY_BYTES: usize = 1 << 16;
/// The most entries of a signature header that are looked at.
const MAX_ENTRIES: usize = 16;
const HOUR_SECONDS: u64 = 3600;

/// Says what is likely wrong with a secret's text, or with a request that it should have verified.
///
/// For a command line, a support page or a log, never for the response to the request. Takes the secret as the operator
/// has it, so it also finds what is wrong with that text. [`Verifier::diagnose`] is for a verifier that exists already.
///
/// It costs up to some fifty hashes of the body (of those up to 64 KiB; a few of longer ones): at the worst some 5 ms. Keep it
/// off the threads that serve requests. [`Diagnosis::bytes_hashed`] says what it took.
///
/// ```
/// use shared_inbox_webhooks::diagnose;
///
/// let headers = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
/// let diagnosis = diagnose("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", headers, br#"{"test":2432232314}"#);
/// let codes: Vec<_> = diagnosis.hints().iter().map(|hint| hint.code()).collect();
/// assert_eq!(codes, ["secret_whitespace", "timestamp_outside_tolerance", "body_rewritten"]);
/// println!("{diagnosis}");
/// ```
#[must_use]
pub fn diagnose<'a>(secret: &str, headers: impl WebhookHeaders<'a>, body: &[u8]) -> Diagnosis {
    let parts = headers.parts();
    let parsed = Secret::parse(secret);
    let usable = parsed.as_ref().ok().cloned().or_else(|| repaired(secret));
    let verifier = Verifier::new(usable);
    let work = Work::default();
    let mut diagnosis = match parts {
        Ok(parts) => examine(&verifier, parts, Some(body), &work),
        Err(error) => Diagnosis::new(Err(error), vec![Hint::Headers(error)]),
    };
    if let Ok(parts) = parts {
        let as_text = [secret, secret.trim(), secret.trim().trim_start_matches(PREFIX)];
        let fits = |text: &&str| {
            !text.is_empty() && work.fits_any(&[Key::of(text.as_bytes(), Backend::fastest())], parts, body)
        };
        if !work.fits_any(&verifier.keys, parts, body) && as_text.iter().any(fits) {
            diagnosis.drop_fallback();
            diagnosis.hints.push(Hint::SecretNotDecoded);
        }
    }
    diagnosis.bytes_hashed = work.0.get();
    if let Err(error) = parsed {
        if verifier.keys.is_empty() {
            diagnosis.drop_fallback();
        }
        diagnosis.hints.insert(0, Hint::Secret(error));
    }
    diagnosis
}

impl Verifier {
    /// Says what is likely wrong with a request that this verifier refuses; for logs, never for the response.
    #[must_use]
    pub fn diagnose<'a>(&self, headers: impl WebhookHeaders<'a>, body: &[u8]) -> Diagnosis {
        self.diagnose_read(headers.parts(), Some(body))
    }

    /// Returns the same for a request whose body may not have been read.
    pub(crate) fn diagnose_read(
        &self,
        parts: Result<RawHeaders<'_>, VerifyError>,
        body: Option<&[u8]>,
    ) -> Diagnosis {
        let work = Work::default();
        let mut diagnosis = match parts {
            Ok(parts) => examine(self, parts, body, &work),
            Err(error) => Diagnosis::new(Err(error), vec![Hint::Headers(error)]),
        };
        diagnosis.bytes_hashed = work.0.get();
        diagnosis
    }
}

/// Counts the bytes that are hashed on the way.
#[derive(Default)]
struct Work(Cell<u64>);

impl Work {
    fn add(&self, keys: &[Key], body: &[u8]) {
        self.0.set(self.0.get() + keys.len() as u64 * body.len() as u64);
    }

    /// Returns whether a signature of the header fits this body, whatever the time.
    fn fits_any(&self, keys: &[Key], parts: RawHeaders<'_>, body: &[u8]) -> bool {
        let signatures = Signatures::parse(parts.signature);
        signatures.is_ok_and(|signatures| {
            self.add(keys, body);
            keys.iter().any(|key| signatures.any_equals(&key.mac(parts.id, parts.timestamp, body)))
        })
    }
}

fn examine(verifier: &Verifier, parts: RawHeaders<'_>, body: Option<&[u8]>, work: &Work) -> Diagnosis {
    let verdict = match body {
        Some(body) => {
            work.add(&verifier.keys, body);
            verifier.verify(parts, body).map(|verified| verified.matched_signature().secret())
        }
        None => verifier.check(parts).and(Err(VerifyError::Mismatch)),
    };
    let mut hints = Vec::new();
    if verdict.is_ok() {
        return Diagnosis::new(verdict, hints);
    }
    if verifier.keys.is_empty() {
        hints.push(Hint::NoSecrets);
    }
    hints.extend(timestamp(verifier, parts.timestamp));
    if let Err(error @ VerifyError::InvalidId) = verdict {
        hints.push(Hint::Headers(error));
    }
    match body {
        Some(body) => hints.extend(signature(&verifier.keys, parts, body, work)),
        None => hints.extend(Signatures::parse(parts.signature).err().map(Hint::Headers)),
    }
    Diagnosis::new(verdict, hints)
}

/// Returns what the timestamp alone shows.
fn timestamp(verifier: &Verifier, text: &[u8]) -> Option<Hint> {
    let digits = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let Some(number) = digits.and_then(|digits| digits.parse::<u64>().ok()) else {
        return Some(Hint::TimestampNotSeconds);
    };
    let Ok(now) = verifier.now() else { return Some(Hint::Headers(VerifyError::NoClock)) };
    for (divisor, unit) in
        [(1_000, "milliseconds"), (1_000_000, "microseconds"), (1_000_000_000, "nanoseconds")]
    {
        if number > 100_000_000_000 && now.as_secs().abs_diff(number / divisor) < 366 * 24 * HOUR_SECONDS {
            return Some(Hint::TimestampUnit(unit));
        }
    }
    let off = now.abs_diff(Duration::from_secs(number));
    if off <= verifier.tolerance {
        return None;
    }
    let hours = (off.as_secs() + HOUR_SECONDS / 2) / HOUR_SECONDS;
    let from_full_hour = off.abs_diff(Duration::from_secs(hours * HOUR_SECONDS));
    let behind = now.as_secs() < number;
    if (1..=14).contains(&hours)
        && from_full_hour <= verifier.tolerance.min(Duration::from_secs(HOUR_SECONDS / 4))
    {
        Some(Hint::ClockOffByHours { hours, behind })
    } else {
        Some(Hint::TimestampOutsideTolerance { seconds: off.as_secs(), behind })
    }
}

/// Why no signature fits, if none does.
fn signature(keys: &[Key], parts: RawHeaders<'_>, body: &[u8], work: &Work) -> Option<Hint> {
    if work.fits_any(keys, parts, body) {
        return None;
    }
    work.add(keys, body);
    if let Some(form) = loose_form(keys, parts, body) {
        return Some(Hint::SignatureForm(form));
    }
    if let Err(error) = Signatures::parse(parts.signature) {
        return Some(Hint::Headers(error));
    }
    if body.is_empty() {
        return Some(Hint::BodyEmpty);
    }
    let originals = if body.len() <= MAX_BODY_BYTES { body::rewritings(body) } else { Vec::new() };
    let rewritten = originals.into_iter().find(|(_, original)| work.fits_any(keys, parts, original));
    let unexplained = if order::is_sorted(body) { Hint::BodySorted } else { Hint::SecretOrBody };
    Some(rewritten.map_or(unexplained, |(what, _)| Hint::BodyRewritten(what)))
}

/// A signature that is right but written in another form than the scheme's.
fn loose_form(keys: &[Key], parts: RawHeaders<'_>, body: &[u8]) -> Option<SignatureForm> {
    let expected: Vec<_> = keys.iter().map(|key| key.mac(parts.id, parts.timestamp, body)).collect();
    let known = |bytes: &[u8]| expected.iter().any(|mac| bool::from(mac[..].ct_eq(bytes)));
    let entries = parts.signature.split(|byte| b" \t\r\n;".contains(byte)).take(MAX_ENTRIES);
    for entry in entries {
        let after_version = entry.iter().position(|byte| b",=".contains(byte)).filter(|at| *at <= 6);
        let candidates = [(true, after_version.map(|at| &entry[at + 1..])), (false, Some(entry))];
        for (version, text) in candidates.into_iter().filter_map(|(version, text)| Some((version, text?))) {
            let text = text.trim_ascii();
            let text = text.strip_suffix(b",").unwrap_or(text);
            let unpadded = &text[..text.len() - text.iter().rev().take_while(|byte| **byte == b'=').count()];
            if STANDARD_NO_PAD.decode(unpadded).is_ok_and(|bytes| known(&bytes)) {
                return Some(if !version {
                    SignatureForm::NoVersion
                } else if text.len() != unpadded.len() + 1 {
                    SignatureForm::Padding
                } else {
                    SignatureForm::List
                });
            }
            if URL_SAFE_NO_PAD.decode(unpadded).is_ok_and(|bytes| known(&bytes)) {
                return Some(SignatureForm::UrlSafe);
            }
            if hex(text).is_some_and(|bytes| known(&bytes)) {
                return Some(SignatureForm::Hex);
            }
        }
    }
    None
}

/// Returns the secret without what people paste around it.
fn repaired(text: &str) -> Option<Secret> {
    let mut cleaned = Zeroizing::new(String::with_capacity(text.len()));
    cleaned.extend(text.chars().filter(|c| !c.is_whitespace() && !c.is_control()));
    let text = cleaned.trim_matches(['"', '\'']);
    let text = text.strip_prefix("v1,").unwrap_or(text);
    let encoded = text.strip_prefix(PREFIX).unwrap_or(text).trim_end_matches('=');
    let bytes = STANDARD_NO_PAD.decode(encoded).or_else(|_| URL_SAFE_NO_PAD.decode(encoded)).ok()?;
    Secret::from_bytes_allowing_short(&Zeroizing::new(bytes)).ok()
}

fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    if text.len() != 2 * MAC {
        return None;
    }
    text.chunks_exact(2).map(|pair| u8::try_from(digit(&pair[0])? * 16 + digit(&pair[1])?).ok()).collect()
}
