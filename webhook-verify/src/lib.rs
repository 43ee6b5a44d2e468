//! Receives the signed webhooks of a shared customer inbox: checks that a request is genuine and fresh, and gives a typed
//! event.
//!
//! # The shortest receiver
//!
//! With the feature `axum`; the one for [`actix-web`](#with-actix-web) is below.
//!
#![cfg_attr(feature = "axum", doc = "```no_run")]
#![cfg_attr(not(feature = "axum"), doc = "```ignore")]
//! use axum::{Router, routing::post};
//! use shared_inbox_webhooks::{Event, EventKind, Receiver, Webhook};
//!
//! async fn hook(Webhook(event): Webhook<Event>) {
//!     match &event.kind {
//!         EventKind::ClientReplied(reply) => println!("{} has a reply", reply.conversation_id),
//!         other => println!("nothing to do for {}", other.event_type()),
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let receiver = Receiver::from_env()? // SHARED_INBOX_WEBHOOK_SECRET
//!         .on_rejected(|rejection| eprintln!("webhook rejected: {}", rejection.code()));
//!     let app = Router::new().route("/hook", post(hook)).with_state(receiver);
//!     let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//!     Ok(axum::serve(listener, app).await?)
//! }
//! ```
//!
//! The handler runs only for a request that was signed with the secret, over exactly these bytes, within the last five
//! minutes. Everything else gets an empty 400, 401, 408 or 413: headers are judged before the body is read, and of the body no
//! more than the limit (1 MiB) is read, for no longer than 10 seconds.
//!
//! # Other servers
//!
//! [`Receiver::receive`](Receiver) (feature `http`) takes an `http::Request` with a body of any kind: plain hyper, a function
//! platform, a Worker. `VerifyLayer` (feature `tower`) stands in front of any service. WebAssembly in a browser or a Worker
//! has no clock of its own: give [`Verifier::clock`] the host's.
//!
//! # Without a framework
//!
//! [`Verifier::verify`] takes the headers (a header map with the feature `http` or `http02`, a tuple of the three values,
//! or [`RawHeaders::from_pairs`]) and the raw body. What it gives can be made in no other way; reading it as an [`Event`] is a
//! second step. Whatever has an id is a value: a kind or shape of event that is not known yet is [`EventKind::Unknown`], not an
//! error, and keeps its JSON.
//!
//! ```
//! # use std::time::{Duration, UNIX_EPOCH};
//! use shared_inbox_webhooks::{Event, Secret, Signer, Verified, Verifier};
//!
//! # let current = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
//! # let previous = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
//! # let body = br#"{"id":"evt_1","type":"webhook.test","version":1,"created_at":"2026-03-01T09:30:00.000Z",
//! #     "workspace":"wsp_1","livemode":false,"data":{"summary":"A test","endpoint_id":"whk_1"}}"#;
//! # let headers = &Signer::new([Secret::parse(previous)?]).sign("evt_1", 1772357400, body);
//! let verifier = Verifier::new([Secret::parse(current)?, Secret::parse(previous)?]);
//! # let verifier = verifier.clock(|| UNIX_EPOCH + Duration::from_secs(1772357400));
//! let event: Verified<Event> = verifier.verify(headers, body)?.parse()?;
//! if event.matched_signature().secret() == 1 {
//!     println!("still signed with the previous secret: the rotation is not complete");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A body that arrives in pieces is verified by [`Checked::stream`].
//!
//! # Handled once
//!
//! The service repeats an event until it gets a 2xx, for about a day, and signs every attempt afresh: a valid signature does
//! not mean that the event is new. [`replay::Handlers`](replay) runs a handler once for each event, in a task that continues
//! when the service hangs up, and responds with 409 to an attempt that comes meanwhile. A failed handler is run again at the
//! next attempt, and logged through `tracing`.
//!
//! A guard in memory forgets when the process ends; those on Redis and PostgreSQL (features `redis` and `sqlx`) do not, and
//! serve many machines. [`replay`] describes what each guarantees.
//!
//! # When nothing verifies
//!
//! Log [`VerifyError::code`], which stays the same across releases, and respond with [`VerifyError::status`]. To find out
//! why, [`diagnose`] takes the secret as it is configured and a request as it came in, and names the mistake: a line end
//! behind the secret, a clock that is wrong, a framework that wrote the JSON anew. For operators only: what it says would
//! help a forger too.
//! `Receiver::diagnose_rejected` (feature `tokio`) makes one now and then, off the threads that serve.
//!
//! # With actix-web
//!
#![cfg_attr(feature = "actix-web", doc = "```no_run")]
#![cfg_attr(not(feature = "actix-web"), doc = "```ignore")]
//! use actix_web::{App, HttpResponse, HttpServer, web};
//! use shared_inbox_webhooks::{Event, Receiver, Webhook};
//!
//! async fn hook(Webhook(event): Webhook<Event>) -> HttpResponse {
//!     println!("{}: {}", event.kind.event_type(), event.summary);
//!     HttpResponse::Ok().finish()
//! }
//!
//! #[actix_web::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let receiver = Receiver::from_env()?; // SHARED_INBOX_WEBHOOK_SECRET
//!     let app = move || App::new().app_data(receiver.clone()).route("/hook", web::post().to(hook));
//!     Ok(HttpServer::new(app).bind(("127.0.0.1", 8080))?.run().await?)
//! }
//! ```
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | adds |
//! |---|---|
//! | `http` | header maps and requests of `http` 1 |
//! | `http02` | header maps of `http` 0.2 |
//! | `tokio` | handlers in tasks of their own; a limit on the time for a body; diagnoses of rejected requests |
//! | `tower` | a layer for any service of `tower` 0.5 (`tower-layer` and `tower-service` 0.3); brings `http` |
//! | `axum` | the extractor for axum 0.8; brings `http` and `tokio` |
//! | `actix-web` | the extractor for actix-web 4; brings `tokio` |
//! | `redis` | a replay guard on Redis or Valkey, over connections of `redis` 1; brings `tokio` |
//! | `sqlx` | a replay guard on PostgreSQL, and marks inside the handler's own transaction, over pools of `sqlx` 0.8; brings `tokio` |
//! | `suite` | the rules of a replay guard as tests |
//!
//! The table says whose types a feature shows, and of which version. The next major version of such a crate will be another
//! feature, or come with the next major version of this one.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod clock;
mod diagnose;
mod error;
mod frameworks;
mod headers;
mod key;
#[cfg(any(feature = "http", feature = "actix-web"))]
mod receiver;
pub mod replay;
#[cfg(feature = "http")]
mod request;
#[cfg(all(feature = "tokio", any(feature = "http", feature = "actix-web")))]
mod sampled;
mod signer;
mod verified;
mod verifier;

pub use diagnose::{Diagnosis, Hint, diagnose};
pub use error::{Header, VerifyError};
#[cfg(feature = "tower")]
pub use frameworks::layer::{VerifyLayer, VerifyService};
pub use headers::{RawHeaders, WebhookHeaders};
pub use key::secret::{Secret, SecretError};
#[cfg(any(feature = "http", feature = "actix-web"))]
pub use receiver::{EnvError, Receiver, Rejection, Webhook};
pub use shared_inbox::event::{self, Event, EventKind};
pub use signer::{SignedHeaders, Signer};
pub use verified::{MatchedSignature, ParseError, Verified, VerifiedBody};
pub use verifier::{Checked, Stream, Verifier};

/// Compiles the example in the README.
#[cfg(all(doctest, feature = "axum"))]
#[doc = include_str!("../README.md")]
struct Readme;
