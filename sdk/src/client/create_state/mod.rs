//! The state of a create: plain data without I/O, which errors, the engine, stores and `create` share.
//!
//! A create is in one of these states. All creates of a client in one conversation are in one list
//! ([`RecentCreates`]), so that an item which one of them has made is never taken for another's:
//!
//! ```text
//!                 send                        the response names the item
//!   (nothing) ───────────▶ InFlight ─────────────────────────────────────────▶ Made
//!       ▲                   │    │                                               ▲
//!       │ refused, or       │    │ response without the item (a note)            │ its item is read
//!       │ never sent        │    └─────────────────────────────▶ Confirmed ──────┤
//!       └───────────────────┤                                                    │
//!                           │ response lost, or future dropped                   │ found by a look
//!                           └──────────────────────────────────▶ Lost ───────────┘
//!                                                                 │ not there: sent again
//!                                                                 └─────────▶ InFlight
//! ```
//!
//! Whether an item in the timeline is the one of a create is decided by three questions, each answered in one
//! place:
//!
//! | question | answered by |
//! |---|---|
//! | Does it look like ours: kind, text, author? | [`Expected`], with [`OwnNames`] |
//! | Was it there before? | [`Baseline`]: the keys of items that were read ([`Reads`]), and when it was sent by the service's clock ([`ServiceClock`]) |
//! | Is it another create's? | [`RecentCreates`] |
//!
//! [`UnconfirmedCreate`] holds the first two for another time or process: an error of unknown outcome carries it, and so does the
//! record of a `once` key from before the request is sent until there is a result.

mod baseline;
mod expected;
mod reads;
mod recent_creates;
mod same_text;
mod service_clock;
mod unconfirmed;

pub(crate) use baseline::Baseline;
pub(crate) use expected::Expected;
pub(crate) use expected::OwnNames;
pub(crate) use reads::{Reads, item_keys};
pub(crate) use recent_creates::{CreateLog, RecentCreates};
pub(crate) use service_clock::ServiceClock;
pub use unconfirmed::UnconfirmedCreate;
