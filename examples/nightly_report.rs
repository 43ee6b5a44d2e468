//! A nightly report over everything that the key can see: how much there is of what, what has waited longest, and which
//! parts are too large for the API to show whole.
//!
//!     cargo run --example nightly_report
//!
//! With `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY` set it reports on that inbox, and changes nothing. Without them, a
//! mock inside this process is filled with mail first.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use shared_inbox::{Client, ConversationSummary, Status, Urgency};
use shared_inbox_examples::{Result, Service};

#[tokio::main]
async fn main() -> Result<()> {
    let service = Service::connect().await?;
    if service.mock.is_some() {
        fill(&service.inbox).await?;
    }
    let mut report = Report::default();
    let mut sweep = service.inbox.sweep();
    while let Some(summary) = sweep.next().await {
        report.count(&summary?);
    }
    report.print();
    for slice in sweep.cut() {
        println!("not all could be seen: {slice}");
    }
    Ok(())
}

#[derive(Default)]
struct Report {
    total: usize,
    urgent: usize,
    by_status: BTreeMap<String, usize>,
    by_assignee: BTreeMap<String, usize>,
    by_tag: BTreeMap<String, usize>,
    /// Ours to answer for the longest time.
    oldest: Option<ConversationSummary>,
}

impl Report {
    fn count(&mut self, summary: &ConversationSummary) {
        self.total += 1;
        self.urgent += usize::from(summary.urgency == Some(Urgency::High));
        *self.by_status.entry(summary.status.to_string()).or_default() += 1;
        let who = summary.assignee.as_ref().map_or("nobody", |who| who.name.as_str());
        *self.by_assignee.entry(who.to_owned()).or_default() += 1;
        for tag in &summary.tags {
            *self.by_tag.entry(tag.clone()).or_default() += 1;
        }
        let older =
            self.oldest.as_ref().is_none_or(|oldest| summary.last_message_at < oldest.last_message_at);
        if summary.status == Status::Open && older {
            self.oldest = Some(summary.clone());
        }
    }

    fn print(&self) {
        println!("{} conversations, {} of them urgent", self.total, self.urgent);
        for (what, counts) in
            [("status", &self.by_status), ("assignee", &self.by_assignee), ("tag", &self.by_tag)]
        {
            for (name, count) in counts {
                println!("  {what} {name}: {count}");
            }
        }
        if let Some(oldest) = &self.oldest {
            println!("open for the longest time: {}, since {}", oldest.id, oldest.last_message_at);
        }
    }
}

/// A dozen mails; every third waits for its customer.
async fn fill(inbox: &Client) -> Result<()> {
    let mails = (0..12).map(|n| {
        let call = inbox.sandbox_inbound(format!("kim{n}@customer.test"), "Where is my order?");
        call.subject(format!("Order {n}")).into_future()
    });
    for (n, mail) in try_join_all(mails).await?.into_iter().enumerate() {
        let thread = inbox.conversation(&mail.conversation_id);
        if n % 3 == 0 {
            thread.edit_tags().add("delivery").await?;
            thread.set_status(Status::Waiting).await?;
        }
    }
    Ok(())
}
