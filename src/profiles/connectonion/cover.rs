//! Decides how far a permission covers a command that bash would run.

use countersign_policy::builtins::{Builtin, builtin};
use countersign_policy::shell::{Command, Redirect, RedirectOp, Word, WordKind};
use countersign_policy::wrappers::{Inner, Passage, unwrap};
use countersign_policy::{call::Call, obeyed, options, paths, paths::Directories, shell};

use crate::connectonion::permission::{Permission, PermissionForm, Permissions, command_fits};

/// Depth limit for commands inside commands.
const MAX_DEPTH: u32 = 4;

/// Compares the commands of one text with the permissions.
#[derive(Clone, Copy)]
pub(super) struct CoverCheck<'j> {
    pub(super) call: &'j Call,
    pub(super) text: &'j str,
    pub(super) given: &'j Permissions,
    pub(super) dirs: Directories<'j>,
}

impl<'j> CoverCheck<'j> {
    /// Returns the permission of a command; `None` for an assignment alone.
    pub(super) fn command(
        &self,
        command: &Command<'_>,
        depth: u32,
    ) -> Result<Option<&'j Permission>, String> {
        // No permission for the command covers what its redirects write.
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
        let written =
            if bare { command.written_in(self.text) } else { spelled(self.text, command) };
        self.argv(&command.argv, written, depth).map(Some)
    }

    /// Returns the first permission that covers the command, or why the first one that names it
    /// does not.
    fn argv(
        &self,
        argv: &[Word<'_>],
        written: Option<&str>,
        depth: u32,
    ) -> Result<&'j Permission, String> {
        let mut why = None;
        for permission in self.given.allowed() {
            let Some(named) = self.names(permission, argv, written) else { continue };
            match self.exceeds(permission, argv, named, depth) {
                Ok(()) => return Ok(permission),
                Err(exceeds) => why = why.or(Some(exceeds)),
            }
        }
        let shown = || written.map_or_else(|| quote(argv), |text| format!("`{text}`"));
        Err(why.unwrap_or_else(|| format!("Nothing permits {}.", shown())))
    }

    /// Returns how many words of the command a permission names; `None` when it is for other
    /// commands.
    fn names(
        &self,
        permission: &Permission,
        argv: &[Word<'_>],
        written: Option<&str>,
    ) -> Option<usize> {
        let named = match &permission.key.form {
            PermissionForm::Tool => return self.glob(permission, argv),
            PermissionForm::Exact(exact) => (written == Some(exact.as_str())).then_some(argv.len()),
            PermissionForm::Prefix(beginning) => {
                begins(argv, beginning).then(|| beginning.split_whitespace().count())
            }
        };
        named.filter(|_| permission.fits_args(&self.call.args, false))
    }

    /// Handles `when: {command: …}` under the shell tool's own name; a glob names no word with
    /// certainty.
    fn glob(&self, permission: &Permission, argv: &[Word<'_>]) -> Option<usize> {
        let literal: Option<Vec<&str>> = argv.iter().map(Word::literal).collect();
        let (of_command, others): (Vec<_>, Vec<_>) =
            permission.when.iter().cloned().partition(|(name, _)| name == "command");
        let (_, glob) = of_command.first()?;
        let fits = permission.key.text() == self.call.tool
            && command_fits(permission, &literal?.join(" "))
            && Permission { when: others, ..permission.clone() }.fits_args(&self.call.args, false);
        fits.then(|| if glob.contains(['*', '?', '[']) { 0 } else { argv.len() })
    }

    /// Returns an error when the command does more than its named words say.
    fn exceeds(
        &self,
        permission: &Permission,
        argv: &[Word<'_>],
        named: usize,
        depth: u32,
    ) -> Result<(), String> {
        // A permission that names every word covers the command as it is written.
        if named == argv.len() && !matches!(permission.key.form, PermissionForm::Prefix(_)) {
            return Ok(());
        }
        // Whatever the named words themselves exceed, the permission was given for.
        let itself = options::exceeds(argv.get(..named).unwrap_or_default(), false, self.dirs);
        match options::exceeds(argv, false, self.dirs) {
            Some(why) if itself != Some(why) => {
                return Err(format!(
                    "{} goes beyond {}: {why}.",
                    quote(argv),
                    permission.key.text()
                ));
            }
            _ => {}
        }
        if let Some(Builtin::Poison(why)) = builtin(argv) {
            return Err(format!("{} {why}.", quote(argv)));
        }
        self.behind(argv, depth)
    }

    /// Requires a permission for everything that the command runs in turn.
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
                let inner = CoverCheck { text, ..*self };
                match &scan.refusal {
                    Some(refusal) => Err(format!("`{text}` cannot be read: {refusal}.")),
                    None => {
                        scan.commands.iter().try_for_each(|c| inner.command(c, depth + 1).map(drop))
                    }
                }
            }
            Inner::Argv { .. } | Inner::Input(_) | Inner::File | Inner::Unknown => {
                Err(format!("What {} runs is only known when it runs.", quote(argv)))
            }
        })
    }

    /// Requires for a redirect that writes the permission that the tool `write` would need.
    fn redirect(&self, redirect: &Redirect<'_>) -> Result<(), String> {
        let path = paths::of_word(&redirect.target, self.dirs);
        match (redirect.op, path) {
            (RedirectOp::Read, Some(path))
                if paths::secret(&path, self.dirs) || paths::system(&path) =>
            {
                Err(format!("It reads {path}."))
            }
            (op, _) if !op.writes() => Ok(()),
            (_, Some(path)) if paths::sink(&path) || self.may_write(&path, redirect) => Ok(()),
            (_, Some(path)) => Err(format!("It writes to {path}.")),
            (_, None) => Err("It writes to a file that is only known when it runs.".to_owned()),
        }
    }

    fn may_write(&self, path: &str, redirect: &Redirect<'_>) -> bool {
        let args = serde_json::json!({ "file_path": path, "path": path });
        redirect.target.kind == WordKind::Literal
            && !paths::outside(path, self.dirs)
            && !obeyed::runs_later(path)
            && self
                .given
                .allowed()
                .any(|one| one.key.text() == "write" && one.fits_args(&args, false))
    }
}

/// Returns true when the words of the key are the first words of the command.
fn begins(argv: &[Word<'_>], beginning: &str) -> bool {
    let mut words = argv.iter();
    !beginning.trim().is_empty()
        && beginning
            .split_whitespace()
            .all(|named| words.next().is_some_and(|word| word.literal() == Some(named)))
}

/// Returns the command's own words as written.
fn spelled<'t>(text: &'t str, command: &Command<'_>) -> Option<&'t str> {
    let first = command.argv.first()?;
    text.get(first.span.start..command.argv.last()?.span.end)
}

fn quote(argv: &[Word<'_>]) -> String {
    let words: Vec<&str> = argv.iter().map(|word| &*word.text).collect();
    format!("`{}`", words.join(" "))
}

/// Returns true for variables that may turn a command into another one. The scanner refuses the
/// names that shells themselves obey.
pub(super) fn commandeers(name: &str) -> bool {
    // Parts of names, because programs invent their variables freely: `GIT_PAGER`, `MYTOOL_OPTS`.
    const PARTS: &[&str] = &[
        "PATH", "HOME", "LOAD", "LIB", "OPT", "FLAG", "ARG", "PAGER", "EDIT", "VISUAL", "BROWSER",
        "COMMAND", "CMD", "EXEC", "SHELL", "ENV", "PROXY", "WRAP", "TOOL", "BIN", "RC", "CONF",
        "INIT", "START", "HOOK", "ROOT", "SSH", "ASK", "PYTHON", "PERL", "RUBY", "NODE", "NPM",
        "JAVA", "JDK", "GIT", "LESS", "MAN", "CARGO", "RUST", "GO", "MAKE", "LD_", "DYLD", "GCONV",
        "MALLOC", "TERM", "PS4", "IFS", "CC", "CXX", "DIR", "PLUGIN", "MODULE", "SCRIPT", "URL",
        "HOST", "KEY", "TOKEN", "LOC", "NLS", "TZ", "TMP", "EVAL", "PRE", "POST", "DOCKER", "KUBE",
    ];
    let name = name.to_ascii_uppercase();
    !countersign_policy::environment::harmless(&name, Some(""))
        && PARTS.iter().any(|part| name.contains(part))
}
