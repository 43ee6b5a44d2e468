//! The lifetime of the program: until a signal, or the end of its parent process.

use std::{io, thread};

use tokio::sync::oneshot;

/// Listens for signals from now on. The future completes when the server has to end: at SIGTERM, and at SIGINT or, with
/// `with_parent`, at the end of the parent.
///
/// A terminal sends Ctrl-C to every process in the foreground. A server that ends with its parent ignores it, so that the
/// parent can still use the server while it cleans up.
pub(crate) fn until_ended(with_parent: bool) -> io::Result<impl Future<Output = ()>> {
    until_ended_or(with_parent.then(parent_end))
}

/// Returns the same, where someone else reads stdin and sees it close.
pub(crate) fn until_ended_with(stdin_closed: oneshot::Receiver<()>) -> io::Result<impl Future<Output = ()>> {
    until_ended_or(Some(closed_or_replaced(stdin_closed)))
}

fn until_ended_or(parent: Option<impl Future<Output = ()>>) -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    let (mut interrupt, mut terminate) = {
        use tokio::signal::unix::{SignalKind, signal};
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    #[cfg(windows)]
    let (mut interrupt, mut terminate) =
        (tokio::signal::windows::ctrl_c()?, tokio::signal::windows::ctrl_close()?);
    Ok(async move {
        let Some(parent) = parent else {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            return;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            () = parent => {}
        }
    })
}

/// Watches the parent from now on. The future completes when stdin closes, which happens however the parent ends.
fn parent_end() -> impl Future<Output = ()> {
    let (closed, stdin_closed) = oneshot::channel();
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = closed.send(());
    });
    closed_or_replaced(stdin_closed)
}

fn closed_or_replaced(stdin_closed: oneshot::Receiver<()>) -> impl Future<Output = ()> {
    let replaced = parent_replaced();
    async move {
        tokio::select! {
            _ = stdin_closed => {}
            () = replaced => {}
        }
    }
}

/// Completes when this process has another parent than now. A process that the parent forked may still hold the other end of
/// stdin when the parent is gone.
#[cfg(unix)]
fn parent_replaced() -> impl Future<Output = ()> {
    use std::{os::unix::process::parent_id, time::Duration};
    const POLL_INTERVAL: Duration = Duration::from_millis(200);
    let parent = parent_id();
    async move {
        while parent_id() == parent {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

#[cfg(windows)]
fn parent_replaced() -> impl Future<Output = ()> {
    std::future::pending()
}
