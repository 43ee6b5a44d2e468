//! Reports as pages in a real browser: what strangers wrote stays text, and a report can be read by
//! everybody.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use shared_inbox_tests::{generated, peers};

/// The code under test, which belongs to a program and not to a library.
#[path = "../../../tools/cli/src/page/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests of the program look at the rest")]
mod page;
#[path = "../../../tools/cli/tests/it/pages/samples.rs"]
mod samples;

use page::html;
use samples::{TOOLS, hostile, sample};

use crate::run::{finish, root};

/// Writes the pages of reports into a folder, as they are, or with a stranger's words everywhere.
fn write_pages(into: &Path, change: impl Fn(&Value) -> Value) {
    for (tool, name) in TOOLS {
        fs::write(into.join(format!("{name}.html")), html(tool, &change(&sample(name)))).expect("written");
    }
}

fn drive(script: &str, pages: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("cli/pages");
    let mut command = peers::browser().script(&here.join(script));
    let updates = generated::updates();
    let pictures = if updates { root().join("docs/reports") } else { pages.to_owned() };
    finish(command.env("PAGES", pages).env("PICTURES", pictures));
}

#[test]
fn a_strangers_words_stay_text_in_the_browser() {
    let pages = tempfile::tempdir().expect("a folder");
    write_pages(pages.path(), |report| hostile(report, ""));
    drive("hostile.mjs", pages.path());
}

#[test]
fn a_finding_that_was_not_run_again_says_so_on_its_page() {
    let pages = tempfile::tempdir().expect("a folder");
    write_pages(pages.path(), |report| {
        let mut report = report.clone();
        for finding in report["findings"].as_array_mut().into_iter().flatten() {
            (finding["reproduced"], finding["withoutTrouble"]) = (json!("0 of 0"), json!("0 of 0"));
        }
        report
    });
    drive("not_run_again.mjs", pages.path());
}

#[test]
fn axe_finds_nothing_in_a_report_and_the_keyboard_is_enough() {
    let pages = tempfile::tempdir().expect("a folder");
    write_pages(pages.path(), Value::clone);
    drive("access.mjs", pages.path());
}

/// `scripts/regenerate --all` writes those of `docs/reports`.
#[test]
fn the_pictures_of_the_reports_can_be_taken() {
    let pages = tempfile::tempdir().expect("a folder");
    write_pages(pages.path(), Value::clone);
    drive("pictures.mjs", pages.path());
}

#[test]
fn the_types_of_the_pages_are_right() {
    let script = peers::npm(&["typescript@7.0.2"]).join("typescript/bin/tsc");
    let config = root().join("tools/cli/src/page/jsconfig.json");
    finish(Command::new(peers::node22()).arg(script).arg("-p").arg(config));
}
