//! The tour of a real sandbox: what a test key can do without the mock's control over time, people and
//! failures.

use std::time::Duration;

use shared_inbox::{Client, MessageStatus, Reference, input::DocumentItem, new_message_id};

use crate::{
    agent, code,
    show::{Error, Show},
};

/// Runs against the service that `inbox` speaks to.
pub(crate) async fn tour(show: &mut Show, inbox: &Client) -> Result<(), Error> {
    show.say(&format!("It runs in the sandbox of {}. No real mail is sent.", inbox.base_url()));

    show.step("Whose key is this?");
    let me = show
        .run(code!(inbox.me().await?), |me| {
            format!("{}, a test key with the scopes {:?}", me.agent.name, me.scopes)
        })
        .await?;
    let may = |scope: &str| me.scopes.iter().any(|have| have.as_str() == scope);

    show.step("A customer writes");
    let mail = show
        .run(
            code!(inbox.sandbox_inbound("reply@customer.test", "Where is my order 1042?").name("Kim").await?),
            |mail| mail.conversation_id.to_string(),
        )
        .await?;
    let id = mail.conversation_id;

    show.step("An agent reads, tags, takes it, leaves a note");
    agent::works(show, inbox, &id).await?;

    show.step("A reply is drafted");
    let thread = inbox.conversation(&id);
    show.run(code!(thread.reply("It is on its way.").summary("Says where it is").await?), |reply| {
        format!("{} {}", reply.status, reply.message_id)
    })
    .await?;

    if may("send") {
        show.step("Another one is sent, and the customer answers");
        let sent = show
            .run(code!(thread.reply("Which address is right?").and_send().await?), |reply| {
                format!("{} {}", reply.status, reply.message_id)
            })
            .await?;
        show.run(code!(thread.wait_until_sent(&sent.message_id).await?), |message| {
            message.status.as_ref().map(MessageStatus::to_string).unwrap_or_default()
        })
        .await?;
        let patience = Duration::from_secs(30);
        show.run(code!(thread.wait_for_reply(&sent.message_id).within(patience).await?), |message| {
            format!("“{}”", message.text)
        })
        .await?;

        show.step("Documents are asked for and arrive");
        let claim = show
            .run(
                code!(inbox.sandbox_inbound("docs@customer.test", "I would like my money back.").await?),
                |mail| mail.conversation_id.to_string(),
            )
            .await?;
        let claims = inbox.conversation(&claim.conversation_id);
        let wanted = [DocumentItem::new("Invoice")];
        let asked = show
            .run(code!(claims.request_documents(wanted).and_send().await?), |reply| {
                format!("{} {}", reply.status, reply.message_id)
            })
            .await?;
        show.run(code!(claims.wait_for_reply(&asked.message_id).within(patience).await?), |message| {
            let names: Vec<_> = message.attachments.iter().map(|file| file.filename.as_str()).collect();
            format!("a mail with {}", names.join(", "))
        })
        .await?;
        show.run(code!(inbox.documents().limit(1).await?), |documents| {
            documents
                .iter()
                .map(|document| format!("{} {}", document.id, document.filename))
                .collect::<String>()
        })
        .await?;
    } else {
        show.say("This key lacks the scope `send`, so nothing is sent on this tour.");
    }

    if may("record") {
        show.step("An app records an email that it sent itself");
        let reference = Reference::parse("order-1042")?;
        let message_id = new_message_id("shop.test")?;
        show.run(
            code!(inbox.record_sent(message_id, reference, ["kim@customer.test"], "Your order").await?),
            |done| format!("ok: {}", done.ok),
        )
        .await?;
    }

    agent::over_mcp(show, inbox, &id).await?;

    show.step("Not shown here");
    show.say(
        "Webhooks, approvals, lost answers and the passing of days need a service that plays along. Unset \
         SHARED_INBOX_BASE_URL to see them with the mock.",
    );
    Ok(())
}
