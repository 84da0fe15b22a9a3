//! `countersign policy explain -- CMD`: shows which word matches which rule.

use super::{mode::ModeWord, rules};
use crate::{
    cli::{Context, Exit, caller, exit::Misused, say},
    daemon,
};
use anyhow::{Context as _, Result};
use countersign_domain::exact_json;
use countersign_gate::links;
use countersign_policy::{Call, Layers, Rules};
use countersign_policy_tools::explain::explain;
use countersign_tokens::clock;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  countersign policy explain -- git push --force origin main
  countersign policy explain --shell 'make && make install | tee log'
  countersign policy explain --tool write_file --args '{\"path\": \".env\"}'")]
pub(super) struct ExplainArgs {
    /// The rules [default: the file that the daemon uses, else the built-in ones]
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// The mode
    #[arg(long, value_enum, default_value = "default")]
    mode: ModeWord,
    /// The tool, when it is not the shell
    #[arg(long, default_value = "shell_exec", value_name = "NAME")]
    tool: String,
    /// The tool's arguments, as JSON
    #[arg(long, value_name = "JSON", conflicts_with_all = ["command", "shell"])]
    args: Option<String>,
    /// A whole shell text
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    shell: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    /// The command, after --
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) fn run(context: &Context, args: ExplainArgs) -> Result<Exit> {
    let (mode, json) = (args.mode.mode(), args.json);
    let loaded = rules::load(context, args.rules.as_deref())?;
    let config = context.config()?;
    let guardrail = daemon::guardrail(&config, &daemon::rules_path(&config));
    let layers = Layers {
        agent: None,
        rules: &loaded.rules,
        // Grants are in the daemon's store, which this command does not open.
        grants: &Rules::default(),
        guardrail: &guardrail,
        now_ms: clock::now_ms(),
    };
    let explanation = explain(&call(args)?, &layers, mode);
    if json {
        say::json(&serde_json::to_value(&explanation)?)?;
    } else {
        // The explanation quotes the command, which may contain hidden characters.
        let lines: Vec<_> = explanation.to_string().lines().map(say::literal).collect();
        say::out(&lines.join("\n"))?;
    }
    Ok(Exit::Good)
}

fn call(args: ExplainArgs) -> Result<Call> {
    let ExplainArgs { tool, args, shell, command, .. } = args;
    let args = match (args, shell) {
        (Some(json), _) => exact_json::from_str(&json).context("--args is not JSON")?,
        (None, Some(text)) => serde_json::json!({ "command": text }),
        (None, None) if command.is_empty() => {
            let say = "say what to explain: -- CMD, --shell TEXT or --args JSON";
            return Err(Misused(say.into()).into());
        }
        (None, None) => caller::shell_or_text(&command)?,
    };
    let cwd = std::env::current_dir().ok().map(|folder| folder.display().to_string());
    let mut call = Call { cwd, home: rules::home(), ..Call::new(tool, args) };
    // As the daemon does it, so that both decide alike.
    let links = links::look(&countersign_policy::sights(&call));
    countersign_policy::follow(&mut call, links);
    Ok(call)
}
