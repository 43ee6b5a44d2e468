//! A document chase: asks a customer for papers, waits until they come, and files the conversation.
//!
//!     cargo run --example document_chase
//!
//! With `SHARED_INBOX_BASE_URL` and a test key in `SHARED_INBOX_API_KEY` it runs in that sandbox: the address
//! `docs@customer.test` answers by itself, with an invoice. With a live key the request stays a draft: what
//! mails customers should be written on purpose, not run from an example.

use std::time::Duration;

use shared_inbox::{ConversationId, Date, Status, input::DocumentItem};
use shared_inbox_examples::{Result, Service};

#[tokio::main]
async fn main() -> Result<()> {
    let service = Service::connect().await?;
    let inbox = &service.inbox;

    let id: ConversationId = if inbox.is_test() {
        let mail = inbox.sandbox_inbound("docs@customer.test", "Hello, I would like to claim my costs.");
        mail.name("Kim").subject("My claim").await?.conversation_id
    } else {
        let open = inbox.conversations().limit(1).await?;
        open.first().ok_or("there is no open conversation to try this on")?.id.clone()
    };
    let thread = inbox.conversation(&id);

    let mut request = thread
        .request_documents([
            DocumentItem::new("Invoice").description("The bill that you paid, as a PDF"),
            DocumentItem::new("Photo of the damage").nice_to_have(),
        ])
        .message("Thank you for your claim. We need two papers to go on.")
        .due_date(Date::parse("2030-01-31")?);
    if inbox.is_test() {
        request = request.and_send();
    }
    let asked = request.await?;
    println!("asked in {id}: {} {}", asked.status, asked.message_id);
    if !inbox.is_test() {
        println!("a person approves it; then the customer gets a private upload page and reminders");
        return Ok(());
    }

    thread.wait_until_sent(&asked.message_id).await?;
    println!("the request went out");

    let answer = thread.wait_for_reply(&asked.message_id).within(Duration::from_secs(60)).await?;
    println!("{} came back with {} attachment(s)", answer.id, answer.attachments.len());

    // Attachments of incoming mail are filed as documents.
    let filed = inbox.documents().limit(100).await?;
    for document in filed.iter().filter(|document| document.conversation_id.as_ref() == Some(&id)) {
        println!("filed {}: {}", document.id, document.filename);
    }
    thread.edit_tags().add("documents-in").await?;
    thread.set_status(Status::Closed).await?;
    println!("closed");
    Ok(())
}
