//! People, inboxes, bookings and keys of the workspace, visibility, and the rate limit.

mod bookings;
mod actor;
mod keys;
mod limit;
mod visibility;
mod workspace;

pub use bookings::{BookingRecord, NewBooking};
pub use actor::Actor;
pub(crate) use keys::Key;
pub use keys::{CreatedKey, KeyEntry, KeyHash, Keys, LIVE_KEY, NewKey, TEST_KEY};
pub use workspace::{MailboxEntry, NewMailbox, NewUser, Plan, User};
pub(crate) use workspace::{MailboxRecord, Workspace};

pub(super) use actor::SERVICE_NAME;
pub(super) use limit::Limits;
pub(super) use visibility::actor_type;
