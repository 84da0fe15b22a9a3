//! The way of a call through ConnectOnion's checks, in their order.

use super::chain::{self, Chain};
use super::control;
use super::host::Era;
use super::mode::{Mode, Requester};
use super::permission::{Permission, Permissions, is_bash};
use super::workspace::{self, EDITS, POLICY, WorkspaceDecision};
use countersign_policy::call::Call;
use countersign_policy::critical;
use countersign_policy::files;
use countersign_policy::paths::Directories;
use countersign_policy::shell::Scan;
use countersign_policy::values::Values;
use countersign_policy::verdict::Verdict;

/// What stands around a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing<'s> {
    /// Everything that is permitted: the file's, skills', people's.
    pub(super) permissions: &'s Permissions,
    pub(super) mode: Mode,
    pub(super) era: Era,
    pub(super) requester: Requester,
    /// Whether anybody could answer.
    pub(super) reachable: bool,
    /// A call of this batch was denied, and the rest with it.
    pub(super) stopped: bool,
    /// ConnectOnion's own answers, unsafe ones included.
    pub(super) compat: bool,
}

/// What the checks come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) verdict: Verdict,
    /// The permission or policy that decided.
    pub(super) rule: Option<String>,
    pub(super) reason: String,
    /// The policy's decision, where it was asked.
    pub(super) policy: Option<WorkspaceDecision>,
    /// One of the patterns that always want a person.
    pub(super) critical: bool,
}

impl Found {
    fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, rule: None, reason: reason.into(), policy: None, critical: false }
    }

    fn by(self, rule: impl Into<String>) -> Self {
        Self { rule: Some(rule.into()), ..self }
    }
}

/// Tools that change something; in a plan they are refused, and in the first version they alone
/// ask.
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

/// Rules on a call. `scan` is bash's own reading of a shell tool's text.
///
/// # Errors
/// Under `compat` what ConnectOnion's parser gives up on; the tool fails and nobody is asked.
pub(super) fn permit(
    call: &Call,
    scan: Option<&Scan<'_>>,
    dirs: Directories<'_>,
    standing: &Standing<'_>,
) -> Result<Found, String> {
    if let Some(refusal) = control::refusal(call) {
        return Ok(Found::new(Verdict::Deny, refusal));
    }
    let found = by_the_rules(call, scan, dirs, standing)?;
    if standing.compat {
        return Ok(found);
    }
    Ok(careful(call, scan, dirs, found))
}

/// What always wants a person, whatever allows it.
fn careful(call: &Call, scan: Option<&Scan<'_>>, dirs: Directories<'_>, mut found: Found) -> Found {
    let critical = match scan {
        Some(scan) => critical::critical(scan),
        None => files::critical(call.kind(), &Values::of(call), &call.resolved, dirs),
    };
    found.critical = critical.is_some();
    if found.verdict != Verdict::Allow {
        return found;
    }
    let why = match (&critical, scan) {
        (Some(finding), _) => format!("This {}; that always wants a person.", finding.reason),
        (None, Some(scan)) if control::nears(scan) => {
            "This goes near the files that decide what the agent may do.".to_owned()
        }
        _ => return found,
    };
    Found { verdict: Verdict::Ask, reason: why, ..found }
}

fn by_the_rules(
    call: &Call,
    scan: Option<&Scan<'_>>,
    dirs: Directories<'_>,
    standing: &Standing<'_>,
) -> Result<Found, String> {
    let stopped = || Found::new(Verdict::Deny, super::told::BATCH_STOPPED);
    // ConnectOnion lets permitted calls of a stopped batch run.
    if standing.stopped && !standing.compat {
        return Ok(stopped());
    }
    let policy = (standing.mode == Mode::Workspace && standing.requester.is_operator())
        .then(|| workspace::decide(call, scan.filter(|_| !standing.compat), dirs))
        .map(|decision| headless(decision, standing.reachable));
    if let Some(decision) = policy.as_ref().filter(|decision| decision.verdict != Verdict::Ask) {
        let found = Found::new(decision.verdict, decision.reason.clone()).by(POLICY);
        return Ok(Found { policy, ..found });
    }
    let people = standing.permissions.of_people();
    let given = match &policy {
        Some(decision) if decision.requires_human => &people,
        _ => standing.permissions,
    };
    let mut why = match permitted(call, scan, dirs, given, standing)? {
        Permit::Yes(found) => return Ok(Found { policy, ..found }),
        Permit::No(why) => why,
    };
    if let Some(decision) = &policy {
        why.clone_from(&decision.reason);
    }
    if matches!(standing.mode, Mode::FullAccess(Some(turns)) if turns.holds())
        && standing.requester.is_operator()
    {
        return Ok(Found::new(Verdict::Allow, "Full access.").by(standing.mode.to_string()));
    }
    if standing.stopped {
        return Ok(stopped());
    }
    Ok(Found { policy, ..unpermitted(call, standing, why) })
}

/// Without anybody to ask, what would be asked is denied.
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

/// What becomes of a call that nothing permits.
fn unpermitted(call: &Call, standing: &Standing<'_>, why: String) -> Found {
    let tool = &call.tool;
    let dangerous = DANGEROUS.contains(&tool.as_str());
    let seed = standing.era == Era::Seed;
    if !standing.reachable {
        // FAIL-CLOSED: ConnectOnion runs what it cannot ask about.
        return match standing.compat {
            true => Found::new(Verdict::Allow, "Nobody can be asked, and ConnectOnion runs it."),
            false => Found::new(Verdict::Deny, format!("{why} No approval channel is available.")),
        };
    }
    if seed && standing.mode == Mode::Plan && dangerous {
        return Found::new(Verdict::Deny, format!("Tool '{tool}' is blocked in Plan Mode."));
    }
    if seed && !dangerous && standing.compat {
        return Found::new(Verdict::Allow, "The first version takes unknown tools for safe.");
    }
    let edits = EDITS.contains(&tool.as_str());
    if standing.mode == Mode::Workspace && edits && standing.requester.is_operator() && seed {
        return Found::new(Verdict::Allow, "Edits need no approval in this mode.")
            .by(standing.mode.to_string());
    }
    if standing.requester == Requester::Stranger {
        return Found::new(
            Verdict::Deny,
            format!("{tool} needs approval from an authenticated contact or admin."),
        );
    }
    if standing.mode == Mode::RemoteExec {
        return Found::new(Verdict::Deny, why);
    }
    Found::new(Verdict::Ask, why)
}

enum Permit {
    Yes(Found),
    No(String),
}

fn permitted(
    call: &Call,
    scan: Option<&Scan<'_>>,
    dirs: Directories<'_>,
    given: &Permissions,
    standing: &Standing<'_>,
) -> Result<Permit, String> {
    let text = call.args.get("command").and_then(serde_json::Value::as_str);
    if standing.compat {
        return literally(call, text, given, standing);
    }
    let (Some(text), Some(scan), true) = (text, scan, is_bash(&call.tool)) else {
        return Ok(by_name(call, given, false)?.unwrap_or_else(|| nothing_permits(call)));
    };
    Ok(match chain::strict(call, text, scan, given, dirs) {
        Chain::Permitted { commands, key, source } => Permit::Yes(chained(commands, key, source)),
        Chain::Refused(why) => Permit::No(why),
        Chain::Unreadable(why) if standing.mode == Mode::RemoteExec && standing.reachable => {
            Permit::Yes(Found::new(Verdict::Ask, why))
        }
        Chain::Unreadable(why) => Permit::No(why),
    })
}

/// ConnectOnion's own way: the chain check, and then, but for direct calls, the second look.
fn literally(
    call: &Call,
    text: Option<&str>,
    given: &Permissions,
    standing: &Standing<'_>,
) -> Result<Permit, String> {
    let remote = standing.mode == Mode::RemoteExec;
    if given.iter().next().is_none() {
        return Ok(nothing_permits(call));
    }
    if let (Some(text), "bash") = (text, call.tool.as_str()) {
        match chain::literal(call, text, given)? {
            Chain::Permitted { commands, key, source } => {
                return Ok(Permit::Yes(chained(commands, key, source)));
            }
            Chain::Refused(why) | Chain::Unreadable(why) if remote => return Ok(Permit::No(why)),
            _ => {}
        }
    }
    Ok(by_name(call, given, true)?.unwrap_or_else(|| nothing_permits(call)))
}

fn chained(commands: usize, key: String, source: super::permission::Source) -> Found {
    let reason = match commands {
        0 | 1 => format!("permitted ({})", source.word()),
        _ => format!("safe chain ({commands} commands, {})", source.word()),
    };
    Found::new(Verdict::Allow, reason).by(key)
}

/// The first permission that fits the call as a whole.
fn by_name(call: &Call, given: &Permissions, literally: bool) -> Result<Option<Permit>, String> {
    let fits = |one: &Permission| {
        let matches = match literally {
            // Without any command nothing runs, and a person may well be asked about it.
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
            let found = Found::new(Verdict::Allow, reason).by(permission.key.text());
            return Ok(Some(Permit::Yes(found)));
        }
    }
    Ok(None)
}

fn nothing_permits(call: &Call) -> Permit {
    Permit::No(format!("Nothing permits {}.", call.tool))
}
