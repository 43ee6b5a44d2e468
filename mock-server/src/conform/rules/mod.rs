//! Every rule, in the order of the document. A file holds what belongs to one part of it.

mod agent;
mod conversations;

use super::rule::Table;

pub(super) fn all() -> Table {
    let mut table = Table::default();
    agent::add(&mut table);
    conversations::add(&mut table);
    table
}
