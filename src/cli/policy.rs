//! `countersign policy …`: the policy without a daemon.

mod check;
mod explain;
mod mode;
pub(super) mod outlook;
mod rules;

pub(super) use rules::home;

use super::{Context, Exit, say};
use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use countersign_policy_tools::{examples, import, score};
use countersign_tokens::clock;
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// The rules that the daemon uses, as far as a file has them.
pub(super) fn load_rules(context: &Context) -> Result<countersign_policy::Rules> {
    Ok(rules::load(context, None)?.rules)
}

#[derive(Debug, clap::Args)]
pub(super) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PolicyCommand {
    /// Rule on calls: one JSON line in, one out, in order
    Check(check::CheckArgs),
    /// Say which word of which command meets which rule
    Explain(explain::ExplainArgs),
    /// Run the examples that stand beside rules; for CI
    Test(PolicyTestArgs),
    /// Print the rules of another agent as permissions.jsonc
    Import(PolicyImportArgs),
    /// Score the policy on corpora of cases, and print the table
    Score(PolicyScoreArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code 1 when the file cannot be used or an example is ruled on otherwise than it says.")]
struct PolicyTestArgs {
    /// The rules file [default: the one that the daemon uses]
    #[arg(value_name = "FILE")]
    rules: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: countersign policy import claude-code ~/.claude/settings.json > permissions.jsonc")]
struct PolicyImportArgs {
    /// Whose settings these are
    #[arg(value_enum)]
    from: From,
    /// The settings file; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum From {
    /// The permissions in Claude Code's settings.json
    ClaudeCode,
    /// The permission config of opencode.json
    Opencode,
}

#[derive(Debug, clap::Args)]
struct PolicyScoreArgs {
    /// A folder with bypass.jsonl, benign.jsonl and the like
    #[arg(value_name = "DIR")]
    corpora: PathBuf,
}

pub(super) fn run(context: &Context, args: PolicyArgs) -> Result<Exit> {
    match args.command {
        PolicyCommand::Check(args) => check::run(&args),
        PolicyCommand::Explain(args) => explain::run(context, args),
        PolicyCommand::Test(args) => test(context, &args),
        PolicyCommand::Import(args) => import(&args),
        PolicyCommand::Score(args) => score(&args.corpora),
    }
}

fn test(context: &Context, args: &PolicyTestArgs) -> Result<Exit> {
    let loaded = rules::load(context, args.rules.as_deref())?;
    for warning in loaded.rules.warnings() {
        say::aside(&warning.to_string());
    }
    let outcome = examples::run(&loaded.rules, clock::now_ms());
    for surprise in &outcome.surprises {
        say::out(&surprise.to_string())?;
    }
    let (all, wrong) = (outcome.examples, outcome.surprises.len());
    say::out(&format!("{}: {} of {all} examples hold", loaded.name, all.saturating_sub(wrong)))?;
    Ok(if wrong == 0 { Exit::Good } else { Exit::Fault })
}

fn import(args: &PolicyImportArgs) -> Result<Exit> {
    let text = read(&args.file)?;
    let imported = match args.from {
        From::ClaudeCode => import::claude_settings(&text),
        From::Opencode => import::opencode(&text),
    };
    say::out(imported.with_context(|| args.file.display().to_string())?.trim_end())?;
    Ok(Exit::Good)
}

fn score(folder: &Path) -> Result<Exit> {
    let list = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> = list.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    // `read_dir` has no order, and the table must be the same each time.
    files.sort();
    if files.is_empty() {
        bail!("{} holds no corpora (*.jsonl)", folder.display());
    }
    let corpora = files.iter().map(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, read(file)?))
    });
    let corpora = corpora.collect::<Result<Vec<_>>>()?;
    let table = score::score(&corpora).map_err(anyhow::Error::msg)?;
    let alone = score::defaults(&corpora).map_err(anyhow::Error::msg)?;
    say::out(format!("{table}\nThe built-in rules alone:\n\n{alone}").trim_end())?;
    Ok(Exit::Good)
}

/// Reads a whole file; `-` is stdin.
fn read(file: &Path) -> Result<String> {
    let mut text = String::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().read_to_string(&mut text).map(drop),
        false => fs::read_to_string(file).map(|whole| text = whole),
    };
    read.with_context(|| file.display().to_string())?;
    Ok(text)
}
