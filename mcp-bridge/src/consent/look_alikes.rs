//! Letters in addresses and links that look like others.

use super::visible::{Links, one_line};

pub(super) fn odd_letters(text: &str) -> Option<String> {
    let mut odd: Vec<_> = text
        .chars()
        .filter(|c| !c.is_ascii())
        .map(|c| format!("{} (U+{:04X})", one_line(&c.to_string(), Links::Broken, 1), u32::from(c)))
        .collect();
    odd.dedup();
    let more = odd.len().saturating_sub(8);
    odd.truncate(8);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!odd.is_empty()).then(|| odd.join(", ") + &more)
}

/// Returns where a link of the text may not lead where it seems to: names with letters beyond a to z, written
/// out or encoded.
pub(super) fn odd_links(text: &str) -> Vec<String> {
    const MAX_LINKS: usize = 5;
    let mut found = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "()<>[]\"'".contains(c)) {
        let Some(host) = host(word) else { continue };
        let shown = one_line(host, Links::Broken, 80);
        if let Some(odd) = odd_letters(host) {
            found.push(format!("Look closely: the link to {shown} has letters beyond a to z: {odd}"));
        } else if host.to_ascii_lowercase().contains("xn--") {
            found.push(format!(
                "Look closely: the link to {shown} has an encoded name, which may look like another."
            ));
        }
    }
    found.dedup();
    if found.len() > MAX_LINKS {
        let more = found.len() - MAX_LINKS;
        found.truncate(MAX_LINKS);
        found.push(format!("Look closely: {more} more links have such names."));
    }
    found
}

/// Returns the name of the machine that a word of a text leads to, if it is an address of any kind.
fn host(word: &str) -> Option<&str> {
    let rest = match word.find("://") {
        Some(at) => &word[at + 3..],
        None => word,
    };
    let host = rest.split(['/', '?', '#', '\\']).next()?;
    let host = host.rsplit('@').next()?.trim_matches(|c: char| ".,;:!?".contains(c));
    // A dot between letters, as clients look for when they make links of plain words.
    let dotted = host.split('.').filter(|label| label.chars().any(char::is_alphanumeric)).count() > 1;
    dotted.then_some(host)
}
