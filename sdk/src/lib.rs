//! A typed client for a shared customer-email inbox.
//!
//! ```no_run
//! use shared_inbox::{Assigned, Client, View};
//!
//! # async fn run() -> shared_inbox::Result<()> {
//! let inbox = Client::from_env()?; // SHARED_INBOX_BASE_URL, SHARED_INBOX_API_KEY
//! for summary in inbox.conversations().view(View::Open).assigned(Assigned::Unassigned).search("refund").await? {
//!     let conversation = inbox.conversation(&summary.id);
//!     conversation.edit_tags().add("refund").remove("new").await?;
//!     conversation.add_note("Refund is approved, @Anna").await?;
//!     conversation.reply("Your refund is on its way.").summary("Confirms the refund").await?; // a draft
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Every call is a builder that is sent by awaiting it. Awaiting a reply makes a draft that a person
//! approves; only [`and_send`](create::CreateRequest::and_send) emails the customer. Inputs are checked
//! against every limit of the service before anything is sent. [`Client`] is cheap to clone, and clones share
//! the connections and the rate limit.
//!
//! Beyond the endpoints: [`Client::changes`] follows a list, [`Client::sweep`] reads all of it,
//! [`ConversationHandle::wait_for_reply`] and [`ConversationHandle::wait_until_sent`] wait, [`ReplyAddress`]
//! builds and parses reply addresses, [`new_message_id`] makes unguessable Message-IDs, and [`Client::raw`]
//! calls endpoints that this crate does not know yet.
//!
//! # Errors
//!
//! There is one [`Error`]. Its [`kind`](Error::kind) and predicates ([`is_not_found`](Error::is_not_found),
//! …) classify the failure; its data are the [`status`](Error::status), the service's
//! [`message`](Error::message), the [`problems`](Error::problems) of a refused input field by field, and the
//! missing [`scope`](Error::scope). Its [`certainty`](Error::certainty) tells whether the call may have taken
//! effect:
//!
//! | [`Certainty`] | means | call it again? |
//! |---|---|---|
//! | `NotSent` | nothing left this machine | yes |
//! | `Rejected` | the service refused it and did nothing | when the cause is fixed |
//! | `NoEffect` | it was a read | yes |
//! | `Unknown` | it may have taken effect | look first |
//!
//! An error can be logged: `Display` and `Debug` redact the key, addresses, and quotes of what was sent.
//! [`message`](Error::message) is not redacted.
//!
//! # Retries
//!
//! What is safe to repeat (every read, status, tags, assignment, recording app mail) is repeated after a 429,
//! a 5xx, a timeout or a dropped connection, with growing waits, until the attempts
//! ([`RetryPolicy`](retry::RetryPolicy)) or the time ([`deadline`](ClientBuilder::deadline)) run out. A
//! failed connection is repeated for every operation. `Retry-After` is honoured. All of it can be set for the
//! client and for a single call.
//!
//! # Lost responses
//!
//! Adding a note, replying and requesting documents are not safe to repeat, and the API has no idempotency
//! header. A create is one request when nothing is lost. When its response is lost, the client reads the
//! conversation, half a second later for the first time, until the item shows or would have shown
//! ([`visibility_timeout`](ClientBuilder::visibility_timeout), 10 seconds unless set). What is *new* in it
//! decides:
//!
//! | new in the conversation | then |
//! |---|---|
//! | exactly one item of the same kind and text (and with our agent's name on a note), dated no more than a few seconds before the request by the service's clock | success, [`recovered`](Response::recovered) |
//! | nothing that could be ours, for all that time and right before it is sent | sent again once, and never a third time |
//! | anything else: two that fit, one that is up to a minute older, a changed text, another name, an unknown kind of item | [`Certainty::Unknown`] |
//! | it cannot be read | [`Certainty::Unknown`] |
//! | the response was a 2xx that cannot be read, or that reports a failure; or a 501 | as above, but never sent again |
//!
//! Not new are items that this client has created, items that it or its user
//! ([`seen`](create::CreateRequest::seen)) has read before, and items that are more than a minute older than
//! the request. The service's clock is known from the `Date` of its responses, in whole seconds; the "few
//! seconds" are these and the differences between its machines, five at most. Until an item was seen whose
//! date fits that clock, only items that are more than a day older are not new.
//!
//! What could be ours: for a note, every note but those of others whom the team lists by name; for a reply or
//! a document request, every outbound message; for both, an item of an unknown kind. The text decides whether
//! an item is found or a person must look, never whether to send.
//!
//! An unknown outcome is an error that carries what is needed to find out later ([`Error::unconfirmed`]), in
//! this process or another: [`Client::find_unconfirmed`] looks by the same rule, and waits for as long.
//! [`Verification`](create::Verification) chooses another way to recover, or none.
//!
//! A create reads first by itself where the service sends no `Date`, and where this client has created the
//! same text a moment ago and not seen the item yet. Creates in one conversation through one client run one
//! after the other.
//!
//! **Two windows remain.** A request whose response was lost may still be on its way and be carried out after
//! the last read. If the client has sent again by then, the item is there twice. Only the service can rule
//! that out; a longer `visibility_timeout` makes the window smaller, and
//! [`Verification::Never`](create::Verification::Never) avoids it. And when *another* process writes the same
//! text under the same name within the same seconds, while our request never arrives, its item is taken for
//! ours. The conversation then has the text once, as both callers wanted;
//! [`Verification::ReadFirst`](create::Verification::ReadFirst) distinguishes them.
//!
//! # Creates that survive the process
//!
//! A process can be killed between sending a reply and hearing of it. Its job runs again, or its webhook is
//! delivered again, and nothing in memory is left. With a [store](once) and a key of yours, the create
//! happens once all the same:
//!
//! ```no_run
//! # async fn run(url: &str, key: &str, id: shared_inbox::ConversationId) -> Result<(), Box<dyn std::error::Error>> {
//! use shared_inbox::{Client, once::FileStore};
//!
//! let inbox = Client::builder(url, key).once_store(FileStore::open("var/shared-inbox")?).build()?;
//! let reply = inbox.conversation(&id).reply("It is on its way.").and_send().once("order-1042/shipped").await?;
//! println!("{} (by an earlier call: {})", reply.message_id, reply.replayed());
//! # Ok(())
//! # }
//! ```
//!
//! | the store knows of the key | then |
//! |---|---|
//! | nothing | a record is written, durably, before anything is sent; the create runs; its result is recorded |
//! | a result | it is returned, [`replayed`](Response::replayed) |
//! | a record whose owner is at it | the call waits, up to its deadline; then an error says who is at it since when |
//! | a record whose owner is gone | its item is looked up as after a lost response: found, it is returned as [`recovered`](Response::recovered); surely not there, it is sent; unclear, an error carries the record, which stays |
//! | another conversation or content | an error with both [fingerprints](once::Fingerprint), before anything is sent |
//!
//! An owner has a lease that outlasts a request and is checked right before each one, and a fence: one that
//! wakes up after its lease changes nothing. **One window remains**, which only the service could close: an
//! owner that stands still between that check and its request, for longer than its lease.
//! [`Client::once_records`] lists what has no result, and settles it by hand. Until then a record holds the
//! text, by which the item is recognised.
//!
//! The conversation is read once before the record where this client has not heard the service's time yet.
//!
//! # Rate limit
//!
//! The service allows 120 requests a minute for each key. The client never sends more than that in *any* 60
//! seconds, for all its clones together, so a 429 only comes when others use the key too; the client then
//! slows down. Calls queue by [`Priority`](rate_limit::Priority): [`bulk`](Request::bulk) calls go last but
//! are guaranteed a twelfth of the limit, and some capacity is kept for the reads that recover a lost
//! response. A call that cannot be sent before its deadline fails at once; with [`no_wait`](Request::no_wait)
//! it never waits, and the error [names the wait](Error::retry_after).
//! [`MemoryLimiter`](rate_limit::MemoryLimiter) counts within a process, the limiter of the crate
//! `shared-inbox-stores` for all processes and machines that share a key;
//! [`RateLimiter`](rate_limit::RateLimiter) is the trait behind both.
//!
//! # Lists
//!
//! The service's lists have no cursor and end at their limit, 100 at the most. A [`List`] knows whether it
//! [may be cut](List::is_cut). [`Client::sweep`] yields every conversation once: it divides what is longer
//! than a page by status, inbox and assignment, and [names](follow::Sweep::incomplete_slices) the slices that
//! are too long even then.
//!
//! # Many calls
//!
//! A call can carry a [header](Request::header) of its own, such as `traceparent`, and return its response
//! [with details](Request::send_with_response): status, headers, number of attempts. `into_future` makes a
//! future of a call (before the 2024 edition, with `use std::future::IntoFuture`). However many calls run at
//! once, they keep to the rate limit together:
//!
//! ```no_run
//! # async fn run(inbox: shared_inbox::Client, ids: Vec<shared_inbox::ConversationId>) -> shared_inbox::Result<()> {
//! use futures_util::future::try_join_all;
//!
//! let tags = tokio::spawn(inbox.tags().into_future()); // in the background
//! let all = try_join_all(ids.iter().map(|id| inbox.conversation(id).get().into_future())).await?; // side by side
//! println!("{} conversations, {} tags", all.len(), tags.await.unwrap()?.len());
//! # Ok(())
//! # }
//! ```
//!
//! A program without `async` runs its calls on a runtime of its own: see [`blocking`].
//!
//! # Testing
//!
//! A test key works on the service's sandbox: nothing is emailed, and [`Client::sandbox_inbound`] simulates
//! customers. The crate `shared-inbox-mock` is the service in memory, with a clock that tests move and a
//! switch for every failure. The client's own waits use a [`Clock`](clock::Clock) that can be replaced, so
//! that an hour of retries takes no time.
//!
//! # Features
//!
//! | feature | |
//! |---|---|
//! | `client` (default) | the HTTP client; without it, the crate is the types of the API alone, with few dependencies |
//! | `http2` (default) | HTTP/2 where the service offers it; HTTP/1.1 without |
//! | `rustls` (default) | TLS by rustls, certificates of the operating system |
//! | `rustls-ring` | the same with ring, which builds in a fraction of the time; for programs that have installed no crypto provider |
//! | `rustls-no-provider` | the same; the program installs the crypto provider before it makes a client |
//! | `native-tls` | TLS by the operating system's library |
//! | `reqwest` | `ClientBuilder::http_client`: requests through a client of `reqwest` 0.13 that you set up. Its next version will be another feature, or come with the next major version of this crate |
//! | `metrics` | counters for the facade `metrics`, see [Logs and metrics](#logs-and-metrics) |
//!
//! # Logs and metrics
//!
//! Calls and attempts are [`tracing`] spans, named by the OpenTelemetry conventions for HTTP clients. The
//! span of a call, `shared_inbox.call`, also has `shared_inbox.attempts`, `shared_inbox.rate_limit.wait_ms`
//! and `shared_inbox.outcome`: `received`, `recovered`, `replayed`, or the [`Certainty`] of its error. A wait
//! of a second or more for the rate limit is an event. No span, error or `Debug` shows a key, an address or
//! the text of an email.
//!
//! With the feature `metrics`, counters go to the recorder that the program has installed:
//!
//! | counter | labels |
//! |---|---|
//! | `shared_inbox.requests` | `http.request.method`, `url.template`, `http.response.status_code`, `error.type` |
//! | `shared_inbox.retries` | `http.request.method`, `url.template` |
//! | `shared_inbox.creates` | `shared_inbox.outcome`, as of the span |
//! | `shared_inbox.rate_limit.throttled` (429s) | `http.request.method`, `url.template` |
//! | `shared_inbox.rate_limit.long_waits` (a second or more), `shared_inbox.rate_limit.wait_ms` (all waits together) | |
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]
// The guide above is about the client.
#![cfg_attr(not(feature = "client"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "client")]
pub mod blocking;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
pub mod clock {
    //! The clock of everything that waits, which tests can replace.
    pub use crate::client::policy::{BoxFuture, Clock, TokioClock};
}
#[cfg(feature = "client")]
pub mod create {
    //! Requests that must not happen twice: notes, replies and document requests.
    pub use crate::client::create::{CreateInput, CreateRequest, Lookup};
    pub use crate::client::{create_state::UnconfirmedCreate, policy::Verification};
}
#[cfg(feature = "client")]
pub mod follow {
    //! Repeated reads: changes of a list, all of a list, and waits for a reply or for an email to go out.
    pub use crate::client::follow::{Change, Changes, Gap, ListSlice, Sweep, Wait};
}
mod ids;
pub mod input;
mod json;
mod limits;
mod lone_surrogates;
#[cfg(feature = "client")]
mod message_id;
mod model;
#[cfg(feature = "client")]
pub mod once {
    //! Stores of [`once`](crate::create::CreateRequest::once) keys, under which a create happens once
    //! although processes are killed.
    pub use crate::client::handle::UnfinishedRecord;
    pub use crate::client::once::{
        Begun, FileStore, Fingerprint, LeaseStatus, MemoryStore, OnceRecord, OnceStore, OnceStoreError,
        StoreFuture, StoredRecord,
    };
}
mod open_enums;
mod operation;
mod problems;
#[cfg(feature = "client")]
pub mod rate_limit {
    //! The rate limit of a key, within one process or for all processes that share it.
    pub use crate::client::policy::{
        AcquireRequest, KeyFingerprint, LimitError, MemoryLimiter, Permit, PermitOutcome, Priority,
        RateLimiter,
    };
}
#[cfg(feature = "client")]
pub mod raw {
    //! Endpoints that this crate does not know yet.
    pub use crate::client::call::{RawRequest, RawResponse};
}
mod reference;
#[cfg(feature = "client")]
pub mod retry {
    //! How often a call is repeated, and how long it waits in between.
    pub use crate::client::policy::RetryPolicy;
}
mod text;
mod time;

/// The rules of the API as data, for the other crates of this project. Not covered by semantic versioning.
#[doc(hidden)]
pub mod __spec {
    pub use crate::ids::Id;
    pub use crate::input::read::{query, read_arguments, read_query};
    pub use crate::input::rule::{Field, Form, Rule};
    pub use crate::lone_surrogates::replace_lone_surrogates;
    pub use crate::operation::{Idempotency, Method, Operation};
    #[cfg(feature = "__schemas")]
    pub use crate::operation::{Tool, answers};
    pub use crate::text::Text;
    pub mod limits {
        pub use crate::limits::*;
    }
}

#[cfg(feature = "client")]
pub use client::{
    call::{List, Request, Response},
    config::{ApiKey, InvalidApiKey},
    error::{Certainty, Error, ErrorKind, Result},
    handle::{Client, ClientBuilder, ConversationHandle},
};
/// The crate `http`, whose types appear in the client's interface.
#[cfg(feature = "client")]
pub use http;
pub use ids::{
    ActorId, AgentId, BookingId, BookingTypeId, ConversationId, DocumentId, DocumentRequestId, EventId,
    InvalidId, MailboxId, MessageId, NoteId, TagId, UserId, WebhookId, WorkspaceId,
};
pub use input::assign::{AssignTo, InvalidAssignTo};
pub use json::Json;
#[cfg(feature = "client")]
pub use message_id::{InvalidDomain, new_message_id};
pub use model::{
    Ack, Agent, Assignee, Attachment, Contact, Conversation, ConversationSummary, Document, DocumentFields,
    Mailbox, Me, Message, Note, Nullable, ReplyResult, SandboxReceipt, Sender, Tag, Team, TeamMember,
    TimelineEvent, TimelineItem,
};
pub use open_enums::{
    ActorType, AskKind, Assigned, Direction, DocumentKind, MessageStatus, Scope, Status, Turn, Urgency, View,
};
pub use problems::{Problem, Problems};
pub use reference::{InvalidAddress, InvalidReference, Reference, ReplyAddress};
/// The crate `reqwest`, whose client [`ClientBuilder::http_client`] takes.
#[cfg(feature = "reqwest")]
pub use reqwest;
pub use time::{Date, InvalidDate, InvalidTimestamp, Timestamp};
