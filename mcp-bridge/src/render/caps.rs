//! The most that is shown of each untrusted field: one long subject must not hide the rest of the inbox.
//!
//! In characters, or in items where a list is meant. No field that people fill in by hand is longer.

pub(super) const SUBJECT: usize = 300;
pub(super) const SNIPPET: usize = 400;
pub(super) const NAME: usize = 120;
/// The longest address that email can go to has 254.
pub(super) const ADDRESS: usize = 254;
pub(super) const FILE: usize = 200;
/// Topics, references, dates.
pub(super) const SHORT: usize = 80;
/// The text of a message or a note; the service gives at most 10,000, and defusing adds some.
pub(super) const WORDS: usize = 12_000;
/// Data of an event, or a recorded email, as one text.
pub(super) const DATA: usize = 4_000;

pub(super) const TAGS: usize = 30;
pub(super) const REASONS: usize = 3;
pub(super) const FILES: usize = 20;
pub(super) const TEAM: usize = 200;
/// Fields of one thing: more than the service has.
pub(super) const FIELDS: usize = 60;
/// Conversations that a warning names: all of a list, as long as it has this much room for each.
pub(super) const WARNED: usize = 100;
pub(super) const PER_WARNED: usize = 50;

/// In JSON of any form: members of a list or an object, levels, characters of a name.
pub(super) const MEMBERS: usize = 40;
pub(super) const DEPTH: usize = 6;
pub(super) const KEY: usize = 60;
