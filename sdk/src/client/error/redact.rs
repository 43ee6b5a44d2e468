//! Redacts the service's message, which may quote what was sent, for logs.

use std::collections::HashSet;

/// The shortest run of characters that counts as a quote of what was sent.
const MIN_REDACTED_CHARS: usize = 12;
const REDACTED: &str = "[…]";

/// Returns the sentence without any run of a dozen characters that is in `sent` too, and without anything
/// that has the form of an address.
pub(super) fn redact(sentence: &str, sent: &[String]) -> String {
    let chars: Vec<char> = sentence.chars().collect();
    let plain: Vec<char> = chars.iter().copied().map(folded).collect();
    let mut hidden = vec![false; chars.len()];
    hide_sent(&plain, sent, &mut hidden);
    hide_addresses(&plain, &mut hidden);
    let mut shown = String::with_capacity(sentence.len());
    for (i, c) in chars.into_iter().enumerate() {
        if !hidden[i] {
            shown.push(c);
        } else if i == 0 || !hidden[i - 1] {
            shown.push_str(REDACTED);
        }
    }
    shown
}

/// Normalizes case and whitespace, which a quote may change.
fn folded(c: char) -> char {
    if c.is_whitespace() { ' ' } else { c.to_lowercase().next().unwrap_or(c) }
}

fn hide_sent(plain: &[char], sent: &[String], hidden: &mut [bool]) {
    let runs: HashSet<&[char]> = plain.windows(MIN_REDACTED_CHARS).collect();
    let mut echoed = HashSet::new();
    for text in sent {
        let text: Vec<char> = text.chars().map(folded).collect();
        echoed.extend(text.windows(MIN_REDACTED_CHARS).filter_map(|run| runs.get(run).copied()));
    }
    for (start, run) in plain.windows(MIN_REDACTED_CHARS).enumerate() {
        if echoed.contains(run) {
            hidden[start..start + MIN_REDACTED_CHARS].fill(true);
        }
    }
}

/// Hides an `@`, plain or URL-encoded, with the text on both sides.
fn hide_addresses(plain: &[char], hidden: &mut [bool]) {
    let part = |c: &&char| !(c.is_whitespace() || "<>()[]{}\"'`,;:|=/?&".contains(**c));
    for at in 0..plain.len() {
        let sign = match plain[at..] {
            ['@' | '\u{ff20}', ..] => 1,
            ['%', '4', '0', ..] => 3,
            _ => continue,
        };
        let before = plain[..at].iter().rev().take_while(part).count();
        let after = plain[at + sign..].iter().take_while(part).count();
        if before > 0 && after > 0 {
            hidden[at - before..at + sign + after].fill(true);
        }
    }
}
