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
    let listed = labels.iter().map(|label| bare(label)).all(|label| b.contains(&label));
    if a.is_empty() {
        // No words of our own to know it by, so an unlisted text cannot be ruled out.
        return if listed { Likeness::Same } else { Likeness::Similar };
    }
    if (listed && b.contains(&a)) || (b.starts_with(&a) && a.chars().count() >= TELLING) {
        Likeness::Same
    } else {
        compare(ours, theirs)
    }
}

/// Line ends, indentation and blank lines are the first things that change on the way.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !c.is_control() && *c != '\u{feff}').collect()
}

/// Whether theirs is ours, cut at the service's length. That may be counted in characters or in UTF-16 units, and an
/// ellipsis may mark it.
fn is_start_of(ours: &str, a: &str, theirs: &str, b: &str) -> bool {
    let units = |text: &str| text.encode_utf16().count();
    // A little less, for what was trimmed before or after the cut.
    let nearly = limits::MESSAGE_TEXT - limits::MESSAGE_TEXT / 50;
    units(ours) > limits::MESSAGE_TEXT
        && units(theirs) >= nearly
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

fn is_alike(a: &str, b: &str) -> bool {
    if a.is_empty() || b.is_empty() {
        return false;
    }
    if a.starts_with(b) || b.starts_with(a) {
        return true;
    }
    // Most of what was sent is there, whatever was changed here and there.
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let there: HashSet<&[char]> = b.windows(PIECE).collect();
    let pieces = (a.len() + 1).saturating_sub(PIECE);
    pieces > 0 && a.windows(PIECE).filter(|piece| there.contains(piece)).count() * 2 >= pieces
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
        assert_eq!(compare("", "We need the order number."), Likeness::Other);
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
    fn a_cut_may_be_counted_in_utf16_units() {
        let long = "🙂".repeat(9_000);
        assert_eq!(compare(&long, &"🙂".repeat(4_000)), Likeness::Same);
        assert_eq!(compare(&long, &"🙂".repeat(8_000)), Likeness::Same);
    }

    #[test]
    fn quoted_history_may_be_gone() {
        let ours = "Yes, it is.\nOn Monday Kim wrote:\n> Is it on its way?";
        assert_eq!(compare(ours, "Yes, it is."), Likeness::Same);
        assert_eq!(compare(ours, "Yes, it is.\nOn Monday Kim wrote:"), Likeness::Same);
        assert_eq!(compare("> Is it?\nYes.\n> When?\nToday.", "Yes.\nToday."), Likeness::Same);
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
        assert_eq!(compare_extended("Please send it.", &labels, "We need the number."), Likeness::Other);
    }
}
