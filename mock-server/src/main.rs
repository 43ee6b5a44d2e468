//! The mock server as a program; `shared-inbox-mock --help` says what it takes.

use std::process::ExitCode;

fn main() -> ExitCode {
    shared_inbox_mock::run_program(std::env::args_os())
}
