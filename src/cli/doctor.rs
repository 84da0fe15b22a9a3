//! `countersign doctor`: what is set up, what is not, and the command that mends it.

mod chats;
mod local;

use super::{
    Context, Exit,
    say::{self, Colour, paint},
};
use crate::{config::Config, text::visible};
use anyhow::Result;
use serde::Serialize;
use serde_json::json;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code 1 when any line says fail.")]
pub(super) struct Args {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// How one thing is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    check: String,
    state: State,
    says: String,
    /// The command or edit that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warn,
    Fail,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<Exit> {
    let findings = examine(context).await;
    let failed = findings.iter().any(|finding| finding.state == State::Fail);
    if args.json {
        say::json(&json!({ "ok": !failed, "checks": findings }))?;
    } else {
        let lines: Vec<_> = findings.iter().map(show).collect();
        say::out(&lines.join("\n"))?;
    }
    Ok(if failed { Exit::Fault } else { Exit::Good })
}

async fn examine(context: &Context) -> Vec<Finding> {
    let config = match Config::load(context.flag.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            let each = error.to_string();
            return each.lines().map(|line| fail("config", line, "edit it")).collect();
        }
    };
    let mut findings = local::config(context, &config);
    let serves = local::serves_here(&config);
    findings.extend(serves.then(|| local::store(&config)));
    findings.extend(local::daemon(&config).await);
    findings.extend(serves.then(|| local::approvers(&config)));
    findings.extend(chats::telegram(&config).await);
    findings.extend(chats::discord(&config).await);
    findings.push(local::hook(context));
    findings
}

fn ok(check: &str, says: impl Into<String>) -> Finding {
    Finding { check: check.into(), state: State::Ok, says: says.into(), mend: None }
}

fn warn(check: &str, says: impl Into<String>, mend: impl Into<String>) -> Finding {
    let mend = Some(mend.into());
    Finding { check: check.into(), state: State::Warn, says: says.into(), mend }
}

fn fail(check: &str, says: impl Into<String>, mend: impl Into<String>) -> Finding {
    let mend = Some(mend.into());
    Finding { check: check.into(), state: State::Fail, says: says.into(), mend }
}

fn show(finding: &Finding) -> String {
    let (word, colour) = match finding.state {
        State::Ok => ("ok  ", Colour::Green),
        State::Warn => ("warn", Colour::Yellow),
        State::Fail => ("fail", Colour::Red),
    };
    let line = format!("{} {:<12} {}", paint(colour, word), finding.check, visible(&finding.says));
    match &finding.mend {
        Some(mend) => format!("{line}\n{:18}mend: {mend}", ""),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_it_is_and_what_mends_it() {
        assert_eq!(show(&ok("store", "can be written")), "ok   store        can be written");
        assert_eq!(
            show(&fail("files", "/c may be read by others", "chmod 600 /c")),
            "fail files        /c may be read by others\n                  mend: chmod 600 /c"
        );
    }
}
