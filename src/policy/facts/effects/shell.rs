//! The effects of a shell text, including those behind wrappers and in literal scripts.

use crate::facts::access::{self, Access};
use crate::facts::effects::{Effect, List, reach};
use crate::facts::paths::{self, Directories};
use crate::facts::programs;
use crate::facts::programs::description::Role;
use crate::facts::wrappers::{Effort, Inner, base, unwrap};
use crate::shell::{Command, Dialect, Redirect, RedirectOp, Scan, Via, Word, scan_as};

/// Depth limit for literal scripts inside each other.
const MAX_DEPTH: u32 = 4;

/// Adds the effects of every command.
pub(super) fn text(scan: &Scan<'_>, dirs: Directories<'_>, list: &mut List, depth: u32) {
    // Guesses serve deny rules; as effects most of them would be wrong.
    for command in scan.commands.iter().filter(|c| c.via != Via::Guess) {
        let at = EffectSite { command, dirs, depth, effort: &Effort::of(&command.argv) };
        argv(&command.argv, at, list);
        for redirect in &command.redirects {
            redirected(redirect, dirs, list);
        }
    }
    if scan.background {
        list.add(Effect::Background);
    }
    if let Some(refusal) = &scan.refusal {
        list.unknown(&refusal.to_string());
    }
}

/// The context of an argument vector.
#[derive(Clone, Copy)]
struct EffectSite<'e, 'a> {
    /// The command itself, or the command that it is behind.
    command: &'e Command<'a>,
    dirs: Directories<'e>,
    depth: u32,
    effort: &'e Effort,
}

/// Returns the user as whom a command behind `sudo` or `doas` is certain to run.
// `sudo -u ana` names another one.
pub(crate) fn user_of(name: &str, words: &[Word<'_>]) -> Option<&'static str> {
    let [_, next, ..] = words else { return None };
    let is_plain = next.literal().is_some_and(|word| !word.starts_with('-'));
    (is_plain && matches!(name, "sudo" | "doas")).then_some("root")
}

fn argv(words: &[Word<'_>], at: EffectSite<'_, '_>, list: &mut List) {
    let Some((first, args)) = words.split_first() else { return };
    let Some(path) = first.literal() else {
        return list.unknown(&format!("which program {} is", first.text));
    };
    let name = base(path);
    if at.depth > MAX_DEPTH {
        return list.unknown("commands inside commands are too deep to follow");
    }
    if !at.effort.spend(words) {
        return list.unknown("commands inside commands are too many to follow");
    }
    if let Some(found) = unwrap(words) {
        if is(name, Role::Privilege) {
            list.add(Effect::Privilege { how: name.to_owned(), user: user_of(name, words) });
        } else {
            list.add(Effect::Runs { what: path.to_owned() });
        }
        for inner in &found.inner {
            behind(inner, path, at, list);
        }
    } else if !is(name, Role::Quiet) {
        list.add(Effect::Runs { what: reach::title(path, args) });
    }
    for (access, word) in access::of_command(words) {
        touched(access, &word, at.dirs, list);
    }
    if let Some((access, path)) = access::implied(words) {
        list.touch(access, path, at.dirs);
    }
    reach::add(name, args, list);
}

fn behind(inner: &Inner<'_, '_>, wrapper: &str, at: EffectSite<'_, '_>, list: &mut List) {
    let script = |source: &str, dialect: Dialect, list: &mut List| {
        if at.depth >= MAX_DEPTH {
            return list.unknown("commands inside commands are too deep to follow");
        }
        text(&scan_as(source, dialect), at.dirs, list, at.depth + 1);
    };
    match inner {
        Inner::Argv { argv: words, open } => {
            argv(words, EffectSite { depth: at.depth + 1, ..at }, list);
            if *open {
                list.unknown(&format!("what {wrapper} appends to the command"));
            }
        }
        Inner::Script { text, dialect } => script(text, *dialect, list),
        Inner::Input(dialect) => {
            let texts = at.command.redirects.iter().rev();
            let body = texts
                .into_iter()
                .find(|r| matches!(r.op, RedirectOp::HereDocument | RedirectOp::HereString));
            match body.and_then(|r| r.target.literal()) {
                Some(body) => script(body, *dialect, list),
                None => list.unknown(&format!("the commands that {wrapper} reads from its input")),
            }
        }
        Inner::File | Inner::Unknown => list.unknown(&format!("what {wrapper} runs")),
    }
}

fn touched(access: Access, word: &Word<'_>, dirs: Directories<'_>, list: &mut List) {
    let known = paths::of_word(word, dirs);
    let path = known.as_deref().unwrap_or(&word.text);
    let path = path.strip_prefix("of=").or(path.strip_prefix("if=")).unwrap_or(path);
    if path.is_empty() || path == "-" {
        return;
    }
    list.touch(access, path, dirs);
    if known.is_none() && access != Access::Read {
        list.unknown(&format!("which files {} stands for", word.text));
    }
}

fn redirected(redirect: &Redirect<'_>, dirs: Directories<'_>, list: &mut List) {
    let text = &*redirect.target.text;
    // bash opens a connection for these paths itself; no such file exists.
    if let Some(rest) = text.strip_prefix("/dev/tcp/").or_else(|| text.strip_prefix("/dev/udp/")) {
        let host = rest.split('/').next().unwrap_or(rest);
        return list.add(Effect::Reaches { host: host.to_owned() });
    }
    match redirect.op {
        RedirectOp::HereDocument | RedirectOp::HereString | RedirectOp::Duplicate => {}
        op if op.writes() => touched(Access::Write, &redirect.target, dirs, list),
        _ => touched(Access::Read, &redirect.target, dirs, list),
    }
}

fn is(name: &str, role: Role) -> bool {
    programs::exact(name).is_some_and(|program| program.is(role))
}
