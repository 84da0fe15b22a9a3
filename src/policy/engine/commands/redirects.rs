//! Files that a command touches by its redirects.

use crate::engine::commands::judge::{Care, Judge};
use crate::engine::part_decision::PartDecision;
use crate::engine::stack::Hit;
use crate::facts::tools::Kind;
use crate::facts::values::Value;
use crate::facts::{obeyed, paths, shorten};
use crate::rules::verdict::Verdict;
use crate::shell::{Command, Redirect, RedirectOp, WordKind};

impl<'r> Judge<'r, '_> {
    /// Decides the files that a command's redirects name.
    pub(super) fn redirects(&self, command: &Command<'_>, hit: &Hit<'r>) -> PartDecision<'r> {
        command
            .redirects
            .iter()
            .map(|redirect| self.redirect(redirect, hit))
            .fold(PartDecision::allow(None), PartDecision::max)
    }

    pub(super) fn redirect(&self, redirect: &Redirect<'_>, hit: &Hit<'r>) -> PartDecision<'r> {
        // opencode let `cargo check > ~/.zshrc` pass under a rule for cargo (its issue 5330).
        let written = || self.opened(redirect, Kind::Write, hit);
        let read = || self.opened(redirect, Kind::Read, hit);
        match redirect.op {
            RedirectOp::Read => read(),
            RedirectOp::ReadWrite => written().max(read()),
            op if op.writes() => written(),
            _ => PartDecision::allow(None),
        }
    }

    /// Decides the file that a redirect opens to read or to write.
    fn opened(&self, redirect: &Redirect<'_>, kind: Kind, hit: &Hit<'r>) -> PartDecision<'r> {
        let reads = kind == Kind::Read;
        // A rule that names the command covers its input too; the class of reading calls does not.
        let unnamed = hit.verdict != Verdict::Allow || hit.allows_reading();
        let is_known = matches!(redirect.target.kind, WordKind::Literal | WordKind::Home);
        let path = paths::of_word(&redirect.target, self.dirs);
        let Some(path) = path.filter(|_| is_known || !reads || !unnamed) else {
            return match hit.allows_all() || reads && !unnamed {
                true => PartDecision::allow(None),
                false if reads => {
                    PartDecision::ask("Reads a file that is only known when it runs.")
                }
                false => PartDecision::ask("Writes a file that is only known when it runs."),
            };
        };
        let plain = if reads { paths::source(&path) } else { paths::sink(&path) };
        if plain {
            return PartDecision::allow(None);
        }
        if self.care.get() == Care::Denies && !self.files.may_deny(reads) {
            return PartDecision::allow(None);
        }
        let value = Value { text: path.to_string(), is_path: true, is_leaf: false, access: None };
        let files = if reads { self.files.reads() } else { self.files.writes() };
        let rule = files.value(kind, &value, self.dirs);
        // A deny that names files applies to redirects as well.
        if rule.verdict == Verdict::Deny && rule.entry.is_some_and(|e| !e.pattern.is_all()) {
            return self.part(rule, || format!("the redirect to {path}"));
        }
        if self.care.get() == Care::Denies {
            return PartDecision::allow(None);
        }
        // Before the allow for every command below: such a file needs a rule that names it.
        if !reads && obeyed::is_obeyed(&path) && !rule.names_a_file() {
            return self.obeyed(&path);
        }
        if hit.allows_all() {
            return PartDecision::allow(None);
        }
        if reads {
            let odd = unnamed && paths::outside(&path, self.dirs)
                || paths::secret(&path, self.dirs)
                || paths::system(&path)
                || path.starts_with("/dev/")
                || path.starts_with("/proc/");
            return match odd {
                true => self.ask(|| ["Reads ", &shorten(&path, 60), self.place(&path)].concat()),
                false => PartDecision::allow(None),
            };
        }
        // Only a literal target is certain to be the file that the rule allows.
        let plain = redirect.target.kind == WordKind::Literal && !paths::outside(&path, self.dirs);
        match plain && rule.verdict == Verdict::Allow {
            true => PartDecision::allow(rule.entry),
            false => self.ask(|| ["Writes ", &shorten(&path, 60), self.place(&path)].concat()),
        }
    }

    /// Ends a sentence about a file with where it is.
    fn place(&self, path: &str) -> &'static str {
        if paths::outside(path, self.dirs) { ", outside the project folder." } else { "." }
    }
}
