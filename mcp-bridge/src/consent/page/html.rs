//! The page as HTML: an email as text, two buttons, no script.

use std::{fmt::Write, time::Duration};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use sha2::{Digest as _, Sha256};
use shared_inbox::Timestamp;

use crate::{
    consent::{ClosingPage, EmailPreview, closing::in_utc, visible::Links},
    render::counted,
};

pub(super) type Reply = Response<Full<Bytes>>;

/// Where a private file brings its secret.
pub(super) const ENTRY: &str = "open";

const STYLE: &str = include_str!("page.css");

/// Returns the content of a private file: a form that a browser submits to the page by itself.
pub(super) fn entry_form(origin: &str, secret: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>A question about an email</title>\
         <meta name=\"referrer\" content=\"no-referrer\"></head><body>\
         <form method=\"post\" action=\"{origin}/{ENTRY}\"><input type=\"hidden\" name=\"secret\" value=\"{secret}\">\
         <p>You are asked whether an email may go out.</p><button>Show the email</button></form>\
         <script>document.forms[0].submit()</script></body></html>"
    )
}

pub(super) fn preview(preview: &EmailPreview, client: Option<&str>) -> String {
    let shown = preview.shown(Links::Whole);
    let mut out = String::new();
    match client {
        Some(client) => _ = write!(out, "<p>A model in <strong><bdi>{}</bdi></strong>", escape(client)),
        None => out.push_str("<p>A model"),
    }
    out.push_str(
        " wants to send this email to a customer. It goes out only if you say so, and only once.</p>",
    );
    _ = write!(out, "<p class=\"to\">To <strong><bdi>{}</bdi></strong></p>", escape(&shown.to));
    for warning in &shown.warnings {
        _ = write!(out, "<p class=\"warning\" role=\"alert\">{}</p>", escape(warning));
    }
    _ = write!(out, "<p class=\"size\" id=\"size\">The whole text, {}", escape(&shown.size));
    if let Some(long) = shown.long {
        _ = write!(out, ". {}", escape(long));
    }
    out.push_str("</p>");
    text(&mut out, "text", "size", &shown.lines);
    out.push_str("<p class=\"size\">The text ends here.</p>");
    if let Some(words) = &shown.answers {
        out.push_str("<p class=\"size\" id=\"answers\">It answers the customer\u{2019}s last words:</p>");
        text(&mut out, "words", "answers", words);
    }
    facts(&mut out, &shown.facts);
    out
}

fn facts(out: &mut String, facts: &[(&str, String)]) {
    if facts.is_empty() {
        return;
    }
    out.push_str("<dl>");
    for (name, value) in facts {
        _ = write!(out, "<dt>{name}</dt><dd><bdi>{}</bdi></dd>", escape(value));
    }
    out.push_str("</dl>");
}

fn text(out: &mut String, class: &str, label: &str, lines: &[String]) {
    _ = write!(out, "<div class=\"{class}\" tabindex=\"0\" role=\"document\" aria-labelledby=\"{label}\">");
    for line in lines {
        _ = write!(out, "<p dir=\"auto\">{}</p>", escape(line));
    }
    out.push_str("</div>");
}

/// Returns the question, with so much time left to answer it.
pub(super) fn question(preview: &str, token: &str, left: Duration) -> Reply {
    let body = format!(
        "{preview}\
         <form method=\"post\" autocomplete=\"off\"><input type=\"hidden\" name=\"token\" value=\"{token}\">\
         <button name=\"answer\" value=\"refuse\">Do not send</button>\
         <button name=\"answer\" value=\"send\" class=\"yes\">Send this email</button></form>\
         <p class=\"left\">You have {} to answer.</p><div class=\"bar\"></div>\
         <p class=\"late\">The time to answer is over. Load the page again to see what became of it.</p>",
        in_words(left)
    );
    let seconds = left.as_secs();
    let timing =
        format!(".bar::after {{ animation-duration: {seconds}s; }} .late {{ animation-delay: {seconds}s; }}");
    page(StatusCode::OK, "Send this email?", &body, Some(&timing))
}

fn in_words(left: Duration) -> String {
    let (minutes, seconds) = (left.as_secs() / 60, left.as_secs() % 60);
    let part = |n: u64, unit: &str| counted(usize::try_from(n).unwrap_or_default(), unit);
    match (minutes, seconds) {
        (0, seconds) => part(seconds, "second"),
        (minutes, 0) => part(minutes, "minute"),
        (minutes, seconds) => format!("{} and {}", part(minutes, "minute"), part(seconds, "second")),
    }
}

/// Returns a page with one sentence.
pub(super) fn message(status: StatusCode, title: &str, sentence: &str) -> Reply {
    page(status, title, &format!("<p>{}</p>", escape(sentence)), None)
}

/// Returns a page with the outcome of a question, and when it was decided.
pub(super) fn decided(closing: &ClosingPage, at: Timestamp) -> Reply {
    let exact = at.to_string();
    let mut body = format!("<p>{}</p>", escape(&closing.text));
    facts(&mut body, &closing.facts);
    let time = in_utc(&exact);
    _ = write!(body, "<p class=\"size\">Decided at <time datetime=\"{exact}\">{time}</time>.</p>");
    page(StatusCode::OK, closing.title, &body, None)
}

/// Returns a redirect to this path.
pub(super) fn redirect_to(path: &str) -> Reply {
    let mut reply = page(StatusCode::SEE_OTHER, "Thank you", "", None);
    if let Ok(path) = path.parse() {
        reply.headers_mut().insert(header::LOCATION, path);
    }
    reply
}

/// Returns a page that continues to this path at once.
pub(super) fn continue_to(path: &str) -> Reply {
    let body = format!(
        "<meta http-equiv=\"refresh\" content=\"0; url={path}\"><p><a href=\"{path}\">Show the email</a></p>"
    );
    page(StatusCode::OK, "One moment", &body, None)
}

/// `timing` is style of this page alone.
fn page(status: StatusCode, title: &str, body: &str, timing: Option<&str>) -> Reply {
    let timing = timing.unwrap_or_default();
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style><style>{timing}</style></head>\
         <body><main><h1>{title}</h1>{body}<footer>shared-inbox-mcp, on this machine</footer></main></body></html>"
    );
    let mut reply = Response::new(Full::new(Bytes::from(text)));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    // Nothing is loaded, runs or frames the page, and the form can only be sent here.
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}' 'sha256-{}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        BASE64_STANDARD.encode(Sha256::digest(STYLE)),
        BASE64_STANDARD.encode(Sha256::digest(timing))
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
