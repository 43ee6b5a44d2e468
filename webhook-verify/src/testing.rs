//! Signed requests for the tests of your handlers: feature `testing`.
//!
//! [`signed`] makes a request as the service would send it now, in one line; the README of this crate shows a test.

use std::borrow::Borrow;
use std::time::{SystemTime, UNIX_EPOCH};

use shared_inbox::Timestamp;

use crate::clock;
use crate::event::Event;
use crate::key::secret::Secret;
use crate::signer::{SignedHeaders, Signer};

/// Signs an event as the service would send it now.
///
/// What the service always says and the event leaves out is filled in: the present time, the workspace
/// `wsp_test`, and that it is an event of the sandbox. Set `event.livemode` for a receiver that requires live
/// events.
///
/// # Panics
/// When the platform has no clock: use [`signed_at`] there.
#[must_use]
pub fn signed(secret: &Secret, event: impl Borrow<Event>) -> SignedRequest {
    signed_at(secret, event, clock::wall().expect("this platform has no clock: use `signed_at`"))
}

/// Signs an event as the service would have sent it at `time`: for a verifier with a clock of its own, and
/// for requests that are too old.
///
/// # Panics
/// When the event holds raw JSON that is none.
#[must_use]
pub fn signed_at(secret: &Secret, event: impl Borrow<Event>, time: SystemTime) -> SignedRequest {
    let mut event = event.borrow().clone();
    event.created_at.get_or_insert_with(|| Timestamp::from(time));
    event.workspace = event.workspace.or_else(|| "wsp_test".parse().ok());
    event.livemode.get_or_insert(false);
    let body = serde_json::to_vec(&event).expect("an event is JSON");
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let headers = Signer::new([secret.clone()]).sign(event.id.as_str(), seconds, &body);
    SignedRequest { headers, body }
}

/// A signed request: its headers and its body, or the request of a framework.
#[derive(Clone, Debug)]
pub struct SignedRequest {
    headers: SignedHeaders,
    body: Vec<u8>,
}

impl SignedRequest {
    /// Returns the headers, for a [`Verifier`](crate::Verifier) or any HTTP client.
    #[must_use]
    pub fn headers(&self) -> &SignedHeaders {
        &self.headers
    }

    /// Returns the body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns a `POST` to this path or address, for axum, hyper, tower, or
    /// [`Receiver::receive`](crate::Receiver::receive). `B` is any body that can be made from bytes:
    /// `axum::body::Body`, `http_body_util::Full`.
    ///
    /// # Panics
    /// When `uri` is not valid.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn to_http<B: From<Vec<u8>>>(&self, uri: &str) -> http::Request<B> {
        let request = http::Request::post(uri).header("content-type", "application/json");
        let headers = self.headers.pairs();
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(B::from(self.body.clone())).expect("the address is valid")
    }

    /// Returns a `POST` to this path, for `actix_web::test::call_service`.
    #[cfg(feature = "actix-web")]
    #[must_use]
    pub fn to_actix(&self, uri: &str) -> actix_web::test::TestRequest {
        let request = actix_web::test::TestRequest::post().uri(uri);
        let request = request.insert_header(("content-type", "application/json"));
        let headers = self.headers.pairs();
        let request = headers.into_iter().fold(request, |request, header| request.insert_header(header));
        request.set_payload(self.body.clone())
    }
}
