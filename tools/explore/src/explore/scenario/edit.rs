//! Changes of a scenario's mails, for tools that put something into them.

use serde_json::{Map, Value};

use super::{Mail, Scenario};
use crate::explore::json::text;

/// A mail that begins a conversation.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct FirstMail<'a> {
    /// Its number in the scenario, from 0.
    pub number: usize,
    /// The address of its customer.
    pub from: &'a str,
    /// Their name, where the scenario has one.
    pub name: Option<&'a str>,
}

impl std::fmt::Debug for FirstMail<'_> {
    /// Without the customer.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirstMail").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Scenario {
    /// Returns the mails that begin a conversation.
    pub fn first_mails(&self) -> impl Iterator<Item = FirstMail<'_>> {
        let mails = self.mails.iter().enumerate().filter(|(_, mail)| !mail.follow_up);
        mails.map(|(number, mail)| FirstMail {
            number,
            from: &mail.from,
            name: mail.more.get("name").and_then(Value::as_str),
        })
    }

    /// Returns whether it has expectations of its own.
    pub fn has_expectations(&self) -> bool {
        !self.expect.is_empty()
    }

    /// Lets `edit` change the body of the control call that brings a mail, such as its `subject`, `text`,
    /// `name` or `attachments`. A mail that does not exist stays as it is.
    pub fn edit_mail(mut self, number: usize, edit: impl FnOnce(&mut Map<String, Value>)) -> Self {
        if let Some(mail) = self.mails.get_mut(number) {
            let mut body = std::mem::take(&mut mail.more);
            body.insert("text".to_owned(), Value::String(std::mem::take(&mut mail.text)));
            edit(&mut body);
            mail.text = body.remove("text").as_ref().map(text).unwrap_or_default();
            mail.more = body;
        }
        self
    }

    /// Lets the customer of a mail write again in the same conversation, once the app had time to answer.
    pub fn follow_up(mut self, number: usize, text: impl Into<String>) -> Self {
        if let Some(mail) = self.mails.get(number) {
            let (from, text) = (mail.from.clone(), text.into());
            let follow_up = Mail { from, text, follow_up: true, more: Map::new(), note: None };
            self.mails.push(follow_up);
        }
        self
    }

    /// Lets a colleague add a note to the conversation of a mail as soon as it has come.
    pub fn note(mut self, number: usize, note: impl Into<String>) -> Self {
        if let Some(mail) = self.mails.get_mut(number) {
            mail.note = Some(note.into());
        }
        self
    }
}
