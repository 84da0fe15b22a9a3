//! The agents that have hooks.

use super::{agent::HookAgent, claude_code::ClaudeCode};

/// Every agent that `connect`, `disconnect`, `hook` and `doctor` support.
pub const AGENTS: &[&dyn HookAgent] = &[&ClaudeCode];

/// The agent with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn HookAgent> {
    AGENTS.iter().copied().find(|agent| agent.name() == name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::{
        super::{HookMode, HookReply, Hooks},
        *,
    };

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
            for mode in [HookMode::Prompts, HookMode::EveryCall] {
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
    fn where_every_call_is_decided_here_no_decision_blocks() {
        for agent in AGENTS {
            let blocked = agent.undecided("no daemon", HookMode::EveryCall);
            assert!(matches!(blocked, HookReply::Block(why) if why.ends_with(": no daemon")));
        }
    }

    #[test]
    fn no_agent_reads_a_permission_out_of_garbage() {
        for agent in AGENTS {
            for garbage in ["", "[]", "{", "null", "{}", "\u{0}"] {
                for mode in [HookMode::Prompts, HookMode::EveryCall] {
                    let event = agent.decode(garbage.as_bytes(), mode);
                    assert!(
                        !matches!(event, Ok(crate::agents::HookEvent::Wants(_))),
                        "{}: {garbage:?} is {event:?}",
                        agent.name()
                    );
                }
            }
        }
    }
}
