//! The responses of the page to a browser.

use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use shared_inbox::Timestamp;

use super::{
    ANSWER_TIMEOUT, HEADER_READ_TIMEOUT, PageAccess, PageServer, guard,
    html::{self, ENTRY, Reply},
};
use crate::consent::ClosingPage;

/// A form with a token and a word.
const MAX_FORM_BYTES: usize = 1024;

const OPEN_ELSEWHERE: &str = "It works once, in the browser that opened it first. If that was not you, somebody else on this machine \
    opened it: do not answer, and tell whoever looks after the machine.";

enum NotTaken {
    /// The form is not of this question.
    Form(StatusCode, &'static str),
    /// It was answered before, or taken back.
    Over,
}

impl PageServer {
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Reply {
        let id = request.uri().path().trim_start_matches('/').to_owned();
        if let Err(why) = self.site.check(request.method(), request.headers(), id == ENTRY) {
            tracing::debug!(%why, "a request to the page was refused");
            return html::message(StatusCode::FORBIDDEN, "Refused", &why.to_string());
        }
        let cookie = guard::cookie(request.headers());
        if *request.method() == Method::GET {
            return self.show(&id, cookie.as_deref()).await;
        }
        let form = match read(request).await {
            Ok(form) => form,
            Err(why) => return html::message(StatusCode::BAD_REQUEST, "Not taken", why),
        };
        if id == ENTRY {
            return self.enter(form.secret.as_deref().unwrap_or_default());
        }
        match self.take(&id, cookie.as_deref(), form) {
            // A redirect, so that reloading the page does not answer again.
            Ok(()) => html::redirect_to(&format!("/{id}")),
            Err(NotTaken::Form(status, why)) => html::message(status, "Not taken", why),
            Err(NotTaken::Over) => {
                let mut reply = self.closing(&id).await;
                *reply.status_mut() = StatusCode::GONE;
                reply
            }
        }
    }

    /// Lets the browser in that brings the secret of a private file.
    fn enter(&self, secret: &str) -> Reply {
        let entered = self.questions.with_page(
            |access| access.is_entered_with(secret),
            |question, _| {
                let is_open = question.is_open();
                let access = question.page.as_mut()?;
                if access.is_entered {
                    return Some(open_elsewhere());
                }
                access.enter();
                // Not a redirect: a browser would not send the cookie on a navigation that another site started.
                let mut reply = html::continue_to(&format!("/{}", access.id));
                set_cookie(&mut reply, access);
                is_open.then_some(reply)
            },
        );
        entered.flatten().unwrap_or_else(not_here)
    }

    async fn show(&self, id: &str, cookie: Option<&str>) -> Reply {
        let shown = self.questions.with_page(
            |access| access.id == id,
            |question, now| {
                let is_open = question.is_open();
                let access = question.page.as_mut()?;
                let is_first = !access.is_entered && access.is_by_address();
                if !is_first && !access.is_opened_with(cookie) {
                    return Some(open_elsewhere());
                }
                if !is_open {
                    return None;
                }
                access.enter();
                let age = question.show(now);
                let access = question.page.as_ref()?;
                let mut page =
                    html::question(&access.preview, &access.token, ANSWER_TIMEOUT.saturating_sub(age));
                if is_first {
                    set_cookie(&mut page, access);
                }
                Some(page)
            },
        );
        match shown {
            None => not_here(),
            Some(Some(page)) => page,
            Some(None) => self.closing(id).await,
        }
    }

    /// Shows the outcome of a question that is no longer open.
    async fn closing(&self, id: &str) -> Reply {
        let of_it = |access: &PageAccess| access.id == id;
        let Some(over) = self.questions.with_page(of_it, |question, _| question.closing()) else {
            return not_here();
        };
        // The email is on its way to the service; its outcome is a moment off.
        match tokio::time::timeout(HEADER_READ_TIMEOUT, over).await {
            Ok(Some((closing, at))) => html::decided(&closing, at),
            _ => {
                let at = self.questions.with_page(of_it, |question, _| question.decided()).flatten();
                html::decided(&ClosingPage::under_way(), at.unwrap_or_else(Timestamp::now))
            }
        }
    }

    fn take(&self, id: &str, cookie: Option<&str>, form: guard::Form) -> Result<(), NotTaken> {
        const FOREIGN_FORM: NotTaken = NotTaken::Form(
            StatusCode::FORBIDDEN,
            "This is not the form of this question. It changed nothing.",
        );
        let taken = self.questions.with_page(
            |access| access.id == id,
            |question, now| {
                let access = question.page.as_ref().filter(|access| access.is_opened_with(cookie));
                let (Some(access), Some(token), Some(answer)) = (access, form.token, form.answer) else {
                    return Err(FOREIGN_FORM);
                };
                if !access.has_token(&token) {
                    return Err(FOREIGN_FORM);
                }
                match question.answer_on_page(answer, now) {
                    Some(true) => Ok(()),
                    Some(false) => Err(NotTaken::Over),
                    None => Err(FOREIGN_FORM),
                }
            },
        );
        taken.unwrap_or(Err(NotTaken::Over))
    }
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

fn open_elsewhere() -> Reply {
    html::message(StatusCode::FORBIDDEN, "This question is open elsewhere", OPEN_ELSEWHERE)
}

fn set_cookie(reply: &mut Reply, access: &PageAccess) {
    let PageAccess { id, cookie, .. } = access;
    let cookie = format!("{}={cookie}; Path=/{id}; HttpOnly; SameSite=Strict", guard::COOKIE);
    if let Ok(cookie) = cookie.parse() {
        reply.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}
