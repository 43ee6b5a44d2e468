//! A CI test of an app, written with the mock's library. The app drafts an answer to whoever asks for an order; its tests
//! stand below it and need no network, no account and no waiting.
//!
//!     cargo test --example ci_test
//!
//! `cargo run --example ci_test` runs the app itself once; with `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY` set, in
//! that inbox. It makes drafts and never sends. `ci_test.py` is the same in Python, with the mock's program.

use shared_inbox::{Client, Direction, View};
use shared_inbox_examples::{Result, Service};

const ORDERS: &[(&str, &str)] = &[("1042", "on its way"), ("1043", "waiting for stock")];

/// The app: drafts an answer to each open mail that names an order we know. Returns how many.
async fn answer_order_questions(inbox: &Client) -> Result<usize> {
    let mut drafted = 0;
    for summary in inbox.conversations().view(View::Open).limit(100).await? {
        if summary.tags.iter().any(|tag| tag == "answered") {
            continue;
        }
        let thread = inbox.conversation(&summary.id);
        let conversation = thread.get().await?;
        let mut messages = conversation.timeline.iter().filter_map(|item| item.as_message());
        let Some(mail) = messages.rfind(|message| message.direction == Direction::Inbound) else { continue };
        if let Some((order, state)) = ORDERS.iter().find(|(order, _)| mail.text.contains(order)) {
            let draft = thread.reply(format!("Your order {order} is {state}."));
            draft.summary(format!("State of order {order}")).await?;
            thread.edit_tags().add("answered").await?;
            drafted += 1;
        }
    }
    Ok(drafted)
}

#[tokio::main]
async fn main() -> Result<()> {
    let service = Service::connect().await?;
    if service.mock.is_some() {
        service.inbox.sandbox_inbound("kim@customer.test", "Where is my order 1042?").await?;
    }
    println!("drafts made: {}", answer_order_questions(&service.inbox).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shared_inbox_mock::{Approval, Effect, Expectation, FaultRule, InboundMail, MockServer};

    use super::*;

    /// A mock of its own for each test: an empty workspace, a clock that stands still.
    async fn mock() -> MockServer {
        MockServer::builder().empty().manual_clock().start().await
    }

    async fn customer_writes(mock: &MockServer, text: &str) -> Result<()> {
        let inboxes = mock.client().mailboxes().await?;
        mock.control().inbound(InboundMail::new(&inboxes[0].address, "kim@example.com", text)).await?;
        Ok(())
    }

    #[tokio::test]
    async fn a_question_about_an_order_gets_one_draft() -> Result<()> {
        let mock = mock().await;
        customer_writes(&mock, "Where is my order 1042?").await?;
        customer_writes(&mock, "Do you also sell bicycles?").await?;
        assert_eq!(answer_order_questions(&mock.client()).await?, 1);
        assert_eq!(answer_order_questions(&mock.client()).await?, 0, "the second run finds nothing to do");
        let drafts = mock.control().approvals().await;
        assert_eq!(drafts.len(), 1);
        assert_eq!(drafts[0].text, "Your order 1042 is on its way.");
        Ok(())
    }

    #[tokio::test]
    async fn no_customer_gets_mail_without_a_person() -> Result<()> {
        let mock = mock().await;
        customer_writes(&mock, "Where is my order 1042?").await?;
        answer_order_questions(&mock.client()).await?;
        let control = mock.control();
        control.expect(Expectation::outbox().never().within(Duration::from_secs(3600))).await?;
        // A person approves, and it goes out once, when the undo window has passed.
        control.approve(&control.approvals().await[0].message_id, Approval::new()).await?;
        let mail = Expectation::outbox().field("text", "Your order 1042*").field("outcome", "sent");
        control.expect(mail.times(1).within(Duration::from_secs(3600))).await?;
        Ok(())
    }

    #[tokio::test]
    async fn a_lost_answer_does_not_make_a_second_draft() -> Result<()> {
        let mock = mock().await;
        customer_writes(&mock, "Where is my order 1042?").await?;
        // The draft is made, and the connection closes before the app hears of it.
        let lost = FaultRule::new(Effect::drop_after()).path("/conversations/*/replies");
        mock.control().add_fault(lost).await?;
        assert_eq!(answer_order_questions(&mock.client()).await?, 1);
        assert_eq!(mock.control().approvals().await.len(), 1);
        Ok(())
    }
}
