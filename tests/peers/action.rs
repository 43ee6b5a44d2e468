//! The Action that starts the mock: its two steps, as a runner would start them.

use std::{fs, path::Path, process::Command};

use shared_inbox::Client;

use crate::run::{output, program, root, text};

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
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().expect("a client");
    let clock = http.get(format!("{}/clock", of("control-url"))).send().await.expect("a response");
    let clock = clock.text().await.expect("text");
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
    let mut archive = Command::new(root().join("scripts/pack-archives"));
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
fn the_action_says_why_the_mock_did_not_start() {
    let (went_well, said, told) = action("--nonsense");
    assert!(!went_well && said.contains("--nonsense") && said.contains("::error::"), "{said}");
    assert!(told.is_empty(), "{told:?}");
}
