//! Every rule, in the order of the document. A file holds what belongs to one part of it.

mod access;
mod agent;
mod app_mail;
mod asking;
mod assignment;
mod conversations;
mod errors;
mod event_values;
mod events;
mod inputs;
mod library;
mod lists;
mod magic;
mod mcp;
mod occasions;
mod operations;
mod replies;
mod retries;
mod sandbox;
mod scoping;
mod search;
mod sending;
mod tags;
mod threading;
mod visibility;
mod webhooks;
mod writes;

use super::rule::Table;

pub(super) fn all() -> Table {
    let mut table = Table::default();
    for add in [
        agent::add,
        conversations::add,
        lists::add,
        search::add,
        writes::add,
        tags::add,
        assignment::add,
        replies::add,
        sending::add,
        asking::add,
        library::add,
        app_mail::add,
        threading::add,
        sandbox::add,
        magic::add,
        mcp::add,
        access::add,
        visibility::add,
        webhooks::add,
        retries::add,
        scoping::add,
        events::add,
        occasions::add,
        event_values::add,
        errors::add,
        inputs::add,
    ] as [fn(&mut Table); 26]
    {
        add(&mut table);
    }
    // By section; within one, in the order of the files.
    table.rules.sort_by_key(|rule| order(rule.section));
    table
}

/// The numbers of a section.
fn order(section: &str) -> Vec<u32> {
    section.split('.').filter_map(|number| number.parse().ok()).collect()
}
