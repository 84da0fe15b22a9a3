//! A call's way through ConnectOnion's checks, in their order.

use countersign_policy::shell::{Scan, Via};
use countersign_policy::{
    call::Call, critical, files, paths::Directories, values::Values, verdict::Verdict,
};

use crate::connectonion::bash::{self, Unread};
use crate::connectonion::cover::CoverCheck;
use crate::connectonion::host::Era;
use crate::connectonion::mode::{PermissionMode, Requester};
use crate::connectonion::permission::{
    self, Permission, PermissionSource, Permissions, command_fits, is_bash,
};
use crate::connectonion::workspace::{self, EDITS, POLICY, WorkspaceDecision};

/// Tools that change something. In a plan they are refused; in the first version only they ask.
const DANGEROUS: &[&str] = &[
    "bash",
    "shell",
    "run",
    "run_in_dir",
    "write",
    "edit",
    "multi_edit",
    "run_background",
    "kill_task",
    "send_email",
    "post",
    "delete",
    "remove",
];

/// Decides a call. `scan` is bash's reading of a shell tool's text.
///
/// # Errors
/// Under `compat`, when ConnectOnion's parser gives up: the tool fails and nobody is asked.
pub(super) fn permit(
    call: &Call,
    scan: Option<&Scan<'_>>,
    dirs: Directories<'_>,
    context: &PermitContext<'_>,
) -> Result<PermitResult, String> {
    if let Some(refusal) = workspace::refusal(call) {
        return Ok(PermitResult::new(Verdict::Deny, refusal));
    }
    let found = by_the_rules(call, scan, dirs, context)?;
    if context.compat {
        return Ok(found);
    }
    Ok(careful(call, scan, dirs, found))
}

/// Asks for what always needs a person, whatever allows it.
fn careful(
    call: &Call,
    scan: Option<&Scan<'_>>,
    dirs: Directories<'_>,
    mut found: PermitResult,
) -> PermitResult {
    let critical = match scan {
        Some(scan) => critical::critical(scan),
        None => files::critical(call.kind(), &Values::of(call), &call.resolved, dirs),
    };
    found.critical = critical.is_some();
    if found.verdict != Verdict::Allow {
        return found;
    }
    let why = match (&critical, scan) {
        (Some(finding), _) => format!("This {}; that always needs a person.", finding.reason),
        (None, Some(scan)) if workspace::nears(scan) => {
            "This goes near the files that decide what the agent may do.".to_owned()
        }
        _ => return found,
    };
    PermitResult { verdict: Verdict::Ask, reason: why, ..found }
}

fn by_the_rules(
    call: &Call,
    scan: Option<&Scan<'_>>,
    dirs: Directories<'_>,
    context: &PermitContext<'_>,
) -> Result<PermitResult, String> {
    let policy = (context.mode == PermissionMode::Workspace && context.requester.is_operator())
        .then(|| workspace::decide(call, scan.filter(|_| !context.compat), dirs))
        .map(|decision| headless(decision, context.reachable));
    if let Some(decision) = policy.as_ref().filter(|decision| decision.verdict != Verdict::Ask) {
        return Ok(PermitResult::new(decision.verdict, decision.reason.clone()).by(POLICY));
    }
    let people = context.permissions.of_people();
    let given = match &policy {
        Some(decision) if decision.requires_human => &people,
        _ => context.permissions,
    };
    let mut why = match permitted(call, scan, dirs, given, context)? {
        Permit::Yes(found) => return Ok(found),
        Permit::No(why) => why,
    };
    if let Some(decision) = &policy {
        why.clone_from(&decision.reason);
    }
    if matches!(context.mode, PermissionMode::FullAccess(Some(turns)) if turns.holds())
        && context.requester.is_operator()
    {
        return Ok(PermitResult::new(Verdict::Allow, "Full access.").by(context.mode.to_string()));
    }
    Ok(unpermitted(call, context, why))
}

/// Turns an ask into a deny when nobody can be asked.
fn headless(decision: WorkspaceDecision, reachable: bool) -> WorkspaceDecision {
    match decision.verdict {
        Verdict::Ask if !reachable => WorkspaceDecision {
            verdict: Verdict::Deny,
            requires_human: false,
            reason: format!("{}; no approval channel is available", decision.reason),
            ..decision
        },
        _ => decision,
    }
}

/// Decides a call that nothing permits.
fn unpermitted(call: &Call, context: &PermitContext<'_>, why: String) -> PermitResult {
    let tool = &call.tool;
    let dangerous = DANGEROUS.contains(&tool.as_str());
    let seed = context.era == Era::Seed;
    if !context.reachable {
        // FAIL-CLOSED: ConnectOnion runs a call when nobody can be asked.
        return if context.compat {
            PermitResult::new(Verdict::Allow, "Nobody can be asked, and ConnectOnion runs it.")
        } else {
            PermitResult::new(Verdict::Deny, format!("{why} No approval channel is available."))
        };
    }
    if seed && context.mode == PermissionMode::Plan && dangerous {
        return PermitResult::new(Verdict::Deny, format!("Tool '{tool}' is blocked in Plan Mode."));
    }
    if seed && !dangerous && context.compat {
        return PermitResult::new(
            Verdict::Allow,
            "The first version takes unknown tools for safe.",
        );
    }
    let edits = EDITS.contains(&tool.as_str());
    if context.mode == PermissionMode::Workspace && edits && context.requester.is_operator() && seed
    {
        return PermitResult::new(Verdict::Allow, "Edits need no approval in this mode.")
            .by(context.mode.to_string());
    }
    if context.requester == Requester::Stranger {
        return PermitResult::new(
            Verdict::Deny,
            format!("{tool} needs approval from an authenticated contact or admin."),
        );
    }
    if context.mode == PermissionMode::RemoteExec {
        return PermitResult::new(Verdict::Deny, why);
    }
    PermitResult::new(Verdict::Ask, why)
}

enum Permit {
    Yes(PermitResult),
    No(String),
}

fn permitted(
    call: &Call,
    scan: Option<&Scan<'_>>,
    dirs: Directories<'_>,
    given: &Permissions,
    context: &PermitContext<'_>,
) -> Result<Permit, String> {
    let text = call.args.get("command").and_then(serde_json::Value::as_str);
    if context.compat {
        return literally(call, text, given, context);
    }
    let (Some(text), Some(scan), true) = (text, scan, is_bash(&call.tool)) else {
        return Ok(by_name(call, given, false)?.unwrap_or_else(|| nothing_permits(call)));
    };
    Ok(match strict(call, text, scan, given, dirs) {
        Chain::Permitted { commands, key, source } => Permit::Yes(chained(commands, key, source)),
        Chain::Refused(why) => Permit::No(why),
        Chain::Unreadable(why)
            if context.mode == PermissionMode::RemoteExec && context.reachable =>
        {
            Permit::Yes(PermitResult::new(Verdict::Ask, why))
        }
        Chain::Unreadable(why) => Permit::No(why),
    })
}

/// Decides as ConnectOnion does: the chain check and then, except for direct calls, the second
/// check.
fn literally(
    call: &Call,
    text: Option<&str>,
    given: &Permissions,
    context: &PermitContext<'_>,
) -> Result<Permit, String> {
    let remote = context.mode == PermissionMode::RemoteExec;
    if given.iter().next().is_none() {
        return Ok(nothing_permits(call));
    }
    if let (Some(text), "bash") = (text, call.tool.as_str()) {
        match literal(call, text, given)? {
            Chain::Permitted { commands, key, source } => {
                return Ok(Permit::Yes(chained(commands, key, source)));
            }
            Chain::Refused(why) | Chain::Unreadable(why) if remote => return Ok(Permit::No(why)),
            _ => {}
        }
    }
    Ok(by_name(call, given, true)?.unwrap_or_else(|| nothing_permits(call)))
}

fn chained(commands: usize, key: String, source: permission::PermissionSource) -> PermitResult {
    let reason = match commands {
        0 | 1 => format!("permitted ({})", source.word()),
        _ => format!("safe chain ({commands} commands, {})", source.word()),
    };
    PermitResult::new(Verdict::Allow, reason).by(key)
}

/// Returns the first permission that fits the call as a whole.
fn by_name(call: &Call, given: &Permissions, literally: bool) -> Result<Option<Permit>, String> {
    let fits = |one: &Permission| {
        let matches = match literally {
            // Without a command nothing runs, so a person may be asked about it.
            true => match one.key.matches(&call.tool, &call.args) {
                Err(_) if call.args.get("command").is_none() => false,
                matches => matches?,
            },
            false => one.key.text() == call.tool,
        };
        Ok::<_, String>(matches && one.fits_args(&call.args, literally))
    };
    for permission in given.allowed() {
        if fits(permission)? {
            let reason = format!("{} ({})", permission.reason, permission.source.word());
            let found = PermitResult::new(Verdict::Allow, reason).by(permission.key.text());
            return Ok(Some(Permit::Yes(found)));
        }
    }
    Ok(None)
}

fn nothing_permits(call: &Call) -> Permit {
    Permit::No(format!("Nothing permits {}.", call.tool))
}

/// The session's state that the checks of a call need.
#[derive(Clone, Copy, Debug)]
pub(super) struct PermitContext<'s> {
    /// Everything that is permitted: by the file, by skills, by people.
    pub(super) permissions: &'s Permissions,
    pub(super) mode: PermissionMode,
    pub(super) era: Era,
    pub(super) requester: Requester,
    /// True when someone could answer.
    pub(super) reachable: bool,
    /// Gives ConnectOnion's own answers, including unsafe ones.
    pub(super) compat: bool,
}

/// The result of the checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PermitResult {
    pub(super) verdict: Verdict,
    /// The permission or policy that decided.
    pub(super) rule: Option<String>,
    pub(super) reason: String,
    /// The call matches a critical pattern, which always needs a person.
    pub(super) critical: bool,
}

impl PermitResult {
    pub(super) fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, rule: None, reason: reason.into(), critical: false }
    }

    pub(super) fn by(self, rule: impl Into<String>) -> Self {
        Self { rule: Some(rule.into()), ..self }
    }
}

// Decides whether every command of a shell text is permitted.
//
// INVARIANT: after the chain has refused a text, nothing else permits it. Only `compat` brings
// back ConnectOnion's second check, which compares `Bash(ls *)` with `ls -F && rm -rf /` as a
// whole.

/// The result of checking a shell text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// Every command is permitted.
    Permitted {
        /// Number of commands.
        commands: usize,
        /// The last permission that was needed.
        key: String,
        /// The source of that permission.
        source: PermissionSource,
    },
    /// Some command is not permitted.
    Refused(String),
    /// The text cannot be read with certainty.
    Unreadable(String),
}

/// Returns ConnectOnion's own answer, by its own reading of the text.
///
/// # Errors
/// When its parser gives up: the agent's tool fails, and no person is asked.
fn literal(call: &Call, text: &str, given: &Permissions) -> Result<Chain, String> {
    let commands = bash::read(text).map_err(|unread| format!("{unread}: {}", words_of(unread)))?;
    let mut last = None;
    for text in &commands {
        let mut found = None;
        // The first entry that matches counts, whatever its source.
        for permission in given.allowed() {
            // Only `command` is checked here, whatever else `when` contains.
            if permission.key.fits(text)? && command_fits(permission, text) {
                found = Some(permission);
                break;
            }
        }
        let Some(found) = found else {
            return Ok(Chain::Refused(format!("Nothing permits `{text}`.")));
        };
        last = Some(found);
    }
    Ok(match last {
        Some(last) => chain_permitted(commands.len(), last),
        None => Chain::Refused(format!("Nothing permits {}.", call.tool)),
    })
}

fn chain_permitted(commands: usize, last: &Permission) -> Chain {
    Chain::Permitted { commands, key: last.key.text().to_owned(), source: last.source }
}

fn words_of(unread: Unread) -> &'static str {
    match unread {
        Unread::Unsupported => "ConnectOnion does not know a construct of the command",
        Unread::Unmatched => "a quote or bracket of the command is never closed",
        Unread::Syntax => "it cannot be read with certainty",
        Unread::Empty => "there is no command in the text",
    }
}

/// Returns the safe answer. Both ConnectOnion's parser and our scanner must read the text. Every
/// command that bash would run must be permitted, with its redirects and everything that it runs in
/// turn.
fn strict(
    call: &Call,
    text: &str,
    scan: &Scan<'_>,
    given: &Permissions,
    dirs: Directories<'_>,
) -> Chain {
    // The tool's own name, without a condition on the command, permits every command.
    let whole = |one: &&Permission| {
        one.key.text() == call.tool
            && one.when.iter().all(|(name, _)| name != "command")
            && one.fits_args(&call.args, false)
    };
    if let Some(tool_wide) = given.allowed().find(whole) {
        return chain_permitted(scan.commands.len(), tool_wide);
    }
    if let Err(unread) = bash::read(text) {
        return Chain::Unreadable(format!("The command cannot be read: {}.", words_of(unread)));
    }
    if let Some(refusal) = &scan.refusal {
        return Chain::Unreadable(format!("The command cannot be read with certainty: {refusal}."));
    }
    let judge = CoverCheck { call, text, given, dirs };
    let mut last = None;
    for command in scan.commands.iter().filter(|command| command.via != Via::Guess) {
        match judge.command(command, 0) {
            Ok(found) => last = found.or(last),
            Err(reason) => return Chain::Refused(reason),
        }
    }
    match last {
        Some(last) => chain_permitted(scan.commands.len(), last),
        None => Chain::Refused("There is no command in the text that a permission names.".into()),
    }
}
