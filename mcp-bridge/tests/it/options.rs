//! The options of the command line and what becomes of them.

use std::ffi::OsStr;

use clap::{CommandFactory, Parser};
use shared_inbox::{Operation, Scope};
use shared_inbox_mcp::{
    cli::{Cli, key_among},
    config::For,
    settings::{ToolFilter, ToolHidden},
};

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn every_option_has_a_variable_that_is_named_for_it() {
    for arg in Cli::command().get_arguments() {
        let Some(long) = arg.get_long().filter(|long| !matches!(*long, "help" | "version")) else {
            continue;
        };
        let name = format!("SHARED_INBOX_{}", long.to_uppercase().replace('-', "_"));
        assert_eq!(arg.get_env().and_then(OsStr::to_str), Some(name.as_str()), "--{long}");
    }
}

#[test]
fn a_key_among_the_arguments_is_noticed_and_not_repeated() {
    for argument in ["rk_live_x", "--api-key=rk_live_x", "--api-key", "--token=abc"] {
        let said = key_among([argument.into()]).expect(argument);
        assert!(!said.contains("rk_live"), "{said}");
    }
    assert_eq!(key_among(["--api-key-file=/k".into(), "doctor".into()]), None);
}

#[test]
fn options_travel_into_the_settings_of_a_client() {
    let cli = Cli::parse_from([
        "x",
        "--read-only",
        "--max-chars=9000",
        "config",
        "zed",
        "--exclude-tools",
        "reply,add_note",
    ]);
    let launch = cli.options.launch(For::Zed, "/bin/x".into());
    assert_eq!(launch.args, ["--read-only", "--exclude-tools=reply,add_note", "--max-chars=9000"]);
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
