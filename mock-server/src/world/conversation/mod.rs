//! Conversations: how they are stored, read, listed and searched, and what is done to them besides email.

mod assign;
mod index;
mod list;
mod notes;
mod read;
mod record;
mod search;
mod snooze;
mod sorting;
mod tags;

pub use assign::Assignment;
pub use notes::{CreatedNote, StatusChange, TeamNote};
pub(crate) use record::{ConversationRecord, Item, MessageRecord};
pub use snooze::Snooze;
pub use sorting::SortingResult;
pub use tags::TagChange;
pub(crate) use tags::TagRecord;

pub(super) use index::{Index, NewestFirst, SortKey, SortedSet, sort_key};
pub(super) use read::start;
pub(super) use search::{Query, SearchIndex, SearchPlan, Searchable, words};
pub(super) use sorting::set;
