//! The open questions, and the emails that a person has just refused.
//!
//! In the newer protocol a question travels through the client and back. Its handle is random; what it stands for stays here, so
//! that a consent cannot be forged.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{ANSWER_TIMEOUT, secret};
use crate::digest::Digest;

/// How long a refusal holds.
const REFUSAL_TTL: Duration = Duration::from_secs(120);
/// How many refusals in one conversation stop all questions about it for as long, so that a model that rewrites its email does
/// not wear a person down.
const MAX_REFUSALS: usize = 3;
/// The most questions open at once: a person who sees more stops reading them.
const MAX_OPEN_QUESTIONS: usize = 3;
/// The most browser windows that are opened without an answer while a refusal holds.
const MAX_WINDOWS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConsentError {
    #[error("the consent was used already, is too old, or was never asked for")]
    Unknown,
    #[error(
        "the conversation changed while the person was asked, or the consent was given for another email"
    )]
    OtherMail,
}

/// Enough questions are open already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyQuestions;

/// The open questions and the fresh refusals.
#[derive(Clone, Default)]
pub(crate) struct ConsentLedger {
    entries: Arc<Mutex<LedgerState>>,
}

#[derive(Default)]
struct LedgerState {
    open: HashMap<String, OpenEntry>,
    refused: HashMap<Digest, (String, Instant)>,
    /// When each window without an answer was opened.
    windows: Vec<Instant>,
}

struct OpenEntry {
    /// The exact email.
    mail: Digest,
    /// What the person sees of it.
    seen: Digest,
    since: Instant,
}

/// An open question; closed when this is dropped.
pub(crate) struct OpenConsent {
    ledger: ConsentLedger,
    pub(crate) handle: String,
}

impl OpenConsent {
    /// Leaves the question open until its answer comes back with the handle.
    pub(crate) fn travel(mut self) -> String {
        std::mem::take(&mut self.handle)
    }
}

impl Drop for OpenConsent {
    fn drop(&mut self) {
        let mut entries = self.ledger.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.open.remove(&self.handle);
    }
}

impl ConsentLedger {
    /// Opens a question about this email, which takes the place of one that looks the same to a person.
    pub(crate) fn open(
        &self,
        mail: Digest,
        seen: Digest,
        now: Instant,
    ) -> Result<OpenConsent, TooManyQuestions> {
        // Without random numbers a question is not safe.
        let handle = secret().map_err(|_| TooManyQuestions)?;
        let mut entries = self.lock(now);
        entries.open.retain(|_, entry| entry.seen != seen);
        if entries.open.len() >= MAX_OPEN_QUESTIONS {
            return Err(TooManyQuestions);
        }
        entries.open.insert(handle.clone(), OpenEntry { mail, seen, since: now });
        Ok(OpenConsent { ledger: self.clone(), handle })
    }

    /// Closes a question, whatever the answer is: a handle works once. Returns how long it was open, and fails when it was not
    /// about this email.
    pub(crate) fn close(&self, handle: &str, mail: Digest, now: Instant) -> Result<Duration, ConsentError> {
        match self.lock(now).open.remove(handle) {
            Some(entry) if entry.mail == mail => Ok(now.saturating_duration_since(entry.since)),
            Some(_) => Err(ConsentError::OtherMail),
            None => Err(ConsentError::Unknown),
        }
    }

    /// Returns how long a question is open by now, if it still is.
    pub(crate) fn age(&self, handle: &str, now: Instant) -> Option<Duration> {
        self.lock(now).open.get(handle).map(|entry| now.saturating_duration_since(entry.since))
    }

    /// Records that the person refused what they saw in this conversation.
    pub(crate) fn refuse(&self, conversation: &str, seen: Digest, now: Instant) {
        self.lock(now).refused.insert(seen, (conversation.to_owned(), now));
    }

    /// Returns whether a person has just refused what looks like this, or several emails in this conversation.
    pub(crate) fn is_refused(&self, conversation: &str, seen: Digest, now: Instant) -> bool {
        let refused = &self.lock(now).refused;
        refused.contains_key(&seen)
            || refused.values().filter(|(id, _)| id == conversation).count() >= MAX_REFUSALS
    }

    /// Reserves a browser window. Returns false when too many were opened without an answer.
    pub(crate) fn open_window(&self, now: Instant) -> bool {
        let mut entries = self.lock(now);
        let may = entries.windows.len() < MAX_WINDOWS;
        if may {
            entries.windows.push(now);
        }
        may
    }

    /// Records an answer, after which new windows may be opened.
    pub(crate) fn answer_window(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).windows.clear();
    }

    fn lock(&self, now: Instant) -> MutexGuard<'_, LedgerState> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.open.retain(|_, entry| now.saturating_duration_since(entry.since) < ANSWER_TIMEOUT);
        entries.refused.retain(|_, (_, at)| now.saturating_duration_since(*at) < REFUSAL_TTL);
        entries.windows.retain(|at| now.saturating_duration_since(*at) < REFUSAL_TTL);
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(text: &str) -> Digest {
        Digest::from_parts(&text).expect("a text is JSON")
    }

    fn open(ledger: &ConsentLedger, text: &str, now: Instant) -> Result<String, TooManyQuestions> {
        ledger.open(mail(text), mail(&format!("seen {text}")), now).map(OpenConsent::travel)
    }

    #[test]
    fn a_consent_grows_old() {
        let (ledger, now) = (ConsentLedger::default(), Instant::now());
        let handle = open(&ledger, "a", now).unwrap();
        assert_eq!(ledger.close(&handle, mail("a"), now + ANSWER_TIMEOUT), Err(ConsentError::Unknown));
    }

    #[test]
    fn a_question_that_looks_the_same_takes_the_place_of_the_first() {
        let (ledger, now) = (ConsentLedger::default(), Instant::now());
        let first = ledger.open(mail("a"), mail("seen"), now).unwrap().travel();
        for text in ["a ", "a  ", "a   ", "a    "] {
            ledger.open(mail(text), mail("seen"), now).unwrap().travel();
        }
        assert_eq!(ledger.close(&first, mail("a"), now), Err(ConsentError::Unknown));
    }
}
