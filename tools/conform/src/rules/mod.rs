//! Every rule, in the order of the document. A folder holds what belongs to one part of it.

mod access;
mod mail;
mod reading;
mod requests;
mod sandbox;
mod webhooks;
mod writing;

use std::collections::HashMap;

use super::rule::Table;

/// The calls of the control API that each rule takes: written by the test `control_api`, which watches a run.
const CONTROL_CALLS: &str = include_str!("control-calls.txt");

pub(super) fn all() -> Table {
    let mut table = Table::default();
    for add in [
        reading::agent::add,
        reading::conversations::add,
        reading::lists::add,
        reading::search::add,
        writing::writes::add,
        writing::tags::add,
        writing::assignment::add,
        mail::replies::add,
        mail::sending::add,
        mail::document_requests::add,
        reading::library::add,
        mail::app_mail::add,
        mail::threading::add,
        sandbox::simulated_mail::add,
        sandbox::magic::add,
        access::mcp::add,
        access::keys::add,
        access::visibility::add,
        webhooks::delivery::add,
        webhooks::retries::add,
        webhooks::scoping::add,
        webhooks::events::add,
        webhooks::occasions::add,
        webhooks::event_values::add,
        requests::errors::add,
        requests::inputs::add,
    ] as [fn(&mut Table); 26]
    {
        add(&mut table);
    }
    let calls: HashMap<&str, &str> = CONTROL_CALLS.lines().filter_map(|line| line.split_once(": ")).collect();
    for rule in &mut table.rules {
        let calls = calls.get(rule.id.as_str()).into_iter().flat_map(|calls| calls.split(", "));
        rule.control_calls = calls.map(str::to_owned).collect();
    }
    // By section; within one, in the order of the files.
    table.rules.sort_by_key(|rule| order(rule.section));
    table
}

/// Returns the numbers of a section.
fn order(section: &str) -> Vec<u32> {
    section.split('.').filter_map(|number| number.parse().ok()).collect()
}
