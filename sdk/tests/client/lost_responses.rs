//! Answers that are lost at a service that is not ours: whatever it makes of what it was given, nothing is
//! made twice and nobody is told what is not so. Each holds for a service that tells its time, where what was
//! there before is known by it, and for one that does not, where the conversation is read first.

use std::time::Duration;

use crate::support::rewrites::{ALL, TEXT};
use crate::support::{KINDS, Kind, Outcome, Service, assert_honest, conversation_id, create};
use shared_inbox::input::DocumentItem;
use shared_inbox::{
    Certainty, Conversation, ConversationHandle, Error, MessageStatus,
    create::{Lookup, UnconfirmedCreate, Verification},
    retry::RetryPolicy,
};

/// How the client knows what was there before its create.
#[derive(Clone, Copy, Debug)]
enum Baseline {
    Clock,
    FirstRead,
}

const BASELINES: [Baseline; 2] = [Baseline::Clock, Baseline::FirstRead];

impl Baseline {
    async fn start(self) -> Service {
        let service = slow_service().await;
        if let Baseline::FirstRead = self {
            service.state().behavior.date = None;
        }
        service
    }

    async fn thread(self) -> (Service, ConversationHandle) {
        let service = self.start().await;
        let thread = service.known_client().await.conversation(&conversation_id());
        (service, thread)
    }
}

/// A service that takes three seconds to fail.
async fn slow_service() -> Service {
    let service = Service::start().await;
    service.state().behavior.takes = Duration::from_secs(3);
    service
}

/// Each of the first with each of the second.
fn pairs<A: Copy, B: Copy, const N: usize>(
    first: impl IntoIterator<Item = A>,
    second: [B; N],
) -> impl Iterator<Item = (A, B)> {
    first.into_iter().flat_map(move |one| second.map(|other| (one, other)))
}

/// A create whose first request meets this fault. What its caller learns is true.
async fn create_despite(
    fault: Outcome,
    service: &Service,
    thread: &ConversationHandle,
    kind: Kind,
    case: &str,
) -> Result<bool, Error> {
    service.next_posts([fault]);
    let result = create(thread, kind, TEXT).await;
    assert_honest(&result, service.stored(), case);
    result
}

#[track_caller]
fn is_unknown(result: &Result<bool, Error>, case: &str) {
    let certainty = result.as_ref().map_err(Error::certainty);
    assert_eq!(certainty, Err(Certainty::Unknown), "{case}: {result:?}");
}

#[tokio::test]
async fn words_that_come_back_changed_are_not_sent_again() {
    for ((baseline, kind), (change, rewrite)) in pairs(pairs(BASELINES, KINDS), ALL) {
        let case = format!("{change}, {kind:?}, {baseline:?}");
        assert_ne!(rewrite(TEXT), TEXT, "{case}");
        let (service, thread) = baseline.thread().await;
        service.state().behavior.rewrite = rewrite;
        let result = create_despite(Outcome::LostAfter, &service, &thread, kind, &case).await;
        assert_eq!(service.sent(), 1, "{case}");
        match change {
            "NFC to NFD" => assert!(result.unwrap(), "{case}: the same words in another form"),
            _ => is_unknown(&result, &case),
        }
    }
}

#[tokio::test]
async fn a_note_that_shows_under_another_name_is_not_made_again() {
    // The key was renamed since, and the team shows the new name; or the service decorates it.
    let names = [("Robin II", true), ("Robin (agent)", false), ("Anna", false)];
    for (baseline, (author, lists_us)) in pairs(BASELINES, names) {
        let case = format!("{author}, {baseline:?}");
        let (service, thread) = baseline.thread().await;
        service.state().behavior.author = author;
        service.state().behavior.lists_us = lists_us;
        let result = create_despite(Outcome::LostAfter, &service, &thread, Kind::Note, &case).await;
        assert_eq!(service.sent(), 1, "{case}");
        match lists_us {
            true => assert!(result.unwrap(), "{case}: the team says that it is our name"),
            false => is_unknown(&result, &case),
        }
    }
}

#[tokio::test]
async fn an_item_of_a_type_that_nobody_knows_may_be_ours() {
    for (baseline, kind) in pairs(BASELINES, KINDS) {
        let case = format!("{kind:?}, {baseline:?}");
        let (service, thread) = baseline.thread().await;
        service.state().behavior.shown_as = Some("memo");
        is_unknown(&create_despite(Outcome::LostAfter, &service, &thread, kind, &case).await, &case);
        assert_eq!(service.sent(), 1, "{case}");
    }
}

#[tokio::test]
async fn a_read_of_another_conversation_is_refused_before_anything_is_sent() {
    let service = slow_service().await;
    let client = service.known_client().await;
    let thread = client.conversation(&conversation_id());
    let read = thread.get().await.unwrap();
    let mut other = serde_json::to_value(&read).unwrap();
    other["id"] = "cnv_2".into();
    let other: Conversation = serde_json::from_value(other).unwrap();
    let error = thread.reply(TEXT).seen(&other).await.unwrap_err();
    assert_eq!((error.certainty(), service.sent()), (Certainty::NotSent, 0));
    assert!(error.is_invalid_input() && error.to_string().contains("seen"), "{error}");
    thread.reply(TEXT).seen(&read).await.unwrap();
    assert_eq!(service.stored(), 1);
}

#[tokio::test]
async fn what_shows_while_the_resend_waits_is_seen_before_it_goes() {
    for baseline in BASELINES {
        // The service asks for a wait that is longer than it takes to show the item.
        let (service, thread) = baseline.thread().await;
        service.state().behavior.shows_after = Duration::from_secs(12);
        let fault = Outcome::AfterAsking(503, 25);
        assert!(
            create_despite(fault, &service, &thread, Kind::Mail, "asked to wait").await.unwrap(),
            "{baseline:?}"
        );

        // The key's own limit makes it wait.
        let service = baseline.start().await;
        service.state().behavior.shows_after = Duration::from_secs(12);
        let client = service.builder().rate_limit(7).deadline(Duration::from_secs(3600)).build().unwrap();
        client.me().await.unwrap();
        let (fault, thread) = (Outcome::LostAfter, client.conversation(&conversation_id()));
        assert!(
            create_despite(fault, &service, &thread, Kind::Mail, "held up").await.unwrap(),
            "{baseline:?}"
        );
        assert_eq!(service.sent(), 1, "{baseline:?}");
    }
}

#[tokio::test]
async fn the_last_look_is_made_also_when_nothing_may_be_sent_again() {
    for deadline in [None, Some(Duration::from_secs(20))] {
        let service = slow_service().await;
        service.state().behavior.takes = Duration::ZERO;
        service.state().behavior.shows_after = Duration::from_millis(8_500);
        let client = service.builder().build().unwrap();
        // All but one of the requests that people may make in a minute; read-backs have ten of their own.
        for _ in 0..109 {
            client.me().no_wait().await.unwrap();
        }
        service.next_posts([Outcome::LostAfter]);
        let reply = client.conversation(&conversation_id()).reply(TEXT);
        let reply = match deadline {
            Some(deadline) => reply.deadline(deadline),
            None => reply.no_wait(),
        };
        let result = reply.await.map(|made| made.recovered());
        assert!(matches!(result, Ok(true)), "{deadline:?}: {result:?}");
        assert_eq!(service.sent(), 1, "{deadline:?}");
    }
}

#[tokio::test]
async fn sending_again_what_a_later_look_did_not_find_makes_one() {
    let faults = [(Outcome::LostAfter, 6), (Outcome::LostBefore, 0)];
    for ((baseline, kind), (outcome, shows_after)) in pairs(pairs(BASELINES, KINDS), faults) {
        for elsewhere in [false, true] {
            let service = baseline.start().await;
            service.state().behavior.shows_after = Duration::from_secs(shows_after);
            let client = service.builder().verification(Verification::Never).build().unwrap();
            client.me().await.unwrap();
            let thread = client.conversation(&conversation_id());
            service.next_posts([outcome]);
            let error = create(&thread, kind, TEXT).await.unwrap_err();
            let looking = if elsewhere { service.client() } else { client };
            let lookup = looking.find_unconfirmed(&through_json(&error)).await.unwrap();
            let case = format!("{outcome:?}, elsewhere: {elsewhere}, {kind:?}, {baseline:?}: {lookup:?}");
            if lookup == Lookup::NotFound {
                create(&thread, kind, TEXT).await.unwrap();
            }
            assert_eq!(service.stored(), 1, "{case}");
            assert_eq!(lookup == Lookup::NotFound, outcome == Outcome::LostBefore, "{case}");
        }
    }
}

/// What the error carries, as another process reads it.
fn through_json(error: &Error) -> UnconfirmedCreate {
    serde_json::from_str(&serde_json::to_string(error.unconfirmed().unwrap()).unwrap()).unwrap()
}

#[tokio::test]
async fn a_later_look_that_comes_too_early_is_unclear_until_the_item_would_show() {
    let service = slow_service().await;
    let hasty = service.builder().verification(Verification::Never).deadline(Duration::from_secs(5));
    let client = hasty.build().unwrap();
    client.me().await.unwrap();
    service.next_posts([Outcome::LostBefore]);
    let error = create(&client.conversation(&conversation_id()), Kind::Mail, TEXT).await.unwrap_err();
    let unconfirmed = error.unconfirmed().unwrap();
    assert_eq!(client.find_unconfirmed(unconfirmed).await.unwrap(), Lookup::Unclear);
    service.clock.leap(Duration::from_secs(15));
    assert_eq!(client.find_unconfirmed(unconfirmed).await.unwrap(), Lookup::NotFound);
}

#[tokio::test]
async fn no_setting_of_a_client_panics() {
    let longest = Duration::MAX;
    for verification in [Verification::ReadAfterLoss, Verification::ReadFirst, Verification::Never] {
        let service = slow_service().await;
        let retry = RetryPolicy::default().first_delay(longest).max_delay(longest).max_retry_after(longest);
        let builder =
            service.builder().timeout(longest).visibility_timeout(longest).verification(verification);
        let builder =
            builder.first_connection_timeout(longest).max_response_bytes(usize::MAX).rate_limit(u32::MAX);
        let client = builder.retry(retry).deadline(Duration::from_secs(60)).build().unwrap();
        let thread = client.conversation(&conversation_id());
        service.next_posts([Outcome::AfterAsking(503, u32::MAX), Outcome::LostAfter]);
        for text in ["One", "Two"] {
            if let Err(error) = create(&thread, Kind::Draft, text).await {
                client.find_unconfirmed(error.unconfirmed().unwrap()).await.unwrap();
            }
        }
        service.next_gets([Outcome::Before(503)]);
        let read = thread.get().deadline(Duration::from_secs(30)).await;
        assert!(read.is_err_and(|error| error.is_server_error()), "there is no time for so long a wait");
    }
}

#[tokio::test]
async fn the_same_words_of_a_teammate_while_ours_wait_in_the_queue_are_not_ours() {
    for ((baseline, wait), seen) in pairs(pairs(BASELINES, [5, 30, 55]), [false, true]) {
        // The limit is used up for a minute.
        let service = baseline.start().await;
        let client = service.builder().rate_limit(2).deadline(Duration::from_secs(3600)).build().unwrap();
        let thread = client.conversation(&conversation_id());
        client.me().await.unwrap();
        client.me().await.unwrap();
        let read = if seen { Some(thread.get().await.unwrap()) } else { None };
        if seen {
            client.me().await.unwrap();
        }
        service.teammate_writes("draft", TEXT, Duration::from_secs(wait));
        service.next_posts([Outcome::LostBefore]);
        let reply = thread.reply(TEXT);
        let reply = match &read {
            Some(read) => reply.seen(read),
            None => reply,
        };
        let result = reply.await.map(|made| made.recovered());
        assert_honest(&result, service.stored(), format_args!("after {wait} s, seen: {seen}, {baseline:?}"));
    }
}

#[tokio::test]
async fn the_same_words_of_someone_else_from_before_the_last_seconds_are_not_ours() {
    let times =
        [(0, 6_000, 9), (900, 6_000, 0), (0, 20_000, 30), (0, 59_000, 0), (0, 62_000, 3), (0, 90_000, 0)];
    for ((baseline, kind), (phase, ago, takes)) in pairs(pairs(BASELINES, KINDS), times) {
        let case = format!("{kind:?}, {ago} ms ago, {baseline:?}");
        let (service, thread) = baseline.thread().await;
        service.clock.leap(Duration::from_millis(phase));
        service.twin_makes(kind, TEXT);
        service.clock.leap(Duration::from_millis(ago));
        service.state().behavior.takes = Duration::from_secs(takes);
        let result = create_despite(Outcome::LostBefore, &service, &thread, kind, &case).await;
        if let Baseline::FirstRead = baseline {
            assert!(!result.unwrap(), "{case}: a read tells them apart");
        }
    }
}

#[tokio::test]
async fn machines_that_disagree_do_not_make_an_item_of_six_seconds_ago_ours() {
    for (kind, off) in pairs(KINDS, [-20, -3, 3, 20]) {
        let service = slow_service().await;
        let client = service.known_client().await;
        for off in [off, 0] {
            service.state().behavior.date = Some(off);
            client.me().await.unwrap();
        }
        service.twin_makes(kind, TEXT);
        service.clock.leap(Duration::from_secs(6));
        let (thread, case) = (client.conversation(&conversation_id()), format!("{kind:?}, {off} s"));
        let _ = create_despite(Outcome::LostBefore, &service, &thread, kind, &case).await;
    }
}

#[tokio::test]
async fn the_same_words_of_someone_else_in_the_same_seconds_stand_there_once() {
    for (kind, ago) in pairs(KINDS, [0, 300, 999, 1_000, 2_000, 3_100, 5_000]) {
        for read_first in [false, true] {
            let (service, thread) = Baseline::Clock.thread().await;
            service.twin_makes(kind, TEXT);
            service.clock.leap(Duration::from_millis(ago));
            service.next_posts([Outcome::LostBefore]);
            let client = service.builder().verification(Verification::ReadFirst).build().unwrap();
            let thread = if read_first { client.conversation(&conversation_id()) } else { thread };
            let result = create(&thread, kind, TEXT).await;
            let case = format!("{kind:?}, {ago} ms ago, read first: {read_first}: {result:?}");
            match &result {
                Ok(recovered) => assert_eq!(service.stored(), usize::from(!recovered), "{case}"),
                Err(error) => {
                    assert_eq!((error.certainty(), service.stored()), (Certainty::Unknown, 0), "{case}")
                }
            }
            assert!(!read_first || !result.unwrap(), "{case}: a read tells them apart");
        }
    }
}

#[tokio::test]
async fn a_clock_that_stood_still_for_a_while_costs_no_request_and_no_recovery() {
    for (kind, (text, outcome)) in pairs(KINDS, [("One", Outcome::Good), ("Two", Outcome::LostAfter)]) {
        let (service, thread) = Baseline::Clock.thread().await;
        create(&thread, kind, "Before").await.unwrap();
        // This machine was asleep for 75 seconds: the service's clock went on, its own did not.
        service.state().behavior.date = Some(75);
        service.state().behavior.stamp_off = 75;
        let requests = service.state().requests.len();
        service.next_posts([outcome]);
        let recovered = create(&thread, kind, text).await.unwrap();
        assert_eq!(recovered, outcome != Outcome::Good, "{kind:?}");
        if !recovered {
            assert_eq!(service.state().requests.len() - requests, 1, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn however_late_it_shows_and_whatever_is_answered_there_is_one_resend_at_most() {
    let outcomes = [Outcome::After(504), Outcome::Before(504), Outcome::LostAfter, Outcome::LostBefore];
    for ((baseline, kind), outcome) in pairs(pairs(BASELINES, KINDS), outcomes) {
        let (service, thread) = baseline.thread().await;
        service.state().behavior.shows_after = Duration::from_secs(60);
        service.always(outcome);
        let result = create(&thread, kind, TEXT).await;
        assert!(service.sent() <= 2, "{kind:?}, {outcome:?}, {baseline:?}: sent {} times", service.sent());
        is_unknown(&result, &format!("{kind:?}, {outcome:?}, {baseline:?}"));
    }
}

#[tokio::test]
async fn a_note_that_was_not_done_is_not_a_success() {
    for baseline in BASELINES {
        let (service, thread) = baseline.thread().await;
        service.next_posts([Outcome::Claims(r#"{"ok":false}"#)]);
        let result = create(&thread, Kind::Note, TEXT).await;
        assert_honest(&result, service.stored(), "not done");
        is_unknown(&result, "the service said 201 and no in one breath");
        assert_eq!(service.sent(), 1, "an answer in the 200s is never repeated");

        let (service, thread) = baseline.thread().await;
        service.next_posts([Outcome::Says(r#"{"ok":false}"#)]);
        assert!(create(&thread, Kind::Note, TEXT).await.unwrap(), "it is there all the same");
        assert_eq!((service.sent(), service.stored()), (1, 1));
    }
}

#[tokio::test]
async fn what_the_service_does_not_know_how_to_do_is_sent_once() {
    for baseline in BASELINES {
        let (service, thread) = baseline.thread().await;
        service.always(Outcome::Before(501));
        let result = create(&thread, Kind::Note, TEXT).await;
        is_unknown(&result, "501");
        assert_eq!(service.sent(), 1);
    }
}

#[tokio::test]
async fn a_read_that_fails_before_the_create_is_named_as_what_failed() {
    let (service, thread) = Baseline::FirstRead.thread().await;
    service.next_gets([Outcome::Before(500); 5]);
    let error = thread.add_note(TEXT).await.unwrap_err();
    assert_eq!((error.certainty(), service.sent()), (Certainty::NotSent, 0));
    let text = error.to_string();
    assert!(text.contains("GET /conversations/{id}") && text.contains("nothing was sent"), "{text}");
}

#[tokio::test]
async fn a_create_is_one_request_when_all_goes_well_so_that_105_fit_into_a_minute() {
    for kind in KINDS {
        let (service, thread) = Service::start_with_thread().await;
        for n in 0..105 {
            assert!(!create(&thread, kind, &format!("Text {n}")).await.unwrap());
        }
        assert_eq!((service.sent(), service.requests().len()), (105, 105), "{kind:?}");
        assert!(service.clock.slept().is_empty(), "{kind:?}: {:?}", service.clock.slept());
    }
}

#[tokio::test]
async fn a_clock_that_is_off_by_less_than_a_minute_or_not_told_any_more_hides_nothing() {
    for (kind, off) in pairs(KINDS, [Some(-59), Some(-30), Some(-3), Some(3), Some(30), Some(59), None]) {
        let (service, thread) = Baseline::Clock.thread().await;
        service.state().behavior.stamp_off = off.unwrap_or(0);
        service.state().behavior.date = off.map(|_| 0);
        let case = format!("{kind:?}, {off:?} s");
        let _ = create_despite(Outcome::LostAfter, &service, &thread, kind, &case).await;
        assert_eq!(service.sent(), 1, "{case}");
    }
}

#[tokio::test]
async fn items_that_are_dated_by_another_clock_than_answers_are_not_hidden() {
    let faults = [Outcome::LostAfter, Outcome::After(504), Outcome::LostBefore];
    let offsets = [-86_000, -3600, 3600, 86_000];
    for (((kind, outcome), off), older) in pairs(pairs(pairs(KINDS, faults), offsets), [false, true]) {
        let service = slow_service().await;
        service.state().behavior.date = Some(off);
        let thread = service.known_client().await.conversation(&conversation_id());
        if older {
            create(&thread, kind, "Other words").await.unwrap();
            service.state().stored = 0;
            service.clock.leap(Duration::from_secs(600));
        }
        let case = format!("{kind:?}, {off} s, {outcome:?}, {older}");
        let _ = create_despite(outcome, &service, &thread, kind, &case).await;
    }
}

#[tokio::test]
async fn a_clock_that_jumps_hides_nothing() {
    let faults = [Outcome::LostAfter, Outcome::After(504)];
    for ((kind, jump), outcome) in pairs(pairs(KINDS, [-7200, 90, 7200]), faults) {
        let case = format!("{kind:?}, {jump} s, {outcome:?}");
        let (service, thread) = Baseline::Clock.thread().await;
        service.state().behavior.date = Some(jump);
        let _ = create_despite(outcome, &service, &thread, kind, &case).await;
        assert_eq!(service.sent(), 1, "{case}");
        // From now on it is not trusted, and the conversation is read first.
        service.next_posts([outcome]);
        let (sent, stored) = (service.sent(), service.stored());
        let _ = create(&thread, kind, "Other words, well after the jump.").await;
        assert_eq!((service.sent() - sent, service.stored() - stored), (1, 1), "{case}");
    }
}

#[tokio::test]
async fn a_later_look_after_this_machine_was_asleep_hides_nothing() {
    for (kind, verification) in pairs(KINDS, [Verification::Never, Verification::ReadAfterLoss]) {
        let service = slow_service().await;
        let client = service.builder().verification(verification).build().unwrap();
        client.me().await.unwrap();
        let thread = client.conversation(&conversation_id());
        service.next_posts([Outcome::LostAfter]);
        service.next_gets([Outcome::Before(404)]);
        let error = create(&thread, kind, TEXT).await.unwrap_err();
        // The service's clock went on for two hours, this machine's did not; and others wrote meanwhile.
        service.state().behavior.gets.clear();
        service.state().behavior.date = Some(7200);
        service.state().behavior.stamp_off = 7200;
        service.twin_makes(kind, "Other words");
        thread.get().await.unwrap();
        let lookup = client.find_unconfirmed(error.unconfirmed().unwrap()).await.unwrap();
        match verification {
            Verification::Never => assert_ne!(lookup, Lookup::NotFound, "{kind:?}"),
            _ => assert!(matches!(lookup, Lookup::Found(_)), "{kind:?}: {lookup:?}"),
        }
    }
}

#[tokio::test]
async fn what_others_do_meanwhile_is_told_apart_where_it_can_be() {
    for baseline in BASELINES {
        // A note of a person under her own name, and mail that is older than a minute by the service's clock.
        let (service, thread) = baseline.thread().await;
        service.teammate_notes("Anna", TEXT, Duration::from_secs(1));
        service.next_posts([Outcome::LostBefore]);
        assert!(!create(&thread, Kind::Note, TEXT).await.unwrap(), "{baseline:?}");
        assert_eq!(service.stored(), 1, "{baseline:?}");

        let (service, thread) = baseline.thread().await;
        service.teammate_writes("sent", TEXT, Duration::ZERO);
        service.clock.leap(Duration::from_secs(80));
        thread.get().await.unwrap();
        service.next_posts([Outcome::LostBefore]);
        assert!(!create(&thread, Kind::Mail, TEXT).await.unwrap(), "{baseline:?}");
        assert_eq!(service.stored(), 1, "{baseline:?}");

        // Someone whom the team does not list may be us under another name; a mail in these seconds may be
        // ours.
        for kind in [Kind::Note, Kind::Mail] {
            let (service, thread) = baseline.thread().await;
            service.teammate_notes("Carl", "Called them back", Duration::from_secs(1));
            service.teammate_writes("draft", "Something else", Duration::from_secs(1));
            service.next_posts([Outcome::LostBefore]);
            is_unknown(&create(&thread, kind, TEXT).await, &format!("{kind:?}, {baseline:?}"));
            assert_eq!(service.sent(), 1, "{kind:?}, {baseline:?}");
        }
    }
}

#[tokio::test]
async fn what_this_client_has_read_or_made_is_not_taken_for_what_was_lost() {
    for kind in KINDS {
        // Read a moment ago.
        let (service, thread) = Baseline::Clock.thread().await;
        service.teammate_notes("Carl", TEXT, Duration::ZERO);
        service.teammate_writes("draft", TEXT, Duration::ZERO);
        thread.get().await.unwrap();
        service.next_posts([Outcome::LostBefore]);
        assert!(!create(&thread, kind, TEXT).await.unwrap(), "{kind:?}");
        assert_eq!(service.stored(), 1, "{kind:?}");

        // Made a moment ago, with other words and with the same.
        for [first, second, third] in [["Some words", TEXT, "Third"], [TEXT; 3]] {
            let (service, thread) = Baseline::Clock.thread().await;
            create(&thread, kind, first).await.unwrap();
            service.next_posts([Outcome::LostBefore, Outcome::Good, Outcome::LostAfter]);
            assert!(!create(&thread, kind, second).await.unwrap(), "{kind:?}");
            assert!(create(&thread, kind, third).await.unwrap(), "{kind:?}");
            assert_eq!((service.stored(), service.sent()), (3, 4), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn a_recovered_reply_has_the_id_and_status_of_the_new_message() {
    let service = Service::start().await;
    service.teammate_writes("draft", TEXT, Duration::ZERO);
    service.clock.leap(Duration::from_secs(62));
    service.next_posts([Outcome::LostAfter; 3]);
    let thread = service.thread();
    let draft = thread.reply(TEXT).await.unwrap();
    assert_eq!((draft.message_id.as_str(), &draft.status), ("msg_2", &MessageStatus::Draft));
    let sent = thread.reply("A long explanation. ".repeat(1_000)).and_send().await.unwrap();
    assert_eq!((sent.message_id.as_str(), &sent.status), ("msg_3", &MessageStatus::Scheduled));
    let request =
        thread.request_documents(["Passport", "Bank statement"].map(DocumentItem::new)).await.unwrap();
    assert_eq!((request.message_id.as_str(), request.recovered()), ("msg_4", true));
}

#[tokio::test]
async fn a_408_or_a_5xx_may_come_after_the_effect() {
    for (status, recovered) in pairs([408, 500, 502, 503, 504], [true, false]) {
        let (service, thread) = Service::start_with_thread().await;
        service.next_posts([if recovered { Outcome::After(status) } else { Outcome::Before(status) }]);
        let reply = thread.reply(TEXT).await.unwrap();
        assert_eq!((reply.recovered(), service.stored()), (recovered, 1), "{status}");
    }
}

#[tokio::test]
async fn a_refusal_or_a_429_is_certain_unless_an_earlier_request_was_lost() {
    for (outcomes, certainty, requests) in [
        (vec![Outcome::Before(403)], Some(Certainty::Rejected), 1),
        (vec![Outcome::Before(429)], None, 2),
        (vec![Outcome::LostBefore, Outcome::Before(403)], Some(Certainty::Unknown), 7),
    ] {
        let (service, thread) = Service::start_with_thread().await;
        service.next_posts(outcomes.clone());
        let reply = thread.reply(TEXT).await;
        let error = reply.as_ref().err().map(|error| (error.certainty(), error.unconfirmed().is_some()));
        assert_eq!(error, certainty.map(|it| (it, it == Certainty::Unknown)), "{outcomes:?}");
        assert_eq!(service.requests().len(), requests, "{outcomes:?}: no read-back where all is known");
    }
}

#[tokio::test]
async fn two_identical_creates_at_once_make_two_also_when_one_is_lost() {
    let faults = [Outcome::LostAfter, Outcome::LostBefore];
    for (((kind, late), fault), is_first) in pairs(pairs(pairs(KINDS, [0, 4]), faults), [true, false]) {
        let outcomes = if is_first { [fault, Outcome::Good] } else { [Outcome::Good, fault] };
        let service = slow_service().await;
        service.state().behavior.shows_after = Duration::from_secs(late);
        service.next_posts(outcomes);
        let thread = service.thread();
        let (one, other) = tokio::join!(create(&thread, kind, TEXT), create(&thread, kind, TEXT));
        let case = format!("{outcomes:?}, {kind:?}, {late} s: {one:?}, {other:?}");
        let recovered = usize::from(one.unwrap()) + usize::from(other.unwrap());
        assert_eq!(service.stored(), 2, "{case}");
        assert_eq!(recovered, usize::from(fault == Outcome::LostAfter), "{case}");
    }
}

#[tokio::test]
async fn read_backs_that_fail_for_good_leave_an_unknown_outcome_that_can_be_looked_up_later() {
    for (outcome, status) in
        [(Outcome::LostAfter, 500), (Outcome::LostBefore, 500), (Outcome::LostAfter, 404)]
    {
        for kind in KINDS {
            let service = Service::start().await;
            service.next_posts([outcome]);
            service.next_gets([Outcome::Before(status); 200]);
            let error = create(&service.thread(), kind, TEXT).await;
            let error = error.unwrap_err();
            assert_eq!((error.certainty(), service.sent()), (Certainty::Unknown, 1));
            let text = error.to_string();
            assert!(text.contains("find_unconfirmed") && text.contains("#lost-responses"), "{text}");
            assert!(!format!("{error} {error:#?}").contains("refund of 20"), "no words of the mail");
            service.clear_faults();
            service.clock.leap(Duration::from_secs(3600));
            let lookup = service.client().find_unconfirmed(&through_json(&error)).await.unwrap();
            match outcome {
                Outcome::LostAfter => assert!(matches!(lookup, Lookup::Found(_)), "{kind:?}: {lookup:?}"),
                _ => assert_eq!(lookup, Lookup::NotFound, "{kind:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_later_look_does_not_take_the_item_of_another_create_for_the_lost_one() {
    let service = Service::start().await;
    let client = service.client();
    let thread = client.conversation(&conversation_id());
    service.next_posts([Outcome::LostBefore]);
    service.next_gets([Outcome::Before(404)]);
    let lost = thread.add_note(TEXT).await.unwrap_err();
    thread.add_note(TEXT).await.unwrap();
    assert_eq!(client.find_unconfirmed(lost.unconfirmed().unwrap()).await.unwrap(), Lookup::NotFound);
}

#[tokio::test]
async fn a_create_that_was_dropped_can_be_found_and_is_not_taken_for_the_next_one() {
    for kind in [Kind::Note, Kind::Draft] {
        let service = slow_service().await;
        let client = service.known_client().await;
        let thread = client.conversation(&conversation_id());
        service.next_posts([Outcome::Hangs, Outcome::LostBefore]);
        let (note, reply) = (thread.add_note(TEXT), thread.reply(TEXT));
        let unconfirmed =
            if let Kind::Note = kind { note.unconfirmed().await } else { reply.unconfirmed().await }.unwrap();
        let dropped = thread.clone();
        let dropped = tokio::spawn(async move { create(&dropped, kind, TEXT).await });
        while service.stored() == 0 {
            service.committed.notified().await;
        }
        dropped.abort();
        assert!(dropped.await.unwrap_err().is_cancelled());
        assert!(matches!(client.find_unconfirmed(&unconfirmed).await.unwrap(), Lookup::Found(_)), "{kind:?}");
        assert!(!create(&thread, kind, TEXT).await.unwrap(), "{kind:?}");
        assert_eq!(service.stored(), 2, "{kind:?}");
    }
}

#[tokio::test]
async fn a_draft_is_not_taken_for_an_email_nor_an_email_for_a_draft() {
    for (status, send) in [("draft", true), ("scheduled", false), ("sent", false), ("failed", false)] {
        let (service, thread) = Service::start_with_thread().await;
        let before = thread.get().await.unwrap();
        service.teammate_writes(status, TEXT, Duration::ZERO);
        service.next_posts([Outcome::LostBefore]);
        let reply = thread.reply(TEXT).seen(&before);
        let result = if send { reply.and_send().await } else { reply.await };
        is_unknown(&result.map(|made| made.recovered()), status);
        assert_eq!(service.sent(), 1, "{status}");
    }
    // An email that has moved on is still the one that was to be sent.
    for status in ["scheduled", "sending", "sent", "failed"] {
        let service = Service::start().await;
        let client = service.client();
        service.next_posts([Outcome::LostAfter]);
        service.next_gets([Outcome::Before(404)]);
        let error = client.conversation(&conversation_id()).reply(TEXT).and_send().await.unwrap_err();
        service.set_status("msg_1", status);
        let lookup = client.find_unconfirmed(error.unconfirmed().unwrap()).await.unwrap();
        assert!(matches!(lookup, Lookup::Found(_)), "{status}: {lookup:?}");
    }
}

#[tokio::test]
async fn what_shows_late_is_not_taken_for_the_next_create() {
    // An email that was lost, then a draft of the same words; a note that is known, then the same note.
    let service = Service::start().await;
    let client = service.client();
    let thread = client.conversation(&conversation_id());
    service.state().behavior.shows_after = Duration::from_secs(3);
    service.next_posts([Outcome::LostAfter, Outcome::LostBefore]);
    let email = thread.reply(TEXT).and_send().verification(Verification::Never).await.unwrap_err();
    assert_eq!(service.requests(), ["POST /conversations/cnv_1/replies"], "sent once, and nothing read");
    is_unknown(&create(&thread, Kind::Draft, TEXT).await, "the one item is the email");
    assert_ne!(client.find_unconfirmed(email.unconfirmed().unwrap()).await.unwrap(), Lookup::NotFound);
    assert_eq!(service.stored(), 1);

    let (service, thread) = Service::start_with_thread().await;
    service.state().behavior.shows_after = Duration::from_secs(3);
    thread.add_note(TEXT).verification(Verification::Never).await.unwrap();
    service.next_posts([Outcome::LostBefore]);
    match create(&thread, Kind::Note, TEXT).await {
        Ok(_) => assert_eq!(service.stored(), 2, "two were told that it was done"),
        Err(error) => assert_eq!(error.certainty(), Certainty::Unknown),
    }
}

#[tokio::test]
async fn a_later_look_waits_for_a_create_in_flight_but_not_longer_than_the_deadline() {
    let service = Service::start().await;
    let client = service.builder().deadline(Duration::from_secs(100)).build().unwrap();
    let thread = client.conversation(&conversation_id());
    service.next_posts([Outcome::LostAfter, Outcome::Hangs]);
    let lost = thread.reply(TEXT).verification(Verification::Never).await.unwrap_err();
    let slow = tokio::spawn(thread.reply("Another").deadline(Duration::from_secs(3600)).into_future());
    while service.sent() < 2 {
        service.committed.notified().await;
    }
    let look = tokio::spawn(async move { client.find_unconfirmed(lost.unconfirmed().unwrap()).await });
    tokio::task::yield_now().await;
    service.clock.leap(Duration::from_secs(101));
    let error = look.await.unwrap().unwrap_err();
    assert!(error.is_timeout(), "{error}");
    slow.abort();
}
