//! Every rule, in the order of the document. A file holds what belongs to one part of it.

mod access;
mod agent;
mod app_mail;
mod conversations;
mod errors;
mod events;
mod library;
mod lists;
mod mcp;
mod replies;
mod sandbox;
mod webhooks;
mod writes;

use super::rule::Table;

pub(super) fn all() -> Table {
    let mut table = Table::default();
    agent::add(&mut table);
    conversations::add(&mut table);
    lists::add(&mut table);
    writes::add(&mut table);
    replies::add(&mut table);
    library::add(&mut table);
    app_mail::add(&mut table);
    sandbox::add(&mut table);
    mcp::add(&mut table);
    access::add(&mut table);
    webhooks::add(&mut table);
    events::add(&mut table);
    errors::add(&mut table);
    // By section; within one, in the order of the files.
    table.rules.sort_by_key(|rule| order(rule.section));
    table
}

/// The numbers of a section.
fn order(section: &str) -> Vec<u32> {
    section.split('.').filter_map(|number| number.parse().ok()).collect()
}
