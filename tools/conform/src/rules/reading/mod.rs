//! Reading: the key itself, conversations, lists, search, and what lies beside them.

pub(super) mod agent;
pub(super) mod conversations;
pub(super) mod library;
pub(super) mod lists;
pub(super) mod search;
