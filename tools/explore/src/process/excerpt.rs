//! A line of a file, with carets below what is wrong in it.

use std::{fmt, ops::Range};

/// Characters of a line that are shown before and from the place on.
const MAX_BEFORE: usize = 60;
const MAX_AFTER: usize = 60;

/// A line of a file that a user wrote, with carets below one place. Its `Display` is three lines, the first
/// of them a margin:
///
/// ```text
///   |
/// 3 | peopel = "approve"
///   | ^^^^^^
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Excerpt {
    line: usize,
    text: String,
    /// How many characters stand before the carets, and how many carets there are.
    carets: (usize, usize),
}

impl Excerpt {
    /// Returns the line of a place, which is given in bytes of the text; a long line is cut around it.
    pub(crate) fn new(text: &str, line: usize, place: &Range<usize>) -> Self {
        let start =
            (0..=place.start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (before, after) = text.split_at(start);
        let in_line = |c: &char| !matches!(c, '\n' | '\r');
        let mut shown: Vec<char> = before.chars().rev().take_while(in_line).take(MAX_BEFORE + 1).collect();
        if shown.len() > MAX_BEFORE {
            shown[MAX_BEFORE] = '…';
        }
        shown.reverse();
        let column = shown.len();
        shown.extend(after.chars().take_while(in_line).take(MAX_AFTER + 1));
        if shown.len() - column > MAX_AFTER {
            shown.truncate(column + MAX_AFTER);
            shown.push('…');
        }
        let marked = after.char_indices().take_while(|(at, c)| start + at < place.end && in_line(c));
        let width = marked.take(shown.len() - column).count().max(1);
        let text = shown.into_iter().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Self { line, text, carets: (column, width) }
    }

    /// Returns the number of the line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, text, carets: (column, width) } = self;
        let margin = line.to_string().len();
        writeln!(f, "{:margin$} |", "")?;
        writeln!(f, "{line} | {text}")?;
        write!(f, "{:margin$} | {:column$}{}", "", "", "^".repeat(*width))
    }
}

impl fmt::Debug for Excerpt {
    /// Without the text, which may be the words of an email.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Excerpt").field("line", &self.line).finish_non_exhaustive()
    }
}
