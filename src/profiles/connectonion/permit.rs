//! A call's way through ConnectOnion's checks, in their order.

use countersign_policy::shell::{Scan, Via};
use countersign_policy::{call::Call, decision::Decision, paths::Directories, verdict::Verdict};

use crate::connectonion::bash::{self, Unread};
use crate::connectonion::cover::CoverCheck;
use crate::connectonion::host::Era;
use crate::connectonion::mode::{PermissionMode, Requester};
use crate::connectonion::permission::{Permission, Permissions, command_fits, is_bash};
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

/// A call, and the state of its session that the checks need.
#[derive(Clone, Copy, Debug)]
pub(super) struct PermitCheck<'s> {
    pub(super) call: &'s Call,
    /// A shell tool's text, as bash reads it.
    pub(super) shell: Option<&'s (&'s str, Scan<'s>)>,
    pub(super) dirs: Directories<'s>,
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
}

impl PermitResult {
    fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, rule: None, reason: reason.into() }
    }

    fn by(self, rule: impl Into<String>) -> Self {
        Self { rule: Some(rule.into()), ..self }
    }
}

/// Whether the permissions cover the call.
enum Permit {
    Yes(PermitResult),
    /// They do not, with the reason.
    No(String),
}

impl PermitCheck<'_> {
    /// Decides the call.
    ///
    /// # Errors
    /// Under `compat`, when ConnectOnion's parser gives up: the tool fails and nobody is asked.
    pub(super) fn permit(&self, facts: &Decision) -> Result<PermitResult, String> {
        if let Some(refusal) = workspace::refusal(self.call) {
            return Ok(PermitResult::new(Verdict::Deny, refusal));
        }
        let found = self.by_the_rules()?;
        if self.compat || found.verdict != Verdict::Allow {
            return Ok(found);
        }
        // What always needs a person, whatever allows it.
        let why = match self.shell {
            _ if facts.critical => facts.reason.clone(),
            Some((_, scan)) if workspace::nears(scan) => {
                "This goes near the files that decide what the agent may do.".to_owned()
            }
            _ => return Ok(found),
        };
        Ok(PermitResult { verdict: Verdict::Ask, reason: why, ..found })
    }

    fn by_the_rules(&self) -> Result<PermitResult, String> {
        let is_operator = self.requester.is_operator();
        let policy = (self.mode == PermissionMode::Workspace && is_operator).then(|| {
            let scan = self.shell.map(|(_, scan)| scan).filter(|_| !self.compat);
            headless(workspace::decide(self.call, scan, self.dirs), self.reachable)
        });
        if let Some(decision) = policy.as_ref().filter(|policy| policy.verdict != Verdict::Ask) {
            return Ok(PermitResult::new(decision.verdict, decision.reason.clone()).by(POLICY));
        }
        let people = self.permissions.of_people();
        let needs_human = policy.as_ref().is_some_and(|policy| policy.requires_human);
        let given = if needs_human { &people } else { self.permissions };
        let why = match self.permitted(given)? {
            Permit::Yes(found) => return Ok(found),
            Permit::No(why) => policy.map_or(why, |policy| policy.reason),
        };
        if matches!(self.mode, PermissionMode::FullAccess(Some(turns)) if turns.holds())
            && is_operator
        {
            return Ok(PermitResult::new(Verdict::Allow, "Full access.").by(self.mode.to_string()));
        }
        Ok(self.unpermitted(why))
    }

    /// Decides a call that nothing permits.
    fn unpermitted(&self, why: String) -> PermitResult {
        let tool = self.call.tool.as_str();
        let dangerous = DANGEROUS.contains(&tool);
        let seed = self.era == Era::Seed;
        if !self.reachable {
            // FAIL-CLOSED: ConnectOnion runs a call when nobody can be asked.
            return if self.compat {
                PermitResult::new(Verdict::Allow, "Nobody can be asked, and ConnectOnion runs it.")
            } else {
                let why = format!("{why} No approval channel is available.");
                PermitResult::new(Verdict::Deny, why)
            };
        }
        if seed && self.mode == PermissionMode::Plan && dangerous {
            let why = format!("Tool '{tool}' is blocked in Plan Mode.");
            return PermitResult::new(Verdict::Deny, why);
        }
        if seed && !dangerous && self.compat {
            return PermitResult::new(
                Verdict::Allow,
                "The first version takes unknown tools for safe.",
            );
        }
        let edits = self.mode == PermissionMode::Workspace && EDITS.contains(&tool);
        if seed && edits && self.requester.is_operator() {
            return PermitResult::new(Verdict::Allow, "Edits need no approval in this mode.")
                .by(self.mode.to_string());
        }
        if self.requester == Requester::Stranger {
            let why = format!("{tool} needs approval from an authenticated contact or admin.");
            return PermitResult::new(Verdict::Deny, why);
        }
        let direct = self.mode == PermissionMode::RemoteExec;
        PermitResult::new(if direct { Verdict::Deny } else { Verdict::Ask }, why)
    }

    fn permitted(&self, given: &Permissions) -> Result<Permit, String> {
        if self.compat {
            return self.literally(given);
        }
        Ok(match self.shell.filter(|_| is_bash(&self.call.tool)) {
            Some((text, scan)) => self.strict(text, scan, given),
            None => self.by_name(given),
        })
    }

    /// Decides as ConnectOnion does: the chain check and then, except for direct calls, the second
    /// check.
    fn literally(&self, given: &Permissions) -> Result<Permit, String> {
        let chain = self.shell.filter(|_| self.call.tool == "bash");
        if let Some((text, _)) = chain
            && given.iter().next().is_some()
        {
            match literal(text, given)? {
                Permit::No(_) if self.mode != PermissionMode::RemoteExec => {}
                found => return Ok(found),
            }
        }
        Ok(self.by_name(given))
    }

    /// Returns the first permission that fits the call as a whole.
    fn by_name(&self, given: &Permissions) -> Permit {
        let Call { tool, args, .. } = self.call;
        let fits = |one: &&Permission| {
            let named =
                if self.compat { one.key.matches(tool, args) } else { one.key.text() == tool };
            named && one.fits_args(args, self.compat)
        };
        match given.allowed().find(fits) {
            Some(one) => {
                let reason = format!("{} ({})", one.reason, one.source.word());
                Permit::Yes(PermitResult::new(Verdict::Allow, reason).by(one.key.text()))
            }
            None => Permit::No(format!("Nothing permits {tool}.")),
        }
    }

    /// Returns the safe answer about a shell text. Both ConnectOnion's parser and our scanner must
    /// read it. Every command that bash would run must be permitted, with its redirects and
    /// everything that it runs in turn.
    // INVARIANT: after this has refused a text, nothing else permits it. Only `compat` brings back
    // ConnectOnion's second check, which compares `Bash(ls *)` with `ls -F && rm -rf /` as a whole.
    fn strict(&self, text: &str, scan: &Scan<'_>, given: &Permissions) -> Permit {
        // The tool's own name, without a condition on the command, permits every command.
        let whole = |one: &&Permission| {
            one.key.text() == self.call.tool
                && one.when.iter().all(|(name, _)| name != "command")
                && one.fits_args(&self.call.args, false)
        };
        if let Some(tool_wide) = given.allowed().find(whole) {
            return chained(scan.commands.len(), tool_wide);
        }
        if let Some(why) = unreadable(text, scan) {
            return if self.mode == PermissionMode::RemoteExec && self.reachable {
                Permit::Yes(PermitResult::new(Verdict::Ask, why))
            } else {
                Permit::No(why)
            };
        }
        let judge = CoverCheck { call: self.call, text, given, dirs: self.dirs };
        let mut last = None;
        for command in scan.commands.iter().filter(|command| command.via != Via::Guess) {
            match judge.command(command, 0) {
                Ok(found) => last = found.or(last),
                Err(why) => return Permit::No(why),
            }
        }
        match last {
            Some(last) => chained(scan.commands.len(), last),
            None => Permit::No("There is no command in the text that a permission names.".into()),
        }
    }
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

/// Returns ConnectOnion's own answer about a shell text, by its own reading.
///
/// # Errors
/// When its parser gives up: the agent's tool fails, and no person is asked.
fn literal(text: &str, given: &Permissions) -> Result<Permit, String> {
    let commands = bash::read(text).map_err(|unread| format!("{unread}: {}", words_of(unread)))?;
    let mut last = None;
    for text in &commands {
        // The first entry that matches counts, whatever its source. Only `command` is checked here,
        // whatever else `when` contains.
        let fits = |one: &&Permission| one.key.fits(text) && command_fits(one, text);
        last = given.allowed().find(fits);
        if last.is_none() {
            return Ok(Permit::No(format!("Nothing permits `{text}`.")));
        }
    }
    Ok(match last {
        Some(last) => chained(commands.len(), last),
        None => Permit::No("Nothing permits bash.".to_owned()),
    })
}

/// Permits so many commands; `last` is the last permission that was needed.
fn chained(commands: usize, last: &Permission) -> Permit {
    let source = last.source.word();
    let reason = match commands {
        0 | 1 => format!("permitted ({source})"),
        _ => format!("safe chain ({commands} commands, {source})"),
    };
    Permit::Yes(PermitResult::new(Verdict::Allow, reason).by(last.key.text()))
}

/// Returns why a text cannot be read with certainty, if it cannot.
fn unreadable(text: &str, scan: &Scan<'_>) -> Option<String> {
    if let Err(unread) = bash::read(text) {
        return Some(format!("The command cannot be read: {}.", words_of(unread)));
    }
    let refusal = scan.refusal.as_ref()?;
    Some(format!("The command cannot be read with certainty: {refusal}."))
}

fn words_of(unread: Unread) -> &'static str {
    match unread {
        Unread::Unsupported => "ConnectOnion does not know a construct of the command",
        Unread::Unmatched => "a quote or bracket of the command is never closed",
        Unread::Syntax => "it cannot be read with certainty",
        Unread::Empty => "there is no command in the text",
    }
}
