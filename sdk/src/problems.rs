//! The problems of an input: every problem at once, each starting with the field's name.

use std::fmt;

/// One thing that is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The field, as the service spells it; parts of lists as in `documents[0].label`.
    pub field: String,
    /// The problem in words.
    pub message: String,
}

impl Problem {
    /// Says that `message` holds for `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// All that is wrong with an input, in the order of its fields.
///
/// Written as the service writes it, and read back from the sentence of a 400:
///
/// ```
/// use shared_inbox::{Problems, input::{Input, SetStatus}};
///
/// let problems = SetStatus::read(serde_json::json!({ "status": "snoozed" })).unwrap_err();
/// assert_eq!(problems.to_string(), "status: must be one of open, waiting, closed");
/// assert_eq!(Problems::parse(&problems.to_string()), problems);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds one.
    pub fn push(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem::new(field, message));
    }

    /// Returns the problems in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes a sentence apart: problems are separated by semicolons, and each starts with the field's name.
    pub fn parse(sentence: &str) -> Self {
        let part = |part: &str| {
            let part = part.trim();
            let (field, rest) = part.split_once([':', ' ']).unwrap_or((part, ""));
            (!field.is_empty()).then(|| Problem::new(field, rest.trim_start_matches([':', ' '])))
        };
        Self(sentence.split(';').filter_map(part).collect())
    }

    /// `Ok` with the value when nothing is wrong.
    pub fn or<T>(self, value: T) -> Result<T, Problems> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
