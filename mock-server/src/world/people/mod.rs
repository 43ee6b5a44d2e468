//! People, inboxes, bookings and keys of the workspace, visibility, and the rate limit.

mod actor;
mod bookings;
mod keys;
mod limit;
mod visibility;
mod workspace;

pub use actor::Actor;
pub use bookings::{BookingRecord, NewBooking};
pub(crate) use keys::Key;
pub use keys::{CreatedKey, KeyEntry, KeyHash, LIVE_KEY, NewKey, ReadyKeys, TEST_KEY};
pub use workspace::{MailboxEntry, NewMailbox, NewUser, Plan, User};
pub(crate) use workspace::{MailboxRecord, Workspace};

pub(super) use actor::SERVICE_NAME;
pub(super) use limit::Limits;
pub(super) use visibility::actor_type;
