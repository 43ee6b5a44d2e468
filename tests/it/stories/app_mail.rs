//! An app that sends its own mail: the customer's reply comes back with the app's reference, a stranger's
//! does not.

use std::time::Duration;

use shared_inbox::{Reference, View, new_message_id};
use shared_inbox_mock::{InboundMail, MockServer};
use shared_inbox_webhooks::EventKind;

use super::receiver::Listener;

#[tokio::test]
async fn a_reply_to_recorded_mail_carries_the_reference_and_a_strangers_does_not() {
    let mock = MockServer::builder().manual_clock().start().await;
    let (inbox, control) = (mock.client(), mock.control());
    let listener = Listener::start(control, |new| new.events(["client.replied"])).await;
    let reference = Reference::parse("Order-7301").unwrap();
    let message_id = new_message_id("shop.example").unwrap();
    inbox
        .record_sent(&message_id, reference.clone(), ["kim@example.com"], "Your order")
        .text("It is on its way.")
        .await
        .unwrap();

    let answer = |from: &str| {
        let mut mail = InboundMail::new("help@acme.example", from, "Can I change the colour?");
        mail.in_reply_to = Some(message_id.to_string());
        mail
    };
    let kim = control.inbound(answer("kim@example.com")).await.unwrap();
    let eve = control.inbound(answer("eve@example.com")).await.unwrap();
    control.advance(Duration::ZERO).await.unwrap();

    let replied =
        listener.find(|kind| if let EventKind::ClientReplied(r) = kind { Some(r.clone()) } else { None });
    assert_eq!(replied.len(), 1, "the stranger's mail is the first of a new conversation");
    assert_eq!(replied[0].reference.as_deref(), Some("order-7301"));
    assert_eq!(replied[0].conversation_id, kim.conversation_id);
    let listed = inbox.conversations().view(View::All).reference("order-7301").await.unwrap();
    assert_eq!(listed.iter().map(|c| &c.id).collect::<Vec<_>>(), [&kim.conversation_id]);
    let read = inbox.conversation(&kim.conversation_id).get().await.unwrap();
    assert_eq!(read.reference.as_deref(), Some("order-7301"));
    assert!(read.app_sent.is_some());
    // A reference says which address was written to; who wrote is the contact.
    assert_eq!(read.contact.email.as_deref(), Some("kim@example.com"));
    let strange = inbox.conversation(&eve.conversation_id).get().await.unwrap();
    assert_eq!((strange.reference, strange.app_sent), (None, None));
}
