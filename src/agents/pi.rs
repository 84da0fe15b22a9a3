//! pi, and oh-my-pi, which was made from it: an extension that starts our hook before every tool.

use crate::{
    agent::{
        A_DAY_S, AgentTitle, HookEvent, HookFile, HookLimit, HookMode, Overdue, TRIAL, TRIAL_SAYS,
    },
    description::{AgentDescription, HookText, Silence},
    hook_call::{HookCall, answer_plugin},
    hook_files::{self, OwnFile, command_of, with_command},
};
use countersign_domain::{call::Call, exact_json};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

const EXTENSION: &str = include_str!("../../config/pi/countersign.js");

/// The start of the extension, which tells it from others.
const MARK: &str = "// countersign for pi";

/// pi.
pub const PI: AgentDescription = AgentDescription {
    name: Pi::Pi.id(),
    title: AgentTitle {
        name: "pi",
        versions: "0.73 or newer",
        connected: "pi itself never asks. Every call passes your rules first, and without a daemon \
                    or an answer nothing runs.",
    },
    // On some machines another program has this short name.
    program: None,
    home: || folder(".pi".into()),
    traces: &[],
    file: "extensions/countersign.js",
    project: &[],
    hooks: own_file(Pi::Pi),
    modes: &[HookMode::EveryCall],
    limit: |_| None,
    process_variable: None,
    sample: |session, _| {
        json!({"type": "tool_call", "session": session, "tool": "bash",
            "input": {"command": TRIAL, "description": TRIAL_SAYS}})
    },
    read: |stdin, _| read(Pi::Pi, stdin),
    encode: |_| answer_plugin,
    spoken: &[Silence::Undecided],
};

/// oh-my-pi. It loads the same extension.
pub const OH_MY_PI: AgentDescription = AgentDescription {
    name: Pi::OhMyPi.id(),
    title: AgentTitle {
        name: "oh-my-pi",
        versions: "18.2 or newer",
        connected: "Every call passes your rules first, those of subagents too, and without a \
                    daemon or an answer nothing runs. Its own prompts, where its settings ask for \
                    them, come after an approval; `omp --auto-approve` has none.",
    },
    program: Some("omp"),
    home: || folder(hook_files::named("PI_CONFIG_DIR").unwrap_or_else(|| ".omp".into())),
    hooks: own_file(Pi::OhMyPi),
    limit: |_| {
        let after = Duration::from_secs(A_DAY_S);
        Some(HookLimit { after, then: Overdue::Blocks, source: "the extension sets it" })
    },
    read: |stdin, _| read(Pi::OhMyPi, stdin),
    ..PI
};

const fn own_file(agent: Pi) -> HookText {
    HookText::Own(OwnFile {
        name: agent.id(),
        kind: HookFile::Own,
        text: |command| with_command(EXTENSION, command),
        command: |text| command_of(text, MARK),
    })
}

fn folder(config: PathBuf) -> Result<PathBuf, String> {
    match hook_files::named("PI_CODING_AGENT_DIR") {
        Some(folder) => Ok(folder),
        None => Ok(hook_files::home("")?.join(config).join("agent")),
    }
}

/// pi and its relative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pi {
    Pi,
    OhMyPi,
}

impl Pi {
    const fn id(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::OhMyPi => "oh-my-pi",
        }
    }
}

/// A call, as the extension writes it.
#[derive(Deserialize)]
struct PiCall {
    session: String,
    cwd: Option<String>,
    tool: String,
    #[serde(default)]
    input: Value,
    /// The name of a subagent.
    worker: Option<String>,
    /// What the tool says of itself.
    approval: Option<Value>,
}

// FAIL-CLOSED: whatever is not understood is an error, and that blocks.
fn read(agent: Pi, stdin: &[u8]) -> Result<HookEvent, String> {
    let asked: PiCall = exact_json::from_slice(stdin)
        .map_err(|error| format!("stdin is not what the extension writes: {error}"))?;
    let declared = match (agent, asked.approval) {
        (Pi::Pi, _) => ToolDeclaration::default(),
        (Pi::OhMyPi, Some(declared)) => ToolDeclaration::read(declared)?,
        (Pi::OhMyPi, None) => ToolDeclaration::known(&asked.tool),
    };
    let call = (asked.tool, asked.input);
    let mut wanted = HookCall::new(agent.id(), asked.session, asked.cwd, call, answer_plugin);
    let ToolDeclaration { tier, overrides, policy, policy_key, reason } = declared;
    let worker = asked.worker;
    wanted.call = Call { worker, tier, overrides, policy, policy_key, reason, ..wanted.call };
    Ok(HookEvent::Wants(Box::new(wanted)))
}

// What a tool of oh-my-pi declares of itself: the fields on which the profile `ohmypi` decides.

/// A declaration, for the profile `ohmypi`.
// FAIL-CLOSED: a field of another type is no declaration, and such a call is blocked.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolDeclaration {
    tier: Option<String>,
    #[serde(rename = "override")]
    overrides: Option<Value>,
    policy: Option<Value>,
    policy_key: Option<String>,
    reason: Option<String>,
}

impl ToolDeclaration {
    fn of_tier(tier: String) -> Self {
        Self { tier: Some(tier), ..Self::default() }
    }

    /// The declaration that comes with a call.
    fn read(declared: Value) -> Result<Self, String> {
        match declared {
            Value::String(tier) => Ok(Self::of_tier(tier)),
            Value::Object(_) => serde_json::from_value(declared)
                .map_err(|error| format!("the tool's declaration cannot be read: {error}")),
            _ => Err("the tool's declaration is neither a tier nor an object".to_owned()),
        }
    }

    /// The tier that oh-my-pi's own tools declare. Any other tool counts as one that runs programs.
    fn known(tool: &str) -> Self {
        let tier = match tool {
            "read" | "grep" | "glob" | "find" | "ls" | "ast_grep" | "todo" | "web_search" => "read",
            "write" | "edit" | "ast_edit" => "write",
            tool if tool.starts_with("mcp__") => "write",
            _ => return Self::default(),
        };
        Self::of_tier(tier.to_owned())
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "tests fail by panicking"
    )]
    use super::*;
    use crate::{
        agent::{HookAgent, HookReply},
        hook_call::ToolDecision,
    };

    const BOTH: [(Pi, AgentDescription); 2] = [(Pi::Pi, PI), (Pi::OhMyPi, OH_MY_PI)];

    #[test]
    fn the_extension_names_the_command_and_is_removed_only_if_it_is_ours() {
        for (agent, other) in [(PI, OH_MY_PI), (OH_MY_PI, PI)] {
            let name = agent.name;
            let command = format!("'/opt/my bin/countersign' hook {name}");
            let extension = agent.connect("", &command, HookMode::EveryCall).unwrap();
            let line = format!(r#"const COMMAND = ["/opt/my bin/countersign","hook","{name}"];"#);
            assert!(extension.lines().any(|there| there == line), "{extension}");
            assert_eq!(agent.disconnect(&extension), Ok(String::new()));
            assert_eq!(other.disconnect(&extension), Ok(extension.clone()), "it is another's");
            assert!(other.connect(&extension, &command, HookMode::EveryCall).is_err());
            let theirs = "export default function (pi) {}\n";
            assert!(agent.connect(theirs, &command, HookMode::EveryCall).is_err());
            assert_eq!(agent.disconnect(theirs), Ok(theirs.to_owned()));
        }
    }

    fn call(agent: Pi, event: &Value) -> Call {
        let Ok(HookEvent::Wants(request)) = read(agent, event.to_string().as_bytes()) else {
            panic!("{event}")
        };
        request.call("k".into(), None).unwrap()
    }

    #[test]
    fn only_an_approval_lets_a_call_through_and_no_decision_blocks() {
        let event = json!({"type": "tool_call", "session": "s", "cwd": "/w", "tool": "bash",
        "input": {"command": "ls"}});
        for (agent, description) in BOTH {
            let call = call(agent, &event);
            let said = (call.agent.as_str(), call.tool.as_str(), call.cwd.as_deref());
            assert_eq!(said, (agent.id(), "bash", Some("/w")));
            let blocked = "countersign could not decide on this call, so it is blocked: no daemon";
            let undecided = description.undecided("no daemon", HookMode::EveryCall);
            assert_eq!(undecided, HookReply::Print(json!({"block": true, "reason": blocked})));
            assert!(read(agent, b"{}").is_err());
        }
        assert_eq!(answer_plugin(&ToolDecision::Allow), HookReply::Print(json!({"block": false})));
    }

    #[test]
    fn oh_my_pis_tools_have_their_tiers_and_what_a_tool_declares_goes_before() {
        let event = |tool: &str| json!({"session": "s", "tool": tool, "worker": "explore"});
        let tier = |agent: Pi, event: &Value| call(agent, event).tier;
        for (tool, own) in [
            ("read", Some("read")),
            ("edit", Some("write")),
            ("mcp__x__y", Some("write")),
            ("bash", None),
            ("Read", None),
        ] {
            assert_eq!(tier(Pi::OhMyPi, &event(tool)).as_deref(), own, "{tool}");
            assert_eq!(tier(Pi::Pi, &event(tool)), None, "{tool}");
        }
        assert_eq!(call(Pi::OhMyPi, &event("read")).worker.as_deref(), Some("explore"));
        let declares = |approval: Value| {
            let mut event = event("read");
            event["approval"] = approval;
            event
        };
        assert_eq!(tier(Pi::OhMyPi, &declares(json!("exec"))).as_deref(), Some("exec"));
        let whole = json!({"tier": "write", "override": true, "policy": "deny", "policyKey": "k",
        "reason": "r"});
        let declared = call(Pi::OhMyPi, &declares(whole));
        let said = (declared.tier.as_deref(), declared.policy_key.as_deref(), declared.reason);
        assert_eq!(said, (Some("write"), Some("k"), Some("r".to_owned())));
        assert_eq!((declared.overrides, declared.policy), (Some(json!(true)), Some(json!("deny"))));
        for wrong in [json!(7), json!(["read"]), json!({"tier": 7}), json!({"policyKey": {}})] {
            let stdin = declares(wrong).to_string();
            assert!(read(Pi::OhMyPi, stdin.as_bytes()).is_err(), "{stdin}");
        }
    }
}
