//! Papers: asked for, reminded of, uploaded, complete.

use std::time::Duration;

use shared_inbox::input::DocumentItem;
use shared_inbox_mock::{
    InboundMail, MockServer,
    world::{OutboxKind, Upload},
};
use shared_inbox_webhooks::EventKind;

use super::receiver::Listener;

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test]
async fn documents_are_asked_for_reminded_of_and_reported_complete() {
    let mock = MockServer::builder().manual_clock().start().await;
    let (inbox, control) = (mock.client(), mock.control());
    let listener = Listener::start(control, |new| new.events(["ask.completed"])).await;
    let mail = InboundMail::new("help@acme.example", "kim@example.com", "I would like to open an account.");
    let id = control.inbound(mail).await.unwrap().conversation_id;

    let items = [
        DocumentItem::new("Passport"),
        DocumentItem::new("Payslip"),
        DocumentItem::new("Reference").nice_to_have(),
    ];
    let asked = inbox
        .conversation(&id)
        .request_documents(items)
        .message("To open it we need:")
        .and_send()
        .await
        .unwrap();
    let request = asked.request_id.clone().expect("a request has an id");
    let reminders = async || {
        let outbox = control.outbox().await;
        outbox.iter().filter(|mail| mail.to == "kim@example.com" && mail.kind == OutboxKind::Reminder).count()
    };
    control.advance(Duration::from_secs(600)).await.unwrap();
    control.advance(2 * DAY).await.unwrap();
    assert_eq!(reminders().await, 1, "after two days");
    assert!(!control.upload(&request, Upload::new(0, "passport.pdf")).await.unwrap().complete);
    control.advance(2 * DAY).await.unwrap();
    assert_eq!(reminders().await, 2, "after four");
    assert!(listener.kinds().is_empty());
    assert!(
        control.upload(&request, Upload::new(1, "payslip.pdf")).await.unwrap().complete,
        "the optional one holds nothing up"
    );
    control.upload(&request, Upload::new(2, "reference.pdf")).await.unwrap();
    control.advance(10 * DAY).await.unwrap();
    assert_eq!(reminders().await, 2, "none once it is complete");

    let done = listener
        .find(|kind| if let EventKind::AskCompleted(done) = kind { Some(done.clone()) } else { None });
    assert_eq!((done.len(), &done[0].ask_id, &done[0].conversation_id), (1, &request, &id));
    let filed = inbox.documents().search("passport").await.unwrap();
    assert_eq!(filed[0].conversation_id.as_ref(), Some(&id));
}
