//! Tests as the page copies them, kept here so that they are compiled and run.

mod a_call_that_works {
use shared_inbox_mock::{InboundMail, MockServer};

#[tokio::test]
async fn add_note_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let inbox = mock.client();
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "It flickers since Monday.").subject("My lamp flickers");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    inbox.conversation(&id).add_note("It's the \"L2\" model,\nsays Zoë").await.unwrap();
}
}

mod a_call_that_is_refused {
use shared_inbox::ConversationId;
use shared_inbox_mock::MockServer;

#[tokio::test]
async fn add_note_is_refused_with_404() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let inbox = mock.client();
    let id: ConversationId = "cnv_none".parse().unwrap();
    let error = inbox.conversation(&id).add_note("Where?").await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}
}

mod a_tool {
use shared_inbox::Status;
use shared_inbox_mock::{InboundMail, MockServer};

#[tokio::test]
async fn set_status_works() {
    let mock = MockServer::builder().manual_clock().empty().start().await;
    let inbox = mock.client();
    let address = mock.control().mailboxes().await.unwrap()[0].address.clone();
    let mail = InboundMail::new(address, "kim@customer.example", "It flickers since Monday.").subject("My lamp flickers");
    let id = mock.control().inbound(mail).await.unwrap().conversation_id;
    inbox.conversation(&id).set_status(Status::Waiting).await.unwrap();
}
}
