//! Which questions are open, and which mails a person has just refused.
//!
//! The newer protocol carries a question through the client and back. The handle that travels with it says nothing
//! by itself; what it stands for stays here, so that there is nothing to forge.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::ANSWER_WITHIN;
use crate::digest::Digest;

/// How long a refused mail is not asked about again.
const NO_MEANS_NO: Duration = Duration::from_secs(120);
/// The most questions open at once; the oldest go first.
const MOST_OPEN: usize = 32;

/// Why a consent does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the consent was used already, is too old, or was never asked for")]
    Unknown,
    #[error("the consent was given for another mail")]
    OtherMail,
}

/// The open questions and the fresh refusals.
#[derive(Default)]
pub(crate) struct Book {
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    open: HashMap<String, (Digest, Instant)>,
    refused: HashMap<Digest, Instant>,
}

impl Book {
    /// Opens a question about this mail. The handle is what the client must bring back with the answer.
    pub(crate) fn open(&self, mail: Digest, now: Instant) -> Result<String, getrandom::Error> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes)?;
        let handle = format!("{:032x}", u128::from_le_bytes(bytes));
        let mut entries = self.lock(now);
        if entries.open.len() >= MOST_OPEN
            && let Some(oldest) = entries.open.iter().min_by_key(|(_, (_, at))| *at).map(|(h, _)| h.clone())
        {
            entries.open.remove(&oldest);
        }
        entries.open.insert(handle.clone(), (mail, now));
        Ok(handle)
    }

    /// Closes a question, whatever the answer is: a handle works once. Fails when it was not about this mail.
    pub(crate) fn close(&self, handle: &str, mail: Digest, now: Instant) -> Result<(), Refused> {
        match self.lock(now).open.remove(handle) {
            Some((asked, _)) if asked == mail => Ok(()),
            Some(_) => Err(Refused::OtherMail),
            None => Err(Refused::Unknown),
        }
    }

    /// Remembers a no.
    pub(crate) fn refuse(&self, mail: Digest, now: Instant) {
        self.lock(now).refused.insert(mail, now);
    }

    /// Whether a person has just said no to exactly this mail.
    pub(crate) fn is_refused(&self, mail: Digest, now: Instant) -> bool {
        self.lock(now).refused.contains_key(&mail)
    }

    fn lock(&self, now: Instant) -> MutexGuard<'_, Entries> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.open.retain(|_, (_, at)| now.saturating_duration_since(*at) < ANSWER_WITHIN);
        entries.refused.retain(|_, at| now.saturating_duration_since(*at) < NO_MEANS_NO);
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(text: &str) -> Digest {
        Digest::of(&text).expect("a text is JSON")
    }

    #[test]
    fn a_consent_counts_once() {
        let (book, now) = (Book::default(), Instant::now());
        let handle = book.open(mail("a"), now).unwrap();
        assert_eq!(book.close(&handle, mail("a"), now), Ok(()));
        assert_eq!(book.close(&handle, mail("a"), now), Err(Refused::Unknown));
    }

    #[test]
    fn a_consent_counts_for_its_own_mail_only_and_is_spent_by_the_attempt() {
        let (book, now) = (Book::default(), Instant::now());
        let handle = book.open(mail("a"), now).unwrap();
        assert_eq!(book.close(&handle, mail("b"), now), Err(Refused::OtherMail));
        assert_eq!(book.close(&handle, mail("a"), now), Err(Refused::Unknown));
    }

    #[test]
    fn a_consent_grows_old() {
        let (book, now) = (Book::default(), Instant::now());
        let handle = book.open(mail("a"), now).unwrap();
        assert_eq!(book.close(&handle, mail("a"), now + ANSWER_WITHIN), Err(Refused::Unknown));
    }

    #[test]
    fn a_made_up_handle_is_worth_nothing() {
        let book = Book::default();
        assert_eq!(book.close(&"0".repeat(32), mail("a"), Instant::now()), Err(Refused::Unknown));
    }

    #[test]
    fn many_questions_push_out_the_oldest() {
        let (book, now) = (Book::default(), Instant::now());
        let handles: Vec<_> = (0..=MOST_OPEN)
            .map(|i| book.open(mail("a"), now + Duration::from_millis(i as u64)).unwrap())
            .collect();
        let later = now + Duration::from_secs(1);
        assert_eq!(book.close(&handles[0], mail("a"), later), Err(Refused::Unknown));
        assert_eq!(book.close(&handles[1], mail("a"), later), Ok(()));
    }

    #[test]
    fn a_no_holds_for_two_minutes() {
        let (book, now) = (Book::default(), Instant::now());
        book.refuse(mail("a"), now);
        assert!(book.is_refused(mail("a"), now + Duration::from_secs(119)));
        assert!(!book.is_refused(mail("b"), now));
        assert!(!book.is_refused(mail("a"), now + Duration::from_secs(120)));
    }
}
