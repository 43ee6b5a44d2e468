//! The lifetime of the program: until a signal, or the end of its parent process.

use std::{
    ffi::{OsStr, OsString},
    io, thread,
};

use tokio::sync::oneshot;

/// Listens for signals from now on. The future completes when the server has to end: at SIGTERM, and at
/// SIGINT or, with `with_parent`, at the end of the parent.
///
/// A terminal sends Ctrl-C to every process in the foreground. A server that ends with its parent ignores it,
/// so that the parent can still use the server while it cleans up.
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

/// Watches the parent from now on. The future completes when stdin closes, which happens however the parent
/// ends.
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

/// Completes when this process has another parent than now. A process that the parent forked may still hold
/// the other end of stdin when the parent is gone.
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

/// The name of the hidden command that [`become_child`] is behind.
pub(crate) const WITH_PARENT: &str = "with-parent";

/// Returns the words that start a command which ends with this process, however this process ends; none where
/// the system cannot do that.
pub(crate) fn launcher() -> Vec<OsString> {
    let program = std::env::current_exe().ok().filter(|_| cfg!(target_os = "linux"));
    let Some(program) = program else { return Vec::new() };
    let parent = std::process::id().to_string();
    [program.as_os_str(), OsStr::new(WITH_PARENT), OsStr::new(&parent), OsStr::new("--")]
        .map(OsStr::to_owned)
        .to_vec()
}

/// Becomes a command that the kernel ends with the process `parent`, which started this one.
#[cfg(target_os = "linux")]
pub(crate) fn become_child(parent: u32, command: &[OsString]) -> Result<(), String> {
    use std::os::unix::process::{CommandExt, parent_id};
    let (program, arguments) = command.split_first().ok_or("a command is required after `--`")?;
    let kill = Some(rustix::process::Signal::KILL);
    rustix::process::set_parent_process_death_signal(kill).map_err(|error| error.to_string())?;
    if parent_id() != parent {
        return Err("the process that started this one has ended".to_owned());
    }
    let error = std::process::Command::new(program).args(arguments).exec();
    Err(format!("{} cannot be started: {error}", program.to_string_lossy()))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn become_child(_: u32, _: &[OsString]) -> Result<(), String> {
    Err("this system cannot end a command with its parent".to_owned())
}
