//! What is another in every run.

/// Returns the text with `…` for what is another in every run: ids, times, the mark of the run.
pub(crate) fn without_ids(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.' | '@');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, found) = rest.split_at(start);
        let (word, after) = found.split_at(found.find(|c| !is_part(c)).unwrap_or(found.len()));
        out.push_str(before);
        out.push_str(if varies(word) { "…" } else { word });
        rest = after;
    }
    out + rest
}

fn varies(word: &str) -> bool {
    let id = word.split_once('_').is_some_and(|(prefix, rest)| {
        prefix.len() == 3
            && prefix.bytes().all(|c| c.is_ascii_lowercase())
            && rest.bytes().any(|c| c.is_ascii_digit())
    });
    let mark = |at: usize| word.as_bytes().get(at).copied();
    let time = word.len() >= 19 && mark(4) == Some(b'-') && mark(10) == Some(b'T');
    id || time || word.contains("conform") || word.ends_with(".test")
}
