//! The doors of the README for `explore` and `redteam`: the commands run from a clone, on an app and an agent of ours.

use std::{fs, path::Path, process::Command};

use shared_inbox_tests::peers;

/// Returns the arguments of the program in the row of the README that names this tool.
fn command(tool: &str) -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).expect("the page is there");
    let start = format!("`cargo run -p shared-inbox-mock-cli -- {tool} ");
    let rest = readme.split_once(&start).unwrap_or_else(|| panic!("no door for {tool}")).1;
    let command = rest.split('`').next().unwrap_or_default();
    [tool].into_iter().chain(command.split(' ')).map(str::to_owned).collect()
}

#[test]
#[ignore = "needs Python"]
fn the_doors_of_the_readme_find_what_is_wrong_with_our_app_and_our_agent() {
    if Command::new("python3").arg("--version").output().is_err() {
        return peers::skip::<()>("python3 cannot be started").unwrap_or_default();
    }
    for (tool, found) in [("explore", "never-twice"), ("redteam", "OBEYED")] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_shared-inbox-mock"));
        program.args(command(tool)).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        let output = program.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains(found), "{said}");
    }
}
