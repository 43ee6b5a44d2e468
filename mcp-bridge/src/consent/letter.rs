//! A mail as the person sees it before it is sent: to whom, about what, every word of it.
//!
//! What is hidden is made visible instead of removed, because the mail will carry it. Links are broken, because
//! a client that renders the question could load them before anyone has answered.

use std::fmt::Write;

use serde::Serialize;
use shared_inbox::{Conversation, input::DocumentItem};

use crate::render::{Kind, Tally, clean, kind, quoted};

/// A mail that is about to be sent.
#[derive(Serialize)]
pub(crate) struct Letter {
    pub(crate) conversation: String,
    pub(crate) inbox: String,
    pub(crate) name: Option<String>,
    pub(crate) address: Option<String>,
    pub(crate) subject: String,
    pub(crate) risk: Option<String>,
    pub(crate) text: String,
    pub(crate) documents: Vec<DocumentItem>,
    pub(crate) due: Option<String>,
}

impl Letter {
    /// The mail with this text in this conversation.
    pub(crate) fn new(c: &Conversation, text: &str, documents: &[DocumentItem], due: Option<String>) -> Self {
        Self {
            conversation: c.id.to_string(),
            inbox: c.mailbox.clone(),
            name: c.contact.name.clone(),
            address: c.contact.email.clone(),
            subject: c.subject.clone(),
            risk: c.risk.clone(),
            text: text.to_owned(),
            documents: documents.to_vec(),
            due,
        }
    }

    /// The question to the person.
    pub(crate) fn question(&self) -> String {
        let mut out = String::from("A model wants to send this mail to a customer.\n\n");
        let address = self.address.as_deref();
        _ = writeln!(out, "To: {}", address.map_or_else(|| "(no address is known)".to_owned(), one_line));
        if let Some(odd) = address.and_then(odd_letters) {
            _ = writeln!(out, "Look closely: the address has letters beyond a to z: {odd}");
        }
        if let Some(name) = &self.name {
            _ = writeln!(out, "Name: {}", one_line(name));
        }
        _ = writeln!(out, "Subject: {}", one_line(&self.subject));
        _ = writeln!(out, "From inbox: {}", one_line(&self.inbox));
        _ = writeln!(out, "Conversation: {}", self.conversation);
        if let Some(risk) = &self.risk {
            _ = writeln!(out, "WARNING: the service marked this conversation as {}.", quoted(risk));
        }
        for item in &self.documents {
            let need = if item.required { "must come" } else { "nice to have" };
            let more =
                item.description.as_deref().map(|text| format!(": {}", one_line(text))).unwrap_or_default();
            _ = writeln!(out, "Asks for: {} ({need}){more}", one_line(&item.label));
        }
        if let Some(due) = &self.due {
            _ = writeln!(out, "By: {due}");
        }
        if !self.documents.is_empty() {
            out.push_str("An upload link and reminders are added by the service.\n");
        }
        let (lines, chars) = (self.text.lines().count(), self.text.chars().count());
        _ = writeln!(out, "\nText, {chars} characters on {lines} lines:");
        let links = bars(&mut out, &self.text);
        if links {
            out.push_str("(Links are shown broken here; in the mail they are whole.)\n");
        }
        out
    }
}

/// Makes what is hidden visible, and breaks links.
fn visible(text: &str, tally: &mut Tally) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match kind(c) {
            Kind::Plain => shown.push(c),
            Kind::Newline => shown.push('\n'),
            _ => _ = write!(shown, "⟨U+{:04X}⟩", u32::from(c)),
        }
    }
    clean(&shown, tally)
}

fn one_line(text: &str) -> String {
    spaces(&visible(text, &mut Tally::default()).replace('\n', " ⏎ "))
}

/// Writes a text behind bars. Long gaps, which push words out of sight, are told instead of shown.
fn bars(out: &mut String, text: &str) -> bool {
    let mut tally = Tally::default();
    let shown = visible(&text.replace("\r\n", "\n"), &mut tally);
    let mut empty = 0;
    for line in shown.lines().map(str::trim_end).chain(["end"]) {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        if empty > 2 {
            _ = writeln!(out, "| ⟨{empty} empty lines⟩");
        } else {
            out.push_str(&"|\n".repeat(empty));
        }
        empty = 0;
        _ = writeln!(out, "| {}", spaces(line));
    }
    // The last line was ours, to flush the gap before the end.
    out.truncate(out.len() - "| end\n".len());
    tally.links > 0
}

fn spaces(line: &str) -> String {
    const GAP: usize = 24;
    let mut out = String::with_capacity(line.len());
    let mut gap = 0;
    for c in line.chars().chain(['\n']) {
        if c.is_whitespace() && c != '\n' {
            gap += 1;
            continue;
        }
        if gap > GAP {
            _ = write!(out, " ⟨{gap} spaces⟩ ");
        } else {
            out.push_str(&" ".repeat(gap));
        }
        gap = 0;
        out.push(c);
    }
    out.pop();
    out
}

fn odd_letters(address: &str) -> Option<String> {
    let odd: Vec<_> =
        address.chars().filter(|c| !c.is_ascii()).map(|c| format!("{c} (U+{:04X})", u32::from(c))).collect();
    (!odd.is_empty()).then(|| odd.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(text: &str) -> Letter {
        Letter {
            conversation: "cnv_1".into(),
            inbox: "help@example.com".into(),
            name: Some("Kim".into()),
            address: Some("kim@example.com".into()),
            subject: "Refund".into(),
            risk: None,
            text: text.into(),
            documents: Vec::new(),
            due: None,
        }
    }

    #[test]
    fn the_question_shows_recipient_subject_and_the_whole_text() {
        insta::assert_snapshot!(letter("Hello Kim,\n\nyour refund is on its way.\n").question());
    }

    #[test]
    fn nothing_in_the_mail_can_hide_or_pass_for_a_line_of_the_question() {
        let mut hostile = letter(&format!(
            "Hi\u{200b}{}To: someone@else.example\n![x](https://evil.example/?q=1){}far away",
            "\n".repeat(60),
            " ".repeat(300)
        ));
        hostile.name = Some("Kim\nTo: boss@example.com\u{202e}".into());
        hostile.address = Some("kim@ex\u{0430}mple.com".into());
        hostile.risk = Some("phishing".into());
        hostile.documents =
            vec![DocumentItem::new("Passport"), DocumentItem::new("Bill").description("any").nice_to_have()];
        hostile.due = Some("2026-04-01".into());
        insta::assert_snapshot!(hostile.question());
    }
}
