//! The normal form in which texts are compared: case, blanks, separators, invisible characters and look-alike
//! letters do not matter.

use std::ops::Range;

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{DefaultIgnorableCodePoint, GeneralCategory},
};
use unicode_security::confusable_detection::skeleton;

/// Returns a text with ASCII letters in place of those that look like them, and without invisible characters
/// and accents.
pub(crate) fn legible(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let invisible = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let categories = CodePointMapData::<GeneralCategory>::new();
    let is_mark =
        |c| matches!(categories.get(c), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark);
    let mut plain = String::with_capacity(text.len());
    for c in DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(text.chars()) {
        if c.is_ascii() {
            plain.push(c);
        } else if !invisible.contains(c) && !is_mark(c) {
            match look_alike(c) {
                Some(ascii) => plain.push_str(&ascii),
                None => plain.push(c),
            }
        }
    }
    plain
}

/// Returns the ASCII letters that a character looks like, by the table of Unicode; also in the shape of its
/// capital.
fn look_alike(c: char) -> Option<String> {
    let of = |c: char| skeleton(c.encode_utf8(&mut [0; 4])).collect::<String>();
    let is_plain = |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some(of(c)).filter(is_plain).or_else(|| {
        let mut capital = c.to_uppercase();
        capital.next().filter(|_| capital.len() == 0).map(of).filter(is_plain)
    })
}

/// The letters and digits of a text, and where words begin in it.
pub(crate) struct NormalForm {
    pub(crate) text: String,
    /// For each byte of the text.
    marks: Vec<Mark>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    /// Whether a word can begin here: behind a separator, or between a letter and a digit or a small letter
    /// and a capital.
    starts: bool,
    is_digit: bool,
}

impl NormalForm {
    /// Returns the normal form of a text that is [`legible`].
    pub(crate) fn new(legible: &str) -> Self {
        let mut form =
            Self { text: String::with_capacity(legible.len()), marks: Vec::with_capacity(legible.len()) };
        let mut before: Option<char> = None;
        for c in legible.chars() {
            if !c.is_alphanumeric() {
                before = None;
                continue;
            }
            let is_digit = c.is_numeric();
            let starts = before.is_none_or(|before| {
                before.is_numeric() != is_digit || (before.is_lowercase() && c.is_uppercase())
            });
            before = Some(c);
            let from = form.text.len();
            form.text.extend(c.to_lowercase().map(|c| match c {
                'i' | '1' => 'l',
                '0' => 'o',
                c => c,
            }));
            form.marks.resize(form.text.len(), Mark { starts: false, is_digit });
            form.marks[from].starts = starts;
        }
        form
    }

    fn starts_at(&self, at: usize) -> bool {
        self.marks.get(at).is_none_or(|mark| mark.starts)
    }

    /// Returns whether words begin and end where this part does.
    pub(crate) fn is_of_words(&self, part: &Range<usize>) -> bool {
        self.starts_at(part.start) && self.starts_at(part.end)
    }

    /// Returns whether this part is a number of its own: not a part of a longer one, and not found by joining
    /// two.
    pub(crate) fn is_number(&self, part: &Range<usize>) -> bool {
        let is_digit =
            |at: Option<usize>| at.and_then(|at| self.marks.get(at)).is_some_and(|mark| mark.is_digit);
        let is_joined = (part.start + 1..part.end).any(|at| self.marks[at].starts);
        match is_joined {
            true => !is_digit(part.start.checked_sub(1)) && !is_digit(Some(part.end)),
            false => self.is_of_words(part),
        }
    }

    /// Returns where words that make up this text end, at or behind `from`.
    pub(crate) fn find_words(&self, words: &str, from: usize) -> Option<usize> {
        let mut found = self.text.get(from..)?.match_indices(words).map(|(at, _)| from + at);
        let at = found.find(|at| self.is_of_words(&(*at..*at + words.len())))?;
        Some(at + words.len())
    }

    /// Returns whether a text stands here that begins with a word.
    pub(crate) fn has_text(&self, normal: &str) -> bool {
        !normal.is_empty() && self.text.match_indices(normal).any(|(at, _)| self.starts_at(at))
    }
}

/// Returns the letters and digits of a text in their normal form.
pub(crate) fn normalize(text: &str) -> String {
    NormalForm::new(&legible(text)).text
}
