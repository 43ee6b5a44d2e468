//! The program: serves MCP over stdio, or helps to set that up.

mod cli;
mod config;
mod doctor;
mod key;
mod logging;

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
    time::Duration,
};

use rmcp::ServiceExt;
use shared_inbox_mcp::{
    Bridge,
    program::Stdio,
    settings::{API_KEY, Audit, Settings, stored_key, variable},
};

use cli::{Cli, Command, Options};
use config::{DesktopClient, WrittenSettings};

/// How long running calls may take to finish when the client disconnects.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);
/// How long creates may take to finish: they may have taken effect, and their outcome is recorded.
const CREATE_GRACE: Duration = Duration::from_secs(8);
/// The status for a command line or settings that cannot work.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    if let Some(why) = cli::key_among(std::env::args_os().skip(1)) {
        eprintln!("error: {why}");
        return ExitCode::from(EXIT_USAGE);
    }
    let cli = Cli::of_process();
    logging::start(cli.options.verbose);
    if let Some(Command::Config { client, write, file }) = cli.command {
        return configure(client, write.then_some(file), &cli.options);
    }
    if let Some(Command::Key { action }) = &cli.command {
        return match key::manage(action, &cli.options.settings().access) {
            Ok(text) => said(&text),
            Err(why) => wrong(&why),
        };
    }
    // One thread: the bridge waits for a pipe and a socket, and a desktop runs many such programs.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return wrong(&error.to_string()),
    };
    let code = runtime.block_on(run(&cli));
    // A read of stdin that is under way on another thread would hold the program up.
    runtime.shutdown_background();
    code
}

async fn run(cli: &Cli) -> ExitCode {
    let mut settings = cli.options.settings();
    let _sandbox = if cli.options.sandbox {
        match sandbox(&mut settings).await {
            Ok(sandbox) => Some(sandbox),
            Err(why) => return wrong(&why),
        }
    } else {
        None
    };
    if let Some(file) = &cli.options.audit {
        match Audit::open(file) {
            Ok(audit) => settings.audit = Some(audit.into()),
            Err(error) => return wrong(&format!("--audit: {}: {error}", file.display())),
        }
    }
    match cli.command {
        Some(Command::Doctor) => {
            let report = doctor::examine(&settings).await;
            print(&report.text);
            if report.works { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        _ => serve(settings).await,
    }
}

async fn serve(settings: Settings) -> ExitCode {
    if std::io::stdin().is_terminal() {
        eprintln!(
            "A client starts this program and speaks MCP with it on stdin and stdout; nothing happens in a terminal.\n\
             To set a client up:      shared-inbox-mcp config --help\n\
             To see whether it works: shared-inbox-mcp doctor\n\
             Ctrl-D ends it."
        );
    }
    let (transport, closed) = Stdio::new();
    let bridge = std::sync::Arc::new(Bridge::new(settings));
    tokio::spawn({
        let bridge = bridge.clone();
        async move { bridge.warm_up().await }
    });
    let served = bridge.clone();
    let ended = async {
        match served.serve(transport).await {
            Ok(running) => _ = running.waiting().await,
            Err(error) => tracing::debug!(%error, "the client went before it said anything"),
        }
    };
    tokio::select! {
        () = ended => {}
        _ = terminated() => {}
        () = async { closed.cancelled().await; tokio::time::sleep(SHUTDOWN_GRACE).await } => {}
    }
    bridge.finish(CREATE_GRACE).await;
    ExitCode::SUCCESS
}

#[cfg(unix)]
async fn terminated() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = term.recv() => Ok(()),
        _ = hangup.recv() => Ok(()),
        result = tokio::signal::ctrl_c() => result,
    }
}

#[cfg(not(unix))]
async fn terminated() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}

/// Starts the mock server in this process, with its demo workspace; it ends when what this gives is dropped.
#[cfg(feature = "sandbox")]
async fn sandbox(settings: &mut Settings) -> Result<shared_inbox_mock::MockServer, String> {
    let started = shared_inbox_mock::MockServer::builder().try_start().await;
    let mock = started.map_err(|error| format!("the sandbox did not start: {error}"))?;
    settings.access.client = Some(mock.client());
    settings.access.demo = true;
    eprintln!("A demo inbox runs inside this program. To look into it: {}", mock.ready().console_url);
    Ok(mock)
}

#[cfg(not(feature = "sandbox"))]
async fn sandbox(_settings: &mut Settings) -> Result<(), String> {
    Err("this program was built without the sandbox".into())
}

fn configure(
    client: DesktopClient,
    write: Option<Option<std::path::PathBuf>>,
    options: &Options,
) -> ExitCode {
    let command = match std::env::current_exe() {
        Ok(command) => command,
        Err(error) => return wrong(&format!("the path of this program is not known: {error}")),
    };
    // The key is never printed, so only its form is checked.
    let key = write.is_some().then(|| variable(API_KEY)).flatten();
    let access = options.settings().access;
    if let Err(why) = access.check(key.filter(|_| !options.sandbox)) {
        return wrong(&why);
    }
    let is_stored = access.address().is_some_and(|base_url| matches!(stored_key(&base_url), Ok(Some(_))));
    let launch = options.launch(client, command, is_stored);
    let Some(path) = write.clone().flatten().or_else(|| client.file()) else {
        return wrong("where this client keeps its settings is not known: name the file with --write --file");
    };
    let path = std::path::absolute(&path).unwrap_or(path);
    if write.is_some() {
        return match client.write(&launch, &path) {
            Ok(None) => said(&format!("{} has these settings already.", path.display())),
            Ok(Some(WrittenSettings { backup, changes, closed })) => {
                let did = if backup.is_some() { "was changed" } else { "was made" };
                eprintln!("{} {did}:", path.display());
                changes.iter().for_each(|change| eprintln!("  {change}"));
                if let Some(backup) = backup {
                    eprintln!("The file as it was: {}", backup.display());
                }
                if closed {
                    eprintln!("Only you can read it now: it holds the key, and others could read it before.");
                }
                said(client.hint(&launch))
            }
            Err(why) => wrong(&why),
        };
    }
    eprintln!("Put this into {}:\n", path.display());
    print(&client.settings(&launch));
    said(&format!("\n{}", client.hint(&launch)))
}

fn said(text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::SUCCESS
}

fn wrong(text: &str) -> ExitCode {
    eprintln!("error: {text}");
    ExitCode::from(EXIT_USAGE)
}

/// Prints, and ignores a closed output.
fn print(text: &str) {
    _ = std::io::stdout().write_all(text.as_bytes());
}
