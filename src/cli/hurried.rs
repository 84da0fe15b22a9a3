//! The command lines that programs wait for on each of their steps: a hook and `--version`. They
//! are read without building the other commands, which costs more than what they do.

use super::{
    Context, Exit,
    hook::{self, HookArgs},
    say,
    version::VERSION,
};
use clap::{Parser, Subcommand};
use std::{env, ffi::OsString, path::PathBuf};

/// A hook's command line.
#[derive(Debug, Parser)]
struct HookLine {
    #[arg(long, global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: OnlyHook,
}

#[derive(Debug, Subcommand)]
enum OnlyHook {
    Hook(HookArgs),
}

/// Runs a hook or prints the version. `None` for any other command line, and for one with a
/// mistake, which the whole parser reports.
pub(super) fn main() -> Option<Exit> {
    let words: Vec<OsString> = env::args_os().collect();
    if let [_, version] = words.as_slice()
        && (version == "--version" || version == "-V")
    {
        return Some(match say::out(&format!("countersign {VERSION}")) {
            Ok(()) => Exit::Good,
            Err(_) => Exit::Fault,
        });
    }
    if !words.iter().take(4).any(|word| word == "hook") {
        return None;
    }
    let signals = match hook::begin(&words) {
        Ok(signals) => signals,
        Err(error) => {
            say::problem(&error);
            return Some(Exit::Usage);
        }
    };
    let HookLine { config, command: OnlyHook::Hook(args) } =
        HookLine::try_parse_from(words).ok()?;
    Some(hook::run(&Context::new(config), &args, signals))
}
