//! Parse, run, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    countersign::cli::main()
}
