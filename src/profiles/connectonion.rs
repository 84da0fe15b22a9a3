//! The profile `connectonion`: decides as ConnectOnion's tool approval plugin does; its unsafe
//! parts are active only under `compat`.

mod answer;
mod bash;
mod cover;
mod host;
mod mode;
mod permission;
mod permit;
mod workspace;

use countersign_policy::shell::{self, Scan};
use countersign_policy::{
    call::Call, decision, decision::Decision, paths::Directories, rules::Rule, tools::Kind,
    verdict::Verdict,
};

pub use crate::connectonion::answer::{Mailbox, PromptAnswer, PromptScope};
use crate::connectonion::host::HostFile;
pub use crate::connectonion::mode::{FullAccessTurns, PermissionMode, Requester};
pub use crate::connectonion::permission::{
    Expires, Permission, PermissionKey, PermissionSource, Permissions,
};
use crate::connectonion::permit::{PermitCheck, PermitResult};
pub use crate::connectonion::workspace::{POLICY, WorkspaceDecision, is_control_file};
use crate::{
    CallEnd, DefaultTimeout, EvaluationContext, GrantLifetime, ModeTurn, OnDeny, OnDisconnect,
    PromptBehaviour, PromptChoice, System,
};

/// A `host.yaml`, and how literally it is taken.
#[derive(Clone, Debug)]
pub struct ConnectOnion {
    host: HostFile,
    compat: bool,
}

impl ConnectOnion {
    /// Reads a `host.yaml`; without a text the shipped permissions apply.
    ///
    /// # Errors
    /// A sentence that names the mistake and its place.
    pub fn read(text: Option<&str>, name: &str, compat: bool) -> Result<Self, String> {
        Ok(Self { host: host::read(text, name, compat)?, compat })
    }

    /// Returns the profile of sessions that name none.
    #[must_use]
    pub fn mode(&self) -> PermissionMode {
        self.host.mode
    }

    /// Returns the decision of the policy of `:workspace` on a call.
    #[must_use]
    pub fn workspace(&self, call: &Call) -> WorkspaceDecision {
        let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
        if workspace::refusal(call).is_some() {
            return workspace::rewrites_control();
        }
        let shell = scan_of(call).filter(|_| !self.compat);
        workspace::decide(call, shell.as_ref().map(|(_, scan)| scan), dirs)
    }
}

/// Returns the call's own description, which a card shows beside the arguments.
#[must_use]
pub fn description(args: &serde_json::Value) -> &str {
    args.get("description").and_then(serde_json::Value::as_str).unwrap_or_default()
}

/// Reads ConnectOnion's own configuration.
///
/// # Errors
/// Sentences that name each mistake and its place.
pub fn open(text: Option<&str>, name: &str, compat: bool) -> Result<Box<dyn System>, String> {
    Ok(Box::new(ConnectOnion::read(text, name, compat)?))
}

impl System for ConnectOnion {
    fn decide(&self, call: &Call, context: &EvaluationContext<'_>) -> Result<Decision, String> {
        let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
        let granted = context.grants.tools.iter().map(|tool| Permission::session(tool));
        // ConnectOnion's grants cover whole tools. A narrower rule cannot be expressed as one of
        // its permissions.
        let ruled = context.grants.rules.iter().filter(|rule| {
            rule.verdict == Verdict::Allow && rule.pattern == "*" && !rule.tool.contains('*')
        });
        let mut permissions = self.host.permissions.clone();
        granted
            .chain(ruled.map(|rule| Permission::session(&rule.tool)))
            .for_each(|one| permissions.put(one));
        let shell = scan_of(call);
        let check = PermitCheck {
            call,
            shell: shell.as_ref(),
            dirs,
            permissions: &permissions,
            mode: context.mode.map_or(Ok(self.host.mode), PermissionMode::parse)?,
            era: self.host.era,
            requester: Requester::of(call.own.requester.as_deref()),
            reachable: context.reachable,
            compat: self.compat,
        };
        let mut facts = match &shell {
            // Some tools are shells by names that only ConnectOnion knows.
            Some(_) => decision::facts(&Call { tool: "bash".to_owned(), ..call.clone() }),
            None => decision::facts(call),
        };
        let found = check.permit(&facts)?;
        facts.critical &= !self.compat;
        if let Some((text, scan)) = &shell {
            read_as_connectonion(&mut facts, text, scan);
        }
        Ok(ruling(call, facts, found))
    }

    fn prompt_behaviour(&self) -> PromptBehaviour {
        PromptBehaviour {
            choices: &[
                PromptChoice::Session,
                PromptChoice::DenyAndStop,
                PromptChoice::Skip,
                PromptChoice::DenyAndExplain,
            ],
            deny: OnDeny::Stop,
            always: GrantLifetime::Session,
            // ConnectOnion's prompts have no timer.
            timeout: DefaultTimeout::Wait,
            cascade: false,
            on_disconnect: OnDisconnect::Cancel,
        }
    }

    fn text_for_model(&self, call: &Call, end: &CallEnd<'_>) -> Option<String> {
        answer::told(call, end)
    }

    fn check_mode(&self, word: &str) -> Result<(), String> {
        PermissionMode::parse(word).map(|_| ())
    }

    fn turn(&self, mode: &str) -> Option<ModeTurn> {
        let Ok(PermissionMode::FullAccess(Some(turns))) = PermissionMode::parse(mode) else {
            return None;
        };
        let mode = |turns| PermissionMode::FullAccess(Some(turns)).to_string();
        let next = mode(FullAccessTurns { used: turns.used.saturating_add(1), ..turns });
        turns.holds().then(|| ModeTurn { rule: mode(turns), next })
    }

    /// The tool `ask_user` may run without approval; its question arrives separately.
    fn is_question(&self, call: &Call) -> bool {
        let asks = ["question", "questions"].iter().any(|name| call.args.get(name).is_some());
        call.kind() == Kind::Question && (asks || call.tool != "ask_user")
    }
}

/// Scans a shell tool's text as bash reads it; every such tool with a command counts.
fn scan_of(call: &Call) -> Option<(&str, Scan<'_>)> {
    // ConnectOnion's own names for shell tools.
    let shell = workspace::SHELLS.iter().any(|name| call.tool.eq_ignore_ascii_case(name));
    let text = call.args.get("command").and_then(serde_json::Value::as_str);
    text.filter(|_| shell || call.kind() == Kind::Shell).map(|text| (text, shell::scan(text)))
}

fn ruling(call: &Call, facts: Decision, found: PermitResult) -> Decision {
    let PermitResult { verdict, rule, reason } = found;
    let asks = verdict == Verdict::Ask;
    // A grant in ConnectOnion covers the whole tool, never one command.
    let offers = asks && !facts.critical && call.kind() != Kind::Question;
    let always = if offers { vec![Rule::allow(&call.tool, "*")] } else { Vec::new() };
    // A call that does not ask has no card that would show them.
    let effects = if asks { facts.effects } else { Vec::new() };
    Decision { verdict, rule, reason, always, effects, ..facts }
}

/// Names the commands in the order of the text, and the texts that permissions are matched with.
fn read_as_connectonion(facts: &mut Decision, text: &str, scan: &Scan<'_>) {
    let commands = bash::in_order(scan)
        .into_iter()
        .map(|command| command.argv.iter().map(|word| word.literal().map(str::to_owned)).collect());
    facts.commands = commands.collect();
    // Both readings must succeed: permissions match one, bash runs the other.
    let read = bash::read(text);
    facts.understood &= read.is_ok();
    let Ok(read) = read else { return };
    if facts.commands.is_empty() {
        facts.commands = read.iter().map(|text| vec![Some(text.clone())]).collect();
    }
    facts.patterns = read;
}
