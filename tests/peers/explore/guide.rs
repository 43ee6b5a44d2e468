//! The guide shows what the explorer prints.

use super::app;
use crate::run::{blocks, command, output, page, program, text, unpack};

/// The same without how long it took.
fn without_seconds(said: &str) -> String {
    let parts: Vec<&str> =
        said.split(" in ").map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit())).collect();
    parts.join(" in ")
}

#[test]
fn the_guide_shows_what_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let guide = page("docs/explore.md");
    for page in [&page("docs/testing.md"), &guide] {
        unpack(page, folder.path());
    }
    let shown = blocks(&guide, "text");
    let [finding, nothing, ..] = &shown[..] else { panic!("the guide has lost its blocks") };
    let run = |words: &[&str]| {
        let mut program = command(program("shared-inbox-mock"));
        program.args(["explore", "--scenario", "scenario.toml"]).args(words).current_dir(folder.path());
        without_seconds(&text(&output(&mut program).stdout)).replace("python3 job.py", "python job.py")
    };
    let said = run(&["--", "python3", "job.py"]);
    for piece in without_seconds(finding).lines().flat_map(|line| line.split('…')).map(str::trim_end) {
        assert!(said.contains(piece), "{piece} is not in {said}");
    }
    let schedules = nothing.split(" schedules in ").next().and_then(|it| it.rsplit(' ').next());
    let flags = ["--seconds", "600", "--schedules", schedules.expect("a number")];
    let said = run(&[&flags[..], &["--", "python3", &app("app.py"), "correct"]].concat());
    assert_eq!(said.trim_end(), without_seconds(nothing).trim_end());
}
