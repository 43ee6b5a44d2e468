//! The page as HTML: a mail as text, two buttons, no script.

use std::fmt::Write;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use sha2::{Digest as _, Sha256};

use super::Reply;
use crate::consent::{Letter, letter::Links};

const STYLE: &str = include_str!("page.css");

/// The mail as a part of the page.
pub(super) fn letter(letter: &Letter) -> String {
    let shown = letter.shown(Links::Whole);
    let mut out = String::new();
    _ = write!(out, "<p class=\"to\">To <strong><bdi>{}</bdi></strong></p>", escape(&shown.to));
    for warning in &shown.warnings {
        _ = write!(out, "<p class=\"warning\" role=\"alert\">{}</p>", escape(warning));
    }
    _ = write!(out, "<p class=\"size\" id=\"size\">The whole text, {}", escape(&shown.size));
    if let Some(long) = shown.long {
        _ = write!(out, ". {}", escape(long));
    }
    out.push_str("</p><div class=\"text\" tabindex=\"0\" role=\"document\" aria-labelledby=\"size\">");
    for line in &shown.lines {
        _ = write!(out, "<p dir=\"auto\">{}</p>", escape(line));
    }
    out.push_str("</div><p class=\"size\">The text ends here.</p><dl>");
    for (name, value) in &shown.facts {
        _ = write!(out, "<dt>{name}</dt><dd><bdi>{}</bdi></dd>", escape(value));
    }
    out.push_str("</dl>");
    out
}

/// The question.
pub(super) fn question(letter: &str, token: &str) -> Reply {
    let body = format!(
        "<p>A model wants to send it to a customer. It goes out only if you say so: this mail, once, within five minutes.</p>\
         {letter}\
         <form method=\"post\" autocomplete=\"off\"><input type=\"hidden\" name=\"token\" value=\"{token}\">\
         <button name=\"answer\" value=\"refuse\">Do not send</button>\
         <button name=\"answer\" value=\"send\" class=\"yes\">Send this mail</button></form>"
    );
    page(StatusCode::OK, "Send this mail?", &body)
}

/// A page that says one thing.
pub(super) fn says(status: StatusCode, title: &str, said: &str) -> Reply {
    page(status, title, &format!("<p>{}</p>", escape(said)))
}

/// The way to a page that is shown by a request of its own.
pub(super) fn elsewhere(path: &str) -> Reply {
    let mut reply = page(StatusCode::SEE_OTHER, "Thank you", "");
    if let Ok(path) = path.parse() {
        reply.headers_mut().insert(header::LOCATION, path);
    }
    reply
}

fn page(status: StatusCode, title: &str, body: &str) -> Reply {
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head>\
         <body><main><h1>{title}</h1>{body}<footer>shared-inbox-mcp, on this machine</footer></main></body></html>"
    );
    let mut reply = Response::new(Full::new(Bytes::from(text)));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    // Nothing is loaded, nothing runs, nobody frames it, and the form leads back here.
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        BASE64_STANDARD.encode(Sha256::digest(STYLE))
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: a browser would then hide where the form comes from.
        (header::REFERRER_POLICY, "same-origin"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    reply
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
