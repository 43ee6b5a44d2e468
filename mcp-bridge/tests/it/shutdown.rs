//! The record of what was created when the program ends at a bad moment.

use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox_mock::{Effect, FaultRule, InboundMail, MockServer, world::NewMailbox};

use crate::{
    audit::AuditFile,
    fixture::{Fixture, until},
    wire::{Raw, slow, under_way},
};

/// How a program comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    StdinClosed,
    Term,
    Int,
    Hup,
    Kill,
}

const GRACEFUL: [End; 4] = [End::StdinClosed, End::Term, End::Int, End::Hup];

impl End {
    /// Ends the program in this way and waits until it is gone.
    async fn come(self, raw: Raw) {
        let Raw { mut child, stdin, stdout } = raw;
        let signal = match self {
            Self::StdinClosed => None,
            Self::Term => Some("-TERM"),
            Self::Int => Some("-INT"),
            Self::Hup => Some("-HUP"),
            Self::Kill => Some("-KILL"),
        };
        if let (Some(signal), Some(pid)) = (signal, child.id()) {
            let mut kill = tokio::process::Command::new("kill");
            assert!(kill.args([signal, &pid.to_string()]).status().await.unwrap().success());
        }
        let stdin = (self != Self::StdinClosed).then_some(stdin);
        let ended = tokio::time::timeout(Duration::from_secs(60), child.wait()).await.expect("it ends");
        if self != Self::Kill {
            assert_eq!(ended.unwrap().code(), Some(0), "{self:?}");
        }
        drop((stdin, stdout));
    }
}

fn outcomes<'a>(lines: &'a [Value], conversation: &str) -> Vec<&'a str> {
    let of_it = lines.iter().filter(|line| line["conversation"] == conversation);
    of_it.map(|line| line["outcome"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_email_that_is_under_way_when_the_program_is_told_to_end_is_finished_and_written_down() {
    let [a, b, c, d] = GRACEFUL.map(finishes_before);
    tokio::join!(a, b, c, d);
}

/// A program whose email is under way, and takes a second.
async fn with_an_email_under_way() -> (Fixture, AuditFile, Raw) {
    let (file, fixture) = (AuditFile::new(), Fixture::new().await);
    let slow = FaultRule::new(Effect::delay(Duration::from_secs(1))).path("/conversations/*/replies");
    fixture.fault(slow.always()).await;
    let mut raw = Raw::start(&fixture, &["--send=allow", &file.option()]);
    raw.greet().await;
    raw.call(2, "reply", fixture.reply("Once")).await;
    under_way(&fixture.mock).await;
    (fixture, file, raw)
}

async fn finishes_before(end: End) {
    let (fixture, file, raw) = with_an_email_under_way().await;
    let intent = file.lines();
    assert_eq!(outcomes(&intent, &fixture.conversation), ["intent"], "{end:?}: written before the request");
    end.come(raw).await;
    let written = file.lines();
    assert_eq!(outcomes(&written, &fixture.conversation), ["intent", "scheduled"], "{end:?}");
    assert_eq!(written[0]["call"], written[1]["call"], "{end:?}");
    assert_eq!((&written[0]["asked"], &written[0]["answer"]), (&json!("setting"), &json!("yes")), "{end:?}");
    assert!(written[1]["message"].is_string(), "{end:?}: {written:?}");
    assert_eq!(fixture.mails().await.sent, ["Once"], "{end:?}");
}

#[tokio::test]
async fn an_email_whose_call_is_cancelled_midway_is_finished_and_written_down() {
    let (fixture, file, mut raw) = with_an_email_under_way().await;
    raw.cancel(2).await;
    until(async || file.lines().len() == 2).await;
    assert_eq!(outcomes(&file.lines(), &fixture.conversation), ["intent", "scheduled"]);
    assert_eq!(fixture.mails().await.sent, ["Once"]);
}

#[tokio::test]
async fn a_call_that_made_nothing_before_the_end_is_written_down_too() {
    let (file, fixture) = (AuditFile::new(), Fixture::new().await);
    slow(&fixture, "/tags").await;
    let mut raw = Raw::start(&fixture, &[&file.option()]);
    raw.greet().await;
    raw.call(2, "list_tags", json!({})).await;
    under_way(&fixture.mock).await;
    End::Term.come(raw).await;
    let written = file.lines();
    assert_eq!((&written[0]["tool"], &written[0]["outcome"]), (&json!("list_tags"), &json!("cut off")));
    assert_eq!(written.len(), 1, "{written:?}");
}

/// Looks at the mock's clock once; how often it was looked at is how much time has passed.
async fn look(fixture: &Fixture) {
    fixture.mock.control().clock().await;
    tokio::task::yield_now().await;
}

/// One email, and the program ended so after so many looks. Gives the conversation and the looks it took.
async fn round(
    fixture: &Fixture,
    file: &AuditFile,
    number: usize,
    after: Option<(End, u64)>,
) -> (String, u64) {
    let address = format!("customer{number}@customer.example");
    let mail = InboundMail::new("orders@shop.example", &address, "Where is it?");
    let conversation = fixture.mock.control().inbound(mail).await.unwrap().conversation_id.to_string();
    let mut raw = Raw::start(fixture, &["--send=allow", &file.option()]);
    raw.greet().await;
    raw.call(2, "reply", json!({ "id": conversation, "body": format!("Round {number}"), "send": true }))
        .await;
    let (end, most) = after.unwrap_or((End::StdinClosed, u64::MAX));
    let mut looks = 0;
    let counts = async {
        while looks < most {
            look(fixture).await;
            looks += 1;
        }
    };
    if after.is_some() {
        counts.await;
    } else {
        tokio::select! { _ = raw.answer(2) => {}, () = counts => {} }
    }
    end.come(raw).await;
    (conversation, looks)
}

/// With `ONCE_KILLS=200` it is tried so often.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_whatever_moment_the_program_ends_every_email_has_its_lines_and_every_line_its_email() {
    let rounds = std::env::var("ONCE_KILLS").map_or(10, |rounds| rounds.parse().unwrap());
    const LANES: usize = 4;
    let file = AuditFile::new();
    let mock = MockServer::builder().manual_clock().empty().no_rate_limit().start().await;
    mock.control().create_mailbox(NewMailbox::new("orders@shop.example", "Orders")).await.unwrap();
    let fixture = Fixture { mock, conversation: String::new() };

    // As many at once as later, so that a look takes as long.
    let first = |number| round(&fixture, &file, rounds + number, None);
    let firsts: [_; LANES] = tokio::join!(first(0), first(1), first(2), first(3)).into();
    let whole = firsts.into_iter().map(|(_, looks)| looks).max().unwrap();
    let ends = [End::StdinClosed, End::Term, End::Int, End::Hup, End::Kill];
    // Spread by the golden ratio, the same in every run.
    let looks = |number: usize| (number as u64 * 2_654_435_769) % (whole * 3 / 2).max(1);
    let plan: Vec<_> = (0..rounds).map(|number| (number, ends[number % ends.len()], looks(number))).collect();
    let lane = async |lane: usize| {
        let mut ended = Vec::new();
        for (number, end, looks) in plan.iter().skip(lane).step_by(LANES).copied() {
            ended.push((number, end, round(&fixture, &file, number, Some((end, looks))).await.0));
        }
        ended
    };
    let lanes: [_; LANES] = tokio::join!(lane(0), lane(1), lane(2), lane(3)).into();
    let ended = lanes.concat();

    let written = file.lines();
    let sent = fixture.mails().await.sent;
    let (mut mailed, mut left_open) = (0, 0);
    for (number, end, conversation) in &ended {
        let emails = sent.iter().filter(|text| **text == format!("Round {number}")).count();
        let said = outcomes(&written, conversation);
        let count = |outcome: &str| said.iter().filter(|one| **one == outcome).count();
        assert!(emails <= 1 && count("intent") <= 1, "{number} {end:?}: {emails} {said:?}");
        assert!(emails <= count("intent"), "{number} {end:?}: an email without a line: {said:?}");
        assert!(count("scheduled") <= emails, "{number} {end:?}: a line without an email: {said:?}");
        if *end == End::Kill {
            left_open += count("intent") - count("scheduled");
        } else {
            assert_eq!(emails, count("scheduled"), "{number} {end:?}: {said:?}");
            assert_eq!(count("intent"), count("scheduled"), "{number} {end:?}: {said:?}");
        }
        mailed += emails;
    }
    println!("{mailed} emails in {rounds} rounds, {left_open} intents left open by a kill");
    assert!(rounds < 100 || (mailed > 0 && mailed < rounds), "the moments are random: {mailed} emails");
}
