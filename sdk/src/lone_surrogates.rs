//! Escapes in JSON that no text in Rust can hold.

use std::borrow::Cow;

/// Returns this JSON with `\ufffd` for every `\u` escape that is half of a surrogate pair without its other
/// half.
///
/// Such an escape is grammatical JSON, and a sender that cuts a text between two UTF-16 units writes one; but
/// no text in Rust can hold it. The result is as long as `json`, so that positions stay the same.
pub fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(json);
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        at += found;
        at += match (unit(json, at), unit(json, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.to_mut().replace_range(at..at + 6, "\\ufffd");
                6
            }
            // An escape of another kind is two bytes; the second may be a backslash too.
            _ => json[at + 1..].chars().next().map_or(1, |c| 1 + c.len_utf8()),
        };
    }
    out
}

/// Returns the UTF-16 unit whose `\u` escape stands here.
fn unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}
