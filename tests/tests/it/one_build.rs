//! The commands of the README share one build of the dependencies.

use std::{collections::BTreeSet, path::Path, process::Command};

/// Each dependency of the default members with the features that it is built with, as `name vX [features]`.
fn features(edges: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = ["tree", "--offline", "--locked", "--prefix", "none", "-f", "{p} [{f}]", "-e", edges];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(cargo).args(tree).current_dir(root).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn a_program_needs_no_dependency_that_the_tour_has_not_built() {
    let (tour, programs) = (features("normal,build,dev"), features("normal,build"));
    assert!(programs.iter().any(|package| package.starts_with("tokio v")), "{programs:?}");
    let again: Vec<_> = programs.difference(&tour).collect();
    assert!(again.is_empty(), "built again with fewer features, see examples/Cargo.toml: {again:#?}");
}
