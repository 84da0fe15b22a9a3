//! `countersign doctor`: reports what is set up and what is not, with the command that fixes it.

mod agents;
mod approvers;
mod chats;
mod finding;
mod fix;
mod in_force;
mod live;
mod local;

use super::{Context, Exit, agent, say};
use crate::{config::Config, platforms::guided};
use anyhow::Result;
use countersign_agents::HookAgent;
use finding::{CheckState, DoctorCheck, fail, show, warn};
use serde_json::json;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code 1 when any line says fail.")]
pub(super) struct DoctorArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    /// Fix what is safe to fix (file modes, missing hooks of a connected agent), and say what was
    /// done
    #[arg(long)]
    pub(super) fix: bool,
    /// Try the hook of this agent with a recorded call, and see it arrive; nothing of it runs
    #[arg(long, value_name = "AGENT", value_parser = agent::parser())]
    live: Option<&'static dyn HookAgent>,
}

pub(super) async fn run(context: &Context, args: &DoctorArgs) -> Result<Exit> {
    let mut findings = examine(context, args.live).await;
    let repairs = findings.iter().filter_map(|finding| finding.repair.as_ref());
    let fixed = if args.fix { fix::apply(repairs) } else { Vec::new() };
    if !fixed.is_empty() {
        findings = examine(context, args.live).await;
    }
    let failed = findings.iter().any(|finding| finding.state == CheckState::Fail);
    if args.json {
        say::json(&json!({ "ok": !failed, "checks": findings, "fixed": fixed }))?;
    } else {
        let lines: Vec<_> = fixed.into_iter().chain(findings.iter().map(show)).collect();
        say::out(&lines.join("\n"))?;
    }
    Ok(if failed { Exit::Fault } else { Exit::Good })
}

/// Says so where no chat is set up.
fn phone(config: &Config) -> Option<DoctorCheck> {
    let none = config.chats.is_empty() && config.left_out.is_empty();
    let fix = guided().next().map(|name| format!("countersign connect {name}"))?;
    none.then(|| warn("phone", "no phone is connected, so only this machine answers", fix))
}

async fn examine(context: &Context, live: Option<&dyn HookAgent>) -> Vec<DoctorCheck> {
    let config = match Config::load(context.flag.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            let each = error.to_string();
            // Without a config nothing else can be checked.
            return each.lines().map(|line| fail("config", line, "edit it")).collect();
        }
    };
    let mut findings = local::config(context, &config);
    // A machine with only agents has no store or approvers of its own to check.
    let serves = config.serves_here();
    findings.extend(serves.then(|| local::store(&config)));
    findings.extend(local::daemon(&config).await);
    findings.extend(local::provider(&config).await.filter(|_| serves));
    findings.extend(in_force::config(context, &config).await);
    findings.extend(serves.then(|| approvers::all(&config)).into_iter().flatten());
    findings.extend(chats::all(&config).await);
    findings.extend(phone(&config).filter(|_| serves));
    findings.extend(agents::all(context).await);
    if let Some(agent) = live {
        findings.push(live::check(context, agent).await);
    }
    findings
}
