//! The part of a text that shows something.

/// Returns the shortest part of a text, from word to word, that still shows what the whole shows. Asks by
/// bisection, so few times.
pub(crate) fn smallest_part(text: &str, shows: impl Fn(&str) -> bool) -> &str {
    let start_of = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();
    let words: Vec<(usize, usize)> =
        text.split_whitespace().map(|word| (start_of(word), start_of(word) + word.len())).collect();
    let end = words.partition_point(|(_, end)| !shows(&text[..*end]));
    let end = words.get(end).map_or(text.len(), |(_, end)| *end);
    let start = words.partition_point(|(start, _)| *start < end && shows(&text[*start..end]));
    let start = start.checked_sub(1).map_or(0, |last| words[last].0);
    let part = &text[start..end];
    let bare = part.trim_matches(|c: char| !c.is_alphanumeric());
    [bare, part].into_iter().find(|part| shows(part)).unwrap_or(text)
}
