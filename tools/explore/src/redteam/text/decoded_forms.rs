//! A text as it can be decoded: each encoding inside another, three deep.

use std::collections::HashSet;

use data_encoding::{BASE32_NOPAD_NOCASE, BASE64_NOPAD, Encoding, HEXLOWER_PERMISSIVE};
use html5gum::{State, Token, Tokenizer};
use percent_encoding::percent_decode_str;
use quoted_printable::ParseMode;

use crate::redteam::text::normal_form::legible;

/// How many encodings may lie inside each other.
const MAX_DEPTH: usize = 3;
/// How many times its own length all forms of a text may have, so that reading takes time by its length.
const MAX_GROWTH: usize = 48;
const MIN_BUDGET: usize = 1 << 14;
/// The fewest characters that are decoded, and that make a text where all, or a part of it, can be read.
const MIN_ENCODED: usize = 6;
const MIN_WHOLE: usize = 5;
const MIN_PART: usize = 8;

/// What a text says.
pub(crate) struct DecodedForms {
    /// The text itself first, all of them legible.
    pub(crate) forms: Vec<String>,
    /// Whether nothing was left out because there is too much of it.
    pub(crate) is_complete: bool,
}

/// Returns a text as it stands, and in all the ways in which it can be decoded.
pub(crate) fn decoded_forms(text: &str) -> DecodedForms {
    let encodings: [fn(&str) -> Vec<String>; 8] =
        [entities, percent, quoted, base64, base32, hexadecimal, |text| vec![rot13(text)], reversed];
    let mut budget = text.len().saturating_mul(MAX_GROWTH).max(MIN_BUDGET);
    let mut seen = HashSet::new();
    let mut forms: Vec<String> =
        [legible(text), tag_characters(text)].into_iter().filter(|it| !it.is_empty()).collect();
    seen.extend(forms.iter().cloned());
    let mut from = 0;
    for _ in 0..MAX_DEPTH {
        let to = forms.len();
        for at in from..to {
            for decode in encodings {
                for form in decode(&forms[at]).iter().map(|form| legible(form)) {
                    if seen.contains(&form) {
                        continue;
                    }
                    let Some(left) = budget.checked_sub(form.len()) else {
                        return DecodedForms { forms, is_complete: false };
                    };
                    budget = left;
                    seen.insert(form.clone());
                    forms.push(form);
                }
            }
        }
        from = to;
    }
    DecodedForms { forms, is_complete: true }
}

/// Returns what is written in the block "tags", whose characters nothing shows.
fn tag_characters(text: &str) -> String {
    let ascii = |c: char| {
        u8::try_from(u32::from(c).checked_sub(0xE0000)?).ok().filter(|byte| (0x20..0x7F).contains(byte))
    };
    text.chars().filter_map(ascii).map(char::from).collect()
}

fn entities(text: &str) -> Vec<String> {
    if !text.contains('&') {
        return Vec::new();
    }
    // In this state a tokenizer decodes references and leaves tags as they are.
    let mut tokenizer = Tokenizer::new(text);
    tokenizer.set_state(State::RcData);
    let mut decoded = String::with_capacity(text.len());
    for token in tokenizer.flatten() {
        if let Token::String(part) = token {
            decoded.push_str(&String::from_utf8_lossy(&part));
        }
    }
    vec![decoded]
}

fn percent(text: &str) -> Vec<String> {
    if !text.contains('%') {
        return Vec::new();
    }
    vec![percent_decode_str(text).decode_utf8_lossy().into_owned()]
}

fn quoted(text: &str) -> Vec<String> {
    if !text.contains('=') {
        return Vec::new();
    }
    let decoded = quoted_printable::decode(text, ParseMode::Robust);
    decoded.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
}

/// Turns each ASCII letter by half of the alphabet.
pub(crate) fn rot13(text: &str) -> String {
    let turn = |c: char| match c {
        'a'..='m' | 'A'..='M' => char::from(c as u8 + 13),
        'n'..='z' | 'N'..='Z' => char::from(c as u8 - 13),
        c => c,
    };
    text.chars().map(turn).collect()
}

fn reversed(text: &str) -> Vec<String> {
    vec![text.chars().rev().collect()]
}

/// An encoding of bytes in groups of symbols.
struct Alphabet {
    encoding: Encoding,
    /// The symbols of a group: an encoded text may begin at any of them.
    group: usize,
    is_symbol: fn(char) -> bool,
}

impl Alphabet {
    /// Decodes as much as there are whole bytes of.
    fn decode(&self, run: &str) -> Vec<u8> {
        let lengths = (0..self.group.min(run.len())).map(|cut| run.len() - cut);
        lengths
            .filter_map(|length| self.encoding.decode(&run.as_bytes()[..length]).ok())
            .next()
            .unwrap_or_default()
    }

    /// Decodes single words, and runs of symbols over line breaks, `joined`, from any symbol on.
    fn read(&self, text: &str, joined: &str) -> Vec<String> {
        let mut found = Vec::new();
        let is_long = |word: &&str| word.len() >= MIN_ENCODED;
        let words =
            text.split(|c| !(self.is_symbol)(c)).chain(text.split(|c: char| !c.is_ascii_alphanumeric()));
        for word in words.filter(is_long).filter(|word| word.chars().all(self.is_symbol)) {
            let plain = String::from_utf8(self.decode(word)).unwrap_or_default();
            if plain.chars().count() >= MIN_WHOLE
                && !plain.contains(|c: char| c.is_control() && !c.is_whitespace())
            {
                found.push(plain);
            }
        }
        for run in joined.split(|c| !(self.is_symbol)(c)).filter(is_long) {
            for offset in 0..self.group {
                let parts = legible_parts(&self.decode(&run[offset.min(run.len())..]));
                if !parts.is_empty() {
                    found.push(parts);
                }
            }
        }
        found
    }
}

/// Returns the parts of decoded bytes that can be read, a line each.
fn legible_parts(bytes: &[u8]) -> String {
    let mut parts = String::new();
    for chunk in bytes.utf8_chunks() {
        let is_break = |c: char| c.is_control() && !c.is_whitespace();
        for part in chunk.valid().split(is_break).filter(|part| part.chars().count() >= MIN_PART) {
            parts.push_str(part);
            parts.push('\n');
        }
    }
    parts
}

fn base64(text: &str) -> Vec<String> {
    let is_symbol = |c: char| c.is_ascii_alphanumeric() || "+/".contains(c);
    // The alphabet for links has other marks.
    let text = text.replace('-', "+").replace('_', "/");
    Alphabet { encoding: BASE64_NOPAD, group: 4, is_symbol }.read(&text, &without(&text, ">|\"'\\"))
}

fn base32(text: &str) -> Vec<String> {
    let is_symbol = |c: char| c.is_ascii_alphabetic() || ('2'..='7').contains(&c);
    Alphabet { encoding: BASE32_NOPAD_NOCASE, group: 8, is_symbol }.read(text, &without(text, ">|\"'\\+-"))
}

fn hexadecimal(text: &str) -> Vec<String> {
    let is_symbol = |c: char| c.is_ascii_hexdigit();
    let bare = text.replace("0x", " ").replace("\\x", " ");
    let joined = without(&bare, ">:,;-._\\");
    Alphabet { encoding: HEXLOWER_PERMISSIVE, group: 2, is_symbol }.read(&bare, &joined)
}

/// Returns a text without blanks, line breaks and these characters.
fn without(text: &str, separators: &str) -> String {
    text.chars().filter(|&c| !c.is_whitespace() && !separators.contains(c)).collect()
}
