//! The console at `/`: a page that uses the control API, for a person who tests a program.
//!
//! It serves the files of `console/` without indentation and comments, so no other program builds anything.
//! The files hold no data; the page reads it from the control API.

use bytes::Bytes;
use http::{HeaderValue, Method, Response};

use super::response;

/// Each file with its path and its media type, as it is served.
#[cfg(feature = "console")]
static FILES: std::sync::LazyLock<Vec<(&str, &str, Bytes)>> = std::sync::LazyLock::new(|| {
    macro_rules! files {
        ($($kind:literal: $($name:literal)*;)*) => {
            vec![$($((concat!("/console/", $name), $kind, stripped(include_str!(concat!("../../console/", $name)))),)*)*]
        };
    }
    let mut files = files![
        "text/html; charset=utf-8": "index.html";
        "text/css; charset=utf-8": "style.css";
        "image/svg+xml": "icon.svg";
        "text/javascript; charset=utf-8":
            "again.js" "api.js" "approvals.js" "bookings.js" "calls.js" "clock.js" "compose.js" "conversation.js" "copy.js"
            "deliveries.js" "differences.js" "documents.js" "dom.js" "faults.js" "inbox.js" "keys.js" "list.js" "live.js"
            "main.js" "outbox.js" "panel.js" "requests.js" "route.js" "rules.js" "start.js" "time.js" "timeline.js"
            "trace.js" "ui.js" "uploads.js" "webhooks.js" "worlds.js";
    ];
    // The page itself.
    files[0].0 = "/";
    files
});

/// Returns the file at a path, and its media type.
#[cfg(feature = "console")]
fn file(path: &str) -> Option<(Bytes, &'static str)> {
    let (_, kind, text) = FILES.iter().find(|(at, ..)| *at == path)?;
    Some((text.clone(), kind))
}

#[cfg(not(feature = "console"))]
fn file(_: &str) -> Option<(Bytes, &'static str)> {
    None
}

/// Removes indentation, empty lines, comments that begin a line and types (`/** @…`) anywhere.
#[cfg(feature = "console")]
fn stripped(text: &str) -> Bytes {
    let mut left = text;
    let mut out = String::with_capacity(text.len());
    loop {
        left = left.trim_start_matches(['\t', '\n', ' ']);
        if left.is_empty() {
            return out.into();
        }
        if left.starts_with("//") {
            left = left.find('\n').map_or("", |end| &left[end..]);
        } else if left.starts_with("/*") {
            left = after_comment(left);
        } else {
            left = copy_line(left, &mut out);
        }
    }
}

/// Copies a line without its types, and returns what comes after it.
#[cfg(feature = "console")]
fn copy_line<'t>(mut left: &'t str, out: &mut String) -> &'t str {
    loop {
        let end = left.find('\n').map_or(left.len(), |end| end + 1);
        let Some(at) = left[..end].find("/** @") else {
            out.push_str(&left[..end]);
            return &left[end..];
        };
        out.push_str(&left[..at]);
        left = after_comment(&left[at..]);
    }
}

/// Returns what comes after the comment that a text begins with.
#[cfg(feature = "console")]
fn after_comment(text: &str) -> &str {
    text.split_once("*/").map_or("", |(_, rest)| rest)
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
    let mut response = Response::new(text);
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
