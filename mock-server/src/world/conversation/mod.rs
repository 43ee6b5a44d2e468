//! Conversations: how they are stored, read, listed and searched, and what is done to them besides email.

mod assign;
mod index;
mod list;
mod notes;
mod read;
mod search;
mod snooze;
mod sorting;
mod tags;
mod record;

pub use assign::Assignment;
pub use notes::{NoteAdded, StatusChange, TeamNote};
pub use snooze::Snooze;
pub use sorting::Sorting;
pub use tags::TagChange;
pub(crate) use tags::TagRecord;
pub(crate) use record::{ConversationRecord, Item, MessageRecord};

pub(super) use index::{Index, NewestFirst, SortKey, SortedSet, sort_key};
pub(super) use read::start;
pub(super) use search::{SearchPlan, Query, Searchable, SearchIndex, words};
pub(super) use sorting::set;
