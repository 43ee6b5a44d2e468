//! The options of the command line, and what becomes of them.

use shared_inbox::{__spec::Operation, Scope};
use shared_inbox_mcp::settings::{ToolFilter, ToolHidden};

use crate::program::options;

#[test]
fn every_option_has_a_variable_that_is_named_for_it() {
    let all = options();
    assert!(all.len() > 10, "{all:?}");
    for (option, variable) in all {
        assert_eq!(
            variable,
            format!("SHARED_INBOX_{}", option.to_uppercase().replace('-', "_")),
            "--{option}"
        );
    }
}

#[test]
fn filters_only_take_away() {
    let all = Scope::KNOWN;
    let mut filter = ToolFilter::default();
    filter.only = vec!["reply".into(), "list_tags".into()];
    filter.except = vec!["reply".into()];
    assert_eq!(filter.hides(Operation::ListTags, all), None);
    assert_eq!(filter.hides(Operation::Reply, all), Some(ToolHidden::Excluded));
    assert_eq!(filter.hides(Operation::AddNote, all), Some(ToolHidden::NotNamed));
    assert_eq!(filter.hides(Operation::AddNote, &[Scope::Read]), Some(ToolHidden::Scope(Scope::Write)));
}
