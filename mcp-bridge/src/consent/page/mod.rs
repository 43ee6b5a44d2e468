//! The bridge's own page, on this machine alone: asks for consent to one email where the client cannot.
//!
//! A person opens it with a secret that the model never sees: by a private file that the bridge opens in
//! their browser, or by an address that their client shows. The secret works once. The browser that used it
//! gets a cookie, which is required from then on. On Linux, connections of other users are closed at once.

mod answering;
mod guard;
mod html;
mod visitor;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OnceCell, OwnedSemaphorePermit, Semaphore},
};

use super::{
    ANSWER_TIMEOUT, AskMethod, EmailPreview,
    page_access::PageAccess,
    question::{Owner, Questions},
    secret,
};
use guard::Site;
use visitor::is_another_user;

pub use visitor::knows_its_visitors;

/// How long a browser may take to send its request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections are held at once; browsers open a few ahead.
const MAX_CONNECTIONS: usize = 16;

/// The page, which is served when it is first needed.
pub(crate) struct Page {
    questions: Questions,
    served: OnceCell<Arc<PageServer>>,
}

/// How a person comes to the page of a question.
pub(crate) struct PageLink {
    /// What the person's browser is to open: a private file, or an address.
    pub(crate) target: String,
    /// An id of the question that does not reveal its address.
    pub(crate) name: String,
}

struct PageServer {
    site: Site,
    address: SocketAddr,
    questions: Questions,
}

impl Page {
    pub(crate) fn new(questions: Questions) -> Self {
        Self { questions, served: OnceCell::new() }
    }

    /// Shows a question on the page, asked by a model in this client.
    pub(crate) async fn open(
        &self,
        owner: &Owner,
        preview: &EmailPreview,
        client: Option<&str>,
        method: AskMethod,
    ) -> io::Result<PageLink> {
        let served = self.served.get_or_try_init(|| serve(self.questions.clone())).await?;
        let origin = served.site.origin();
        let entry_form =
            (method == AskMethod::Browser).then_some(|secret: &str| html::entry_form(origin, secret));
        let (access, file) = PageAccess::new(html::preview(preview, client), entry_form)?;
        let target = file.unwrap_or_else(|| format!("{origin}/{}", access.id));
        owner.add_page(access);
        Ok(PageLink { target, name: secret().map_err(io::Error::other)? })
    }
}

async fn serve(questions: Questions) -> io::Result<Arc<PageServer>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let served = Arc::new(PageServer { site: Site::new(address), address, questions });
    tokio::spawn(accept(listener, served.clone()));
    Ok(served)
}

async fn accept(listener: TcpListener, served: Arc<PageServer>) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut warned = false;
    loop {
        let (stream, visitor) = match listener.accept().await {
            Ok(arrived) => arrived,
            // Too many open files, or a browser that went away: neither is fatal.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // Closed before it takes a place: another user must not keep the person's browser out.
        if is_another_user(visitor, served.address) {
            if !std::mem::replace(&mut warned, true) {
                tracing::warn!("a connection to the page that is not this user's was closed");
            }
            continue;
        }
        let Ok(place) = room.clone().acquire_owned().await else { return };
        tokio::spawn(serve_browser(stream, served.clone(), place));
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
