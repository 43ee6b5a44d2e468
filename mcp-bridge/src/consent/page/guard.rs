//! Who may speak to the page: a browser window that the person opened, and the page's own form in it.

use std::net::SocketAddr;

use http::{HeaderMap, Method, header};

use crate::consent::Decision;

pub(super) const COOKIE: &str = "consent";

pub(super) struct Site {
    host: String,
    origin: String,
}

impl Site {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { host: address.to_string(), origin: format!("http://{address}") }
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns why a request may not be answered, if it may not. The entry form comes from a file, which has
    /// no origin.
    pub(super) fn check(
        &self,
        method: &Method,
        headers: &HeaderMap,
        is_entry: bool,
    ) -> Result<(), &'static str> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        // A name that was pointed at this machine is not this machine.
        let mut hosts = headers.get_all(header::HOST).iter();
        if hosts.next().is_none_or(|host| host != self.host.as_str()) || hosts.next().is_some() {
            return Err("this address belongs to another name");
        }
        let fetched = (text("sec-fetch-site"), text("sec-fetch-mode"), text("sec-fetch-dest"));
        if text("sec-purpose").or(text("purpose")).or(text("x-moz")).is_some() {
            return Err("this page is not fetched ahead");
        }
        if fetched.2.is_some_and(|dest| dest != "document")
            || fetched.1.is_some_and(|mode| mode != "navigate")
        {
            return Err("this page is opened in a window of its own");
        }
        let ours = |origin: &str| origin == self.origin;
        match *method {
            // A link in another page may lead here, as from a client in a browser; it learns and changes
            // nothing.
            Method::GET if text("origin").is_none_or(ours) => Ok(()),
            Method::GET => Err("the request came from another site"),
            Method::POST => {
                let origin = text("origin");
                let from_here =
                    origin.is_some_and(ours) && fetched.0.is_none_or(|site| site == "same-origin");
                let from_file = is_entry && origin.is_none_or(|origin| origin == "null");
                if !from_here && !from_file {
                    return Err("the request came from another site");
                }
                if text("content-type") != Some("application/x-www-form-urlencoded") {
                    return Err("the form has another shape");
                }
                Ok(())
            }
            _ => Err("this page is only shown and answered"),
        }
    }
}

pub(super) fn cookie(headers: &HeaderMap) -> Option<String> {
    let mut all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.find_map(|line| line.split(';').find_map(|one| one.trim().strip_prefix(COOKIE)?.strip_prefix('=')))
        .map(str::to_owned)
}

#[derive(Default)]
pub(super) struct Form {
    pub(super) secret: Option<String>,
    pub(super) token: Option<String>,
    pub(super) answer: Option<Decision>,
}

/// Reads the form. Its fields are plain letters and digits, so that nothing in it is ever encoded.
pub(super) fn form(body: &[u8]) -> Form {
    let mut form = Form::default();
    for field in String::from_utf8_lossy(body).split('&') {
        match field.split_once('=') {
            Some(("secret", secret)) => form.secret = Some(secret.to_owned()),
            Some(("token", token)) => form.token = Some(token.to_owned()),
            Some(("answer", "send")) => form.answer = Some(Decision::Yes),
            Some(("answer", "refuse")) => form.answer = Some(Decision::No),
            _ => {}
        }
    }
    form
}
