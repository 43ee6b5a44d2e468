//! The README's programs are those of `tests/readme`, which are compiled and run here.

#![allow(unreachable_pub, reason = "the programs of the README stand alone")]

use std::fs;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use metrics_util::debugging::DebuggingRecorder;
use shared_inbox_webhooks::event::UnknownEvent;
use shared_inbox_webhooks::{Event, EventKind, Secret, testing};
use tower::ServiceExt;

use crate::fixture::{current, previous};
use crate::metrics::counted;

#[path = "../readme/dead_letters.rs"]
#[rustfmt::skip]
mod dead_letters;
#[path = "../readme/handler_test.rs"]
#[rustfmt::skip]
mod handler_test;
#[path = "../readme/server.rs"]
#[rustfmt::skip]
mod server;
#[cfg(all(feature = "redis", feature = "sqlx"))]
#[path = "../readme/stores.rs"]
#[rustfmt::skip]
pub(crate) mod stores;

#[test]
fn every_block_of_the_readme_is_a_program_that_the_tests_run() {
    let readme = include_str!("../../README.md");
    let programs = [
        include_str!("../readme/server.rs"),
        include_str!("../readme/handler_test.rs"),
        include_str!("../readme/dead_letters.rs"),
        include_str!("../readme/stores.rs"),
    ];
    // Between the programs of the README a reader sees `handle` of the first one.
    let blocks: Vec<String> = readme
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(blocks, programs.map(|program| program.replace("use super::server::handle;\n", "")));
    // What else is fenced is the list of dependencies.
    assert_eq!(readme.matches("\n```toml\n").count(), 1);
    assert_eq!(readme.matches("```").count(), 2 * (programs.len() + 1));
}

#[tokio::test]
async fn the_receiver_of_the_readme_goes_through_a_rotation_and_keeps_what_it_cannot_handle() {
    let path = std::env::temp_dir().join(format!("webhook-readme-{}", std::process::id()));
    let write = |secrets: &[Secret], hours: u64| {
        let text: Vec<_> = secrets.iter().map(|secret| secret.reveal().to_string()).collect();
        fs::write(&path, text.join("\n")).unwrap();
        let changed = SystemTime::now() - Duration::from_secs(hours * 3600);
        fs::File::options().write(true).open(&path).unwrap().set_modified(changed).unwrap();
    };
    let recorder = DebuggingRecorder::new();
    let _recording = metrics::set_default_local_recorder(&recorder);
    write(&[previous()], 2);
    let app = server::App::new(&path).unwrap();
    assert_eq!(handler_test::reply_gets(app.router(), &previous()).await.unwrap(), 200);
    assert_eq!(handler_test::reply_gets(app.router(), &current()).await.unwrap(), 401);
    write(&[current(), previous()], 1);
    // The file is looked at once in a second.
    let begun = std::time::Instant::now();
    while handler_test::reply_gets(app.router(), &current()).await.unwrap() != 200 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the new secret is not seen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    fs::remove_file(&path).unwrap();

    let unknown = EventKind::Unknown(UnknownEvent::new("moon.rose", serde_json::json!({})));
    let mut event = Event::new("evt_2".parse().unwrap(), unknown);
    event.livemode = Some(true);
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let request = testing::signed(&current(), &event).to_http::<Body>("/hook");
        statuses.push(app.router().oneshot(request).await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [500, 500, 500, 500, 200, 200], "a dead letter is taken");
    assert_eq!(dead_letters::retry_all(&app.handlers).await.unwrap(), 1, "it still has no handler");
    assert_eq!(app.handlers.dead_letters(10).await.unwrap()[0].attempts(), 6);
    event.livemode = Some(false);
    event.id = "evt_3".parse().unwrap();
    let sandbox = testing::signed(&current(), &event).to_http::<Body>("/hook");
    assert_eq!(app.router().oneshot(sandbox).await.unwrap().status(), 403);
    let counted = counted(&recorder);
    for (metric, count) in [
        ("rejected_total endpoint= code=wrong_mode", 1),
        ("handler_seconds endpoint=/hook event_type=client.replied", 1),
        ("handler_failures_total endpoint=/hook reason=error", 6),
        ("dead_letters_total endpoint=/hook", 2),
    ] {
        assert_eq!(counted.get(metric), Some(&count), "{metric}: {counted:?}");
    }
}

/// Runs in a process of its own.
#[test]
#[ignore = "started by the_program_of_the_readme_says_that_it_has_no_secrets"]
fn program() {
    println!("<{}>", server::main().unwrap_err());
}

/// It serves until somebody ends it, at a port that may be taken; where there is no file it ends before.
#[test]
fn the_program_of_the_readme_says_that_it_has_no_secrets() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "readme::program", "--ignored", "--nocapture"]);
    let said = child.current_dir(std::env::temp_dir()).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("<the file with the webhook secrets cannot be read: entity not found>"), "{said}");
}
