//! `countersign policy …`: the policy without a daemon.

mod check;

use super::{Context, Exit, caller::GivenCall, files, good, say};
use crate::{config::Profile, daemon};
use anyhow::{Context as _, Result, anyhow, bail};
use clap::ValueEnum;
use countersign_gate::links;
use countersign_policy::{Call, DEFAULT_RULES, Layers, Mode, Rule, Rules, Verdict};
use countersign_policy_tools::{examples, explain::explain, import, score};
use countersign_tokens::clock;
use std::{
    fs,
    path::{Path, PathBuf},
};

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
    Explain(ExplainArgs),
    /// Run the examples that stand beside rules; for CI
    Test(PolicyTestArgs),
    /// Print the rules of another agent as permissions.jsonc
    Import(PolicyImportArgs),
    /// Score the policy on corpora of cases, and print the table
    Score(PolicyScoreArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code 1 if the file cannot be used or an example gets another decision than it names.")]
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
        PolicyCommand::Explain(args) => run_explain(context, args).map(good),
        PolicyCommand::Test(args) => test(context, &args),
        PolicyCommand::Import(args) => import(&args).map(good),
        PolicyCommand::Score(args) => score(&args.corpora).map(good),
    }
}

fn test(context: &Context, args: &PolicyTestArgs) -> Result<Exit> {
    let loaded = load_named(context, args.rules.as_deref())?;
    for warning in loaded.rules.warnings() {
        say::aside(&warning.to_string());
    }
    let outcome = examples::run(&loaded.rules, clock::now_ms());
    for surprise in &outcome.surprises {
        say::out(&surprise.to_string())?;
    }
    let all = outcome.examples;
    let wrong = outcome.surprises.len();
    say::out(&format!("{}: {} of {all} examples pass", loaded.name, all.saturating_sub(wrong)))?;
    Ok(if wrong == 0 { Exit::Good } else { Exit::Fault })
}

fn import(args: &PolicyImportArgs) -> Result<()> {
    let text = read(&args.file)?;
    let imported = match args.from {
        From::ClaudeCode => import::claude_settings(&text),
        From::Opencode => import::opencode(&text),
    };
    say::out(imported.with_context(|| args.file.display().to_string())?.trim_end())
}

fn score(folder: &Path) -> Result<()> {
    let list = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> = list.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    // `read_dir` has no order, and the table must be the same each time.
    files.sort();
    if files.is_empty() {
        bail!("{} contains no corpora (*.jsonl)", folder.display());
    }
    let corpora = files.iter().map(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, read(file)?))
    });
    let corpora = corpora.collect::<Result<Vec<_>>>()?;
    let table = score::score(&corpora).map_err(anyhow::Error::msg)?;
    let alone = score::defaults(&corpora).map_err(anyhow::Error::msg)?;
    say::out(format!("{table}\nThe built-in rules alone:\n\n{alone}").trim_end())
}

/// Reads a whole file; `-` is stdin.
fn read(file: &Path) -> Result<String> {
    files::read(file).with_context(|| file.display().to_string())
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  countersign policy explain -- git push --force origin main
  countersign policy explain --shell 'make && make install | tee log'
  countersign policy explain --tool write_file --args '{\"path\": \".env\"}'")]
struct ExplainArgs {
    /// The rules [default: the file that the daemon uses, else the built-in ones]
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// The mode
    #[arg(long, value_enum, default_value = "default")]
    mode: ModeWord,
    #[command(flatten)]
    call: GivenCall,
    /// A whole shell text
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["command", "args"])]
    shell: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

fn run_explain(context: &Context, args: ExplainArgs) -> Result<()> {
    let mode = args.mode.mode();
    let json = args.json;
    let loaded = load_named(context, args.rules.as_deref())?;
    let config = context.config()?;
    let guardrail = daemon::guardrail(&config, &daemon::rules_path(&config));
    // Grants are in the daemon's store, which this command does not open.
    let grants = Rules::default();
    let layers = Layers::new(&loaded.rules, &grants, &guardrail, clock::now_ms());
    let explanation = explain(&call(args)?, &layers, mode);
    if json {
        say::json(&explanation)
    } else {
        // The explanation quotes the command, which may contain hidden characters.
        say::literal_lines(explanation.to_string().lines())
    }
}

fn call(args: ExplainArgs) -> Result<Call> {
    let ExplainArgs { call: given, shell, .. } = args;
    let otherwise = "nothing to explain: give -- CMD, --shell TEXT or --args JSON";
    let args = match shell {
        Some(text) => serde_json::json!({ "command": text }),
        None => given.args(otherwise)?,
    };
    let cwd = std::env::current_dir().ok().map(|folder| folder.display().to_string());
    let mut call = Call { cwd, home: home(), ..Call::new(given.tool, args) };
    // As the daemon does it, so that both decide alike.
    let links = links::look(&countersign_policy::lookups(&call));
    countersign_policy::follow(&mut call, links);
    Ok(call)
}

/// The mode, on a command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeWord {
    /// As the rules say
    Default,
    /// What would be asked is allowed
    Yolo,
}

impl ModeWord {
    /// The mode that the word names.
    fn mode(self) -> Mode {
        match self {
            Self::Default => Mode::Default,
            Self::Yolo => Mode::Yolo,
        }
    }
}

/// Rules with their name for messages.
pub(super) struct NamedRules {
    name: String,
    pub(super) rules: Rules,
}

/// Loads the named file, or the one that the daemon uses, or the built-in rules.
pub(super) fn load_named(context: &Context, named: Option<&Path>) -> Result<NamedRules> {
    let (name, text) = match named {
        Some(file) => (file.display().to_string(), rules_text(file)?),
        None => {
            let file = daemon::rules_path(&context.config()?);
            if file.exists() {
                (file.display().to_string(), rules_text(&file)?)
            } else {
                ("the built-in rules".to_owned(), DEFAULT_RULES.to_owned())
            }
        }
    };
    let rules = parse_rules(&text, &name, home().as_deref())?;
    Ok(NamedRules { name, rules })
}

/// Parses rules; the error lists every mistake with its place.
fn parse_rules(text: &str, name: &str, home: Option<&str>) -> Result<Rules> {
    Rules::parse(text, name, home).map_err(|problems| {
        let each: Vec<_> = problems.iter().map(ToString::to_string).collect();
        anyhow!(each.join("\n"))
    })
}

fn rules_text(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| file.display().to_string())
}

/// This user's home folder, for `~/` in rules.
pub(super) fn home() -> Option<String> {
    etcetera::home_dir().ok().map(|home| home.display().to_string())
}

/// The largest number of patterns that are listed; further ones are counted.
const MOST: usize = 5;

/// Lists what the current rules ask, allow and deny.
///
/// # Errors
/// When the config or the rules cannot be read.
pub(super) fn outlook(context: &Context) -> Result<String> {
    let profile = context.config()?.policy.profile;
    if profile != Profile::Standard {
        return Ok(format!(
            "The profile {profile} rules, with its system's own rules; \
             `countersign policy check --profile {profile}` tries them."
        ));
    }
    Ok(outlook_of(&load_named(context, None)?.rules))
}

fn outlook_of(rules: &Rules) -> String {
    let all: Vec<&Rule> = rules.iter().collect();
    // The last matching rule wins, so the last catch-all is the one in effect.
    let rest = all.iter().rev().find(|rule| rule.tool == "*" && rule.pattern == "*");
    let rest = rest.map_or(Verdict::Ask, |rule| rule.verdict);
    let line = |verdict: Verdict, name: &str| {
        let mut parts = reading(&all, verdict);
        // Without the classes, which `reading` has put into words.
        let named = all.iter().filter(|rule| rule.verdict == verdict && rule.pattern != "@reads");
        let named: Vec<String> =
            named.filter(|rule| rule.tool != "*").map(|rule| rule.to_string()).collect();
        parts.extend(named.iter().take(MOST).cloned());
        if named.len() > MOST {
            parts.push(format!("{} more rules", named.len() - MOST));
        }
        if rest == verdict {
            let rest = match (verdict, parts.is_empty()) {
                (Verdict::Ask, _) => {
                    "everything else: what changes, runs, sends or reads elsewhere"
                }
                (_, true) => "everything",
                (_, false) => "everything else",
            };
            parts.push(rest.to_owned());
        }
        let said = if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") };
        format!("{name:<8} {said}")
    };
    [line(Verdict::Ask, "Asked:"), line(Verdict::Allow, "Allowed:"), line(Verdict::Deny, "Denied:")]
        .join("\n")
}

/// The class of calls that only read, in words.
fn reading(all: &[&Rule], verdict: Verdict) -> Vec<String> {
    let of_class = |rule: &&&Rule| rule.verdict == verdict && rule.pattern == "@reads";
    let tools: Vec<&str> = all.iter().filter(of_class).map(|rule| rule.tool.as_str()).collect();
    if tools.is_empty() {
        Vec::new()
    } else {
        vec![format!(
            "what only reads, inside the project and without secrets ({})",
            tools.join(", ")
        )]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_policy::{DEFAULT_RULES, Rules};

    #[test]
    fn the_lines_say_what_the_rules_say() {
        assert_eq!(
            outlook_of(&Rules::parse(DEFAULT_RULES, "rules", None).unwrap()),
            "Asked:   read_file: *.env.example; everything else: what changes, runs, sends or \
             reads elsewhere\n\
             Allowed: what only reads, inside the project and without secrets (read_file, glob, \
             grep, shell_exec)\n\
             Denied:  read_file: *.env; read_file: *.env.*; read_file: *credentials*; \
             read_file: *secret*; write_file: *.env; 3 more rules"
        );
        let own = r#"{"*": "allow", "shell_exec": {"git push *": "ask"}}"#;
        assert_eq!(
            outlook_of(&Rules::parse(own, "rules", None).unwrap()),
            "Asked:   shell: git push *\nAllowed: everything\nDenied:  nothing"
        );
    }
}
