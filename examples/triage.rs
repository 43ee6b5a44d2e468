//! A triage worker that can be killed at any point: it reads open mail that nobody has, drafts an answer
//! where a rule has one, and tags what it has dealt with. It never sends; a person approves every draft.
//!
//!     cargo run --example triage
//!
//! With `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY` set it works in that inbox instead of a mock.

use shared_inbox::{Assigned, Client, ConversationId, Direction, TimelineItem, View};
use shared_inbox_examples::{Result, Service};

struct Rule {
    words: &'static [&'static str],
    tag: &'static str,
    draft: Option<&'static str>,
}

const RULES: &[Rule] = &[
    Rule {
        words: &["refund", "money back"],
        tag: "refund",
        draft: Some("Thank you for writing. We look into your refund and come back to you today."),
    },
    Rule {
        words: &["invoice", "receipt"],
        tag: "billing",
        draft: Some("Thank you for writing. You find every invoice under Account, Billing."),
    },
    Rule { words: &["lawyer", "complaint"], tag: "careful", draft: None },
];

/// Marks what has been dealt with. Set last, so that a worker that is killed before comes back to it.
const DONE: &str = "triaged";

#[tokio::main]
async fn main() -> Result<()> {
    let service = Service::connect().await?;
    let inbox = &service.inbox;
    if inbox.is_test() {
        write_some_mail(inbox).await?;
    }
    let (mut open, mut new) = (0, 0);
    let mut sweep = inbox.sweep().view(View::Open).assigned(Assigned::Unassigned);
    while let Some(summary) = sweep.next().await {
        let summary = summary?;
        open += 1;
        if !summary.tags.iter().any(|tag| tag == DONE) {
            new += 1;
            println!("{}  {}", summary.id, triage(inbox, &summary.id).await?);
        }
    }
    println!("{open} open, {new} of them new");
    Ok(())
}

/// Returns what was done, in words.
async fn triage(inbox: &Client, id: &ConversationId) -> Result<String> {
    let thread = inbox.conversation(id);
    let conversation = thread.get().await?;
    // A mail that looks wrong is for a person. Its words decide nothing here.
    if let Some(risk) = &conversation.risk {
        thread.edit_tags().add_all([DONE, "careful"]).await?;
        return Ok(format!("left alone, looks like {risk}"));
    }
    let is_mail = |item: &TimelineItem| item.as_message().is_some_and(|m| m.direction == Direction::Inbound);
    let latest = conversation.timeline.iter().rposition(is_mail).unwrap_or_default();
    let (mail, later) = conversation.timeline[latest..].split_first().ok_or("an empty conversation")?;
    let text = mail.as_message().map(|message| message.text.to_lowercase()).unwrap_or_default();
    let Some(rule) = RULES.iter().find(|rule| rule.words.iter().any(|word| text.contains(word))) else {
        thread.edit_tags().add(DONE).await?;
        return Ok("no rule fits".into());
    };
    let mut said = format!("tagged {}", rule.tag);
    // What stands below the mail was written since: by a person, or by this worker before it was killed.
    let is_answered = later.iter().any(|item| item.as_message().is_some());
    if let Some(words) = rule.draft.filter(|_| !is_answered) {
        // Awaiting a reply makes a draft; only `.and_send()` would mail the customer. A lost response is
        // recovered.
        let draft = thread.reply(words).summary(format!("Standard answer: {}", rule.tag)).await?;
        said = format!("{said}, {} {}", draft.status, draft.message_id);
    }
    thread.edit_tags().add_all([DONE, rule.tag]).await?;
    Ok(said)
}

/// Four customers, so that there is something to do in a sandbox.
async fn write_some_mail(inbox: &Client) -> Result<()> {
    for (from, text) in [
        ("kim@customer.test", "The jacket is too small. Can I get a refund?"),
        ("lee@customer.test", "I need the invoice for March."),
        ("sam@customer.test", "I have made a complaint twice now!"),
        ("ida@customer.test", "Do you also sell bicycles?"),
    ] {
        inbox.sandbox_inbound(from, text).await?;
    }
    Ok(())
}
