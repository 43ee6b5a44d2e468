//! The rules of every extractor, for `extractor_rules!` to make tests of.

use std::io;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use shared_inbox_webhooks::{Receiver, SignedHeaders, Signer};
use tokio::time::{Instant, timeout};

use crate::fixture::{BODY, ID, NOW, TEST_TIMEOUT, builder, current, foreign, previous, receiver, signed_by};

/// A request, whose body comes in pieces and does not announce its length.
pub(crate) struct Post {
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: BoxStream<'static, io::Result<Bytes>>,
}

impl Post {
    pub(crate) fn new(headers: &SignedHeaders, body: &[u8]) -> Self {
        let pieces: Vec<_> = body.chunks(1 + body.len() / 20).map(Bytes::copy_from_slice).map(Ok).collect();
        Self {
            headers: headers.pairs().map(|(name, value)| (name, value.to_owned())).to_vec(),
            body: stream::iter(pieces).boxed(),
        }
    }

    /// A request with a right signature for this body.
    pub(crate) fn signed(body: &[u8]) -> Self {
        Self::new(&signed_by(previous(), body), body)
    }

    fn too_old() -> Self {
        Self::new(&Signer::new([current()]).sign(ID, NOW - 301, BODY.as_bytes()), BODY.as_bytes())
    }
}

/// Makes a test of each rule, for an app that answers with this function.
macro_rules! extractor_rules {
    ($answer:path) => {
        extractor_rules! { @ $answer,
            a_genuine_request_reaches_the_handler
            a_rejected_sender_gets_a_bare_status_and_the_operator_hears_why
            bad_headers_are_rejected_before_the_body_is_read
            a_body_over_the_limit_is_answered_with_413
            a_body_that_does_not_come_is_answered_with_408
        }
    };
    (@ $answer:path, $($rule:ident)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $rule() {
                crate::extractors::$rule($answer).await;
            }
        )*
    };
}

pub(crate) async fn a_genuine_request_reaches_the_handler(
    answer: impl AsyncFn(Receiver, Post) -> (u16, String),
) {
    let receiver = builder().on_rejected(|rejection| panic!("{rejection}")).build();
    let (status, body) = answer(receiver, Post::signed(BODY.as_bytes())).await;
    assert_eq!((status, body.as_str()), (200, "webhook.test by secret 1"));
}

pub(crate) async fn a_rejected_sender_gets_a_bare_status_and_the_operator_hears_why(
    answer: impl AsyncFn(Receiver, Post) -> (u16, String),
) {
    let good = || Post::signed(BODY.as_bytes());
    let mut doubled = good();
    doubled.headers.push(("webhook-id", "evt_other".to_owned()));
    let broken = [Ok(Bytes::from_static(b"{")), Err(io::Error::other("reset"))];
    let rewritten = BODY.replace("\":", "\": ");
    for (request, code, status) in [
        (Post { headers: Vec::new(), ..good() }, "id_missing", 400),
        (doubled, "id_conflicting", 400),
        (Post::too_old(), "timestamp_too_old", 401),
        (Post::new(&signed_by(foreign(), BODY.as_bytes()), BODY.as_bytes()), "signature_mismatch", 401),
        (Post { body: Post::signed(rewritten.as_bytes()).body, ..good() }, "signature_mismatch", 401),
        (Post::signed(b"no JSON"), "body_not_json", 400),
        (Post::signed(br#"{"id":"evt_other"}"#), "body_id_mismatch", 400),
        (Post::signed(&vec![b' '; 2 << 20]), "body_too_large", 413),
        (Post { body: stream::iter(broken).boxed(), ..good() }, "body_unreadable", 400),
    ] {
        let codes = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&codes);
        let receiver =
            builder().on_rejected(move |rejection| log.lock().unwrap().push(rejection.code())).build();
        assert_eq!(answer(receiver, request).await, (status, String::new()), "{code}");
        assert_eq!(*codes.lock().unwrap(), [code]);
    }
}

pub(crate) async fn bad_headers_are_rejected_before_the_body_is_read(
    answer: impl AsyncFn(Receiver, Post) -> (u16, String),
) {
    let unread = stream::poll_fn(|_| -> Poll<Option<io::Result<Bytes>>> { panic!("the body is read") });
    let request = Post { body: unread.boxed(), ..Post::too_old() };
    assert_eq!(answer(receiver(), request).await.0, 401);
}

pub(crate) async fn a_body_over_the_limit_is_answered_with_413(
    answer: impl AsyncFn(Receiver, Post) -> (u16, String),
) {
    const MIB: usize = 1 << 20;
    assert!(format!("{:?}", receiver()).contains("body_limit: 1048576, body_timeout: 10s"));
    for (receiver, size, status) in [
        (receiver(), MIB, 200),
        (receiver(), MIB + 1, 413),
        (builder().body_limit(BODY.len()).build(), BODY.len(), 200),
        (builder().body_limit(BODY.len()).build(), BODY.len() + 1, 413),
        // The framework's own limit does not get in the way.
        (builder().body_limit(4 * MIB).build(), 3 * MIB, 200),
    ] {
        let padded = format!("{BODY}{}", " ".repeat(size - BODY.len()));
        assert_eq!(answer(receiver, Post::signed(padded.as_bytes())).await.0, status, "{size} bytes");
    }
    let endless = stream::repeat(()).map(|()| Ok(Bytes::from(vec![b' '; MIB])));
    let endless = Post { body: endless.boxed(), ..Post::signed(BODY.as_bytes()) };
    assert_eq!(answer(receiver(), endless).await, (413, String::new()));
}

pub(crate) async fn a_body_that_does_not_come_is_answered_with_408(
    answer: impl AsyncFn(Receiver, Post) -> (u16, String),
) {
    for (receiver, seconds) in [(receiver(), 10), (builder().body_timeout(Duration::from_secs(3)).build(), 3)]
    {
        let start = Instant::now();
        let first = stream::iter([Ok(Bytes::from_static(b"{\"id\":\"ev"))]);
        let request = Post { body: first.chain(stream::pending()).boxed(), ..Post::signed(BODY.as_bytes()) };
        let answered = timeout(TEST_TIMEOUT, answer(receiver, request)).await.expect("an answer");
        assert_eq!((answered, start.elapsed().as_secs()), ((408, String::new()), seconds));
    }
}
