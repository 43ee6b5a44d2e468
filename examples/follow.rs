//! Follows the inbox: prints what is new, what changed and what left the list, from a list that has no
//! cursor.
//!
//!     cargo run --example follow            # until Ctrl-C; in a mock, until its story ends
//!     cargo run --example follow -- 3       # until three changes have come
//!
//! With `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY` set it follows that inbox. With a test key it also
//! writes some mail there, so that something happens.

use std::{env, time::Duration};

use shared_inbox::{Client, Status, follow::Change};
use shared_inbox_examples::{Result, Service};
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<()> {
    let service = Service::connect().await?;
    let inbox = &service.inbox;
    let wanted = env::args().nth(1).map(|count| count.parse::<usize>()).transpose();
    let wanted = wanted.map_err(|_| "the only argument is how many changes to wait for, such as 3")?;
    // The story below makes at least three changes.
    let wanted = wanted.or(service.mock.is_some().then_some(3));

    let mut changes = inbox.changes().every(Duration::from_secs(1)).with_existing();
    let (told, heard) = mpsc::unbounded_channel();
    if inbox.is_test() {
        let story = tell_a_story(inbox.clone(), heard);
        tokio::spawn(async {
            if let Err(error) = story.await {
                eprintln!("the story broke off: {error}");
                std::process::exit(1);
            }
        });
    }
    let mut count = 0;
    while wanted.is_none_or(|wanted| count < wanted) {
        let change = tokio::select! {
            change = changes.next() => change,
            _ = tokio::signal::ctrl_c() => break,
        };
        let Some(change) = change else { break };
        match change {
            Ok(Change::New(now)) => println!("new      {}  {}", now.id, now.subject),
            Ok(Change::Changed { before, after, .. }) => {
                let mail = after.message_count.saturating_sub(before.message_count);
                println!("changed  {}  messages +{mail}, tags {:?}", after.id, after.tags);
            }
            Ok(Change::Left(before)) => println!("left     {}  {}", before.id, before.subject),
            Ok(Change::Gap(_)) => println!("more conversations than a page: something may be missing"),
            Ok(other) => println!("{other:?}"),
            // A bad minute is waited out inside the stream, and nothing is lost by it. What comes here would
            // not pass: a revoked key, a missing scope, a service that was never there.
            Err(error) => return Err(error.into()),
        }
        count += 1;
        _ = told.send(()); // the story may be over
    }
    Ok(())
}

/// A customer writes, writes again, and the conversation is closed; each when the one before has been told.
async fn tell_a_story(inbox: Client, mut told: mpsc::UnboundedReceiver<()>) -> Result<()> {
    let first =
        inbox.sandbox_inbound("kim@customer.test", "Is the shop open on Sunday?").subject("Sunday").await?;
    told.recv().await;
    inbox.sandbox_inbound("kim@customer.test", "Never mind, I found it.").on(&first.conversation_id).await?;
    told.recv().await;
    inbox.conversation(&first.conversation_id).set_status(Status::Closed).await?;
    Ok(())
}
