//! What cargo builds, and with which features.

use std::{collections::BTreeSet, path::Path, process::Command};

/// Each package of a tree with the features that it is built with, as `name vX [features]`.
fn features(tree: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let format = ["tree", "--offline", "--locked", "--prefix", "none", "-f", "{p} [{f}]"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(cargo).args(format).args(tree).current_dir(root).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

/// The features of `shared-inbox` that a package turns on by default.
fn of_the_client(package: &str) -> Vec<String> {
    let tree = features(&["-p", package, "-e", "normal"]);
    let mut lines = tree.iter().filter(|line| line.starts_with("shared-inbox v"));
    let (Some(line), None) = (lines.next(), lines.next()) else { panic!("not one: {tree:?}") };
    let (_, list) = line.rsplit_once('[').expect("a list of features");
    list.trim_end_matches(']').split(',').map(str::to_owned).collect()
}

#[test]
fn the_mock_turns_nothing_on_in_the_program_under_test_but_the_client() {
    assert_eq!(of_the_client("shared-inbox-mock"), ["client"]);
}

#[test]
fn the_bridge_is_built_without_schemas() {
    let features = of_the_client("shared-inbox-mcp");
    assert!(features.contains(&"client".to_owned()), "{features:?}");
    assert!(!features.contains(&"__schemas".to_owned()), "{features:?}");
}

#[test]
fn a_program_needs_no_dependency_that_the_tour_has_not_built() {
    let (tour, programs) = (features(&["-e", "normal,build,dev"]), features(&["-e", "normal,build"]));
    assert!(programs.iter().any(|package| package.starts_with("tokio v")), "{programs:?}");
    let again: Vec<_> = programs.difference(&tour).collect();
    assert!(again.is_empty(), "built again with fewer features, see examples/Cargo.toml: {again:#?}");
}
