//! A test key: the whole round without a real mail, and nothing of it where it does not belong.

use std::{sync::Arc, time::Duration};

use shared_inbox::MessageStatus;
use shared_inbox_mock::MockServer;
use shared_inbox_webhooks::EventKind;

use super::receiver::Listener;
use crate::shared_clock::{SharedClock, client};

#[tokio::test]
async fn a_simulated_customer_writes_is_answered_and_writes_back() {
    let mock = MockServer::builder().manual_clock().start().await;
    let clock = Arc::new(SharedClock::with(&mock));
    let sandbox = client(&mock, mock.test_key(), &clock);
    let control = mock.control();
    let tests = Listener::start(control, |new| new.test()).await;
    let live = Listener::start(control, |new| new).await;

    let mail =
        sandbox.sandbox_inbound("reply+7@customer.test", "Is it in stock?").subject("Lamp").await.unwrap();
    let thread = sandbox.conversation(&mail.conversation_id);
    let sent = thread.reply("Yes, it is.").and_send().await.unwrap();
    let message = thread.wait_until_sent(&sent.message_id).within(Duration::from_secs(60)).await.unwrap();
    assert_eq!(message.status, Some(MessageStatus::Sent));
    let answer = thread.wait_for_reply(&sent.message_id).within(Duration::from_secs(60)).await.unwrap();
    assert_ne!(answer.id, sent.message_id);

    control.advance(Duration::from_secs(60)).await.unwrap();
    let replied = tests
        .find(|kind| if let EventKind::ClientReplied(r) = kind { Some(r.message_id.clone()) } else { None });
    assert_eq!(replied, [answer.id]);
    assert!(live.kinds().is_empty(), "live receivers hear nothing of the sandbox");
    let error = mock.client().conversation(&mail.conversation_id).get().await.unwrap_err();
    assert!(error.is_not_found(), "and live keys see nothing of it");
}
