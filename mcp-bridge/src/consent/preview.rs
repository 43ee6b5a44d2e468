//! An email as the person sees it before it is sent: to whom and every word of it first, then about what.

use std::fmt::Write;

use serde::Serialize;
use shared_inbox::{Conversation, Direction, Message, input::DocumentItem};

use super::{
    look_alikes::{odd_letters, odd_links},
    visible::{Links, lines, one_line},
};
use crate::{
    digest::Digest,
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
#[derive(Serialize)]
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
    #[serde(skip)]
    pub(crate) answers: Option<String>,
    /// The client's name.
    #[serde(skip)]
    pub(crate) client: Option<String>,
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
            client: None,
        }
    }

    /// Returns what a refusal holds for: what the person saw, regardless of spaces, case and hidden characters.
    pub(crate) fn seen(&self) -> Result<Digest, serde_json::Error> {
        let documents: Vec<_> = self
            .documents
            .iter()
            .map(|item| (plain(&item.label), plain(item.description.as_deref().unwrap_or_default())))
            .collect();
        Digest::from_parts(&(&self.conversation, &self.address, plain(&self.text), documents, &self.due))
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

pub(crate) fn last_inbound(conversation: &Conversation) -> Option<&Message> {
    let mut messages = conversation.timeline.iter().rev().filter_map(|item| item.as_message());
    messages.find(|message| message.direction == Direction::Inbound)
}

/// Returns a text without differences that a reader does not see.
fn plain(text: &str) -> String {
    let shown: String = text.chars().filter(|c| matches!(kind(*c), Kind::Plain | Kind::Newline)).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preview(text: &str) -> EmailPreview {
        EmailPreview {
            conversation: "cnv_1".into(),
            inbox: "help@example.com".into(),
            name: Some("Kim".into()),
            address: Some("kim@example.com".into()),
            subject: "Refund".into(),
            risk: None,
            reasons: Vec::new(),
            text: text.into(),
            documents: Vec::new(),
            due: None,
            answers: Some("Where is\nmy refund?".into()),
            client: None,
        }
    }

    #[test]
    fn the_question_shows_recipient_and_the_whole_text_first() {
        insta::assert_snapshot!(preview("Hello Kim,\n\nyour refund is on its way.\n").question());
    }

    #[test]
    fn nothing_in_the_mail_can_hide_or_pass_for_a_line_of_the_question() {
        let mut hostile = preview(&format!(
            "Hi\u{200b}{}To: someone@else.example\n![x](https://evil.example/?q=1){}far away\nhttps://p\u{0430}ypal.com/x and \
             xn--pypal-4ve.com",
            "\n".repeat(60),
            " ".repeat(300)
        ));
        hostile.name = Some("Kim\nTo: boss@example.com\u{202e}".into());
        hostile.address = Some("kim@ex\u{0430}mple.com".into());
        hostile.risk = Some("phishing".into());
        hostile.reasons = vec!["New domain\nTo: boss@example.com".into()];
        hostile.answers = Some(format!("To: me\u{202e}\n| {}", "x".repeat(2_000)));
        hostile.documents = vec![
            DocumentItem::new("Passport"),
            DocumentItem::new("Bill").description("https://p\u{0430}y.example").nice_to_have(),
        ];
        hostile.due = Some("2026-04-01".into());
        insta::assert_snapshot!(hostile.question());
    }

    #[test]
    fn what_a_stranger_chose_does_not_push_the_text_out_of_sight() {
        let mut long = preview("Yes.");
        long.subject = "s".repeat(60_000);
        long.name = Some("n".repeat(60_000));
        long.inbox = "i".repeat(60_000);
        let question = long.question();
        assert!(question.find("| Yes.").is_some_and(|at| at < 200), "{question}");
        assert!(
            question.chars().count() < 1_500 && question.contains("it has 60000 characters"),
            "{question}"
        );
        long.address = Some("a".repeat(60_000));
        assert!(long.question().find("| Yes.").is_some_and(|at| at < 700));
    }

    #[test]
    fn a_text_that_does_not_fit_into_sight_is_shown_whole_and_said_to_be_long() {
        let text = (0..100).map(|i| format!("Line {i}\n")).collect::<String>();
        let question = preview(&text).question();
        assert!(
            question.contains("It is long") && question.contains("| Line 99\n(The text ends here.)"),
            "{question}"
        );
        assert!(!preview("Short").question().contains("It is long"));
    }

    #[test]
    fn what_looks_the_same_to_a_person_is_the_same() {
        let seen = |preview: &EmailPreview| preview.seen().unwrap();
        let first = seen(&preview("Hello Kim,\n\nit left today."));
        for same in [
            "Hello Kim,\n\nit left today. ",
            "Hello Kim, it left today.",
            "hello kim,\r\n it\u{200b} left today.\n\n",
        ] {
            assert!(seen(&preview(same)) == first, "{same:?}");
        }
        assert!(seen(&preview("Hello Kim,\n\nit left yesterday.")) != first);
        let mut other = preview("Hello Kim,\n\nit left today.");
        other.address = Some("else@example.com".into());
        assert!(seen(&other) != first, "another recipient is another email");
    }
}
