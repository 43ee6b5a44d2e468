//! The mock server as a program, and the tools around it; see `shared-inbox-mock --help`.
#![forbid(unsafe_code)]

mod cli;
mod conform;
mod explore;
mod lifetime;
mod page;
mod pipe;
mod redteam;
mod redteam_pipe;
mod report_files;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
