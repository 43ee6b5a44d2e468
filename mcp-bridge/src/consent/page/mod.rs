//! The bridge's own page: asks for consent to one mail where the client cannot, on this machine alone.
//!
//! Its address holds a number that nobody can guess and goes to the person's browser, never to the model. The first
//! browser that opens it gets a cookie, and from then on the address alone is worth nothing.

mod guard;
mod html;

use std::{
    collections::HashMap,
    io,
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use shared_inbox::Clock;
use subtle::ConstantTimeEq as _;
use tokio::{
    net::TcpListener,
    sync::{OnceCell, Semaphore, watch},
};

use super::{ANSWER_WITHIN, Answer, Letter, secret};
use guard::Site;

/// How long a browser may take to send its request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many connections are held at once; browsers open a few ahead.
const CONNECTIONS: usize = 16;
/// A form with a token and a word.
const LARGEST_FORM: usize = 1024;

/// The page, which is not served before it is needed.
pub(crate) struct Page {
    clock: Arc<dyn Clock>,
    served: OnceCell<Arc<Served>>,
}

/// One question on the page. It is over when this is dropped, and then the mail is forgotten.
pub(crate) struct Ticket {
    served: Arc<Served>,
    id: String,
    /// What the question is called where the address must not be told.
    name: String,
    url: String,
    stage: watch::Receiver<Stage>,
}

/// How far a question has come.
#[derive(Clone)]
enum Stage {
    Open,
    Answered(Answer),
    Over(String),
}

impl Stage {
    fn said(&self) -> &str {
        match self {
            Self::Over(said) => said,
            _ => "",
        }
    }
}

struct Served {
    site: Site,
    clock: Arc<dyn Clock>,
    cases: Mutex<HashMap<String, Case>>,
}

/// What is known of a question.
struct Case {
    /// The mail as a part of the page; gone when the question is over.
    letter: String,
    /// What the form must bring back.
    token: String,
    /// What the browser that opened the page first must show from then on.
    cookie: String,
    /// When the page was first opened.
    opened: Option<Instant>,
    since: Instant,
    stage: watch::Sender<Stage>,
}

impl Page {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, served: OnceCell::new() }
    }

    /// Puts a question about this mail on the page.
    pub(crate) async fn open(&self, letter: &Letter) -> io::Result<Ticket> {
        let served = self.served.get_or_try_init(|| serve(self.clock.clone())).await?.clone();
        let random = || secret().map_err(io::Error::other);
        let (id, token, cookie) = (random()? + &random()?, random()?, random()?);
        let (stage, watched) = watch::channel(Stage::Open);
        let case = Case {
            letter: html::letter(letter),
            token,
            cookie,
            opened: None,
            since: self.clock.now(),
            stage,
        };
        let url = format!("{}/{id}", served.site.origin());
        served.cases().insert(id.clone(), case);
        Ok(Ticket { served, id, name: random()?, url, stage: watched })
    }
}

impl Ticket {
    /// The address for the person's browser.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A name for the question, which is not the secret in its address.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What the person says.
    pub(crate) async fn answer(&mut self) -> Answer {
        let answered = self.stage.wait_for(|stage| !matches!(stage, Stage::Open)).await;
        match answered.as_deref() {
            Ok(Stage::Answered(answer)) => *answer,
            _ => Answer::Dismissed,
        }
    }

    /// Tells the person what became of it.
    pub(crate) fn end(self, said: &str) {
        self.served.end(&self.id, said);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.served.end(&self.id, "This question was withdrawn. Nothing was sent.");
    }
}

async fn serve(clock: Arc<dyn Clock>) -> io::Result<Arc<Served>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let site = Site::new(listener.local_addr()?);
    let served = Arc::new(Served { site, clock, cases: Mutex::default() });
    tokio::spawn(accept(listener, served.clone()));
    Ok(served)
}

async fn accept(listener: TcpListener, served: Arc<Served>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(place) = room.clone().acquire_owned().await {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Too many open files, or a browser that went away: neither is worth ending for.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let served = served.clone();
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let served = served.clone();
                async move { Ok::<_, std::convert::Infallible>(served.answer(request).await) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(16 * 1024)
                .keep_alive(false);
            _ = http.serve_connection(TokioIo::new(stream), answer).await;
            drop(place);
        });
    }
}

type Reply = Response<Full<Bytes>>;

impl Served {
    fn cases(&self) -> MutexGuard<'_, HashMap<String, Case>> {
        let mut cases = self.cases.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        // What was said at the end stays for a while, for whoever looks again.
        cases.retain(|_, case| now.saturating_duration_since(case.since) < 2 * ANSWER_WITHIN);
        cases
    }

    fn end(&self, id: &str, said: &str) {
        if let Some(case) = self.cases().get_mut(id) {
            case.letter.clear();
            case.stage.send_if_modified(|stage| {
                let open = !matches!(stage, Stage::Over(_));
                if open {
                    *stage = Stage::Over(said.to_owned());
                }
                open
            });
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Reply {
        if let Err(why) = self.site.check(request.method(), request.headers()) {
            tracing::debug!(%why, "a request to the page was refused");
            return html::says(StatusCode::FORBIDDEN, "Refused", &why.to_string());
        }
        let id = request.uri().path().trim_start_matches('/').to_owned();
        let cookie = guard::cookie(request.headers());
        if *request.method() == Method::GET {
            return self.show(&id, cookie.as_deref()).await;
        }
        match self.take(&id, cookie.as_deref(), request).await {
            // The page is shown by a request of its own, so that loading it again answers nothing.
            Ok(()) => html::elsewhere(&format!("/{id}")),
            Err((status, why)) => html::says(status, "Not taken", why),
        }
    }

    /// The question, or what became of it.
    async fn show(&self, id: &str, cookie: Option<&str>) -> Reply {
        let mut stage = {
            let mut cases = self.cases();
            let Some(case) = cases.get_mut(id) else {
                return html::says(
                    StatusCode::NOT_FOUND,
                    "Nothing is asked here",
                    "This question is not open any more.",
                );
            };
            let first = case.opened.is_none();
            if !first && cookie != Some(case.cookie.as_str()) {
                return html::says(
                    StatusCode::FORBIDDEN,
                    "This question is open elsewhere",
                    "Its address works once, in the browser that opened it first. If that was not you, somebody else on this \
                     machine opened it: do not answer, and tell whoever looks after the machine.",
                );
            }
            if matches!(*case.stage.borrow(), Stage::Open) {
                let now = self.clock.now();
                case.opened.get_or_insert(now);
                let mut page = html::question(&case.letter, &case.token);
                if first {
                    let cookie =
                        format!("{}={}; Path=/{id}; HttpOnly; SameSite=Strict", guard::COOKIE, case.cookie);
                    if let Ok(cookie) = cookie.parse() {
                        page.headers_mut().insert(header::SET_COOKIE, cookie);
                    }
                }
                return page;
            }
            case.stage.subscribe()
        };
        // The mail is on its way to the service; its outcome is a moment off.
        let over = stage.wait_for(|stage| matches!(stage, Stage::Over(_)));
        let said = match tokio::time::timeout(PATIENCE, over).await {
            Ok(Ok(seen)) => seen.said().to_owned(),
            _ => "Your answer was taken. The client tells you what came of it.".to_owned(),
        };
        html::says(StatusCode::OK, "Thank you", &said)
    }

    /// Takes the person's answer.
    async fn take(
        &self,
        id: &str,
        cookie: Option<&str>,
        request: Request<Incoming>,
    ) -> Result<(), (StatusCode, &'static str)> {
        let body =
            tokio::time::timeout(PATIENCE, Limited::new(request.into_body(), LARGEST_FORM).collect()).await;
        let form = match body {
            Ok(Ok(body)) => guard::form(&body.to_bytes()),
            _ => return Err((StatusCode::BAD_REQUEST, "The form did not come whole.")),
        };
        let over = (StatusCode::GONE, "This question is not open any more. Nothing was sent.");
        let cases = self.cases();
        let case = cases.get(id).ok_or(over)?;
        let opened = case.opened.filter(|_| cookie == Some(case.cookie.as_str()));
        let (Some(opened), Some(token), Some(answer)) = (opened, form.token, form.answer) else {
            return Err((StatusCode::FORBIDDEN, "This is not the form of this question. Nothing was sent."));
        };
        if !bool::from(token.as_bytes().ct_eq(case.token.as_bytes())) {
            return Err((StatusCode::FORBIDDEN, "This is not the form of this question. Nothing was sent."));
        }
        let answer = answer.after(self.clock.now().saturating_duration_since(opened));
        let taken = case.stage.send_if_modified(|stage| {
            let open = matches!(stage, Stage::Open);
            if open {
                *stage = Stage::Answered(answer);
            }
            open
        });
        if taken { Ok(()) } else { Err(over) }
    }
}
