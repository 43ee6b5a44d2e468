//! Never two items where one was meant, never an error that claims nothing happened when something did.

use std::time::Duration;

use crate::support::{Fault, NAME, Service, conversation_id};
use shared_inbox::input::DocumentItem;
use shared_inbox::{
    Certainty, Conversation, ConversationHandle, MessageStatus, TimelineItem,
    create::{Lookup, UnconfirmedCreate, Verification},
    retry::RetryPolicy,
};

const TEXT: &str = "Your refund is on its way.";

#[tokio::test]
async fn answer_lost_after_the_commit_one_item_recovered() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropAfter]);
    let thread = service.client().conversation(&conversation_id());

    let created = thread.add_note(TEXT).await.unwrap();

    assert!(created.recovered());
    assert_eq!(service.items().len(), 1);
    assert_eq!(service.count("POST"), 1);
}

#[tokio::test]
async fn a_recovered_reply_has_the_id_and_status_of_the_message() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropAfter, Fault::DropAfter]);
    let thread = service.client().conversation(&conversation_id());

    let draft = thread.reply(TEXT).await.unwrap();
    assert!(draft.recovered());
    assert_eq!((draft.message_id.as_str(), &draft.status), ("msg_1", &MessageStatus::Draft));

    let sent = thread.reply(TEXT).and_send().await.unwrap();
    assert!(sent.recovered());
    assert_eq!((sent.message_id.as_str(), &sent.status), ("msg_2", &MessageStatus::Scheduled));
    assert_eq!(service.items().len(), 2);
}

#[tokio::test]
async fn request_lost_before_the_commit_one_item() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropBefore]);

    let created = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap();

    assert!(!created.recovered());
    assert_eq!(service.items().len(), 1);
    assert_eq!(service.count("POST"), 2);
}

#[tokio::test]
async fn failure_500_before_the_commit_one_item() {
    let service = Service::start().await;
    service.fail_posts([Fault::Before(500)]);
    let created = service.client().conversation(&conversation_id()).add_note(TEXT).await.unwrap();
    assert!(!created.recovered());
    assert_eq!(service.items().len(), 1);
}

#[tokio::test]
async fn failure_500_after_the_commit_one_item() {
    let service = Service::start().await;
    service.fail_posts([Fault::After(500)]);
    let created = service.client().conversation(&conversation_id()).add_note(TEXT).await.unwrap();
    assert!(created.recovered());
    assert_eq!(service.items().len(), 1);
}

#[tokio::test]
async fn a_408_or_a_gateways_failure_may_come_after_the_commit() {
    for status in [408, 500, 502, 503, 504] {
        for (fault, recovered) in [(Fault::After(status), true), (Fault::Before(status), false)] {
            let service = Service::start().await;
            service.fail_posts([fault]);
            let reply = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap();
            assert_eq!((reply.recovered(), service.items().len()), (recovered, 1), "{status}");
        }
    }
}

#[tokio::test]
async fn an_identical_older_item_is_not_taken_for_the_new_one() {
    let service = Service::start().await;
    service.add_note(NAME, TEXT);
    service.add_message("outbound", Some("draft"), TEXT);
    let thread = service.client().conversation(&conversation_id());
    thread.get().await.unwrap();
    service.fail_posts([Fault::DropBefore, Fault::None, Fault::DropBefore]);

    let note = thread.add_note(TEXT).await.unwrap();
    let reply = thread.reply(TEXT).await.unwrap();

    assert!(!note.recovered() && !reply.recovered());
    assert_eq!(service.items().len(), 4, "one of each was there, and one of each was made");
}

#[tokio::test]
async fn an_identical_older_item_does_not_hide_the_new_one() {
    let service = Service::start().await;
    service.add_message("outbound", Some("draft"), TEXT);
    service.clock.leap(Duration::from_secs(62));
    service.fail_posts([Fault::DropAfter]);
    let reply = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap();
    assert!(reply.recovered());
    assert_eq!(reply.message_id.as_str(), "msg_2");
    assert_eq!(service.items().len(), 2);
}

#[tokio::test]
async fn someone_elses_identical_note_is_not_ours() {
    for (author, is_known) in [("Anna", true), ("Nobody on the team", false)] {
        let service = Service::start().await;
        let client = service.client();
        let thread = client.conversation(&conversation_id());
        let before = thread.get().await.unwrap();
        service.add_note(author, TEXT);
        service.fail_posts([Fault::DropBefore]);
        let note = thread.add_note(TEXT).seen(&before).await;
        match is_known {
            true => assert!(!note.unwrap().recovered()),
            false => assert_eq!(note.unwrap_err().certainty(), Certainty::Unknown, "it may be our new name"),
        }
        assert_eq!(service.items().len(), if is_known { 2 } else { 1 });
    }
}

#[tokio::test]
async fn two_identical_creates_at_once_one_answer_lost_two_items() {
    for faults in [[Fault::DropAfter, Fault::None], [Fault::None, Fault::DropAfter]] {
        for notes in [true, false] {
            let service = Service::start().await;
            service.world.lock().unwrap().slow = Duration::from_secs(3);
            service.fail_posts(faults.clone());
            let thread = service.client().conversation(&conversation_id());
            let recovered = if notes {
                let (a, b) = tokio::join!(thread.add_note(TEXT), thread.add_note(TEXT));
                [a.unwrap().recovered(), b.unwrap().recovered()]
            } else {
                let (a, b) = tokio::join!(thread.reply(TEXT), thread.reply(TEXT));
                let (a, b) = (a.unwrap(), b.unwrap());
                assert_ne!(a.message_id, b.message_id);
                [a.recovered(), b.recovered()]
            };
            assert_eq!(recovered.iter().filter(|r| **r).count(), 1);
            assert_eq!(service.items().len(), 2);
            assert_eq!(service.count("POST"), 2);
        }
    }
}

#[tokio::test]
async fn two_identical_creates_at_once_one_request_lost_two_items() {
    for late in [Duration::ZERO, Duration::from_secs(4)] {
        for faults in [[Fault::DropBefore, Fault::None], [Fault::None, Fault::DropBefore]] {
            for notes in [true, false] {
                let service = Service::start().await;
                // The first one's item may show only while the second one looks for its own.
                service.world.lock().unwrap().shows_after = late;
                service.fail_posts(faults.clone());
                let thread = service.client().conversation(&conversation_id());
                if notes {
                    let (a, b) = tokio::join!(thread.add_note(TEXT), thread.add_note(TEXT));
                    assert!(!a.unwrap().recovered() && !b.unwrap().recovered());
                } else {
                    let (a, b) = tokio::join!(thread.reply(TEXT), thread.reply(TEXT));
                    assert_ne!(a.unwrap().message_id, b.unwrap().message_id);
                }
                assert_eq!(service.items().len(), 2, "late: {late:?}, faults: {faults:?}, notes: {notes}");
            }
        }
    }
}

#[tokio::test]
async fn text_over_8000_characters_is_known_by_its_start() {
    let long = "A long explanation, über alles. ".repeat(1_000);
    for fault in [Fault::DropAfter, Fault::DropBefore] {
        let service = Service::start().await;
        service.fail_posts([fault]);
        service.client().conversation(&conversation_id()).reply(&long).await.unwrap();
        let items = service.items();
        assert_eq!(items.len(), 1);
        assert_eq!(items[0]["text"].as_str().unwrap().chars().count(), 8_000);
    }
}

#[tokio::test]
async fn a_note_over_8000_characters_is_recovered() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropAfter]);
    let note = service.client().conversation(&conversation_id()).add_note("n".repeat(10_000)).await.unwrap();
    assert!(note.recovered());
    assert_eq!(service.items().len(), 1);
}

#[tokio::test]
async fn a_reply_whose_text_the_service_extends_is_recovered() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropAfter]);
    let thread = service.client().conversation(&conversation_id());
    let reply = thread.reply("Please send this:").document(DocumentItem::new("Passport")).await.unwrap();
    assert!(reply.recovered());
    assert_eq!(service.items().len(), 1);
}

#[tokio::test]
async fn a_document_request_is_recovered_with_and_without_a_message() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropAfter, Fault::After(500)]);
    let thread = service.client().conversation(&conversation_id());
    let documents = || [DocumentItem::new("Passport"), DocumentItem::new("Bank statement")];
    assert!(thread.request_documents(documents()).message("For the refund.").await.unwrap().recovered());
    assert!(thread.request_documents(documents()).await.unwrap().recovered());
    assert_eq!(service.items().len(), 2);
}

#[tokio::test]
async fn an_item_that_shows_only_seconds_later_is_recovered() {
    let service = Service::start().await;
    service.world.lock().unwrap().shows_after = Duration::from_secs(9);
    service.fail_posts([Fault::DropAfter]);
    let reply = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap();
    assert!(reply.recovered());
    assert_eq!(service.items().len(), 1);
}

#[tokio::test]
async fn the_read_back_failing_for_a_while_changes_nothing() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropAfter]);
    service.fail_gets([
        Fault::None,
        Fault::Before(500),
        Fault::DropBefore,
        Fault::Before(503),
        Fault::Before(500),
    ]);
    service.fail_gets(std::iter::repeat_n(Fault::Before(500), 4));
    let reply = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap();
    assert!(reply.recovered());
    assert_eq!(service.items().len(), 1);
}

#[tokio::test]
async fn the_read_back_failing_for_good_is_an_unknown_outcome_and_nothing_is_sent_again() {
    for fault in [Fault::DropAfter, Fault::DropBefore] {
        let service = Service::start().await;
        service.fail_posts([fault.clone()]);
        service.fail_gets(std::iter::repeat_n(Fault::Before(500), 200));
        let client = service.client();

        let error = client.conversation(&conversation_id()).reply(TEXT).await.unwrap_err();

        assert_eq!(error.certainty(), Certainty::Unknown);
        assert_eq!(service.count("POST"), 1);
        assert!(!format!("{error} {error:?}").contains("refund"), "no words of the mail");

        // What the error carries survives the process, and settles the matter when the service is back.
        let stored = serde_json::to_string(error.unconfirmed().unwrap()).unwrap();
        service.world.lock().unwrap().gets.clear();
        let unconfirmed: UnconfirmedCreate = serde_json::from_str(&stored).unwrap();
        let lookup = service.client().find_unconfirmed(&unconfirmed).await.unwrap();
        match fault {
            Fault::DropAfter => assert!(matches!(lookup, Lookup::Found(_))),
            _ => assert_eq!(lookup, Lookup::NotFound),
        }
    }
}

#[tokio::test]
async fn looking_later_does_not_take_the_item_of_another_create_for_the_lost_one() {
    let service = Service::start().await;
    let client = service.client();
    let thread = client.conversation(&conversation_id());
    service.fail_posts([Fault::DropBefore]);
    service.fail_gets([Fault::Before(404)]);
    let lost = thread.add_note(TEXT).await.unwrap_err();
    thread.add_note(TEXT).await.unwrap();
    assert_eq!(client.find_unconfirmed(lost.unconfirmed().unwrap()).await.unwrap(), Lookup::NotFound);
}

#[tokio::test]
async fn a_conversation_that_is_gone_at_the_read_back_is_an_unknown_outcome() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropAfter]);
    service.fail_gets([Fault::Before(404)]);
    let error = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert!(error.unconfirmed().is_some());
    assert_eq!(service.count("POST"), 1);
}

#[tokio::test]
async fn dropping_the_future_leaves_nothing_half_recorded() {
    let service = Service::start().await;
    service.fail_posts([Fault::Hang]);
    let thread = service.client().conversation(&conversation_id());

    // Stopped while the answer is awaited: the service has the item, the client knows nothing of it.
    let create = tokio::spawn(thread.add_note(TEXT).into_future());
    while service.items().is_empty() {
        service.committed.notified().await;
    }
    create.abort();
    assert!(create.await.unwrap_err().is_cancelled());

    // The next create is not held up, does not take the old item for its own, and makes exactly one.
    service.fail_posts([Fault::DropBefore]);
    let note = thread.add_note(TEXT).await.unwrap();
    assert!(!note.recovered());
    assert_eq!(service.items().len(), 2);
}

#[tokio::test]
async fn what_became_of_a_dropped_create_can_be_found_out() {
    let service = Service::start().await;
    service.add_note(NAME, TEXT);
    let client = service.client();
    let thread = client.conversation(&conversation_id());
    let create = thread.add_note(TEXT).seen(&thread.get().await.unwrap());
    let unconfirmed = create.unconfirmed();
    assert_eq!(
        client.find_unconfirmed(&unconfirmed).await.unwrap(),
        Lookup::NotFound,
        "the older note is not it"
    );

    service.fail_posts([Fault::Hang]);
    service.world.lock().unwrap().slow = Duration::from_secs(3);
    let create = tokio::spawn(create.into_future());
    while service.items().len() < 2 {
        service.committed.notified().await;
    }
    create.abort();
    assert!(create.await.unwrap_err().is_cancelled());

    let found = client.find_unconfirmed(&unconfirmed).await.unwrap();
    assert!(matches!(found, Lookup::Found(TimelineItem::Note(note)) if note.id.as_str() == "not_2"));
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_recovered_and_never_repeated() {
    for fault in
        [Fault::Truncate(10), Fault::Body("<html>hello</html>"), Fault::Body("{\"status\":\"draft\"}")]
    {
        let service = Service::start().await;
        service.fail_posts([fault]);
        let reply = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap();
        assert!(reply.recovered());
        assert_eq!(service.items().len(), 1);
        assert_eq!(service.count("POST"), 1);
    }
}

#[tokio::test]
async fn an_answer_in_the_200s_is_never_repeated_even_if_nothing_is_there() {
    let service = Service::start().await;
    service.fail_posts([Fault::Impostor]);
    let error = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap_err();
    assert!(error.is_unreadable() && error.unconfirmed().is_some());
    assert_eq!((error.certainty(), service.count("POST")), (Certainty::Unknown, 1));
}

#[tokio::test]
async fn something_much_like_it_is_unclear_and_nothing_is_sent_again() {
    let service = Service::start().await;
    let client = service.client();
    let thread = client.conversation(&conversation_id());
    let before = thread.get().await.unwrap();
    service.add_message("outbound", Some("draft"), "Your refund is on its way!\n--\nThe team");
    service.fail_posts([Fault::DropBefore]);
    let error = thread.reply(TEXT).seen(&before).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert_eq!(service.count("POST"), 1);
    assert_eq!(client.find_unconfirmed(error.unconfirmed().unwrap()).await.unwrap(), Lookup::Unclear);
}

#[tokio::test]
async fn a_draft_of_the_same_words_is_not_the_mail_that_was_to_be_sent() {
    let service = Service::start().await;
    let thread = service.client().conversation(&conversation_id());
    let before = thread.get().await.unwrap();
    service.add_message("outbound", Some("draft"), TEXT);
    service.fail_posts([Fault::DropBefore]);
    let error = thread.reply(TEXT).and_send().seen(&before).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert_eq!(service.items().len(), 1);
}

/// A conversation read before a mail of this status came into it, and a create in it that will be lost.
async fn with_a_mail_meanwhile(status: &str) -> (Service, ConversationHandle, Conversation) {
    let service = Service::start().await;
    let thread = service.client().conversation(&conversation_id());
    let before = thread.get().await.unwrap();
    service.add_message("outbound", Some(status), TEXT);
    service.fail_posts([Fault::DropBefore]);
    (service, thread, before)
}

#[tokio::test]
async fn a_mail_of_the_same_words_is_not_the_draft_that_was_to_be_made() {
    for status in ["scheduled", "sending", "sent", "failed"] {
        let (service, thread, before) = with_a_mail_meanwhile(status).await;
        let error = thread.reply(TEXT).seen(&before).await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::Unknown, "{status}: a person can tell, we cannot");
        assert_eq!(service.count("POST"), 1);
    }
}

#[tokio::test]
async fn a_mail_that_has_moved_on_is_still_the_one_that_was_to_be_sent() {
    for status in ["scheduled", "sending", "sent", "failed"] {
        let service = Service::start().await;
        let client = service.client();
        service.fail_posts([Fault::DropAfter]);
        service.fail_gets([Fault::Before(404)]);
        let error = client.conversation(&conversation_id()).reply(TEXT).and_send().await.unwrap_err();
        service.set_status("msg_1", status);
        let lookup = client.find_unconfirmed(error.unconfirmed().unwrap()).await.unwrap();
        let Lookup::Found(TimelineItem::Message(mail)) = lookup else { panic!("{status}: {lookup:?}") };
        assert_eq!(mail.status.unwrap().as_str(), status);
    }
}

#[tokio::test]
async fn a_mail_of_the_same_words_from_before_the_request_is_unknown() {
    for status in ["scheduled", "sending", "sent", "failed"] {
        let (service, thread, before) = with_a_mail_meanwhile(status).await;
        service.clock.leap(Duration::from_secs(6));
        let error = thread.reply(TEXT).and_send().seen(&before).await.unwrap_err();
        assert_eq!((error.certainty(), service.count("POST")), (Certainty::Unknown, 1), "{status}");
    }
}

#[tokio::test]
async fn a_lost_mail_that_shows_late_is_not_taken_for_a_draft_of_the_same_words() {
    let service = Service::start().await;
    let client = service.client();
    let thread = client.conversation(&conversation_id());
    service.world.lock().unwrap().shows_after = Duration::from_secs(3);
    service.fail_posts([Fault::DropAfter, Fault::DropBefore]);
    let mail = thread.reply(TEXT).and_send().verification(Verification::Never).await.unwrap_err();
    let draft = thread.reply(TEXT).await;
    // The one item there is the mail. Nobody may be told that it is a draft, and the mail that it is not there.
    assert_eq!(draft.unwrap_err().certainty(), Certainty::Unknown);
    assert_ne!(client.find_unconfirmed(mail.unconfirmed().unwrap()).await.unwrap(), Lookup::NotFound);
    assert_eq!(service.items().len(), 1);
}

#[tokio::test]
async fn after_one_resend_the_outcome_is_unknown() {
    let service = Service::start().await;
    service.fail_posts(std::iter::repeat_n(Fault::DropBefore, 3));
    let thread = service.client().conversation(&conversation_id());
    let error = thread.reply(TEXT).retry(RetryPolicy::default().attempts(3)).await.unwrap_err();
    assert_eq!((error.certainty(), error.attempts()), (Certainty::Unknown, 2), "whatever the policy allows");
    assert!(error.unconfirmed().is_some() && error.is_dropped());
}

#[tokio::test]
async fn a_refusal_after_a_lost_answer_does_not_claim_that_nothing_happened() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropBefore, Fault::Before(403)]);
    let error = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap_err();
    assert!(error.is_forbidden());
    assert_eq!(error.certainty(), Certainty::Unknown);
}

#[tokio::test]
async fn a_refusal_is_certain_and_costs_no_read_back() {
    let service = Service::start().await;
    service.fail_posts([Fault::Before(403)]);
    let error = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Rejected);
    assert!(error.unconfirmed().is_none());
    assert_eq!((service.count("POST"), service.count("GET")), (1, 0));
}

#[tokio::test]
async fn a_429_is_repeated_without_a_read_back() {
    let service = Service::start().await;
    service.fail_posts([Fault::Before(429)]);
    let created = service.client().conversation(&conversation_id()).add_note(TEXT).await.unwrap();
    assert!(!created.recovered());
    assert_eq!((service.count("POST"), service.count("GET"), service.items().len()), (2, 0, 1));
}

#[tokio::test]
async fn without_verification_a_create_is_one_request_and_a_lost_answer_an_error() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropAfter]);
    let thread = service.client().conversation(&conversation_id());
    let error = thread.add_note(TEXT).verification(Verification::Never).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert_eq!(service.requests(), ["POST /conversations/cnv_1/notes"]);
    let lookup = service.client().find_unconfirmed(error.unconfirmed().unwrap()).await.unwrap();
    assert!(matches!(lookup, Lookup::Found(_)), "{lookup:?}");
}

#[tokio::test]
async fn an_unverified_note_that_shows_late_is_not_taken_for_the_next_one() {
    let service = Service::start().await;
    service.add_note(NAME, TEXT);
    service.clock.leap(Duration::from_secs(6));
    service.world.lock().unwrap().shows_after = Duration::from_secs(3);
    let thread = service.client().conversation(&conversation_id());
    thread.add_note(TEXT).verification(Verification::Never).await.unwrap();
    service.fail_posts([Fault::DropBefore]);
    let second = thread.add_note(TEXT).await;
    let made = service.items().len() - 1;
    match second {
        Ok(_) => assert_eq!(made, 2, "two were told that it was done"),
        Err(error) => assert_eq!(error.certainty(), Certainty::Unknown),
    }
}

#[tokio::test]
async fn looking_later_waits_for_a_create_under_way_but_not_longer_than_the_deadline() {
    let service = Service::start().await;
    let client = service.builder().deadline(Duration::from_secs(100)).build().unwrap();
    let thread = client.conversation(&conversation_id());
    service.fail_posts([Fault::DropAfter, Fault::Hang]);
    let lost = thread.reply(TEXT).verification(Verification::Never).await.unwrap_err();
    let slow = tokio::spawn(thread.reply("Another").deadline(Duration::from_secs(3600)).into_future());
    while service.count("POST") < 2 {
        service.committed.notified().await;
    }
    let look = tokio::spawn(async move { client.find_unconfirmed(lost.unconfirmed().unwrap()).await });
    tokio::task::yield_now().await;
    service.clock.leap(Duration::from_secs(101));
    let error = look.await.unwrap().unwrap_err();
    assert!(error.is_timeout(), "{error}");
    slow.abort();
}

#[tokio::test]
async fn a_failed_read_before_the_create_means_that_nothing_was_sent() {
    let service = Service::start().await;
    service.fail_gets(std::iter::repeat_n(Fault::DropBefore, 5));
    let thread = service.client().conversation(&conversation_id());
    let error = thread.add_note(TEXT).verification(Verification::ReadFirst).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::NotSent);
    assert_eq!(service.count("POST"), 0);
}

#[tokio::test]
async fn the_first_call_of_a_client_is_one_request_too() {
    let service = Service::start().await;
    let thread = service.client().conversation(&conversation_id());
    thread.add_note(TEXT).await.unwrap();
    thread.reply(TEXT).await.unwrap();
    assert_eq!(service.requests(), ["POST /conversations/cnv_1/notes", "POST /conversations/cnv_1/replies"]);
}

#[tokio::test]
async fn the_error_of_an_unknown_outcome_says_what_to_do() {
    let service = Service::start().await;
    service.fail_posts([Fault::DropAfter]);
    service.fail_gets([Fault::Before(404)]);
    let error = service.client().conversation(&conversation_id()).reply(TEXT).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("find_unconfirmed") && text.contains("ReadFirst") && text.contains("#lost-responses"),
        "{text}"
    );
}

#[tokio::test]
async fn a_client_that_never_heard_its_service_finds_the_create_when_it_is_back() {
    let service = Service::start().await;
    let client = service.client();
    service.fail_posts([Fault::DropAfter]);
    service.fail_gets(std::iter::repeat_n(Fault::DropBefore, 200));
    let error = client.conversation(&conversation_id()).reply(TEXT).await.unwrap_err();
    service.world.lock().unwrap().gets.clear();
    service.clock.leap(Duration::from_secs(3600));
    let lookup = client.find_unconfirmed(error.unconfirmed().unwrap()).await.unwrap();
    assert!(matches!(lookup, Lookup::Found(_)), "{lookup:?}");
}
