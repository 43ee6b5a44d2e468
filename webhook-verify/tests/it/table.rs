//! A table of oddities in headers and bodies, each with its verdict and the reason for it.
//!
//! Unless a row says otherwise its signature is right for exactly the id, timestamp and body it carries, so a
//! row is rejected for the reason it names and not because a signature did not fit. The cases of the public
//! libraries' own suites are among them; where such a suite changes a timestamp and keeps the signature, it
//! is signed again here.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::StreamBody;
use shared_inbox_webhooks::{Header, RawHeaders, Secret, Verifier, VerifyError, WebhookHeaders};

use crate::fixture::{BODY, ID, NOW, current, foreign, previous, receiver, signature, verifier};

/// Accepted by the secret at this place, or rejected with this code.
type Verdict = Result<usize, &'static str>;

const UNUSABLE: Verdict = Err("signature_none_usable");
const MISMATCH: Verdict = Err("signature_mismatch");
const TOO_MANY: Verdict = Err("signature_too_many");
const TOO_LONG: Verdict = Err("signature_too_long");
const TOO_NEW: Verdict = Err("timestamp_too_new");

struct Row {
    why: &'static str,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
    verdict: Verdict,
}

const WEBHOOK_ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";

impl Row {
    /// A request signed by the current secret.
    fn signed(why: &'static str, id: &str, timestamp: &str, body: &[u8], verdict: Verdict) -> Self {
        let signature = signature(current(), id, timestamp, body);
        let headers = vec![
            (WEBHOOK_ID, id.as_bytes().to_vec()),
            (TIMESTAMP, timestamp.as_bytes().to_vec()),
            (SIGNATURE, signature.into_bytes()),
        ];
        Self { why, headers, body: body.to_vec(), verdict }
    }

    fn good(why: &'static str, verdict: Verdict) -> Self {
        Self::signed(why, ID, &NOW.to_string(), BODY.as_bytes(), verdict)
    }

    fn id(why: &'static str, id: &str, verdict: Verdict) -> Self {
        Self::signed(why, id, &NOW.to_string(), BODY.as_bytes(), verdict)
    }

    fn timestamp(why: &'static str, timestamp: &str, verdict: Verdict) -> Self {
        Self::signed(why, ID, timestamp, BODY.as_bytes(), verdict)
    }

    fn body(why: &'static str, body: &[u8], verdict: Verdict) -> Self {
        Self::signed(why, ID, &NOW.to_string(), body, verdict)
    }

    /// A good request whose signature header is this text.
    fn signature(why: &'static str, signature: impl Into<Vec<u8>>, verdict: Verdict) -> Self {
        Self::good(why, verdict).with(SIGNATURE, signature)
    }

    fn with(mut self, name: &'static str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.into()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self
    }

    fn twice(mut self, name: &'static str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn arriving_as(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    fn raw_headers(&self) -> Result<RawHeaders<'_>, VerifyError> {
        RawHeaders::from_pairs(self.headers.iter().map(|(name, value)| (*name, value.as_slice())))
    }
}

/// The signature of the good request by this secret, with its version.
fn by(secret: Secret) -> String {
    signature(secret, ID, &NOW.to_string(), BODY.as_bytes())
}

fn bare(secret: Secret) -> String {
    by(secret).split_off(3)
}

fn headers_missing_or_doubled() -> Vec<Row> {
    let now = NOW.to_string();
    vec![
        Row::good("a good request", Ok(0)),
        Row::good("no id", Err("id_missing")).without(WEBHOOK_ID),
        Row::good("no timestamp", Err("timestamp_missing")).without(TIMESTAMP),
        Row::good("no signature", Err("signature_missing")).without(SIGNATURE),
        Row::good("names in capitals are the same names", Ok(0)).without(WEBHOOK_ID).with("Webhook-Id", ID),
        Row::good("the headers of another brand are not looked at", Err("id_missing"))
            .without(WEBHOOK_ID)
            .with("svix-id", ID),
        Row::good("an underscore is not a hyphen", Err("id_missing"))
            .without(WEBHOOK_ID)
            .with("webhook_id", ID),
        Row::good("the same id twice says nothing new", Ok(0)).twice(WEBHOOK_ID, ID),
        Row::good("two ids, the right one first", Err("id_conflicting")).twice(WEBHOOK_ID, "evt_other"),
        Row::good("an id and an empty one", Err("id_conflicting")).twice(WEBHOOK_ID, ""),
        Row::good("the same timestamp twice", Ok(0)).twice(TIMESTAMP, now.clone()),
        Row::good("two timestamps", Err("timestamp_conflicting")).twice(TIMESTAMP, (NOW + 1).to_string()),
        Row::good("the same signature twice", Ok(0)).twice(SIGNATURE, by(current())),
        Row::good("two signature headers, although both fit", Err("signature_conflicting"))
            .twice(SIGNATURE, by(previous())),
        Row::good("three values of which the third differs", Err("id_conflicting"))
            .twice(WEBHOOK_ID, ID)
            .twice(WEBHOOK_ID, "evt_other"),
    ]
}

fn ids() -> Vec<Row> {
    vec![
        Row::id("an empty id", "", Err("id_invalid")),
        Row::id("a blank id", " ", Err("id_invalid")),
        Row::id("an id with a space behind", "evt_1 ", Err("id_invalid")),
        Row::id("an id with a tab in it", "evt\t1", Err("id_invalid")),
        Row::id("an id beyond ASCII", "evt_é", Err("id_invalid")),
        Row::id("a full stop would move the border to the timestamp", "evt_1.1", Err("id_invalid")),
        Row::id("256 characters are the most", &"x".repeat(256), Ok(0)),
        Row::id("257 characters", &"x".repeat(257), Err("id_invalid")),
        Row::id("a line end in the id", "evt_1\r\nx: y", Err("id_invalid")),
        Row::id("a zero byte in the id", "evt_\0", Err("id_invalid")),
        Row::good("bytes that are no text", Err("id_invalid")).with(WEBHOOK_ID, [0xff, 0xfe]),
        Row::good("the id is signed: another one does not fit", MISMATCH).with(WEBHOOK_ID, "evt_other"),
        Row::good("the id is signed in its own case", MISMATCH).with(WEBHOOK_ID, ID.to_uppercase()),
    ]
}

fn timestamps() -> Vec<Row> {
    let text = |seconds: u64| seconds.to_string();
    vec![
        Row::timestamp("5 minutes old is young enough", &text(NOW - 300), Ok(0)),
        Row::timestamp("a second older is not", &text(NOW - 301), Err("timestamp_too_old")),
        Row::timestamp("5 minutes ahead", &text(NOW + 300), Ok(0)),
        Row::timestamp("a second more", &text(NOW + 301), TOO_NEW),
        Row::timestamp("an empty timestamp", "", Err("timestamp_invalid")),
        Row::timestamp("a negative one", "-1700000000", Err("timestamp_invalid")),
        Row::timestamp("the highest without one", "18446744073709551615", TOO_NEW),
        Row::timestamp("one more must not wrap to zero", "18446744073709551616", TOO_NEW),
        Row::timestamp(
            "2^64 + now must not wrap to now",
            &(u128::from(NOW) + (1 << 64)).to_string(),
            TOO_NEW,
        ),
        Row::timestamp("leading zeros change nothing, being signed as they are", &format!("000{NOW}"), Ok(0)),
        Row::timestamp("a plus sign", &format!("+{NOW}"), Err("timestamp_invalid")),
        Row::timestamp("a fraction", &format!("{NOW}.0"), Err("timestamp_invalid")),
        Row::timestamp("a space in front", &format!(" {NOW}"), Err("timestamp_invalid")),
        Row::timestamp("digits of another script", "١٧٠٠٠٠٠٠٠٠", Err("timestamp_invalid")),
        Row::timestamp("milliseconds", &text(NOW * 1000), TOO_NEW),
        Row::timestamp("a date", "2023-11-14T22:13:20Z", Err("timestamp_invalid")),
        Row::good("bytes that are no text", Err("timestamp_invalid")).with(TIMESTAMP, [0xff]),
        Row::good("the timestamp is signed: another one in time does not fit", MISMATCH)
            .with(TIMESTAMP, text(NOW - 1)),
        Row::good("nor does the same number written differently", MISMATCH)
            .with(TIMESTAMP, format!("0{NOW}")),
    ]
}

fn signatures() -> Vec<Row> {
    let good = by(current());
    let bare_good = bare(current());
    let urlsafe = |text: &str| text.replace('+', "-").replace('/', "_");
    // The MAC of this body has a `+` or a `/`, so the two alphabets differ.
    let odd = (0..).map(|n| format!("{BODY}{n}")).find(|body| {
        let text = signature(current(), ID, &NOW.to_string(), body.as_bytes());
        text.contains('+') && text.contains('/')
    });
    let odd = odd.unwrap();
    let odd_signature = signature(current(), ID, &NOW.to_string(), odd.as_bytes());
    let last = |text: &str, c: char| format!("{}{c}=", &text[..text.len() - 2]);
    // The last character before the padding carries two unused bits; set one of them.
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let place = alphabet.find(&good[good.len() - 2..good.len() - 1]).unwrap();
    let loose = last(&good, alphabet.as_bytes()[place + 1] as char);
    let mut alike = STANDARD.decode(&bare_good).unwrap();
    alike[..2].iter_mut().for_each(|byte| *byte ^= 0x10);
    let many = |count: usize| vec![by(foreign()); count].join(" ");
    vec![
        Row::signature("by the previous secret", by(previous()), Ok(1)),
        Row::signature("by both, as during a rotation", format!("{good} {}", by(previous())), Ok(0)),
        Row::signature("by a secret that is not ours", by(foreign()), MISMATCH),
        Row::signature("a good one behind a foreign one", format!("{} {good}", by(foreign())), Ok(0)),
        Row::signature("two bytes that differ alike", format!("v1,{}", STANDARD.encode(alike)), MISMATCH),
        Row::signature("an empty header", "", UNUSABLE),
        Row::signature("an empty signature", "v1,", UNUSABLE),
        Row::signature("no version", bare_good.clone(), UNUSABLE),
        Row::signature("an unknown version", format!("v2,{bare_good}"), UNUSABLE),
        Row::signature("the public-key version", format!("v1a,{bare_good}"), UNUSABLE),
        Row::signature(
            "a good one behind unknown versions",
            format!("v2,x v1a,{bare_good} v0, {good}"),
            Ok(0),
        ),
        Row::signature("as a joined list of headers", format!("{}, {good}", by(foreign())), Ok(0)),
        Row::signature("a tab between two", format!("{}\t{good}", by(foreign())), UNUSABLE),
        Row::signature("more than one space between", format!("  {}   {good}  ", by(foreign())), Ok(0)),
        Row::signature("a space behind the comma", format!("v1, {bare_good}"), UNUSABLE),
        Row::signature("the URL-safe alphabet", urlsafe(&odd_signature), UNUSABLE).arriving_as(odd.clone()),
        Row::signature("the same in the standard alphabet", odd_signature.clone(), Ok(0)).arriving_as(odd),
        Row::signature("bits behind the last byte", loose, UNUSABLE),
        Row::signature("junk among the base64", good.replacen(',', ",*", 1), UNUSABLE),
        Row::signature("31 bytes", format!("v1,{}", "A".repeat(40) + "AA=="), UNUSABLE),
        Row::signature("32 zero bytes", format!("v1,{}=", "A".repeat(43)), MISMATCH),
        Row::signature("bytes that are no text", [b"v1,".as_slice(), &[0xff; 44]].concat(), UNUSABLE),
        Row::signature(
            "bytes that are no text, then a good one",
            [&[0xff, b' '], good.as_bytes()].concat(),
            Ok(0),
        ),
        Row::signature("the sixteenth fits", format!("{} {good}", many(15)), Ok(0)),
        Row::signature("the seventeenth is not read", format!("{} {good}", many(16)), TOO_MANY),
        Row::signature("nor are entries of other versions behind", "v9,x ".repeat(17) + &good, TOO_MANY),
        Row::signature("an unusable one and a foreign one", format!("v2,x {}", many(1)), MISMATCH),
        Row::signature("a thousand bogus ones", many(1000), TOO_LONG),
        Row::signature("4 KiB are read", format!("{good} {}", "x".repeat(4096 - 48)), Ok(0)),
        Row::signature("a byte more is not", format!("{good} {}", "x".repeat(4096 - 47)), TOO_LONG),
    ]
}

fn bodies() -> Vec<Row> {
    let flipped = BODY.replacen('{', "[", 1);
    vec![
        Row::body("an empty body can be signed", b"", Ok(0)),
        Row::body("a body that is no text", &[0, 0xff, 0xfe, 0x80], Ok(0)),
        Row::body("a body of one mebibyte", &vec![b'x'; 1 << 20], Ok(0)),
        Row::good("a body that lost its last byte", MISMATCH).arriving_as(&BODY.as_bytes()[..BODY.len() - 1]),
        Row::good("JSON with other spaces", MISMATCH).arriving_as(BODY.replace(':', ": ")),
        Row::good("a changed byte", MISMATCH).arriving_as(flipped),
        Row::good("no body where there was one", MISMATCH).arriving_as(""),
        Row::signed("id, timestamp and body run together", ID, &NOW.to_string(), b"2.x", Err("id_invalid"))
            .with(WEBHOOK_ID, format!("{ID}.{NOW}"))
            .with(TIMESTAMP, "2")
            .arriving_as("x"),
    ]
}

fn all() -> Vec<Row> {
    [headers_missing_or_doubled(), ids(), timestamps(), signatures(), bodies()]
        .into_iter()
        .flatten()
        .collect()
}

fn judge<'a>(headers: impl WebhookHeaders<'a>, body: &'a [u8]) -> Verdict {
    let verified = verifier().verify(headers, body);
    verified.map(|verified| verified.matched_signature().secret()).map_err(|error: VerifyError| error.code())
}

#[test]
fn every_oddity_has_its_verdict() {
    for row in all() {
        let verdict = row.raw_headers().map_err(|error| error.code());
        assert_eq!(verdict.and_then(|headers| judge(headers, &row.body)), row.verdict, "{}", row.why);
    }
}

/// The rows whose headers a header map can hold, with it.
fn with_header_maps() -> Vec<(Row, http::HeaderMap)> {
    let header_map = |row: &Row| {
        let mut map = http::HeaderMap::new();
        for (name, value) in &row.headers {
            let value = http::HeaderValue::from_bytes(value).ok()?;
            map.append(http::HeaderName::try_from(*name).unwrap(), value);
        }
        Some(map)
    };
    let rows: Vec<_> = all().into_iter().filter_map(|row| header_map(&row).map(|map| (row, map))).collect();
    assert!(rows.len() >= 60, "{} rows", rows.len());
    rows
}

#[test]
fn a_header_map_gives_the_same_verdicts() {
    for (row, map) in with_header_maps() {
        assert_eq!(judge(&map, &row.body), row.verdict, "{}", row.why);
    }
}

#[tokio::test]
async fn a_bad_header_is_found_before_the_body_is_read() {
    for (row, map) in with_header_maps() {
        let is_read = Arc::<AtomicBool>::default();
        let (flag, whole) = (Arc::clone(&is_read), Bytes::from(row.body.clone()));
        let body = stream::once(async move {
            flag.store(true, Ordering::SeqCst);
            Ok::<_, Infallible>(Frame::data(whole))
        });
        let verdict = receiver().receive_bytes(&map, StreamBody::new(Box::pin(body))).await;
        let verdict = verdict.map(|body| body.matched_signature().secret()).map_err(|error| error.code());
        assert_eq!(verdict, row.verdict, "{}", row.why);
        let needs_body = matches!(row.verdict, Ok(_) | Err("signature_mismatch"));
        assert_eq!(is_read.load(Ordering::SeqCst), needs_body, "{}", row.why);
    }
}

#[test]
fn a_sender_learns_no_more_than_400_or_401() {
    for row in all() {
        let verified = row.raw_headers().and_then(|headers| verifier().verify(headers, &row.body).map(drop));
        let Err(error) = verified else { continue };
        let is_unauthorized =
            matches!(error.code(), "timestamp_too_old" | "timestamp_too_new" | "signature_mismatch");
        assert_eq!(error.status(), if is_unauthorized { 401 } else { 400 }, "{}", row.why);
        // The operator learns which header it is about.
        let named =
            Header::ALL.into_iter().filter(|header| error.to_string().contains(header.name())).count();
        assert_eq!(named, usize::from(!is_unauthorized), "{error}");
    }
}

#[test]
fn a_verifier_without_secrets_rejects_everything() {
    let none = crate::fixture::at(Verifier::new([]), NOW);
    let signature = by(current());
    let headers = (ID, &*NOW.to_string(), signature.as_str());
    assert_eq!(none.verify(headers, BODY.as_bytes()).unwrap_err(), VerifyError::Mismatch);
}

#[test]
fn the_tolerance_can_be_set() {
    let strict = verifier().tolerance(std::time::Duration::from_secs(10));
    let request = |seconds: u64| (seconds.to_string(), signature(current(), ID, &seconds.to_string(), b""));
    for (seconds, code) in [
        (NOW - 10, None),
        (NOW - 11, Some("timestamp_too_old")),
        (NOW + 10, None),
        (NOW + 11, Some("timestamp_too_new")),
    ] {
        let (timestamp, signature) = request(seconds);
        let verdict = strict.verify((ID, timestamp.as_str(), signature.as_str()), b"");
        assert_eq!(verdict.err().map(|error| error.code()), code, "{seconds}");
    }
    let boundless = verifier().tolerance(std::time::Duration::MAX);
    let (timestamp, signature) = request(u64::MAX);
    assert!(boundless.verify((ID, timestamp.as_str(), signature.as_str()), b"").is_ok());
}
