//! What is installed once runs, and is not installed again.

use std::{process::Command, thread};

use shared_inbox_tests::peers;

#[test]
fn a_python_package_is_importable_and_installed_once_for_all_who_ask() {
    let homes: Vec<_> = thread::scope(|scope| {
        let asks: Vec<_> =
            (0..3).map(|_| scope.spawn(|| peers::python(&["standardwebhooks==1.1.0"]))).collect();
        asks.into_iter().map(|ask| ask.join().expect("asking does not panic")).collect()
    });
    let [Some(python), Some(second), Some(third)] = homes.as_slice() else { return };
    assert!(python == second && second == third);
    let out = Command::new(python).args(["-c", "import standardwebhooks"]).output().expect("it starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn an_npm_package_lies_in_node_modules() {
    let Some(modules) = peers::npm(&["standardwebhooks@1.1.1"]) else { return };
    assert!(modules.join("standardwebhooks/package.json").is_file());
}

#[test]
fn node_is_new_enough() {
    let Some(node) = peers::node22() else { return };
    let out = Command::new(node).args(["-p", "process.versions.node"]).output().expect("it starts");
    let version = String::from_utf8(out.stdout).expect("text");
    assert!(
        version.split('.').next().and_then(|major| major.parse().ok()).is_some_and(|n: u32| n >= 22),
        "{version}"
    );
}

#[test]
#[should_panic(expected = "pin every package")]
fn a_package_without_a_version_is_refused() {
    peers::npm(&["@redocly/cli"]);
}
