//! Whether a text in the timeline is the one that was sent. The service may have cut it, taken quoted history out of it or
//! written under it, and a wrong "no" mails a customer twice; so there is a third answer, "perhaps", after which nothing is
//! sent again.

use std::collections::HashSet;

use crate::limits;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    Other,
    /// Too much alike to be sure that it is not ours.
    Similar,
    Same,
}

/// A shorter text at the start of a longer one can be chance.
const TELLING: usize = 20;
/// The same for a text that stands in a longer one together with all that was asked for.
const TELLING_WITH_LABELS: usize = 8;
/// Characters in a piece of text when texts are compared piece by piece: enough that different texts share few.
const PIECE: usize = 5;

/// Compares what was sent with what is there.
pub(super) fn compare(ours: &str, theirs: &str) -> Likeness {
    let (a, b) = (bare(ours), bare(theirs));
    if a == b || is_start_of(ours, &a, theirs, &b) || is_without_quotes(ours, &b) {
        Likeness::Same
    } else if is_alike(&a, &b) {
        Likeness::Similar
    } else {
        Likeness::Other
    }
}

/// The same for a text under which the service puts an upload link and a checklist of these labels.
pub(super) fn compare_extended(ours: &str, labels: &[String], theirs: &str) -> Likeness {
    let (a, b) = (bare(ours), bare(theirs));
    let labels: Vec<String> = labels.iter().map(|label| bare(label)).collect();
    let own = a.chars().count();
    let with_labels = own + labels.iter().map(|label| label.chars().count()).sum::<usize>();
    let listed = labels.iter().chain([&a]).all(|words| b.contains(words.as_str()));
    if (listed && with_labels >= TELLING_WITH_LABELS) || (own >= TELLING && b.starts_with(&a)) {
        Likeness::Same
    } else {
        compare(ours, theirs)
    }
}

/// Line ends, indentation and blank lines are the first things that change on the way.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !c.is_control() && *c != '\u{feff}').collect()
}

/// Whether theirs is ours, cut at the service's length, with or without an ellipsis. That may be counted in characters,
/// UTF-16 units or bytes; whichever it is, what is left has at least so many bytes.
fn is_start_of(ours: &str, a: &str, theirs: &str, b: &str) -> bool {
    // A little less, for what was trimmed before or after the cut.
    let nearly = limits::MESSAGE_TEXT - limits::MESSAGE_TEXT / 50;
    ours.len() > limits::MESSAGE_TEXT
        && theirs.len() >= nearly
        && a.starts_with(b.trim_end_matches(['…', '.', '\u{fffd}']))
}

/// Whether theirs is ours without what was quoted from earlier mail: the quoted lines, or all from the first of them on,
/// or from the line that introduces it.
fn is_without_quotes(ours: &str, b: &str) -> bool {
    let lines: Vec<&str> = ours.lines().collect();
    let quoted = |line: &&str| line.trim_start().starts_with('>');
    let Some(first) = lines.iter().position(quoted) else { return false };
    let introduction = lines[..first].iter().rposition(|line| !line.trim().is_empty()).unwrap_or(0);
    let unquoted: Vec<&str> = lines.iter().copied().filter(|line| !quoted(line)).collect();
    [&unquoted[..], &lines[..first], &lines[..introduction]].iter().any(|part| {
        let part = bare(&part.concat());
        !part.is_empty() && part == b
    })
}

/// Whether one may have been made of the other: it stands in it whole (an empty text stands in every other), or most of it
/// does. Both ways, since the service may write under a text as well as take most of it away.
fn is_alike(a: &str, b: &str) -> bool {
    let (chars_a, chars_b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    a.contains(b) || b.contains(a) || is_mostly_in(&chars_a, &chars_b) || is_mostly_in(&chars_b, &chars_a)
}

fn is_mostly_in(text: &[char], other: &[char]) -> bool {
    let there: HashSet<&[char]> = other.windows(PIECE).collect();
    let pieces = text.windows(PIECE).len();
    pieces > 0 && text.windows(PIECE).filter(|piece| there.contains(piece)).count() * 2 >= pieces
}

#[cfg(test)]
mod tests {
    use super::{Likeness, compare, compare_extended};

    #[test]
    fn line_ends_and_blank_lines_do_not_matter() {
        assert_eq!(compare("Hello Kim,\r\n\r\nit is done. ", "Hello Kim,\n\nit is done."), Likeness::Same);
    }

    #[test]
    fn another_text_is_another() {
        assert_eq!(compare("Your refund is on its way.", "We need the order number."), Likeness::Other);
    }

    #[test]
    fn without_words_to_know_it_by_no_text_is_called_another() {
        assert_eq!(compare("", "The team"), Likeness::Similar, "a signature may have been put under it");
        assert_eq!(compare("> Is it?", ""), Likeness::Similar, "all of it was quoted");
        assert_eq!(compare(" \n", ""), Likeness::Same);
    }

    #[test]
    fn a_text_is_known_by_its_first_8000_characters() {
        let long = "word ".repeat(4_000);
        let cut: String = long.chars().take(8_000).collect();
        assert_eq!(compare(&long, &cut), Likeness::Same);
        assert_eq!(compare(&long, &format!("{cut}…")), Likeness::Same);
        let other = format!("x{}", &cut[1..]);
        assert_ne!(compare(&long, &other), Likeness::Same);
    }

    #[test]
    fn a_cut_may_be_counted_in_characters_utf16_units_or_bytes() {
        let long = "🙂".repeat(9_000);
        for kept in [8_000, 4_000, 2_000] {
            assert_eq!(compare(&long, &"🙂".repeat(kept)), Likeness::Same);
            assert_eq!(compare(&long, &format!("{}\u{fffd}", "🙂".repeat(kept - 1))), Likeness::Same);
        }
        assert_eq!(compare(&long, &"🙂".repeat(1_900)), Likeness::Similar, "too short for a cut");
        let short = "🙂".repeat(1_999);
        assert_eq!(compare(&short, &"🙂".repeat(1_998)), Likeness::Similar, "nothing of it had to be cut");
    }

    #[test]
    fn quoted_history_may_be_gone() {
        let ours = "Yes, it is.\nOn Monday Kim wrote:\n> Is it on its way?";
        assert_eq!(compare(ours, "Yes, it is."), Likeness::Same);
        assert_eq!(compare(ours, "Yes, it is.\nOn Monday Kim wrote:"), Likeness::Same);
        assert_eq!(compare("> Is it?\nYes.\n> When?\nToday.", "Yes.\nToday."), Likeness::Same);
        let below =
            "On Monday Kim wrote:\n> Is it on its way? We have been waiting for two weeks.\nYes, it is.";
        assert_eq!(compare(below, "Yes, it is."), Likeness::Similar, "little is left, and that is ours");
        assert_eq!(
            compare(below, "Yes, it is!"),
            Likeness::Similar,
            "little is left, and most of that is ours"
        );
        assert_eq!(compare(ours, "Yes"), Likeness::Similar, "a teammate may have written that");
    }

    #[test]
    fn what_is_nearly_the_same_is_never_called_another() {
        let ours = "Your refund of \"20 EUR\" is on its way.";
        assert_eq!(compare(ours, "Your refund of “20 EUR” is on its way."), Likeness::Similar);
        assert_eq!(compare(ours, &format!("{ours}\n--\nThe team")), Likeness::Similar);
    }

    #[test]
    fn a_checklist_under_the_text_belongs_to_it() {
        let labels = ["Passport".to_owned()];
        let theirs = "Please send it.\n\nhttps://upload.example/x\n[ ] Passport";
        assert_eq!(compare_extended("Please send it.", &labels, theirs), Likeness::Same);
        assert_eq!(compare_extended("Please send it.", &labels, "Please send it."), Likeness::Same);
        assert_eq!(compare_extended("", &labels, theirs), Likeness::Same);
        assert_eq!(compare_extended("", &labels, "Something else"), Likeness::Similar);
        let (nothing, little) = ([String::new()], ["ID".to_owned()]);
        assert_eq!(
            compare_extended("", &nothing, "Something else"),
            Likeness::Similar,
            "no words to know it by"
        );
        assert_eq!(compare_extended("Hi", &little, "Hi Kim, your ID is valid."), Likeness::Similar, "chance");
        assert_eq!(compare_extended("Please send it.", &labels, "We need the number."), Likeness::Other);
    }
}
