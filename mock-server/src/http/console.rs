//! The console at `/`: a page that uses the control API, for a person who tests a program.
//!
//! It serves the files of `console/` without indentation and comments, so no other program builds anything.
//! The files hold no data; the page reads it from the control API.

use bytes::Bytes;
use http::{HeaderValue, Method, Response};

use super::response;

/// Returns the file at a path, and its media type.
#[cfg(feature = "console")]
fn file(path: &str) -> Option<(&'static str, &'static str)> {
    macro_rules! embed {
        ($name:literal) => {{
            const TEXT: &[u8] = include_bytes!(concat!("../../console/", $name));
            static STRIPPED: [u8; strip::<0>(TEXT).1] = strip(TEXT).0;
            str::from_utf8(&STRIPPED).unwrap_or_default()
        }};
    }
    macro_rules! files {
        ($kind:literal: $($name:literal)*) => {
            match path {
                $(concat!("/console/", $name) => return Some((embed!($name), $kind)),)*
                _ => {}
            }
        };
    }
    if path == "/" {
        return Some((embed!("index.html"), "text/html; charset=utf-8"));
    }
    files!("text/css; charset=utf-8": "style.css");
    files!("image/svg+xml": "icon.svg");
    files!("text/javascript; charset=utf-8":
        "again.js" "api.js" "approvals.js" "bookings.js" "calls.js" "clock.js" "compose.js" "conversation.js" "copy.js"
        "deliveries.js" "differences.js" "documents.js" "dom.js" "faults.js" "inbox.js" "keys.js" "list.js" "live.js"
        "main.js" "outbox.js" "panel.js" "requests.js" "route.js" "rules.js" "start.js" "time.js" "timeline.js" "trace.js"
        "ui.js" "uploads.js" "webhooks.js" "worlds.js"
    );
    None
}

/// Removes indentation, empty lines, comments that begin a line and types (`/** @…`) anywhere, at compile
/// time. Returns as much of the text as fits, and its length.
#[cfg(feature = "console")]
const fn strip<const N: usize>(text: &[u8]) -> ([u8; N], usize) {
    let (mut out, mut length, mut at) = ([0; N], 0, 0);
    while at < text.len() {
        // At the beginning of a line.
        let next = if at + 1 < text.len() { text[at + 1] } else { 0 };
        if matches!(text[at], b'\t' | b'\n' | b' ') {
            at += 1;
        } else if text[at] == b'/' && next == b'/' {
            while at < text.len() && text[at] != b'\n' {
                at += 1;
            }
        } else if text[at] == b'/' && next == b'*' {
            at = after_comment(text, at);
        } else {
            let mut ended = false;
            while at < text.len() && !ended {
                if is_type(text, at) {
                    at = after_comment(text, at);
                    continue;
                }
                if length < N {
                    out[length] = text[at];
                }
                ended = text[at] == b'\n';
                length += 1;
                at += 1;
            }
        }
    }
    (out, length)
}

/// Returns whether a comment with a type begins here.
#[cfg(feature = "console")]
const fn is_type(text: &[u8], at: usize) -> bool {
    let start = b"/** @";
    let mut i = 0;
    while i < start.len() {
        if at + i >= text.len() || text[at + i] != start[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Returns where the text continues after the comment that begins here.
#[cfg(feature = "console")]
const fn after_comment(text: &[u8], mut at: usize) -> usize {
    at += 3;
    while at < text.len() && !(text[at - 1] == b'*' && text[at] == b'/') {
        at += 1;
    }
    at + 1
}

#[cfg(not(feature = "console"))]
fn file(_: &str) -> Option<(&'static str, &'static str)> {
    None
}

/// Only files of this server are run, shown or requested; no page may frame it, and no text becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

/// Returns the response if the path belongs to the console.
pub(crate) fn respond(method: &Method, path: &str) -> Option<Response<Bytes>> {
    let (text, kind) = file(path)?;
    if method != Method::GET && method != Method::HEAD {
        return Some(response::wrong_method("GET"));
    }
    let mut response = Response::new(Bytes::from_static(text.as_bytes()));
    let headers = [
        ("content-type", kind),
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        // Another version of the server may listen on this port later.
        ("cache-control", "no-cache"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Some(response)
}
