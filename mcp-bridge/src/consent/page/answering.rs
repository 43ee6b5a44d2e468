//! The responses of the page to a browser.

use std::time::Instant;

use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use super::{
    ANSWER_TIMEOUT, HEADER_READ_TIMEOUT, PageAccess, PageServer, guard,
    html::{self, ENTRY, Reply},
};
use crate::consent::question::{Progress, Question};

/// A form with a token and a word.
const MAX_FORM_BYTES: usize = 1024;

const OPENED_BY_ANOTHER: &str = "It works once, in the browser that opened it first. If that was not you, somebody else on this machine \
    opened it: do not answer, and tell whoever looks after the machine.";

const FOREIGN_FORM: &str = "This is not the form of this question. It changed nothing.";

impl PageServer {
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Reply {
        let id = request.uri().path().trim_start_matches('/').to_owned();
        if let Err(why) = self.site.check(request.method(), request.headers(), id == ENTRY) {
            tracing::debug!(%why, "a request to the page was refused");
            return html::message(StatusCode::FORBIDDEN, "Refused", why);
        }
        let is_shown = *request.method() == Method::GET;
        let cookie = guard::cookie(request.headers());
        let form = match is_shown {
            true => guard::Form::default(),
            false => match read(request).await {
                Ok(form) => form,
                Err(why) => return html::message(StatusCode::BAD_REQUEST, "Not taken", why),
            },
        };
        let is_entry = id == ENTRY && !is_shown;
        let question = self.questions.with_page(|access| match &form.secret {
            Some(secret) if is_entry => access.is_entered_with(secret),
            _ => !is_entry && access.id == id,
        });
        let Some(question) = question else { return not_here() };
        let now = self.questions.clock.now();
        if is_entry {
            return question.edit(enter).unwrap_or_else(not_here);
        }
        if is_shown {
            return match show(&question, cookie.as_deref(), now) {
                Some(page) => page,
                None => closing(&question).await,
            };
        }
        match take(&question, cookie.as_deref(), form, now) {
            // A redirect, so that reloading the page does not answer again.
            Some(true) => html::redirect_to(&format!("/{id}")),
            Some(false) => {
                let mut reply = closing(&question).await;
                *reply.status_mut() = StatusCode::GONE;
                reply
            }
            None => html::message(StatusCode::FORBIDDEN, "Not taken", FOREIGN_FORM),
        }
    }
}

/// Lets the browser in that brings the secret of a private file.
fn enter(progress: &mut Progress) -> Option<Reply> {
    let is_open = progress.is_open();
    let access = progress.page.as_mut()?;
    if access.is_entered {
        return Some(opened_by_another());
    }
    access.enter();
    // Not a redirect: a browser would not send the cookie on a navigation that another site started.
    let mut reply = html::continue_to(&format!("/{}", access.id));
    set_cookie(&mut reply, access);
    is_open.then_some(reply)
}

/// Shows a question, if it is open.
fn show(question: &Question, cookie: Option<&str>, now: Instant) -> Option<Reply> {
    question.edit(|progress| {
        let is_open = progress.is_open();
        let access = progress.page.as_mut()?;
        let is_first = !access.is_entered && access.is_by_address();
        if !is_first && !access.is_opened_with(cookie) {
            return Some(opened_by_another());
        }
        if !is_open {
            return None;
        }
        access.enter();
        let left = ANSWER_TIMEOUT.saturating_sub(question.age(now));
        let mut page = html::question(&access.preview, &access.token, left);
        if is_first {
            set_cookie(&mut page, access);
        }
        progress.show(now);
        Some(page)
    })
}

/// Shows the outcome of a question that is no longer open.
async fn closing(question: &Question) -> Reply {
    // The email is on its way to the service; its outcome is a moment off.
    _ = tokio::time::timeout(HEADER_READ_TIMEOUT, question.closed()).await;
    let (page, at) = question.last_page();
    html::decided(&page, at)
}

/// Takes an answer. Returns whether it counts; `None` if its form is not of this question.
fn take(question: &Question, cookie: Option<&str>, form: guard::Form, now: Instant) -> Option<bool> {
    question.edit(|progress| {
        let access = progress.page.as_ref().filter(|access| access.is_opened_with(cookie))?;
        let (token, answer) = (form.token?, form.answer?);
        access.has_token(&token).then_some(())?;
        progress.answer_on_page(answer, now)
    })
}

async fn read(request: Request<Incoming>) -> Result<guard::Form, &'static str> {
    let body = Limited::new(request.into_body(), MAX_FORM_BYTES).collect();
    match tokio::time::timeout(HEADER_READ_TIMEOUT, body).await {
        Ok(Ok(body)) => Ok(guard::form(&body.to_bytes())),
        _ => Err("The form did not come whole."),
    }
}

fn not_here() -> Reply {
    html::message(StatusCode::NOT_FOUND, "Nothing is asked here", "This question is not open any more.")
}

fn opened_by_another() -> Reply {
    html::message(StatusCode::FORBIDDEN, "This question is open elsewhere", OPENED_BY_ANOTHER)
}

fn set_cookie(reply: &mut Reply, access: &PageAccess) {
    let PageAccess { id, cookie, .. } = access;
    let cookie = format!("{}={cookie}; Path=/{id}; HttpOnly; SameSite=Strict", guard::COOKIE);
    if let Ok(cookie) = cookie.parse() {
        reply.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}
