//! A triage agent: reads open mail that nobody has, tags it by rule, and drafts an answer where a rule has one. It never
//! sends; a person approves every draft.
//!
//!     cargo run --example triage
//!
//! With `SHARED_INBOX_BASE_URL` and `SHARED_INBOX_API_KEY` set it works in that inbox instead of a mock.

use shared_inbox::{Assigned, Client, ConversationSummary, Direction, View};
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

/// Marks what has been looked at, so that the next run does not look again.
const SEEN: &str = "triaged";

#[tokio::main]
async fn main() -> Result<()> {
    let service = Service::connect().await?;
    let inbox = &service.inbox;
    if inbox.is_test() {
        write_some_mail(inbox).await?;
    }
    let open = inbox.conversations().view(View::Open).assigned(Assigned::Unassigned).limit(100).await?;
    let new: Vec<_> = open.iter().filter(|summary| !summary.tags.iter().any(|tag| tag == SEEN)).collect();
    println!("{} open, {} of them new", open.len(), new.len());
    for summary in new {
        println!("{}  {}", summary.id, triage(inbox, summary).await?);
    }
    Ok(())
}

/// Returns what was done, in words.
async fn triage(inbox: &Client, summary: &ConversationSummary) -> Result<String> {
    let thread = inbox.conversation(&summary.id);
    let conversation = thread.get().await?;

    // A mail that looks wrong is for a person. Its words decide nothing here.
    if let Some(risk) = &conversation.risk {
        thread.add_note(format!("Left alone: looks like {risk}.")).await?;
        thread.edit_tags().add(SEEN).await?;
        return Ok(format!("left alone, looks like {risk}"));
    }

    let mut messages = conversation.timeline.iter().filter_map(|item| item.as_message());
    let latest = messages.rfind(|message| message.direction == Direction::Inbound);
    let text = latest.map(|message| message.text.to_lowercase()).unwrap_or_default();
    let rule = RULES.iter().find(|rule| rule.words.iter().any(|word| text.contains(word)));

    let Some(rule) = rule else {
        thread.edit_tags().add(SEEN).await?;
        return Ok("no rule fits".into());
    };
    thread.edit_tags().add(SEEN).add(rule.tag).await?;
    let Some(words) = rule.draft else {
        return Ok(format!("tagged {}", rule.tag));
    };
    // Awaiting a reply makes a draft. Only `.and_send()` would mail the customer.
    let draft = thread.reply(words).summary(format!("Standard answer: {}", rule.tag)).await?;
    Ok(format!("tagged {}, {} {}", rule.tag, draft.status, draft.message_id))
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
