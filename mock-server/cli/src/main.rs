//! The mock server as a program; see `shared-inbox-mock --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    shared_inbox_mock::run_program(std::env::args_os())
}
