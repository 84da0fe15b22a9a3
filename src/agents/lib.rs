//! The client side of agents: their hooks and hosts, which use the client to reach the daemon. Each
//! knows its own wire; none knows policy. docs/agents.md describes how to add one.

pub mod acp;
mod agent;
#[cfg(test)]
pub(crate) mod answered;
mod claude_code;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod description;
mod event;
mod existing;
mod gemini;
mod hook_call;
mod hook_files;
pub mod hosted;
mod journal;
mod json_settings;
mod latest;
pub mod line_head;
pub mod mcp;
mod opencode;
mod pi;
mod qwen;
mod waiting;
pub mod wcore;

pub use agent::{
    AgentStart, AgentTitle, Attendance, HookAgent, HookFile, HookLimit, HookMode, Hooks, Overdue,
    Retry, RetryStep,
};
pub use claude_code::{ClaudeCode, ControlEnd, ControlSession, claude_gated};
use cline::CLINE;
use codex::Codex;
pub use codex::{CodexOutput, CodexRun, CodexWatch};
use copilot::COPILOT;
use cursor::CURSOR;
pub use event::{HookEvent, HookReply, HookRequest, PutOff};
pub use existing::existing;
use gemini::GEMINI;
pub use hook_call::message as denial_message;
pub use journal::Journal;
use opencode::OPENCODE;
use pi::{OH_MY_PI, PI};
use qwen::QWEN;
pub use waiting::CallOrigin;

/// Every agent that `connect`, `disconnect`, `hook` and `doctor` support.
pub const AGENTS: &[&dyn HookAgent] =
    &[&ClaudeCode, &Codex, &OPENCODE, &COPILOT, &GEMINI, &QWEN, &CURSOR, &CLINE, &PI, &OH_MY_PI];

/// The agent with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn HookAgent> {
    AGENTS.iter().copied().find(|agent| agent.name() == name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    const COMMAND: &str = "/opt/countersign hook";

    #[test]
    fn every_agent_has_a_name_of_its_own_that_finds_it() {
        for agent in AGENTS {
            assert_eq!(find(agent.name()).map(|found| found.name()), Some(agent.name()));
            let same = AGENTS.iter().filter(|other| other.name() == agent.name()).count();
            assert_eq!(same, 1, "{}", agent.name());
        }
        assert!(find("nobody").is_none());
    }

    #[test]
    fn what_connect_puts_in_is_found_and_disconnect_takes_exactly_that_out() {
        for agent in AGENTS {
            let command = format!("{COMMAND} {}", agent.name());
            for mode in agent.modes().iter().copied() {
                let connected = agent.connect("", &command, mode).unwrap();
                let hooks = Hooks { command: command.clone(), mode, complete: true };
                assert_eq!(agent.installed(&connected), Ok(Some(hooks)), "{}", agent.name());
                assert_eq!(agent.connect(&connected, &command, mode), Ok(connected.clone()));
                let gone = agent.disconnect(&connected).unwrap();
                assert_eq!(agent.installed(&gone), Ok(None), "{}", agent.name());
            }
            assert_eq!(agent.installed(""), Ok(None), "{}", agent.name());
        }
    }

    #[test]
    fn the_call_of_a_trial_is_one_of_this_session_that_waits_for_a_person() {
        for agent in AGENTS {
            for mode in agent.modes().iter().copied() {
                let sample = agent.sample("trial", mode);
                let call = match agent.decode(sample.to_string().as_bytes(), mode) {
                    Ok(crate::HookEvent::Wants(request)) => request.call("k".into(), None),
                    other => Err(format!("{other:?}")),
                };
                let call = call.unwrap();
                assert_eq!((call.agent.as_str(), call.session.as_str()), (agent.name(), "trial"));
                let command = call.args.get("command").unwrap();
                assert_eq!(command, "touch countersign-doctor-live");
            }
        }
    }

    #[test]
    fn the_page_says_how_long_each_agent_waits_and_what_it_does_then() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/connect.md"))
                .unwrap();
        for agent in AGENTS {
            for mode in agent.modes().iter().copied() {
                let option = mode.option().filter(|_| agent.modes().len() > 1);
                let name = option.map(|option| format!(" {option}")).unwrap_or_default();
                let row = match agent.limit(mode) {
                    None => "| none | |".to_owned(),
                    Some(limit) => {
                        let then = match limit.then {
                            Overdue::Runs => "runs the call",
                            Overdue::Blocks => "blocks the call",
                            Overdue::Asks => "asks itself",
                        };
                        let after = limit.after.as_secs();
                        let source = limit.source;
                        assert!(limit.reply_after() < limit.after && after >= 60);
                        format!("| {after} s ({source}) | {then} |")
                    }
                };
                let row = format!("| `{}{name}` {row}", agent.name());
                assert!(page.contains(&row), "docs/connect.md lacks {row}");
            }
        }
    }

    #[test]
    fn where_every_call_is_decided_here_no_decision_blocks() {
        let gates = |agent: &&&dyn HookAgent| agent.modes().contains(&HookMode::EveryCall);
        for agent in AGENTS.iter().filter(gates) {
            let blocked = agent.undecided("no daemon", HookMode::EveryCall);
            let why = match blocked {
                HookReply::Block(why) => why,
                HookReply::Print(denied) => denied.to_string(),
                HookReply::Nothing => String::new(),
            };
            assert!(why.contains("blocked: no daemon"), "{}: {why}", agent.name());
        }
    }

    #[test]
    fn no_agent_reads_a_permission_out_of_garbage() {
        for agent in AGENTS {
            for garbage in ["", "[]", "{", "null", "{}", "\u{0}"] {
                for mode in agent.modes().iter().copied() {
                    let event = agent.decode(garbage.as_bytes(), mode);
                    assert!(
                        !matches!(event, Ok(crate::HookEvent::Wants(_))),
                        "{}: {garbage:?} is {event:?}",
                        agent.name()
                    );
                }
            }
        }
    }
}
