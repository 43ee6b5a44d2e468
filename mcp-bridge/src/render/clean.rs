//! Cleaning of text that strangers wrote: what a reader cannot see is taken out, what a client would load is broken.
//!
//! Only the text rendering is cleaned. The structured content of a result keeps every character.

use std::fmt;

/// What cleaning a text took out or broke.
///
/// ```
/// use shared_inbox_mcp::render::{Tally, clean};
/// let mut tally = Tally::default();
/// clean("See www.evil.example", &mut tally);
/// assert_eq!(tally.to_string(), "1 link or image marks defused");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Characters without a shape: zero-width, fillers, variation selectors, control characters.
    pub invisible: usize,
    /// Characters that change the direction of the text around them.
    pub direction: usize,
    /// Tag characters, which spell out text that nobody sees.
    pub tags: usize,
    /// Places where a client would have made a link or loaded an image.
    pub links: usize,
    /// Brackets like those of our own fences.
    pub fences: usize,
    /// Words that mix alphabets, as look-alike names do.
    pub lookalikes: usize,
}

impl Tally {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.invisible, "invisible characters removed"),
            (self.direction, "direction-changing characters removed"),
            (self.tags, "tag characters removed"),
            (self.links, "link or image marks defused"),
            (self.fences, "false fence brackets replaced"),
            (self.lookalikes, "words with look-alike letters"),
        ];
        let mut first = true;
        for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{}{count} {what}", if first { "" } else { ", " })?;
            first = false;
        }
        Ok(())
    }
}

/// A text without what is hidden in it, and with nothing in it that a client would load by itself.
///
/// ```
/// use shared_inbox_mcp::render::{Tally, clean};
/// let mut tally = Tally::default();
/// let text = clean("Hi\u{200b}! ![x](https://evil.example/?q=secret)", &mut tally);
/// assert_eq!(text, "Hi! ! [x] (https[:]//evil.example/?q=secret)");
/// assert_eq!((tally.invisible, tally.links), (1, 3));
/// ```
pub fn clean(text: &str, tally: &mut Tally) -> String {
    let visible = strip(text, tally);
    tally.lookalikes += visible.split(|c: char| !c.is_alphanumeric()).filter(|word| mixes(word)).count();
    defuse(&visible, tally)
}

/// How a character is dealt with.
pub(crate) enum Kind {
    Plain,
    Newline,
    Invisible,
    Direction,
    Tag,
}

pub(crate) fn kind(c: char) -> Kind {
    match c {
        '\n' | '\u{0b}' | '\u{0c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Kind::Newline,
        '\t' => Kind::Plain,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => {
            Kind::Direction
        }
        '\u{e0000}'..='\u{e007f}' => Kind::Tag,
        c if c.is_control() => Kind::Invisible,
        '\u{ad}'
        | '\u{034f}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0080}'..='\u{e0fff}' => Kind::Invisible,
        _ => Kind::Plain,
    }
}

fn strip(text: &str, tally: &mut Tally) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        // A line ends with one character, however the mail was written.
        if c == '\r' {
            if chars.peek() != Some(&'\n') {
                out.push('\n');
            }
            continue;
        }
        match kind(c) {
            Kind::Plain => out.push(c),
            Kind::Newline => out.push('\n'),
            Kind::Invisible => tally.invisible += 1,
            Kind::Direction => tally.direction += 1,
            Kind::Tag => tally.tags += 1,
        }
    }
    out
}

/// Breaks links, images and markup by their smallest part, so that no way of writing them is missed: a parser
/// of ours would read some line differently from the client's.
fn defuse(text: &str, tally: &mut Tally) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let next = rest.chars().next().unwrap_or(' ');
        let broken = match c {
            '!' if next == '[' => Some("! "),
            ']' if matches!(next, '(' | '[' | ':') => Some("] "),
            '<' if next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?' | '|') => Some("< "),
            ':' if before.is_ascii_alphanumeric() && rest.starts_with("//") => Some("[:]"),
            _ => None,
        };
        if let Some(broken) = broken {
            tally.links += 1;
            out.push_str(broken);
        } else if let Some(bracket) = fence_like(c) {
            tally.fences += 1;
            out.push(bracket);
        } else if c == '.' && starts_www(&out) {
            tally.links += 1;
            out.push_str("[.]");
        } else {
            out.push(c);
        }
        before = c;
    }
    out
}

/// A harmless bracket for one of our fences' own, or for one that looks much like it.
fn fence_like(c: char) -> Option<char> {
    match c {
        '⟦' | '〚' | '⦗' | '⁅' => Some('['),
        '⟧' | '〛' | '⦘' | '⁆' => Some(']'),
        _ => None,
    }
}

/// Whether `written` ends in a word that is just `www`, which clients take for an address.
fn starts_www(written: &str) -> bool {
    let Some(at) = written.len().checked_sub(3) else { return false };
    written.is_char_boundary(at)
        && written[at..].eq_ignore_ascii_case("www")
        && !written[..at].ends_with(|c: char| c.is_alphanumeric())
}

/// Whether a word has letters of the Latin alphabet beside letters made to look like them.
fn mixes(word: &str) -> bool {
    let latin = word.chars().any(|c| c.is_ascii_alphabetic());
    let other = word.chars().any(|c| {
        matches!(c,
            '\u{0370}'..='\u{03ff}'       // Greek
            | '\u{0400}'..='\u{052f}'     // Cyrillic
            | '\u{0530}'..='\u{058f}'     // Armenian
            | '\u{13a0}'..='\u{13ff}'     // Cherokee
            | '\u{ff21}'..='\u{ff5a}'     // full width
            | '\u{1d400}'..='\u{1d7ff}') // mathematical letters
    });
    latin && other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> (String, Tally) {
        let mut tally = Tally::default();
        (clean(text, &mut tally), tally)
    }

    #[test]
    fn every_hidden_character_is_removed_and_counted_by_kind() {
        let hidden: String = "pay".chars().map(|c| char::from_u32(0xe0000 + c as u32).unwrap()).collect();
        let (text, tally) = cleaned(&format!("a\u{200b}\u{feff}b\u{202e}c\u{2066}{hidden}d\u{0}"));
        assert_eq!(text, "abcd");
        assert_eq!((tally.invisible, tally.direction, tally.tags), (3, 2, 3));
    }

    #[test]
    fn a_link_hidden_by_invisible_characters_is_defused_after_they_are_gone() {
        let (text, _) = cleaned("!\u{200b}[x]\u{2060}(ht\u{ad}tps:\u{200d}//evil.example)");
        assert_eq!(text, "! [x] (https[:]//evil.example)");
    }

    #[test]
    fn no_form_of_link_survives() {
        for form in [
            "![a](https://e.example/x)",
            "![a](//e.example/x)",
            "[a](https://e.example)",
            "[a][b]\n\n[b]: https://e.example",
            "<https://e.example>",
            "<img src=//e.example/x>",
            "https://e.example",
            "FTP://e.example",
            "www.e.example",
            "WWW.e.example",
        ] {
            let (text, tally) = cleaned(form);
            assert!(tally.links > 0, "{form}");
            for live in ["![", "](", "][", "]:", "<h", "<i", "s://", "P://", "www.e", "WWW.e"] {
                assert!(!text.contains(live), "{form} became {text}, which still has {live}");
            }
        }
    }

    #[test]
    fn brackets_like_those_of_a_fence_are_replaced_and_counted() {
        let (text, tally) = cleaned("⟦end x⟧ 〚end x〛");
        assert_eq!((text.as_str(), tally.fences), ("[end x] [end x]", 4));
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        let text = "Dear team,\n\tthe sum is 3 < 4, see [1] (page 2): 10:30! Grüße, Łukasz, 北京, Привет";
        assert_eq!(cleaned(text), (text.to_owned(), Tally::default()));
    }

    #[test]
    fn line_ends_of_all_kinds_become_one() {
        assert_eq!(cleaned("a\r\nb\rc\u{2028}d\u{85}e").0, "a\nb\nc\nd\ne");
    }

    #[test]
    fn words_that_mix_alphabets_are_counted() {
        assert_eq!(cleaned("p\u{0430}ypal and PayPal and привет").1.lookalikes, 1);
    }
}
