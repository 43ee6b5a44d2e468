//! The console in a real browser, where people click and type.

use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use shared_inbox_mock::{InboundMail, MockServer, MockServerBuilder};
use shared_inbox_tests::{
    generated,
    peers::{self, Browser},
    root,
};

fn folder() -> PathBuf {
    root().join("tests/peers/mock/console")
}

/// A script with the console of this server open.
fn script(browser: &Browser, name: &str, mock: &MockServer) -> Command {
    let mut command = browser.script(&folder().join(name));
    command.env("CONSOLE_URL", &mock.ready().console_url).env("CONTROL_URL", &mock.ready().control_url);
    command
}

#[track_caller]
fn passed(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a script against a server, away from the test's own runtime.
async fn drive(name: &'static str, builder: MockServerBuilder) {
    let browser = peers::browser();
    let mock = builder.no_rate_limit().start().await;
    passed(&script(&browser, name, &mock).output().expect("Node starts"));
}

fn standing() -> MockServerBuilder {
    MockServer::builder().manual_clock()
}

/// Tests that are a script in a browser, each with a server of its own.
macro_rules! browser_tests {
    ($($name:ident: $script:literal, $server:expr;)*) => {$(
        #[tokio::test]
        async fn $name() {
            drive($script, $server).await;
        }
    )*};
}

browser_tests! {
    a_person_does_everything_in_the_inbox_by_clicking_and_typing: "inbox.mjs", standing();
    approvals_documents_bookings_faults_keys_and_worlds_are_worked_by_hand: "panels.mjs", standing().empty();
    an_owner_works_with_a_webhook_and_sees_exactly_what_was_sent: "webhooks.mjs", standing().empty();
    requests_show_as_they_happen_with_their_answers_and_are_copied_as_commands_and_as_tests: "requests.mjs", standing().empty();
    everything_holds_still_beside_an_app_at_work: "busy.mjs", standing().empty();
    seven_tabs_share_one_stream_of_events: "tabs.mjs", standing().empty();
    nothing_typed_is_lost_and_small_windows_show_what_matters: "typed.mjs", standing();
    a_first_visitor_learns_what_this_is_and_every_fault_can_be_armed: "start.mjs", standing();
    a_day_is_walked_through_and_the_trace_leads_from_a_request_to_its_deliveries_and_back: "time.mjs", standing().empty();
    hostile_mail_stays_text_in_every_field: "hostile.mjs", standing().empty();
    a_page_of_another_origin_can_do_nothing: "origin.mjs", standing();
    axe_finds_nothing_and_the_keyboard_is_enough: "access.mjs", standing();
}

#[tokio::test]
async fn a_lost_connection_is_shown_and_nothing_old_afterwards() {
    let browser = peers::browser();
    let mut mock = Some(standing().start().await);
    let address: SocketAddr = {
        let url = &mock.as_ref().expect("it runs").ready().console_url;
        url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address")
    };
    let mut child = script(&browser, "reconnect.mjs", mock.as_ref().expect("it runs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Node starts");
    let mut answers = child.stdin.take().expect("a pipe");
    for wish in BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok) {
        match wish.as_str() {
            "stop" => drop(mock.take()),
            "start" => mock = Some(standing().empty().listen(address).start().await),
            other => panic!("{other}"),
        }
        writeln!(answers, "done").expect("it listens");
    }
    passed(&child.wait_with_output().expect("it ends"));
}

#[tokio::test]
async fn where_others_can_reach_it_the_page_asks_for_the_control_token() {
    let browser = peers::browser();
    let token = "a token for this test";
    let mock = standing().listen(([0, 0, 0, 0], 0).into()).control_token(token).start().await;
    passed(&script(&browser, "token.mjs", &mock).env("TOKEN", token).output().expect("Node starts"));
}

#[tokio::test]
async fn ten_thousand_conversations_and_requests_are_windowed() {
    let browser = peers::browser();
    let mock = standing().empty().no_rate_limit().start().await;
    let control = mock.control();
    let address = control.mailboxes().await.expect("inboxes")[0].address.clone();
    for i in 0..10_000 {
        let from = format!("customer{i}@customer.example");
        let mail = InboundMail::new(&address, from, "It flickers since Monday.").subject(format!("Lamp {i}"));
        control.inbound(mail).await.expect("it is taken");
    }
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().expect("a client");
    for _ in 0..10_000 {
        let request = http.get(format!("{}/me", mock.base_url())).bearer_auth(mock.live_key());
        request.send().await.expect("an answer").bytes().await.expect("a body");
    }
    passed(&script(&browser, "long_lists.mjs", &mock).output().expect("Node starts"));
}

#[test]
fn the_types_of_the_page_hold() {
    let node = peers::node22();
    let modules = peers::npm(&["typescript@7.0.2"]);
    let tsc = modules.join("typescript/bin/tsc");
    let output =
        Command::new(node).arg(tsc).arg("-p").arg(root().join("mock-server/console/jsconfig.json")).output();
    let output = output.expect("Node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// `scripts/regenerate --all` makes them anew; they are not alike to the last byte on every machine, so nothing compares
/// them.
#[tokio::test]
async fn the_pictures_of_the_readme_are_there_and_made_by_a_script() {
    let pictures = root().join("docs/console");
    if generated::updates() {
        let browser = peers::browser();
        let start = "2026-03-02T09:00:00Z".parse().expect("a time");
        let mock = standing().start_at(start).no_rate_limit().start().await;
        let mut script = script(&browser, "pictures.mjs", &mock);
        passed(&script.env("PICTURES", &pictures).output().expect("Node starts"));
    }
    let readme = std::fs::read_to_string(root().join("mock-server/README.md")).expect("text");
    let shown = readme.split("docs/console/").skip(1).filter_map(|rest| rest.split(')').next());
    let mut shown: Vec<&str> = shown.collect();
    let mut there: Vec<String> = std::fs::read_dir(&pictures)
        .expect("a folder")
        .map(|file| file.expect("a file").file_name().into_string().expect("text"))
        .collect();
    shown.sort_unstable();
    there.sort_unstable();
    assert_eq!(there, shown, "every picture is shown, and no other is kept");
    for name in there {
        let picture = std::fs::read(pictures.join(&name)).expect("a file");
        assert!(
            picture.starts_with(b"\x89PNG") && picture.len() < 200_000,
            "{name}: {} bytes",
            picture.len()
        );
    }
}
