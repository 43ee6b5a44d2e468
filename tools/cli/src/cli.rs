//! The command line of `shared-inbox-mock`.
//!
//! An error at the start is one line on stderr, and the exit status is 2.

use std::{
    ffi::OsString,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{
    Args, Parser, Subcommand,
    error::{ContextKind, ContextValue},
};
use shared_inbox::Timestamp;
use shared_inbox_mock::{
    MockServer, MockServerBuilder, Ready, StartError, clock::ClockMode, webhooks::WebhookTargets,
};
use tokio::runtime;

use crate::{conform::ConformCli, explore::ExploreCli, lifetime, redteam::RedteamCli};

const EXAMPLES: &str = "\
Examples:
  shared-inbox-mock                              serve a demo workspace, and print addresses, keys and a command to try
  shared-inbox-mock --empty --clock manual       for tests: nothing in it, and time moves only when you say so
  shared-inbox-mock conform --base-url URL       is a service right?
  shared-inbox-mock explore --scenario FILE -- COMMAND     is my app right?
  shared-inbox-mock redteam -- COMMAND           is my agent safe?";

/// The whole shared-inbox service in memory: REST, MCP, webhooks, a clock you can move, faults you can switch
/// on.
#[derive(Parser)]
#[command(name = "shared-inbox-mock", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: Options,
}

#[derive(Subcommand)]
enum Command {
    /// Print the JSON Schema of a world document, the format of --seed
    Schema,
    /// Check that a running mock responds, for the health check of a container
    Health {
        /// Where it listens
        #[arg(value_name = "ADDR", default_value = "127.0.0.1:4010", value_parser = address)]
        at: SocketAddr,
    },
    Conform(ConformCli),
    Explore(ExploreCli),
    Redteam(RedteamCli),
    /// Runs a command that ends with the process that started this one
    #[command(name = lifetime::WITH_PARENT, hide = true)]
    WithParent {
        parent: u32,
        #[arg(last = true)]
        command: Vec<OsString>,
    },
}

#[derive(Args)]
struct Options {
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4010", value_parser = address)]
    listen: SocketAddr,
    /// `manual`: time stands still until the control API moves it
    #[arg(long, value_name = "real|manual", default_value = "real")]
    clock: ClockMode,
    /// Where a manual clock starts, such as 2026-03-01T09:00:00Z, so that every run shows the same times
    #[arg(long, value_name = "TIME")]
    start_at: Option<Timestamp>,
    /// Start from this world document (the shape of `GET /_mock/state`)
    #[arg(long, value_name = "FILE", conflicts_with = "empty")]
    seed: Option<PathBuf>,
    /// Start from a workspace with no conversations, tags or documents
    #[arg(long)]
    empty: bool,
    /// Requests a minute for each key
    #[arg(long, value_name = "N|off", default_value = "120", value_parser = rate)]
    rate_limit: Rate,
    /// `loopback`: also receivers on this machine, http or https; `public`: the service's own rule
    #[arg(long, value_name = "loopback|public", default_value = "loopback")]
    webhook_targets: WebhookTargets,
    /// The bearer token of the control API; required when --listen is not a loopback address
    #[arg(long, value_name = "TOKEN", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    control_token: Option<String>,
    /// The most memory for the snapshots (three quarters of it) and the journals of all worlds, in MiB
    #[arg(long, value_name = "MIB", default_value = "1024", value_parser = memory)]
    memory_limit: usize,
    /// Written, whole, once the server accepts connections
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Print the ready document as one line instead of the banner
    #[arg(long)]
    json: bool,
    /// Leave out the console, the page at `/`
    #[arg(long)]
    no_console: bool,
    /// No line on stderr for each request
    #[arg(long)]
    quiet: bool,
    /// End when the parent process does: when stdin closes, and on Unix also when the parent is gone. Ctrl-C
    /// is then left to the parent. For test runners, so that no server outlives them
    #[arg(long, overrides_with = "exit_with_parent")]
    exit_with_parent: bool,
}

#[derive(Clone, Copy)]
struct Rate(Option<u32>);

fn rate(text: &str) -> Result<Rate, &'static str> {
    match text.parse() {
        _ if text == "off" => Ok(Rate(None)),
        Ok(requests @ 1..) => Ok(Rate(Some(requests))),
        _ => Err("must be a number from 1, or `off`"),
    }
}

/// Reads a number of MiB; returns bytes.
fn memory(text: &str) -> Result<usize, &'static str> {
    let bytes = text.parse::<usize>().ok().filter(|mib| *mib > 0).and_then(|mib| mib.checked_mul(1 << 20));
    bytes.ok_or("must be a number of MiB, from 1")
}

fn address(text: &str) -> Result<SocketAddr, String> {
    if text.parse::<u16>().is_ok() {
        return Err(format!("must be an address and a port; tip: 127.0.0.1:{text}"));
    }
    let found = text.to_socket_addrs().map_err(|error| format!("must be an address and a port: {error}"))?;
    // A name such as localhost may resolve to both; a program that uses 127.0.0.1 must reach it.
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found.into_iter().next().ok_or_else(|| "names no address".to_owned())
}

/// Runs the program with these arguments, the first being its name.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return fail(&describe_usage_error(&error)),
        Err(help) => {
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    let done = match cli.command {
        Some(Command::Schema) => schema(),
        Some(Command::Health { at }) => health(at),
        Some(Command::Conform(conform)) => return conform.run().unwrap_or_else(|message| fail(&message)),
        Some(Command::Explore(explore)) => return explore.run().unwrap_or_else(|message| fail(&message)),
        Some(Command::Redteam(redteam)) => return redteam.run().unwrap_or_else(|message| fail(&message)),
        Some(Command::WithParent { parent, command }) => lifetime::become_child(parent, &command),
        None => serve(cli.options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => fail(&message),
    }
}

fn fail(message: &str) -> ExitCode {
    let mut out = io::stderr().lock();
    // What was said by somebody else, such as the app under test, comes behind an empty line; a place in a
    // file has lines too.
    let _ = writeln!(out, "shared-inbox-mock: {}", message.trim_end().replacen("\n\n", "\n", 1));
    ExitCode::from(2)
}

/// Returns what is wrong with the command line, and the tip, on one line.
fn describe_usage_error(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = |lines: &mut dyn Iterator<Item = &str>| lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let wrong = line(&mut text.lines().take_while(|line| !line.trim().is_empty()));
    let wrong = wrong.strip_prefix("error: ").unwrap_or(&wrong).to_owned();
    let mut tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if flag.starts_with("--port") => {
            format!("{wrong}; tip: use --listen 127.0.0.1:PORT")
        }
        _ => tips.next().map_or(wrong.clone(), |tip| format!("{wrong}; tip: {tip}")),
    }
}

fn schema() -> Result<(), String> {
    // A closed pipe is no failure.
    let _ = io::stdout().write_all(shared_inbox_mock::world_schema().as_bytes());
    Ok(())
}

/// Sends one request without an HTTP client: an image with only this program has no other.
fn health(at: SocketAddr) -> Result<(), String> {
    const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);
    let ask = || {
        let mut stream = TcpStream::connect_timeout(&at, HEALTH_TIMEOUT)?;
        stream.set_read_timeout(Some(HEALTH_TIMEOUT))?;
        write!(stream, "GET /_mock/health HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n")?;
        let mut line = String::new();
        BufReader::new(stream.take(100)).read_line(&mut line)?;
        Ok(line)
    };
    let response = ask().map_err(|error: io::Error| format!("{at} does not respond: {error}"))?;
    match response.split(' ').nth(1) {
        Some("200") => Ok(()),
        _ => Err(format!("{at} does not respond as a mock does: {:?}", response.trim_end())),
    }
}

fn serve(options: Options) -> Result<(), String> {
    let (json, ready_file) = (options.json, options.ready_file.clone());
    let with_parent = options.exit_with_parent;
    let console = !options.no_console;
    if let Some(file) = &ready_file {
        // A file of a former run would signal too early.
        let _ = std::fs::remove_file(file);
    }
    let seed = options.seed.clone();
    let builder = options.builder()?;
    let runtime = runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    let ended = runtime.block_on(async {
        let server = builder.bind().map_err(|error| match (&seed, &error) {
            (Some(file), StartError::Seed(_)) => format!("--seed {}: {error}", file.display()),
            _ => error.to_string(),
        })?;
        let end = lifetime::until_ended(with_parent)
            .map_err(|error| format!("cannot wait for signals: {error}"))?;
        announce(&server.ready(), json, console, ready_file.as_deref())?;
        server.serve_until(end).await;
        Ok(())
    });
    // Does not wait for a name lookup of a webhook.
    runtime.shutdown_background();
    ended
}

impl Options {
    fn builder(self) -> Result<MockServerBuilder, String> {
        let mut builder = MockServer::builder()
            .listen(self.listen)
            .clock(self.clock)
            .rate_limit(self.rate_limit.0)
            .webhook_targets(self.webhook_targets)
            .memory_limit(self.memory_limit)
            .log(!self.quiet);
        if let Some(time) = self.start_at {
            builder = builder.start_at(time);
        }
        if let Some(token) = self.control_token {
            builder = builder.control_token(token);
        }
        if self.no_console {
            builder = builder.no_console();
        }
        if let Some(file) = &self.seed {
            let document = std::fs::read(file)
                .map_err(|error| format!("--seed {}: cannot be read: {error}", file.display()))?;
            builder = builder.seed(document);
        }
        Ok(if self.empty { builder.empty() } else { builder })
    }
}

fn announce(ready: &Ready, json: bool, console: bool, file: Option<&Path>) -> Result<(), String> {
    let document = serde_json::to_string(ready).map_err(|error| error.to_string())?;
    if let Some(file) = file {
        write_whole(file, &document)
            .map_err(|error| format!("--ready-file {}: cannot be written: {error}", file.display()))?;
    }
    let mut out = io::stdout().lock();
    // The server is usable without stdout.
    let _ = if json { writeln!(out, "{document}") } else { writeln!(out, "{}", banner(ready, console)) };
    let _ = out.flush();
    Ok(())
}

/// Returns the text that is printed when the server has started.
fn banner(ready: &Ready, console: bool) -> String {
    let Ready { base_url, mcp_url, control_url, console_url, keys, .. } = ready;
    let console = if console { format!("\n  Console   {console_url}") } else { String::new() };
    format!(
        "shared-inbox-mock {version} is ready

  REST      {base_url}
  MCP       {mcp_url}
  Control   {control_url}{console}

  Live key  {live}
  Test key  {test}

Try it:
  curl -H 'Authorization: Bearer {live}' '{base_url}/conversations?limit=3'
",
        version = env!("CARGO_PKG_VERSION"),
        live = keys.live,
        test = keys.test,
    )
}

/// Writes a file in one step: a reader never sees a part of it.
fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let mut name = file.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = file.with_file_name(name);
    std::fs::write(&temporary, format!("{text}\n"))?;
    std::fs::rename(&temporary, file).inspect_err(|_| drop(std::fs::remove_file(&temporary)))
}
