//! The server inside a test: own port, ready at once, gone when it is dropped.

use std::time::Duration;

use shared_inbox::TimelineItem;
use shared_inbox_mock::{Effect, FaultRule, InboundMail, MockServer, NewKey, StartError};

use crate::kit::Kit;

#[tokio::test]
async fn it_is_ready_when_start_returns_and_gone_when_it_is_dropped() {
    let mock = MockServer::builder().empty().start().await;
    let address = mock
        .base_url()
        .strip_prefix("http://")
        .and_then(|it| it.strip_suffix("/api/v1"))
        .expect("an address")
        .to_owned();
    mock.client().me().await.expect("an answer");
    drop(mock);
    assert!(std::net::TcpStream::connect(&address).is_err());
    assert!(std::net::TcpListener::bind(&address).is_ok(), "the port is free");
}

#[tokio::test]
async fn many_run_at_once_and_share_nothing() {
    let mocks =
        futures_util::future::join_all((0..20).map(|_| MockServer::builder().manual_clock().empty().start()))
            .await;
    let mut urls: Vec<_> = mocks.iter().map(|mock| mock.base_url().to_owned()).collect();
    urls.sort();
    urls.dedup();
    assert_eq!(urls.len(), 20);
    let inbox = mocks[0].control().mailboxes().await.expect("inboxes")[0].address.clone();
    let mail = InboundMail::new(inbox, "vera@customer.example", "Hello");
    mocks[0].control().inbound(mail).await.expect("received");
    for (i, mock) in mocks.iter().enumerate() {
        let listed = mock.client().conversations().await.expect("a list");
        assert_eq!(listed.len(), usize::from(i == 0));
    }
}

#[tokio::test(start_paused = true)]
async fn it_works_while_the_tests_own_time_is_paused() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let before = mock.control().clock().await.now;
    let after = mock.control().advance(Duration::from_secs(86_400)).await.expect("moved").now;
    assert_eq!(after.duration_since(before), Duration::from_secs(86_400));
}

#[tokio::test]
async fn the_clients_have_the_keys_of_the_server() {
    let mock = MockServer::builder().empty().start().await;
    assert_eq!(mock.client().me().await.expect("an answer").livemode, Some(true));
    assert_eq!(mock.test_client().me().await.expect("an answer").livemode, Some(false));
    let made =
        mock.control().create_key(NewKey::live("Robot", [shared_inbox::Scope::Read])).await.expect("a key");
    let me = mock.client_with(&made.key).me().await.expect("an answer");
    assert_eq!((me.agent.id, me.agent.name.as_str()), (made.agent_id, "Robot"));
}

#[tokio::test]
async fn the_client_hides_what_the_faults_do() {
    let mock = MockServer::builder().manual_clock().start().await;
    let inbox = mock.client();
    let id = inbox.conversations().await.expect("a list")[0].id.clone();
    let rule = FaultRule::new(Effect::drop_after()).method("POST").path("/conversations/*/notes");
    mock.control().add_fault(rule).await.expect("added");
    inbox.conversation(&id).add_note("Only once").await.expect("added");
    let timeline = inbox.conversation(&id).get().await.expect("read").timeline;
    let is_ours = |item: &&TimelineItem| matches!(item, TimelineItem::Note(note) if note.body == "Only once");
    assert_eq!(timeline.iter().filter(is_ours).count(), 1);
}

#[tokio::test]
async fn what_keeps_it_from_starting_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    assert!(matches!(
        MockServer::builder().listen(address).try_start().await,
        Err(StartError::Listen { .. })
    ));
    assert!(matches!(MockServer::builder().seed("{}").try_start().await, Err(StartError::Seed(_))));
    let everywhere = "0.0.0.0:0".parse().expect("an address");
    assert!(matches!(
        MockServer::builder().listen(everywhere).try_start().await,
        Err(StartError::ControlToken(_))
    ));
}

#[tokio::test]
async fn stop_lets_a_request_under_way_end() {
    let mock = MockServer::builder().empty().start().await;
    mock.control().add_fault(FaultRule::new(Effect::delay(Duration::from_millis(300)))).await.expect("added");
    let client = mock.client();
    let request = tokio::spawn(async move { client.me().await });
    while mock.control().faults().await[0].fired == 0 {
        tokio::task::yield_now().await;
    }
    mock.stop().await;
    request.await.expect("no panic").expect("an answer");
}

#[tokio::test]
async fn a_server_that_is_dropped_leaves_requests_under_way_without_an_answer() {
    for _ in 0..10 {
        let mock = MockServer::builder().empty().start().await;
        let slow = FaultRule::new(Effect::delay(Duration::from_secs(3_600))).always();
        mock.control().add_fault(slow).await.expect("added");
        let (http, url) = (reqwest::Client::new(), format!("{}/me", mock.base_url()));
        let requests: Vec<_> =
            (0..20).map(|_| tokio::spawn(http.get(&url).bearer_auth(mock.live_key()).send())).collect();
        while mock.control().faults().await[0].fired < 20 {
            tokio::task::yield_now().await;
        }
        drop(mock);
        for answer in requests {
            answer.await.expect("no panic").expect_err("it died in the middle");
        }
    }
}

#[tokio::test]
async fn stop_waits_neither_for_idle_connections_nor_for_followers() {
    let mock = MockServer::builder().empty().start().await;
    let http = reqwest::Client::new();
    // A kept connection, and one that follows the changes of the world.
    let health = http.get(format!("{}/health", mock.control_url())).send().await.expect("an answer");
    health.text().await.expect("text");
    let mut events = http.get(format!("{}/events", mock.control_url())).send().await.expect("an answer");
    events.chunk().await.expect("bytes").expect("the opening line");
    let started = std::time::Instant::now();
    mock.stop().await;
    assert!(started.elapsed() < Duration::from_secs(4), "it has 5 seconds for requests under way");
    while events.chunk().await.expect("an orderly end").is_some() {}
}

#[tokio::test]
async fn without_a_rate_limit_simulated_mail_has_none_either_and_another_limit_is_said() {
    let kit = Kit::start().await;
    for _ in 0..125 {
        kit.sandbox_mail("a@x.test").await;
    }
    let kit = Kit::with(MockServer::builder().manual_clock().empty().rate_limit(2)).await;
    for _ in 0..2 {
        kit.live().get("/me").await.expect(200);
    }
    assert!(kit.live().get("/me").await.error(429).contains("2 a minute"));
}

#[test]
fn a_webhook_receiver_has_ten_seconds_to_respond_unless_set() {
    assert!(format!("{:?}", MockServer::builder()).contains("webhook_timeout: 10s"));
}

/// A test that arms a fault.
async fn arm(strict: bool, fires: bool) {
    let builder = MockServer::builder().empty();
    let mock = if strict { builder.strict() } else { builder }.start().await;
    let rule = FaultRule::new(Effect::delay(Duration::from_millis(1))).path("/me");
    mock.control().add_fault(rule).await.expect("a rule");
    if fires {
        mock.client().me().await.expect("an answer");
    }
}

#[test]
fn a_strict_server_fails_a_test_that_set_up_what_had_no_effect() {
    for (strict, fires, fails) in [(true, false, true), (true, true, false), (false, false, false)] {
        let test = std::thread::Builder::new().name("a_test".to_owned()).spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(arm(strict, fires));
        });
        let test = test.expect("a thread");
        let message =
            test.join().err().map(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default());
        assert_eq!(message.is_some(), fails, "strict {strict}, fires {fires}");
        assert!(message.is_none_or(|message| message.contains("(/me) never fired")));
    }
}

/// What a test prints is shown when it fails; this is about tests that pass.
#[test]
fn what_had_no_effect_is_told_of_a_test_that_passes() {
    let tests = std::env::current_exe().expect("this program");
    let test = "library::a_strict_server_fails_a_test_that_set_up_what_had_no_effect";
    let output = std::process::Command::new(tests).args([test, "--exact"]).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let told =
        "shared-inbox-mock: a_test: the test set up what had no effect: the fault flt_1 (/me) never fired";
    assert!(said.contains(told), "{output:?}");
}
