//! The responses of the page to a browser.

use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use shared_inbox::Timestamp;
use subtle::ConstantTimeEq as _;

use super::{
    ANSWER_TIMEOUT, EntryPoint, HEADER_READ_TIMEOUT, PageServer, QuestionState, Stage, guard,
    html::{self, ENTRANCE, Reply},
};

/// A form with a token and a word.
const MAX_FORM_BYTES: usize = 1024;

const ELSEWHERE: &str = "It works once, in the browser that opened it first. If that was not you, somebody else on this machine \
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
        if let Err(why) = self.site.check(request.method(), request.headers(), id == ENTRANCE) {
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
        if id == ENTRANCE {
            return self.enter(form.secret.as_deref().unwrap_or_default());
        }
        match self.take(&id, cookie.as_deref(), form) {
            // A redirect, so that reloading the page does not answer again.
            Ok(()) => html::elsewhere(&format!("/{id}")),
            Err(NotTaken::Form(status, why)) => html::message(status, "Not taken", why),
            Err(NotTaken::Over) => {
                let mut reply = self.state(&id).await;
                *reply.status_mut() = StatusCode::GONE;
                reply
            }
        }
    }

    /// Lets the browser in that brings the secret of a private file.
    fn enter(&self, secret: &str) -> Reply {
        let mut cases = self.cases();
        let found = cases.iter_mut().find(|(_, case)| case.is_entered_with(secret));
        let Some((id, case)) = found else { return not_here() };
        if case.entered {
            return html::message(StatusCode::FORBIDDEN, "This question is open elsewhere", ELSEWHERE);
        }
        if !matches!(*case.stage.borrow(), Stage::Open) {
            return not_here();
        }
        case.entered = true;
        if let EntryPoint::File { file, .. } = &mut case.entry {
            *file = None;
        }
        // Not a redirect: a browser would not send the cookie on a navigation that another site started.
        let mut reply = html::onward(&format!("/{id}"));
        set_cookie(&mut reply, id, case);
        reply
    }

    async fn show(&self, id: &str, cookie: Option<&str>) -> Reply {
        {
            let mut cases = self.cases();
            let Some(case) = cases.get_mut(id) else { return not_here() };
            let first = !case.entered && matches!(case.entry, EntryPoint::Address);
            if !first && !case.is_opened_with(cookie) {
                return html::message(StatusCode::FORBIDDEN, "This question is open elsewhere", ELSEWHERE);
            }
            if matches!(*case.stage.borrow(), Stage::Open) {
                let now = self.clock.now();
                case.entered = true;
                case.shown.get_or_insert(now);
                let left = ANSWER_TIMEOUT.saturating_sub(now.saturating_duration_since(case.since));
                let mut page = html::question(&case.preview, &case.token, left);
                if first {
                    set_cookie(&mut page, id, case);
                }
                return page;
            }
        }
        self.state(id).await
    }

    /// Shows the outcome of a question that is no longer open.
    async fn state(&self, id: &str) -> Reply {
        let Some(mut stage) = self.cases().get(id).map(|case| case.stage.subscribe()) else {
            return not_here();
        };
        // The email is on its way to the service; its outcome is a moment off.
        let over = stage.wait_for(|stage| matches!(stage, Stage::Over(..)));
        let over = tokio::time::timeout(HEADER_READ_TIMEOUT, over).await;
        let stage = over.ok().and_then(Result::ok).map(|stage| stage.clone());
        match stage
            .unwrap_or_else(|| self.cases().get(id).map_or(Stage::Open, |case| case.stage.borrow().clone()))
        {
            Stage::Over(closing, at) => html::decided(closing.title, &closing.text, at),
            Stage::Answered(_, at) => {
                let said = "Your answer was taken. Load this page again to see what came of it.";
                html::decided("Thank you", said, at)
            }
            Stage::Open => not_here(),
        }
    }

    fn take(&self, id: &str, cookie: Option<&str>, form: guard::Form) -> Result<(), NotTaken> {
        const FOREIGN_FORM: NotTaken = NotTaken::Form(
            StatusCode::FORBIDDEN,
            "This is not the form of this question. It changed nothing.",
        );
        let cases = self.cases();
        let case = cases.get(id).ok_or(NotTaken::Over)?;
        let shown = case.shown.filter(|_| case.is_opened_with(cookie));
        let (Some(shown), Some(token), Some(answer)) = (shown, form.token, form.answer) else {
            return Err(FOREIGN_FORM);
        };
        if !is_equal(&token, &case.token) {
            return Err(FOREIGN_FORM);
        }
        let answer = answer.after(self.clock.now().saturating_duration_since(shown));
        let taken = case.stage.send_if_modified(|stage| {
            let open = matches!(stage, Stage::Open);
            if open {
                *stage = Stage::Answered(answer, Timestamp::now());
            }
            open
        });
        if taken { Ok(()) } else { Err(NotTaken::Over) }
    }
}

impl QuestionState {
    fn is_entered_with(&self, brought: &str) -> bool {
        match &self.entry {
            EntryPoint::File { secret, .. } => is_equal(secret, brought),
            EntryPoint::Address => false,
        }
    }

    fn is_opened_with(&self, cookie: Option<&str>) -> bool {
        cookie.is_some_and(|cookie| is_equal(cookie, &self.cookie))
    }
}

/// Compares in constant time.
fn is_equal(brought: &str, secret: &str) -> bool {
    brought.as_bytes().ct_eq(secret.as_bytes()).into()
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

fn set_cookie(reply: &mut Reply, id: &str, case: &QuestionState) {
    let cookie = format!("{}={}; Path=/{id}; HttpOnly; SameSite=Strict", guard::COOKIE, case.cookie);
    if let Ok(cookie) = cookie.parse() {
        reply.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}
