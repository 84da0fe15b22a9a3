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

use countersign_policy::shell::{Scan, Via};
use countersign_policy::{
    call::Call, decision::Decision, effects, effects::Act, paths::Directories, rules::Rule, shell,
    tools::Kind, values::Values, verdict::Verdict,
};

pub use crate::connectonion::answer::{Mailbox, PromptAnswer, PromptScope};
use crate::connectonion::host::HostFile;
pub use crate::connectonion::mode::{FullAccessTurns, PermissionMode, Requester};
pub use crate::connectonion::permission::{
    Expires, Permission, PermissionKey, PermissionSource, Permissions,
};
use crate::connectonion::permit::{PermitContext, PermitResult};
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
        workspace::decide(call, scan_of(call).as_ref().filter(|_| !self.compat), dirs)
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
        let permit_context = PermitContext {
            permissions: &permissions,
            mode: context.mode.map_or(Ok(self.host.mode), PermissionMode::parse)?,
            era: self.host.era,
            requester: Requester::of(call.own.requester.as_deref()),
            reachable: context.reachable,
            compat: self.compat,
        };
        let scan = scan_of(call);
        let found = permit::permit(call, scan.as_ref(), dirs, &permit_context)?;
        Ok(ruling(call, scan.as_ref(), dirs, found))
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
fn scan_of(call: &Call) -> Option<Scan<'_>> {
    // ConnectOnion's own names for shell tools.
    const SHELLS: &[&str] = &["bash", "shell", "run", "run_in_dir", "run_background"];
    let shell = SHELLS.iter().any(|name| call.tool.eq_ignore_ascii_case(name));
    let text = call.args.get("command").and_then(serde_json::Value::as_str);
    text.filter(|_| shell || call.kind() == Kind::Shell).map(shell::scan)
}

fn ruling(
    call: &Call,
    scan: Option<&Scan<'_>>,
    dirs: Directories<'_>,
    found: PermitResult,
) -> Decision {
    let asks = found.verdict == Verdict::Ask;
    // A grant in ConnectOnion covers the whole tool, never one command.
    let always = if asks && !found.critical && call.kind() != Kind::Question {
        vec![Rule::allow(&call.tool, "*")]
    } else {
        Vec::new()
    };
    let text = call.args.get("command").and_then(serde_json::Value::as_str);
    let (commands, patterns, effects) = match (scan, text) {
        (Some(scan), Some(text)) => {
            let effects = if asks { effects::of_shell(scan, dirs) } else { Vec::new() };
            (commands(scan, text), patterns(scan, text), effects)
        }
        _ => {
            let values = Values::of(call);
            let (seen, beyond) = values.in_view();
            let texts: Vec<&str> = seen.iter().filter(|v| !v.is_leaf).map(|v| &*v.text).collect();
            let more = !beyond.is_empty();
            let effects =
                if asks { effects::of_values(act(call), &texts, more, dirs) } else { Vec::new() };
            let named = values.list.iter().filter(|value| !value.is_leaf);
            (Vec::new(), named.map(|value| value.text.clone()).collect(), effects)
        }
    };
    let understood = match (scan, text) {
        // Both readings must succeed: permissions match one, bash runs the other.
        (Some(scan), Some(text)) => scan.understood() && bash::read(text).is_ok(),
        _ => call.kind() != Kind::Shell,
    };
    Decision {
        verdict: found.verdict,
        rule: found.rule,
        deciding_rule: None,
        reason: found.reason,
        commands,
        patterns,
        always,
        always_from: Vec::new(),
        exact: Vec::new(),
        prefix: Vec::new(),
        critical: found.critical,
        understood,
        effects,
        prompt: Vec::new(),
    }
}

fn act(call: &Call) -> Act {
    match call.kind() {
        Kind::Read | Kind::Glob | Kind::Grep => Act::Read,
        Kind::Write | Kind::Edit => Act::Write,
        Kind::Fetch => Act::Fetch,
        _ => Act::Unknown,
    }
}

/// Returns every command as bash would run it, in the order of the text; ConnectOnion's own reading
/// where bash runs none.
fn commands(scan: &Scan<'_>, text: &str) -> Vec<Vec<Option<String>>> {
    let mut found: Vec<_> =
        scan.commands.iter().filter(|c| c.via != Via::Guess && !c.argv.is_empty()).collect();
    found.sort_by_key(|command| command.argv.first().map_or(0, |word| word.span.start));
    let argv = found
        .iter()
        .map(|command| command.argv.iter().map(|word| word.literal().map(str::to_owned)).collect());
    let mut all: Vec<Vec<Option<String>>> = argv.collect();
    if all.is_empty() {
        let read = bash::read(text).unwrap_or_default();
        all = read.into_iter().map(|text| vec![Some(text)]).collect();
    }
    all
}

/// Returns the texts that permissions are matched with.
fn patterns(scan: &Scan<'_>, text: &str) -> Vec<String> {
    match bash::read(text) {
        Ok(commands) => commands,
        Err(_) => {
            scan.commands.iter().filter_map(|c| c.written_in(text)).map(str::to_owned).collect()
        }
    }
}
