//! App mail, there and back: an app sends its own email, and the customer's reply comes back as a
//! conversation that carries the app's reference.
//!
//!     cargo run --example app_mail
//!
//! With `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY` set (a key with the scope `record`) it prints what
//! to put into your email, records it there, and waits ten minutes for the reply.

use std::time::Duration;

use shared_inbox::{Reference, ReplyAddress, Timestamp, new_message_id};
use shared_inbox_examples::{Result, Service};
use shared_inbox_mock::InboundMail;

const CUSTOMER: &str = "kim@customer.test";

#[tokio::main]
async fn main() -> Result<()> {
    let service = Service::connect().await?;
    // Replies to app mail reach real inboxes, so in the mock this needs its live key.
    let inbox = service.mock.as_ref().map_or(service.inbox.clone(), |mock| mock.client());

    // 1. The app writes an email about an order.
    let mailboxes = inbox.mailboxes().await?;
    let mailbox = mailboxes.first().ok_or("this key sees no inbox")?;
    let order = Timestamp::now().as_secs(); // one that no earlier run has asked about
    let reference = Reference::parse(&format!("order-{order}"))?;
    let reply_to = ReplyAddress::new(&mailbox.address, reference.clone())?;
    let message_id = new_message_id("shop.example")?;
    println!("Message-ID: {message_id}\nReply-To: {reply_to}\nTo: {CUSTOMER}\nSubject: Your order\n");
    // … here the app hands the email to its own mail service …

    // 2. It records what it sent, so that the team sees it above the reply. Recording twice is harmless.
    let mail = inbox.record_sent(&message_id, reference.clone(), [CUSTOMER], "Your order");
    mail.text(format!("Your order {order} is on its way.")).await?;
    println!("recorded");

    // 3. The customer replies.
    if let Some(mock) = &service.mock {
        let reply = InboundMail::new(reply_to.to_string(), CUSTOMER, "It came broken.");
        mock.control().inbound(reply.in_reply_to(message_id)).await?;
    }

    // 4. The reply is a conversation with the reference, whatever its status.
    let summary = inbox.wait_for_reference(&reference).within(Duration::from_secs(600)).await?;
    println!("{} is about {}", summary.id, summary.reference.as_deref().unwrap_or("nothing"));

    // A reference says which address was written to, not who wrote. Look before you act on it.
    if summary.contact.email.as_deref() == Some(CUSTOMER) {
        println!("written by the customer of that order");
    } else {
        println!("written by someone else: leave it to a person");
    }
    Ok(())
}
