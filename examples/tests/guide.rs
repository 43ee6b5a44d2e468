//! The Rust of `docs/testing.md`, which is this file without these two lines; a test of the front door holds
//! them together.

use shared_inbox::{Client, Status, View};

async fn answer_orders(inbox: &Client) -> shared_inbox::Result<()> {
    for mail in inbox.conversations().view(View::Open).limit(100).await? {
        let mut words = mail.snippet.split(|c: char| !c.is_alphanumeric());
        let Some(order) = words.find(|word| word.len() == 4 && word.starts_with("10")) else { continue };
        let thread = inbox.conversation(&mail.id);
        thread.reply(format!("Your order {order} is on its way.")).await?;
        thread.set_status(Status::Waiting).await?;
    }
    Ok(())
}

use std::{error::Error, time::Duration};

use shared_inbox_mock::{Approval, Effect, Expectation, FaultRule, InboundMail, MockServer};

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

async fn world() -> Result<MockServer> {
    let mock = MockServer::builder().empty().manual_clock().start().await;
    let address = &mock.client().mailboxes().await?[0].address;
    let mail = InboundMail::new(address, "vera@customer.example", "Where is my order 1042?");
    mock.control().inbound(mail).await?;
    Ok(mock)
}

#[tokio::test]
async fn an_answer_leaves_once_a_person_has_approved_it() -> Result {
    let mock = world().await?;
    let control = mock.control();
    answer_orders(&mock.client()).await?;
    control.expect(Expectation::outbox().never().within(Duration::from_secs(86400))).await?;
    control.approve(&control.approvals().await[0].message_id, Approval::new()).await?;
    let mail = Expectation::outbox().field("text", "Your order 1042*").times(1);
    control.expect(mail.within(Duration::from_secs(600))).await?;
    Ok(())
}

#[tokio::test]
async fn a_lost_answer_does_not_make_a_second_draft() -> Result {
    let mock = world().await?;
    let lost = FaultRule::new(Effect::drop_after()).path("/conversations/*/replies");
    mock.control().add_fault(lost).await?;
    answer_orders(&mock.client()).await?;
    assert_eq!(mock.control().approvals().await.len(), 1);
    Ok(())
}
