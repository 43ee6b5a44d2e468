//! A refund, from the customer's first mail to the last: the agent drafts, a person approves, the mail goes
//! out.

use std::time::Duration;

use shared_inbox::{ActorId, AssignTo, MessageStatus, Status, View};
use shared_inbox_mock::{Approval, InboundMail, MockServer, world::StopMessage};
use shared_inbox_webhooks::EventKind;

use super::receiver::Listener;

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn the_agent_drafts_a_person_approves_and_the_customer_hears_after_the_undo_window() {
    let mock = MockServer::builder().manual_clock().start().await;
    let (inbox, control) = (mock.client(), mock.control());
    let listener = Listener::start(control, |new| new).await;

    let mut mail = InboundMail::new(
        "help@acme.example",
        "kim@example.com",
        "The shoes do not fit. Can I send them back?",
    );
    mail.subject = Some("Order 1042".into());
    let received = control.inbound(mail).await.unwrap();
    assert!(received.created);

    let found = inbox.conversations().view(View::Open).search("shoes fit").await.unwrap();
    assert_eq!(found.iter().map(|c| &c.id).collect::<Vec<_>>(), [&received.conversation_id]);
    let thread = inbox.conversation(&found[0].id);
    thread.assign(AssignTo::Me).await.unwrap();
    thread.edit_tags().add("refund").await.unwrap();
    thread.add_note("Within 30 days, so yes. @Anna please approve.").await.unwrap();
    let draft = thread.reply("Yes, send them back.").summary("Accepts the return").await.unwrap();
    assert_eq!((draft.status.clone(), draft.sends_at), (MessageStatus::Draft, None));
    control.advance(20 * MINUTE).await.unwrap();
    assert!(
        control.outbox().await.iter().all(|mail| mail.message_id.as_ref() != Some(&draft.message_id)),
        "a draft waits"
    );

    let waiting = control.approvals().await;
    let waiting =
        waiting.iter().find(|waiting| waiting.message_id == draft.message_id).expect("in the queue");
    assert_eq!(waiting.summary.as_deref(), Some("Accepts the return"));
    control.approve(&draft.message_id, Approval::new().body("Yes, please send them back.")).await.unwrap();
    // Somebody has second thoughts, inside the window; then it goes through after all.
    control.advance(5 * MINUTE).await.unwrap();
    control.stop(&draft.message_id, StopMessage::default()).await.unwrap();
    control.approve(&draft.message_id, Approval::new()).await.unwrap();
    control.advance(9 * MINUTE).await.unwrap();
    let sent = || {
        listener.find(|kind| match kind {
            EventKind::MessageSent(sent) if sent.conversation_id == received.conversation_id => {
                Some(sent.message_id.clone())
            }
            _ => None,
        })
    };
    assert!(sent().is_empty());
    control.advance(MINUTE).await.unwrap();
    assert_eq!(sent(), std::slice::from_ref(&draft.message_id));
    let outbox = control.outbox().await;
    let mail = outbox.iter().find(|mail| mail.message_id.as_ref() == Some(&draft.message_id)).unwrap();
    assert_eq!((mail.to.as_str(), mail.text.as_str()), ("kim@example.com", "Yes, please send them back."));
    assert_eq!(thread.get().await.unwrap().status, Status::Waiting);

    let mut answer = InboundMail::new("help@acme.example", "kim@example.com", "Thank you!");
    answer.conversation_id = Some(received.conversation_id.to_string());
    control.inbound(answer).await.unwrap();
    control.advance(Duration::ZERO).await.unwrap();
    assert_eq!(thread.get().await.unwrap().status, Status::Open);
    let assigned = listener.find(|kind| {
        if let EventKind::ConversationAssigned(assigned) = kind { Some(assigned.clone()) } else { None }
    });
    assert!(matches!(assigned[0].assignee.as_ref().unwrap().id, ActorId::Agent(_)));
    let kinds = listener.kinds();
    for kind in ["conversation.assigned", "draft.approved", "message.sent", "client.replied", "turn.changed"]
    {
        assert!(kinds.iter().any(|k| k == kind), "{kind} in {kinds:?}");
    }
}
