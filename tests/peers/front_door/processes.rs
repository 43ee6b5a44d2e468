//! The server of a fixture ends with the test run, however that ends.

use std::process::Command;

use crate::front_door::{
    packages::NEWEST_VITEST,
    project::{Project, assert_has, ended, until},
};

fn assert_no_server_outlives(project: &Project, what: &str, command: Command, signal: &str) {
    let mut running = project.start(command);
    assert_eq!(project.servers().len(), 1, "{what}");
    running.signal(signal, false);
    until(&format!("{what}: no server after {signal}"), || project.servers().is_empty());
    _ = running.0.try_wait();
}

#[test]
fn no_server_outlives_a_pytest_that_was_ended() {
    let project = Project::new();
    for signal in ["-KILL", "-TERM", "-HUP"] {
        let Some(pytest) = project.pytest("test_waits.py") else { return };
        assert_no_server_outlives(&project, "pytest", pytest, signal);
    }
}

#[test]
fn no_server_outlives_a_vitest_or_a_node_that_was_ended() {
    let project = Project::new();
    let vitest = |pool| project.vitest(NEWEST_VITEST, &[pool, "waits.spec"]);
    let node = |arguments: &[&str]| {
        let mut node = project.node(NEWEST_VITEST)?;
        node.args(arguments);
        Some(node)
    };
    for signal in ["-KILL", "-TERM"] {
        let runs = [
            ("vitest with processes", vitest("--pool=forks")),
            ("vitest with threads", vitest("--pool=threads")),
            ("node --test", node(&["--test", "waits.test.mjs"])),
            ("node", node(&["waits.test.mjs"])),
        ];
        for (what, command) in runs {
            let Some(command) = command else { return };
            assert_no_server_outlives(&project, what, command, signal);
        }
    }
}

/// vitest takes the tests of node's own runner for its own, and finds none in them.
#[test]
fn no_server_outlives_a_vitest_that_was_given_tests_of_node() {
    let project = Project::new();
    let Some(vitest) = project.vitest(NEWEST_VITEST, &["waits.test"]) else { return };
    let (said, _) = ended(vitest);
    assert_has(&said, &["No test suite found"]);
    until("no server", || project.servers().is_empty());
}

#[test]
fn no_server_outlives_the_command_of_the_npm_package() {
    let project = Project::new();
    for (signal, status) in [("-KILL", None), ("-TERM", Some(0)), ("-INT", Some(0)), ("-HUP", Some(0))] {
        let Some(mut cli) = project.node(NEWEST_VITEST) else { return };
        cli.args([
            "node_modules/shared-inbox-mock/cli.js",
            "--listen",
            "127.0.0.1:0",
            "--ready-file",
            "started",
        ]);
        let mut running = project.start(cli);
        running.signal(signal, false);
        until("no server", || project.servers().is_empty());
        assert_eq!(running.0.wait().expect("its status").code(), status, "{signal}");
    }
    let Some(mut cli) = project.node(NEWEST_VITEST) else { return };
    let (said, status) = ended({
        cli.args(["node_modules/shared-inbox-mock/cli.js", "schema"]);
        cli
    });
    assert!(
        status == Some(0) && said.contains("conversations"),
        "a command takes no flag of a server: {said}"
    );
}

#[test]
fn ctrl_c_ends_pytest_as_it_ends_one_without_the_fixture() {
    let project = Project::new();
    let said = ["test_waits_plain.py", "test_waits.py"].map(|file| {
        let mut running = project.start(project.pytest(file)?);
        running.signal("-INT", true);
        assert_eq!(running.0.wait().expect("its status").code(), Some(2), "{}", project.log());
        until("no server", || project.servers().is_empty());
        // The number of a line and the time that it took differ.
        let told = project.log().replace(file, "FILE").replace(|c: char| c.is_ascii_digit(), "");
        Some(told.lines().map(|line| line.trim_matches('=').trim().to_owned()).collect::<Vec<_>>())
    });
    let [Some(plain), Some(ours)] = said else { return };
    assert_eq!(ours, plain);
}
