//! The bridge's own page, on this machine alone: asks for consent to one email where the client cannot.
//!
//! A person opens it with a secret that the model never sees: by a private file that the bridge opens in their browser, or by an
//! address that their client shows. The secret works once. The browser that used it gets a cookie, which is required from then
//! on. On Linux, connections of other users are closed at once.

mod answering;
mod guard;
mod html;
mod private_file;
mod visitor;

use std::{
    collections::HashMap,
    future::poll_fn,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::{Duration, Instant},
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use shared_inbox::{Timestamp, clock::Clock};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OnceCell, OwnedSemaphorePermit, Semaphore, watch},
};

use super::{ANSWER_TIMEOUT, AskMethod, ClosingPage, Decision, EmailPreview, secret};
use guard::Site;
use visitor::Connections;

pub use private_file::PrivateFile;
pub(crate) use private_file::remove_leftovers;
pub use visitor::knows_its_visitors;

/// How long a browser may take to send its request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections are held at once; browsers open a few ahead.
const MAX_CONNECTIONS: usize = 16;
/// How many connections are looked up at once.
const MAX_ARRIVALS: usize = 256;

/// The page, which is served when it is first needed.
pub(crate) struct Page {
    clock: Arc<dyn Clock>,
    served: OnceCell<Arc<PageServer>>,
}

/// One question on the page. Dropping it closes the question and forgets the email.
pub(crate) struct PageQuestion {
    served: Arc<PageServer>,
    id: String,
    /// An id of the question that does not reveal its address.
    name: String,
    target: String,
    stage: watch::Receiver<Stage>,
}

/// How far a question has come.
#[derive(Clone)]
enum Stage {
    Open,
    Answered(Decision, Timestamp),
    /// Over, since it was decided.
    Over(ClosingPage, Timestamp),
}

struct PageServer {
    site: Site,
    address: SocketAddr,
    clock: Arc<dyn Clock>,
    cases: Mutex<HashMap<String, QuestionState>>,
}

struct QuestionState {
    /// The email as a part of the page; gone when the question is over.
    preview: String,
    /// How the browser comes to the page.
    entry: EntryPoint,
    /// What the form must bring back.
    token: String,
    /// What the browser that opened the page first must show from then on.
    cookie: String,
    /// Whether a browser has come in, with the secret or by the address.
    entered: bool,
    /// When the question was first shown.
    shown: Option<Instant>,
    since: Instant,
    stage: watch::Sender<Stage>,
}

/// How a browser first comes to a question.
enum EntryPoint {
    /// Its address is the secret.
    Address,
    /// The file brings the secret, and is gone once it has been used.
    File { secret: String, file: Option<PrivateFile> },
}

impl Page {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, served: OnceCell::new() }
    }

    pub(crate) async fn open(&self, preview: &EmailPreview, way: AskMethod) -> io::Result<PageQuestion> {
        let served = self.served.get_or_try_init(|| serve(self.clock.clone())).await?.clone();
        let random = || secret().map_err(io::Error::other);
        let (id, token, cookie) = (random()? + &random()?, random()?, random()?);
        let (target, entry) = if way == AskMethod::Browser {
            let secret = random()? + &random()?;
            let file = PrivateFile::create(&html::entrance(served.site.origin(), &secret))?;
            (file.path().to_owned(), EntryPoint::File { secret, file: Some(file) })
        } else {
            (format!("{}/{id}", served.site.origin()), EntryPoint::Address)
        };
        let (stage, watched) = watch::channel(Stage::Open);
        let case = QuestionState {
            preview: html::preview(preview),
            entry,
            token,
            cookie,
            entered: false,
            shown: None,
            since: self.clock.now(),
            stage,
        };
        served.cases().insert(id.clone(), case);
        Ok(PageQuestion { served, id, name: random()?, target, stage: watched })
    }
}

impl PageQuestion {
    /// Returns what the person's browser is to open: a private file, or an address.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    /// Returns an id of the question that does not reveal its address.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns a function that checks whether a browser has opened the page.
    pub(crate) fn opened(&self) -> impl Fn() -> bool + use<> {
        let (served, id) = (self.served.clone(), self.id.clone());
        move || served.cases().get(&id).is_some_and(|case| case.entered)
    }

    pub(crate) async fn answer(&mut self) -> Decision {
        let answered = self.stage.wait_for(|stage| !matches!(stage, Stage::Open)).await;
        match answered.as_deref() {
            Ok(Stage::Answered(answer, _)) => *answer,
            _ => Decision::Dismissed,
        }
    }

    /// Shows the outcome to the person.
    pub(crate) fn end(self, closing: ClosingPage) {
        self.served.end(&self.id, closing);
    }
}

impl Drop for PageQuestion {
    fn drop(&mut self) {
        let agreed = matches!(*self.stage.borrow(), Stage::Answered(Decision::Yes, _));
        self.served.end(&self.id, ClosingPage::unknown(agreed));
    }
}

async fn serve(clock: Arc<dyn Clock>) -> io::Result<Arc<PageServer>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let served = Arc::new(PageServer { site: Site::new(address), address, clock, cases: Mutex::default() });
    tokio::spawn(accept(listener, served.clone()));
    Ok(served)
}

async fn accept(listener: TcpListener, served: Arc<PageServer>) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut warned = false;
    loop {
        let mut arrived = match listener.accept().await {
            Ok(first) => vec![first],
            // Too many open files, or a browser that went away: neither is fatal.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // A flood costs one look at the table of connections, and not one for each.
        while arrived.len() < MAX_ARRIVALS
            && let Poll::Ready(Ok(next)) = poll_fn(|cx| Poll::Ready(listener.poll_accept(cx))).await
        {
            arrived.push(next);
        }
        let connections = Connections::read().await;
        for (stream, visitor) in arrived {
            // Closed before it takes a place: another user must not keep the person's browser out.
            if connections.is_another_user(visitor, served.address) {
                if !std::mem::replace(&mut warned, true) {
                    tracing::warn!("a connection to the page that is not this user's was closed");
                }
                continue;
            }
            let Ok(place) = room.clone().acquire_owned().await else { return };
            tokio::spawn(serve_browser(stream, served.clone(), place));
        }
    }
}

async fn serve_browser(stream: TcpStream, served: Arc<PageServer>, _place: OwnedSemaphorePermit) {
    let answer = service_fn(move |request| {
        let served = served.clone();
        async move { Ok::<_, std::convert::Infallible>(served.answer(request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .max_buf_size(16 * 1024)
        .keep_alive(false);
    _ = http.serve_connection(TokioIo::new(stream), answer).await;
}

impl PageServer {
    fn cases(&self) -> MutexGuard<'_, HashMap<String, QuestionState>> {
        let mut cases = self.cases.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        // The closing page can be loaded again for a while.
        cases.retain(|_, case| now.saturating_duration_since(case.since) < 2 * ANSWER_TIMEOUT);
        cases
    }

    fn end(&self, id: &str, closing: ClosingPage) {
        if let Some(case) = self.cases().get_mut(id) {
            case.preview.clear();
            if let EntryPoint::File { file, .. } = &mut case.entry {
                *file = None;
            }
            case.stage.send_if_modified(|stage| {
                let decided = match stage {
                    Stage::Open => Timestamp::now(),
                    Stage::Answered(_, at) => *at,
                    Stage::Over(..) => return false,
                };
                *stage = Stage::Over(closing, decided);
                true
            });
        }
    }
}
