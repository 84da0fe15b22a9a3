//! `countersign policy check`: reads one call per line and prints one decision per line.

use super::rules_text;
use crate::cli::{
    Exit,
    say::{self, escaped},
};
use anyhow::{Context as _, Result, anyhow};
use countersign_domain::exact_json;
use countersign_gate::links;
use countersign_policy::Verdict;
use countersign_profiles::{Profile, check::Options};
use countersign_tokens::clock;
use serde_json::Value;
use std::{
    collections::{HashMap, hash_map::Entry},
    io::{self, BufRead, Write},
    path::PathBuf,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads lines such as {\"tool\": \"shell_exec\", \"args\": {\"command\": \"git push\"}} and
answers each with one line, flushed at once. A line that cannot be read gets {\"error\": …}, and the
rest goes on.
With --one it reads one call, and its exit code is the ruling: 0 allow, 3 deny, 8 ask.")]
pub(super) struct CheckArgs {
    /// The profile: standard, wcore, connectonion, molf, ohmypi or zeptoclaw
    #[arg(long, default_value = "standard")]
    profile: Profile,
    /// The system's own configuration [default: its defaults; a line may bring its own as `config`]
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// The mode of lines that name none
    #[arg(long)]
    mode: Option<String>,
    /// The peer's own answers instead of the safe ones
    #[arg(long)]
    compat: bool,
    /// Read one call, and end with the exit code of its ruling
    #[arg(long)]
    one: bool,
}

pub(super) fn run(args: &CheckArgs) -> Result<Exit> {
    let mut checker = Checker::new(args)?;
    if args.one {
        let line = io::read_to_string(io::stdin().lock()).context("stdin cannot be read")?;
        let options = checker.options(&line)?;
        let ruled = options.decision(&line).map_err(|why| anyhow!(why))?;
        say::out(&escaped(&options.line(&line)))?;
        return Ok(match ruled.verdict {
            Verdict::Allow => Exit::Good,
            Verdict::Ask => Exit::Pending,
            Verdict::Deny => Exit::Denied,
        });
    }
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut bytes = Vec::new();
    while input.read_until(b'\n', &mut bytes).context("stdin cannot be read")? > 0 {
        // Bytes that are no UTF-8 make this line unreadable, and do not end the input.
        let line = String::from_utf8_lossy(&bytes);
        if !line.trim().is_empty() {
            let answer = checker.options(&line)?.line(line.trim());
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
        bytes.clear();
    }
    Ok(Exit::Good)
}

/// Evaluators by home folder, because `~/` in the rules means the home folder of the call.
struct Checker {
    base: Options,
    rules: Option<(String, String)>,
    by_home: HashMap<Option<String>, Options>,
}

impl Checker {
    fn new(args: &CheckArgs) -> Result<Self> {
        let base = Options {
            profile: args.profile,
            mode: args.mode.clone(),
            compat: args.compat,
            now_ms: clock::now_ms(),
            look: |call| links::look(&countersign_policy::lookups(call)),
            ..Options::default()
        };
        let rules = match &args.rules {
            Some(file) => Some((file.display().to_string(), rules_text(file)?)),
            None => None,
        };
        let mut checker = Self { base, rules, by_home: HashMap::new() };
        // Opened once now, so that mistakes in the rules are reported before any input is read.
        checker.of_home(None)?;
        Ok(checker)
    }

    fn options(&mut self, line: &str) -> Result<&Options> {
        let call = exact_json::from_str::<Value>(line).ok();
        let home = call.and_then(|call| call.get("home")?.as_str().map(str::to_owned));
        self.of_home(home)
    }

    fn of_home(&mut self, home: Option<String>) -> Result<&Options> {
        match self.by_home.entry(home) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let home = new.key().clone().or_else(super::home);
                let (name, text) = match &self.rules {
                    Some((name, text)) => (name.as_str(), Some(text.as_str())),
                    None => ("the built-in rules", None),
                };
                let Options { profile, compat, .. } = self.base;
                let system = profile.open(text, name, home.as_deref(), compat);
                let system = system.map_err(|mistakes| anyhow!(mistakes))?;
                Ok(new.insert(Options { system: Some(system.into()), ..self.base.clone() }))
            }
        }
    }
}
