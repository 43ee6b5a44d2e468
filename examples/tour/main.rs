//! The tour: the whole product in under a minute, for people.
//!
//!     cargo run --example tour
//!
//! starts the mock server inside this process and walks through everything; nothing leaves the machine. With
//! `SHARED_INBOX_BASE_URL` and a test key in `SHARED_INBOX_API_KEY`, the parts that a sandbox allows run
//! against that service instead. Every result on the screen is what the call above it gave back.

mod agent;
mod receiver;
mod sandbox;
mod show;
mod whole;

use std::{env, process::ExitCode};

use shared_inbox::Client;
use show::{Error, Show};

#[tokio::main]
async fn main() -> ExitCode {
    let mut show = Show::new();
    match tour(&mut show).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nThe tour stopped here: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn tour(show: &mut Show) -> Result<(), Error> {
    show.say("A tour of shared-inbox. You see the code that runs and, behind →, what came back.");
    if env::var_os("SHARED_INBOX_BASE_URL").is_none() {
        whole::tour(show).await?;
    } else {
        let inbox = Client::from_env()?;
        if !inbox.is_test() {
            return Err(
                "SHARED_INBOX_API_KEY is a live key. The tour writes and sends mail: use a test key \
                        (rk_test_…), or unset SHARED_INBOX_BASE_URL to tour the mock"
                    .into(),
            );
        }
        sandbox::tour(show, &inbox).await?;
    }
    let took = show.elapsed().as_secs_f32();
    show.line(format_args!("\nThat was all of it, in {took:.1} seconds. What to try next:\n"));
    for (command, what) in [
        ("cargo run --example triage", "an agent that sorts mail and drafts answers"),
        ("cargo run --example webhook_receiver", "webhooks in an axum server, each handled once"),
        ("cargo test --example ci_test", "how to test an app of yours against the mock"),
        ("cargo run --bin shared-inbox-mock", "the mock as a server, for tests in any language"),
        ("cargo run --bin shared-inbox-mcp -- --help", "the inbox in a desktop MCP client"),
        ("cargo doc --open -p shared-inbox", "everything the client can do"),
    ] {
        show.line(format_args!("  {command:<44}  {what}"));
    }
    Ok(())
}
