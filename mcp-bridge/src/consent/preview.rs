//! An email as the person sees it before it is sent: to whom and every word of it first, then about what.

use std::{fmt::Write, time::Duration};

use serde_json::json;
use shared_inbox::{Conversation, Direction, Message, MessageStatus, input::DocumentItem};

use super::{
    look_alikes::{odd_letters, odd_links},
    visible::{Links, lines, one_line},
};
use crate::{
    outcome::Made,
    render::{Kind, SanitizeReport, counted, kind, quoted},
};

/// How much is shown of a field that is not part of the email.
const MAX_FIELD_CHARS: usize = 200;
/// How many reasons of a risk are shown; the service gives no more.
const MAX_RISK_REASONS: usize = 3;
/// How much of the customer's last message is shown.
const MAX_ANSWERED_CHARS: usize = 600;
/// A text that is longer than this, or has more lines, does not fit into sight.
const MAX_VISIBLE: (usize, usize) = (1_500, 25);

/// An email that is about to be sent.
#[derive(Clone, PartialEq)]
pub(crate) struct EmailPreview {
    pub(crate) conversation: String,
    pub(crate) inbox: String,
    pub(crate) name: Option<String>,
    pub(crate) address: Option<String>,
    pub(crate) subject: String,
    pub(crate) risk: Option<String>,
    pub(crate) reasons: Vec<String>,
    pub(crate) text: String,
    pub(crate) documents: Vec<DocumentItem>,
    pub(crate) due: Option<String>,
    /// The customer's last message.
    pub(crate) answers: Option<String>,
    /// An email with the same text that is in the conversation already.
    pub(crate) twin: Option<Twin>,
}

/// An email that was made since the customer last wrote.
#[derive(Clone)]
pub(crate) struct Twin {
    id: String,
    has_gone: bool,
}

/// Its way from scheduled to sent makes it no other email.
impl PartialEq for Twin {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// A preview, ready to be shown.
pub(crate) struct RenderedPreview {
    pub(crate) to: String,
    pub(crate) warnings: Vec<String>,
    pub(crate) size: String,
    /// What to do about a text that does not fit into sight.
    pub(crate) long: Option<&'static str>,
    pub(crate) lines: Vec<String>,
    /// Whether links in the text were broken.
    pub(crate) broken: bool,
    /// The start of the customer's last message.
    pub(crate) answers: Option<Vec<String>>,
    pub(crate) facts: Vec<(&'static str, String)>,
}

impl EmailPreview {
    /// Creates the preview of an email with this text in this conversation.
    pub(crate) fn new(c: &Conversation, text: &str, documents: &[DocumentItem], due: Option<String>) -> Self {
        Self {
            conversation: c.id.to_string(),
            inbox: c.mailbox.clone(),
            name: c.contact.name.clone(),
            address: c.contact.email.clone(),
            subject: c.subject.clone(),
            risk: c.risk.clone(),
            reasons: c.risk_reasons.clone(),
            text: text.to_owned(),
            documents: documents.to_vec(),
            due,
            answers: last_inbound(c).map(|message| message.text.clone()),
            // Since the customer last wrote.
            twin: twin(
                latest_first(c).take_while(|message| message.direction != Direction::Inbound),
                text,
                documents,
            ),
        }
    }

    /// Returns the same email, if it was made between these two reads of the conversation.
    pub(crate) fn made_since(&self, before: &Conversation, now: &Conversation) -> Option<Made> {
        let known: Vec<_> = latest_first(before).map(|message| &message.id).collect();
        let new = latest_first(now).filter(|message| !known.contains(&&message.id));
        let twin = twin(new, &self.text, &self.documents)?;
        let status = if twin.has_gone { "sent" } else { "scheduled" };
        let response = json!({ "messageId": twin.id, "status": status });
        Some(Made { age: Some(Duration::ZERO), ..Made::new(response, false) })
    }

    pub(crate) fn shown(&self, links: Links) -> RenderedPreview {
        let line = |text: &str, most: usize| one_line(text, links, most);
        let address = self.address.as_deref();
        let mut warnings = Vec::new();
        if let Some(risk) = &self.risk {
            warnings.push(format!("WARNING: the service marked this conversation as {}.", quoted(risk)));
            warnings.extend(
                self.reasons
                    .iter()
                    .take(MAX_RISK_REASONS)
                    .map(|reason| format!("Why: {}", line(reason, MAX_FIELD_CHARS))),
            );
        }
        if let Some(Twin { id, has_gone }) = &self.twin {
            let state = if *has_gone { "was sent" } else { "is scheduled" };
            warnings.push(format!("Look closely: the same email {state} already ({id}). Say yes only if it is meant to go out a second time."));
        }
        if let Some(odd) = address.and_then(odd_letters) {
            warnings.push(format!("Look closely: the address has letters beyond a to z: {odd}"));
        }
        let asked_for = self.documents.iter().flat_map(|item| [Some(&item.label), item.description.as_ref()]);
        let whole: Vec<_> =
            [Some(&self.text)].into_iter().chain(asked_for).flatten().map(String::as_str).collect();
        warnings.extend(odd_links(&whole.join("\n")));
        let (count, chars) = (self.text.lines().count(), self.text.chars().count());
        let long = chars > MAX_VISIBLE.0 || count > MAX_VISIBLE.1;
        let mut tally = SanitizeReport::default();
        let text = lines(&self.text, links, &mut tally);

        let mut facts = Vec::new();
        for item in &self.documents {
            let need = if item.required { "must come" } else { "nice to have" };
            let more = item.description.as_deref().map(|text| format!(": {}", line(text, usize::MAX)));
            facts.push((
                "Asks for",
                format!("{} ({need}){}", line(&item.label, usize::MAX), more.unwrap_or_default()),
            ));
        }
        if let Some(due) = &self.due {
            facts.push(("By", due.clone()));
        }
        if !self.documents.is_empty() {
            facts.push(("Added", "an upload link and reminders, by the service".into()));
        }
        let answers = self.answers.as_ref().map(|words| {
            let start: String = words.chars().take(MAX_ANSWERED_CHARS).collect();
            let mut shown = lines(&start, links, &mut SanitizeReport::default());
            if start.len() < words.len() {
                shown.push(format!("… (cut here, it has {} characters)", words.chars().count()));
            }
            shown
        });
        facts.push(("Subject", line(&self.subject, MAX_FIELD_CHARS)));
        if let Some(name) = &self.name {
            facts.push(("Name", line(name, MAX_FIELD_CHARS)));
        }
        facts.push(("From inbox", line(&self.inbox, MAX_FIELD_CHARS)));
        facts.push(("Conversation", self.conversation.clone()));
        RenderedPreview {
            to: address
                .map_or_else(|| "(no address is known)".to_owned(), |to| line(to, 2 * MAX_FIELD_CHARS)),
            warnings,
            size: format!("{} on {}", counted(chars, "character"), counted(count, "line")),
            long: long.then_some("It is long: read on to the line that says where it ends before you agree."),
            lines: text,
            broken: tally.links > 0,
            answers,
            facts,
        }
    }

    /// Returns the question to the person, for a client that shows it.
    pub(crate) fn question(&self) -> String {
        let shown = self.shown(Links::Broken);
        let mut out = format!("A model wants to send this email to a customer.\n\nTo: {}\n", shown.to);
        for warning in &shown.warnings {
            _ = writeln!(out, "{warning}");
        }
        _ = writeln!(out, "\nText, {}:", shown.size);
        if let Some(long) = shown.long {
            _ = writeln!(out, "({long})");
        }
        for line in &shown.lines {
            _ = writeln!(out, "{}", format!("| {line}").trim_end());
        }
        out.push_str("(The text ends here.)\n");
        if shown.broken {
            out.push_str("(Links are shown broken here; in the email they are whole.)\n");
        }
        if let Some(answers) = &shown.answers {
            out.push_str("\nIt answers the customer's last words:\n");
            answers.iter().for_each(|line| _ = writeln!(out, "{}", format!("> {line}").trim_end()));
        }
        out.push('\n');
        for (name, value) in &shown.facts {
            _ = writeln!(out, "{name}: {value}");
        }
        out
    }
}

fn latest_first(conversation: &Conversation) -> impl Iterator<Item = &Message> {
    conversation.timeline.iter().rev().filter_map(|item| item.as_message())
}

pub(crate) fn last_inbound(conversation: &Conversation) -> Option<&Message> {
    latest_first(conversation).find(|message| message.direction == Direction::Inbound)
}

/// Returns the first of these messages that is an email to the customer with this text.
fn twin<'a>(
    mut messages: impl Iterator<Item = &'a Message>,
    text: &str,
    documents: &[DocumentItem],
) -> Option<Twin> {
    use MessageStatus::{Scheduled, Sending, Sent};
    let text = without_unseen_differences(text);
    let is_same = |message: &Message| {
        let theirs = without_unseen_differences(&message.text);
        // The service adds a checklist below a request, and cuts a long text.
        let has_all = documents.iter().all(|item| theirs.contains(&without_unseen_differences(&item.label)));
        let begins_alike = theirs.starts_with(&text) && !documents.is_empty() && has_all;
        theirs == text || begins_alike || (theirs.len() > 7_000 && text.starts_with(&theirs))
    };
    let found = messages
        .find(|message| matches!(message.status, Some(Scheduled | Sending | Sent)) && is_same(message))?;
    Some(Twin { id: found.id.to_string(), has_gone: found.status != Some(Scheduled) })
}

/// Returns a text without differences that a reader does not see.
pub(crate) fn without_unseen_differences(text: &str) -> String {
    let shown: String = text.chars().filter(|c| matches!(kind(*c), Kind::Plain | Kind::Newline)).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
