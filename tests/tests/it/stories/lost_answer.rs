//! An answer that is lost on the wire: the customer gets one mail, and the caller learns which one.

use std::{sync::Arc, time::Duration};

use shared_inbox::{AssignTo, Certainty, MessageStatus, create::Verification};
use shared_inbox_mock::{Effect, FaultRule, InboundMail, MockServer};

use crate::shared_clock::{SharedClock, client};

#[tokio::test]
async fn a_reply_whose_answer_is_lost_is_mailed_once() {
    let mock = MockServer::builder().manual_clock().start().await;
    let clock = Arc::new(SharedClock::with(&mock));
    let inbox = client(&mock, mock.live_key(), &clock);
    let control = mock.control();
    let mail = InboundMail::new("help@acme.example", "kim@example.com", "Where is it?");
    let id = control.inbound(mail).await.unwrap().conversation_id;

    control.add_fault(FaultRule::new(Effect::drop_after()).method("POST")).await.unwrap();
    let reply = inbox.conversation(&id).reply("It left yesterday.").and_send().await.unwrap();
    assert!(reply.recovered(), "read from the conversation, not sent again");
    assert_eq!(reply.status, MessageStatus::Scheduled);

    control.advance(Duration::from_secs(3600)).await.unwrap();
    let outbox = control.outbox().await;
    let mails: Vec<_> = outbox.iter().filter(|mail| mail.text == "It left yesterday.").collect();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].message_id.as_ref(), Some(&reply.message_id));
    let posts = control.requests().await.iter().filter(|request| request.method == "POST").count();
    assert_eq!(posts, 1);
}

#[tokio::test]
async fn a_caller_who_wants_no_look_is_told_that_it_is_not_known() {
    let mock = MockServer::builder().manual_clock().start().await;
    let inbox = mock.client();
    let id = inbox.conversations().await.unwrap()[0].id.clone();
    mock.control().add_fault(FaultRule::new(Effect::drop_after()).method("POST")).await.unwrap();
    let error = inbox.conversation(&id).add_note("Once").verification(Verification::Never).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    let notes = inbox.conversation(&id).get().await.unwrap();
    assert_eq!(notes.timeline.iter().filter(|i| i.as_note().is_some_and(|n| n.body == "Once")).count(), 1);
}

#[tokio::test]
async fn what_can_be_repeated_is_repeated_until_it_is_done() {
    let mock = MockServer::builder().manual_clock().start().await;
    let clock = Arc::new(SharedClock::with(&mock));
    let inbox = client(&mock, mock.live_key(), &clock);
    let id = inbox.conversations().await.unwrap()[0].id.clone();
    for effect in [Effect::status(500), Effect::drop_before(), Effect::drop_after(), Effect::truncate(3)] {
        mock.control().add_fault(FaultRule::new(effect)).await.unwrap();
    }
    inbox.conversation(&id).assign(AssignTo::Nobody).await.unwrap();
    assert!(inbox.conversation(&id).get().await.unwrap().assignee.is_none());
}
