//! Whether two texts say the same, as far as it is known.

use std::{
    cell::RefCell,
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::explore::{error::Result, under_test::compare::compare};

/// Two texts.
type TextPair = (String, String);

/// What the user's command has said of texts, where there is one.
pub(crate) struct ComparedTexts {
    command: Option<Vec<String>>,
    known: Mutex<HashMap<TextPair, bool>>,
}

impl ComparedTexts {
    pub(crate) fn new(command: Option<Vec<String>>) -> Self {
        Self { command, known: Mutex::default() }
    }

    /// Judges, and asks the command as long as a rule seems broken because texts are not known to be the
    /// same.
    pub(crate) async fn judge<T>(&self, judge: impl Fn(&SameTexts) -> Option<T>) -> Result<Option<T>> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let of_command = self.command.as_ref().map(|_| known().clone());
            let same_texts = SameTexts { known: of_command, open: RefCell::default() };
            let broken = judge(&same_texts);
            let open = same_texts.open.into_inner();
            let Some(command) = self.command.as_ref().filter(|_| broken.is_some() && !open.is_empty()) else {
                return Ok(broken);
            };
            for pair in open {
                let is_same = compare(command, &pair.0, &pair.1).await?;
                known().insert(pair, is_same);
            }
        }
    }
}

/// Answers of the user's command that compares texts, and the questions that it has not been asked yet.
#[derive(Default)]
pub(crate) struct SameTexts {
    /// None where the user has no such command.
    pub(crate) known: Option<HashMap<TextPair, bool>>,
    open: RefCell<Vec<TextPair>>,
}

impl SameTexts {
    /// Returns whether a text is the same as another. The link for an upload stands below a text once that is
    /// approved. While the command has not been asked, they are not.
    pub(crate) fn is_same(&self, text: &str, other: &str) -> bool {
        if text.starts_with(other) || other.starts_with(text) {
            return true;
        }
        let Some(known) = &self.known else { return false };
        let pair = (text.to_owned(), other.to_owned());
        known.get(&pair).copied().unwrap_or_else(|| {
            self.open.borrow_mut().push(pair);
            false
        })
    }
}
