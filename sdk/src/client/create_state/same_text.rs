//! Decides whether a text in the timeline is surely the one that was sent. The service may have changed its
//! Unicode form, cut it, removed quoted history or added a checklist; after any other change a person must
//! decide.

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::limits;

/// Returns whether `theirs` is `ours`.
pub(super) fn same(ours: &str, theirs: &str) -> bool {
    let (a, b) = (bare(ours), bare(theirs));
    a == b || is_start_of(ours, &a, theirs, &b) || is_without_quotes(ours, &b)
}

/// Returns the same for a text under which the service puts an upload link and a checklist of these labels.
pub(super) fn same_with_checklist(ours: &str, labels: &[String], theirs: &str) -> bool {
    if !ours.trim().is_empty() && same(ours, theirs) {
        return true;
    }
    let a = bare(ours);
    if !bare(theirs).starts_with(&a) {
        return false;
    }
    // Skips the lines of our own text, which ends within one of them.
    let mut rest = a.chars().count();
    let mut lines = theirs.lines().skip_while(|line| {
        let line = bare(line).chars().count();
        let own = rest > 0 || line == 0;
        rest = rest.saturating_sub(line);
        own
    });
    // Without a text of our own, a list of the same things can be a coincidence, unless it is all or has a
    // link or boxes.
    let marks = ["://", "[ ]", "☐", "□", "▢"];
    let is_services = !a.is_empty()
        || marks.iter().any(|mark| theirs.contains(mark))
        || theirs.lines().filter(|line| !line.trim().is_empty()).count() == labels.len();
    is_services && labels.iter().all(|label| lines.any(|line| is_entry(line, label)))
}

/// Returns whether a line of a checklist is about this label: a mark, the label, and perhaps more.
fn is_entry(line: &str, label: &str) -> bool {
    let (line, label) = (bare(line), bare(label));
    let entry = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let entry = if entry.starts_with(&label) { entry } else { line.as_str() };
    let more = entry.strip_prefix(label.as_str());
    more.is_some_and(|more| more.is_empty() || !more.starts_with(char::is_alphanumeric))
}

/// Returns the text without whitespace, which often changes on the way, in one Unicode form.
fn bare(text: &str) -> String {
    let text = ComposingNormalizerBorrowed::new_nfc().normalize(text);
    text.chars().filter(|c| !c.is_whitespace() && !c.is_control() && *c != '\u{feff}').collect()
}

/// Returns whether theirs is ours, cut at the service's length, with or without an ellipsis. The length may
/// be in characters, UTF-16 units or bytes; the rest has at least as many bytes.
fn is_start_of(ours: &str, a: &str, theirs: &str, b: &str) -> bool {
    // A little less, for what was trimmed.
    let nearly = limits::MESSAGE_TEXT - limits::MESSAGE_TEXT / 50;
    ours.len() > limits::MESSAGE_TEXT
        && theirs.len() >= nearly
        && a.starts_with(b.trim_end_matches(['…', '.', '\u{fffd}']))
}

/// Returns whether theirs is ours without the quoted lines, or without everything from the first of them on,
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
