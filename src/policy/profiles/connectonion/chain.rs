//! Whether every command of a shell text is permitted.
//!
//! INVARIANT: after the chain has said no, nothing else says yes; only `compat` brings back
//! ConnectOnion's second look, which compares `Bash(ls *)` with `ls -F && rm -rf /` as a whole.

use super::bash::{self, Unread};
use super::permission::{Form, Permission, Permissions, Source};
use crate::builtins::{Builtin, builtin};
use crate::call::Call;
use crate::judge::slice;
use crate::options;
use crate::place::{self, Place};
use crate::shell::{self, Command, Redirect, RedirectOp, Scan, Via, Word, WordKind};
use crate::wrappers::{Inner, Passage, unwrap};

/// What the permissions say about a shell text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// Every command is permitted.
    Permitted {
        /// How many commands there are.
        commands: usize,
        /// The last permission that was needed.
        key: String,
        /// Who gave it.
        source: Source,
    },
    /// Some command is not.
    Refused(String),
    /// It cannot be read with certainty.
    Unreadable(String),
}

/// ConnectOnion's own answer, by its own reading of the text.
///
/// # Errors
/// What its parser gives up on: the agent's tool fails, and no person is asked.
pub(super) fn literal(call: &Call, text: &str, given: &Permissions) -> Result<Chain, String> {
    let commands = bash::read(text).map_err(|unread| format!("{unread}: {}", words_of(unread)))?;
    let mut last = None;
    for command in &commands {
        let text = command.text();
        let mut found = None;
        for permission in given.allowed() {
            // Only `command` is looked at here, whatever else stands under `when`.
            if permission.key.fits(&text)? && command_fits(permission, &text) {
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
        Some(last) => permitted(commands.len(), last),
        None => Chain::Refused(format!("Nothing permits {}.", call.tool)),
    })
}

fn command_fits(permission: &Permission, text: &str) -> bool {
    let glob = permission.when.iter().find(|(name, _)| name == "command").map(|(_, glob)| glob);
    glob.is_none_or(|glob| {
        glob.is_empty()
            || super::fnmatch::fnmatch(text, glob)
            || glob.strip_suffix(" *") == Some(text)
    })
}

fn permitted(commands: usize, last: &Permission) -> Chain {
    Chain::Permitted { commands, key: last.key.text().to_owned(), source: last.source }
}

fn words_of(unread: Unread) -> &'static str {
    match unread {
        Unread::Unsupported => "ConnectOnion's parser does not know a construct of the command",
        Unread::Unmatched => "a quote or bracket of the command is never closed",
        Unread::Syntax => "ConnectOnion's parser cannot read the command",
        Unread::Empty => "there is no command in the text",
    }
}

/// The safe answer: what ConnectOnion's parser reads and what bash would run must both be known,
/// and every command that bash would run must be permitted, with its redirects and whatever it runs
/// in its turn.
pub(super) fn strict(
    call: &Call,
    text: &str,
    scan: &Scan<'_>,
    given: &Permissions,
    place: Place<'_>,
) -> Chain {
    let whole = |one: &&Permission| {
        one.key.text() == call.tool
            && one.when.iter().all(|(name, _)| name != "command")
            && one.fits_args(&call.args, false)
    };
    if let Some(tool_wide) = given.allowed().find(whole) {
        return permitted(scan.commands.len(), tool_wide);
    }
    if let Err(unread) = bash::read(text) {
        return Chain::Unreadable(format!("The command cannot be read: {}.", words_of(unread)));
    }
    if let Some(refusal) = &scan.refusal {
        return Chain::Unreadable(format!("The command cannot be read with certainty: {refusal}."));
    }
    let judge = Judge { call, text, given, place };
    let mut last = None;
    for command in scan.commands.iter().filter(|command| command.via != Via::Guess) {
        match judge.command(command) {
            Ok(found) => last = found.or(last),
            Err(reason) => return Chain::Refused(reason),
        }
    }
    match last {
        Some(last) => permitted(scan.commands.len(), last),
        None => Chain::Refused("There is no command in the text that a permission names.".into()),
    }
}

/// Inside each other no deeper than this.
const MAX_DEPTH: u32 = 4;

struct Judge<'j> {
    call: &'j Call,
    text: &'j str,
    given: &'j Permissions,
    place: Place<'j>,
}

impl<'j> Judge<'j> {
    /// The permission of a command; none for an assignment alone.
    fn command(&self, command: &Command<'_>) -> Result<Option<&'j Permission>, String> {
        for redirect in &command.redirects {
            self.redirect(redirect)?;
        }
        if let Some(assign) = command.assigns.iter().find(|a| commandeers(a.name)) {
            return Err(format!("Setting {} may change what the command runs.", assign.name));
        }
        if command.argv.is_empty() {
            return Ok(None);
        }
        let bare = command.redirects.is_empty() && command.assigns.is_empty();
        let written = if bare { slice(self.text, command) } else { spelled(self.text, command) };
        self.argv(&command.argv, written, 0).map(Some)
    }

    fn argv(
        &self,
        argv: &[Word<'_>],
        written: Option<&str>,
        depth: u32,
    ) -> Result<&'j Permission, String> {
        let shown = || written.map_or_else(|| quote(argv), |text| format!("`{text}`"));
        let found = self.given.allowed().find(|permission| match &permission.key.form {
            Form::Tool => false,
            Form::Exact(exact) => written == Some(exact.as_str()),
            Form::Prefix(beginning) => begins(argv, beginning),
        } && permission.fits_args(&self.call.args, false) || self.glob(permission, argv));
        let Some(found) = found else {
            return Err(format!("Nothing permits {}.", shown()));
        };
        let Form::Prefix(beginning) = &found.key.form else { return Ok(found) };
        let named = beginning.split_whitespace().count();
        let why = options::exceeds(argv, false, self.place).filter(|why| {
            options::exceeds(argv.get(..named).unwrap_or_default(), false, self.place) != Some(why)
        });
        if let Some(why) = why {
            return Err(format!("{} goes beyond {}: {why}.", shown(), found.key.text()));
        }
        if let Some(Builtin::Poison(why)) = builtin(argv) {
            return Err(format!("{} {why}.", shown()));
        }
        self.behind(argv, depth)?;
        Ok(found)
    }

    /// `when: {command: …}` under the shell tool's own name.
    fn glob(&self, permission: &Permission, argv: &[Word<'_>]) -> bool {
        let literal: Option<Vec<&str>> = argv.iter().map(Word::literal).collect();
        let others = || Permission {
            when: permission.when.iter().filter(|(name, _)| name != "command").cloned().collect(),
            ..permission.clone()
        };
        permission.key.text() == self.call.tool
            && permission.when.iter().any(|(name, _)| name == "command")
            && literal.is_some_and(|words| command_fits(permission, &words.join(" ")))
            && others().fits_args(&self.call.args, false)
    }

    /// What the command runs in its turn needs a permission of its own.
    fn behind(&self, argv: &[Word<'_>], depth: u32) -> Result<(), String> {
        let Some(behind) = unwrap(argv) else { return Ok(()) };
        match behind.passage {
            Passage::Outer => return Ok(()),
            Passage::DenyOnly => {
                return Err(format!(
                    "{} runs other commands with more rights or unseen.",
                    quote(argv)
                ));
            }
            Passage::Inner | Passage::Both if depth >= MAX_DEPTH => {
                return Err("Commands run inside commands inside commands.".to_owned());
            }
            Passage::Inner | Passage::Both => {}
        }
        if behind.assigns.iter().any(|word| commandeers(word.text.split('=').next().unwrap_or("")))
        {
            return Err(format!("{} changes what the command runs.", quote(argv)));
        }
        behind.inner.iter().try_for_each(|inner| match inner {
            Inner::Argv { argv, open: false } => self.argv(argv, None, depth + 1).map(drop),
            Inner::Script { text, dialect } => {
                let scan = shell::scan_as(text, *dialect);
                let inner = Judge { text, ..*self };
                match &scan.refusal {
                    Some(refusal) => Err(format!("`{text}` cannot be read: {refusal}.")),
                    None => scan.commands.iter().try_for_each(|c| inner.command(c).map(drop)),
                }
            }
            Inner::Argv { .. } | Inner::Input(_) | Inner::Unknown => {
                Err(format!("What {} runs is only known when it runs.", quote(argv)))
            }
        })
    }

    /// A redirect that writes needs what the tool `write` would need.
    fn redirect(&self, redirect: &Redirect<'_>) -> Result<(), String> {
        let path = place::path(&redirect.target, self.place);
        match (redirect.op, path) {
            (RedirectOp::Read, Some(path))
                if place::secret(&path, self.place) || place::system(&path) =>
            {
                Err(format!("It reads {path}."))
            }
            (op, _) if !op.writes() => Ok(()),
            (_, Some(path)) if place::sink(&path) || self.may_write(&path, redirect) => Ok(()),
            (_, Some(path)) => Err(format!("It writes to {path}.")),
            (_, None) => Err("It writes to a file that is only known when it runs.".to_owned()),
        }
    }

    fn may_write(&self, path: &str, redirect: &Redirect<'_>) -> bool {
        let args = serde_json::json!({ "file_path": path, "path": path });
        redirect.target.kind == WordKind::Literal
            && !place::outside(path, self.place)
            && !place::runs_later(path)
            && self
                .given
                .allowed()
                .any(|one| one.key.text() == "write" && one.fits_args(&args, false))
    }
}

/// The words of the key are the first words of the command.
fn begins(argv: &[Word<'_>], beginning: &str) -> bool {
    let mut words = argv.iter();
    !beginning.trim().is_empty()
        && beginning
            .split_whitespace()
            .all(|named| words.next().is_some_and(|word| word.literal() == Some(named)))
}

/// The command's own words as they were written.
fn spelled<'t>(text: &'t str, command: &Command<'_>) -> Option<&'t str> {
    let first = command.argv.first()?;
    text.get(first.span.start..command.argv.last()?.span.end)
}

fn quote(argv: &[Word<'_>]) -> String {
    let words: Vec<&str> = argv.iter().map(|word| &*word.text).collect();
    format!("`{}`", words.join(" "))
}

/// Variables by which a command may become another one. The names that shells obey themselves are
/// refused by the scanner already.
fn commandeers(name: &str) -> bool {
    const PARTS: &[&str] = &[
        "PATH", "HOME", "LOAD", "LIB", "OPT", "FLAG", "ARG", "PAGER", "EDIT", "VISUAL", "BROWSER",
        "COMMAND", "CMD", "EXEC", "SHELL", "ENV", "PROXY", "WRAP", "TOOL", "BIN", "RC", "CONF",
        "INIT", "START", "HOOK", "ROOT", "SSH", "ASK", "PYTHON", "PERL", "RUBY", "NODE", "NPM",
        "JAVA", "JDK", "GIT", "LESS", "MAN", "CARGO", "RUST", "GO", "MAKE", "LD_", "DYLD", "GCONV",
        "MALLOC", "TERM", "PS4", "IFS", "CC", "CXX", "DIR", "PLUGIN", "MODULE", "SCRIPT", "URL",
        "HOST", "KEY", "TOKEN", "LOC", "NLS", "TZ", "TMP", "EVAL", "PRE", "POST", "DOCKER", "KUBE",
    ];
    let name = name.to_ascii_uppercase();
    !crate::environment::harmless(&name, Some("")) && PARTS.iter().any(|part| name.contains(part))
}
