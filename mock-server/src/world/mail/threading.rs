//! Finds the conversation of an incoming email.
//!
//! By the conversation it names, by the email it replies to, or by a reference from someone who is already on
//! the conversation; never by subject or sender alone, and only within the inbox that it was sent to.

use super::{
    app_mail::{AppMail, strip_angle_brackets},
    inbound::{Dmarc, IncomingMail},
};
use crate::world::World;

/// Where an incoming email belongs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Filing {
    /// The conversation that it joins; a new one starts without.
    pub(crate) joins: Option<usize>,
    /// The reference that a new conversation gets.
    pub(crate) reference: Option<String>,
    /// The Message-ID of the recorded email that it replies to.
    pub(crate) answers: Option<String>,
}

impl Filing {
    fn join(at: usize) -> Self {
        Self { joins: Some(at), reference: None, answers: None }
    }

    fn start(reference: Option<String>) -> Self {
        Self { joins: None, reference, answers: None }
    }
}

impl World {
    pub(crate) fn route_mail(&self, mail: &IncomingMail) -> Filing {
        if let Some(at) = mail.conversation {
            return Filing::join(at);
        }
        let livemode = !self.mailboxes[mail.mailbox].sandbox;
        if let Some(named) = &mail.content.in_reply_to {
            if let Some(at) = self.own_message(named).filter(|at| self.in_inbox(*at, mail)) {
                return Filing::join(at);
            }
            if let Some(recorded) =
                self.app_mail.find(livemode, named).filter(|it| !self.kept_elsewhere(it, mail))
            {
                return self.answer_to(recorded.message_id.clone(), mail, livemode);
            }
        }
        let Some(reference) = &mail.reference else { return Filing::start(None) };
        if mail.content.dmarc == Dmarc::Pass {
            if let Some(at) = self.with_reference(reference, mail) {
                return Filing::join(at);
            }
            if let Some(recorded) = self.app_mail.waiting_for(livemode, reference, &mail.content.from) {
                return self.answer_to(recorded.message_id.clone(), mail, livemode);
            }
        }
        Filing::start(Some(reference.clone()))
    }

    /// Routes a reply to a recorded email of the app. It must come from a recipient of that, or someone on
    /// its conversation, and pass DMARC; any other starts a conversation without the reference.
    fn answer_to(&self, message_id: String, mail: &IncomingMail, livemode: bool) -> Filing {
        let Some(recorded) = self.app_mail.find(livemode, &message_id) else { return Filing::start(None) };
        let conversation = recorded.conversation.as_ref().and_then(|id| self.conversation(id.as_str()).ok());
        let known = recorded.went_to(&mail.content.from)
            || conversation.is_some_and(|at| self.conversations[at].has(&mail.content.from));
        if !known || mail.content.dmarc == Dmarc::Fail {
            return Filing::start(None);
        }
        let joins = conversation.or_else(|| self.with_reference(&recorded.reference, mail));
        let reference = Some(recorded.reference.clone());
        Filing { joins, reference, answers: conversation.is_none().then_some(message_id) }
    }

    /// Returns the conversation of a message, by its id or by the Message-ID with that id.
    fn own_message(&self, named: &str) -> Option<usize> {
        let named = strip_angle_brackets(named);
        let id = named.split('@').next().unwrap_or(named);
        self.message(id).map(|(at, _)| at)
    }

    /// Returns whether a conversation is in the inbox of an email.
    fn in_inbox(&self, at: usize, mail: &IncomingMail) -> bool {
        self.index.positions[at].mailbox == mail.mailbox
    }

    /// Returns whether a recorded email belongs to a conversation of another inbox, where this email cannot
    /// join it.
    fn kept_elsewhere(&self, recorded: &AppMail, mail: &IncomingMail) -> bool {
        let at = recorded.conversation.as_ref().and_then(|id| self.conversation(id.as_str()).ok());
        at.is_some_and(|at| !self.in_inbox(at, mail))
    }

    /// Returns the latest conversation in the same inbox with this reference that the sender is on.
    fn with_reference(&self, reference: &str, mail: &IncomingMail) -> Option<usize> {
        let there = self.index.references.get(reference)?.iter().map(|at| *at as usize);
        there
            .filter(|at| self.in_inbox(*at, mail) && self.conversations[*at].has(&mail.content.from))
            .min_by_key(|at| self.index.positions[*at].rank)
    }
}
