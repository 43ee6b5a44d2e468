//! Undoing what parsers, proxies and frameworks do to a JSON body on its way.
//!
//! What arrives is the rewritten text; what was signed is the original. Going back is a guess at how the original was
//! written, and the signature tells whether the guess is right.

use super::order::likely_orders;

/// The most bytes of a body on which other orders of its fields are tried: many times a large event.
const MAX_REORDERED_BYTES: usize = 1 << 13;

/// Likely originals of `body`, each with what must have happened to it.
pub(super) fn rewritings(body: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut found = Vec::new();
    let mut add = |what, original: Vec<u8>| {
        if original != body && found.iter().all(|(_, other)| *other != original) {
            found.push((what, original));
        }
    };
    let trimmed = body.trim_ascii_end();
    add("a line end was added", trimmed.to_vec());
    add("a line end was removed", [body, b"\n"].concat());
    add("a line end was removed", [body, b"\r\n"].concat());
    add("a byte-order mark was added", body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).to_vec());
    add("line ends were changed", replace(body, b"\r\n", b"\n"));
    add("line ends were changed", replace(&replace(body, b"\r\n", b"\n"), b"\n", b"\r\n"));
    let Ok(text) = std::str::from_utf8(trimmed) else { return found };
    for (what, escaped) in [
        ("JSON parsed and written anew", text.to_owned()),
        ("JSON parsed and written anew, `\\u` escapes resolved", ascii(text)),
        ("JSON parsed and written anew, other characters escaped", unescaped(text)),
    ] {
        for slashes in [escaped.clone(), escaped.replace("\\/", "/"), escaped.replace('/', "\\/")] {
            add(what, slashes.clone().into_bytes());
            add(what, respaced(&slashes, "").into_bytes());
            add(what, respaced(&slashes, " ").into_bytes());
        }
    }
    let orders = if text.len() <= MAX_REORDERED_BYTES { likely_orders(text) } else { Vec::new() };
    for ordered in orders {
        for escaped in [ordered.clone(), ascii(&ordered), unescaped(&ordered)] {
            for gap in ["", " "] {
                let what = "JSON parsed and written anew, keys in another order";
                add(what, respaced(&escaped, gap).into_bytes());
            }
        }
    }
    found
}

/// Returns the same JSON without whitespace between its tokens but `gap` behind each colon and comma.
fn respaced(text: &str, gap: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            out.push(c);
        } else if !c.is_ascii_whitespace() {
            in_string = c == '"';
            out.push(c);
            if matches!(c, ':' | ',') {
                out.push_str(gap);
            }
        }
    }
    out
}

/// Returns the same JSON with everything beyond ASCII as `\u` escapes, as some writers do by default.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

/// Returns the same JSON with the `\u` escapes of what lies beyond ASCII resolved.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (units, length) = escapes(rest);
        match String::from_utf16(&units) {
            Ok(characters) if length > 0 && !characters.is_ascii() => {
                out.push_str(&characters);
                rest = &rest[length..];
            }
            _ => {
                // Another escape: two characters that belong together.
                let end = rest.char_indices().nth(2).map_or(rest.len(), |(index, _)| index);
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        }
    }
    out + rest
}

/// Returns the one `\u` escape at the start of `text`, or the two of a surrogate pair, and how long they are.
fn escapes(text: &str) -> (Vec<u16>, usize) {
    let unit =
        |text: &str| text.strip_prefix("\\u").and_then(|rest| u16::from_str_radix(rest.get(..4)?, 16).ok());
    let Some(first) = unit(text) else { return (Vec::new(), 0) };
    match text.get(6..).and_then(unit) {
        Some(second) if (0xd800..0xdc00).contains(&first) => (vec![first, second], 12),
        _ => (vec![first], 6),
    }
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}
