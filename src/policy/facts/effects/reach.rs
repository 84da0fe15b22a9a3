//! The hosts that a command contacts, and what it publishes.

use super::{Effect, List};
use crate::facts::programs;
use crate::facts::programs::arguments::operands;
use crate::facts::programs::description::Role;
use crate::facts::programs::name::base;
use crate::facts::programs::reach::{Reach, Title, To};
use crate::facts::programs::words::listed;
use crate::shell::Word;

/// Returns a program's name, with its sub-command where the name alone says little.
pub(super) fn title(path: &str, args: &[Word<'_>]) -> String {
    let many = programs::exact(base(path)).is_some_and(|program| program.is(Role::Titled));
    let sub = args.iter().find(|w| !w.text.starts_with('-')).filter(|_| many);
    match sub.and_then(Word::literal) {
        Some(sub) => format!("{path} {sub}"),
        None => path.to_owned(),
    }
}

/// Adds the hosts and publications of one command.
pub(super) fn add(name: &str, args: &[Word<'_>], list: &mut List) {
    for word in args {
        if let Some(host) = host(&word.text) {
            list.add(Effect::Reaches { host });
        }
    }
    let Some(program) = programs::exact(name) else { return };
    if !program.reaches.is_empty() {
        let words = operands(args, VALUES);
        program.reaches.iter().for_each(|reach| one(*reach, name, &words, list));
    }
}

fn one(reach: Reach, name: &str, words: &[&Word<'_>], list: &mut List) {
    let word = |at: usize| words.get(at).map(|w| &*w.text).unwrap_or_default();
    let mut reaches = |host: &str| list.add(Effect::Reaches { host: host.to_owned() });
    match reach {
        Reach::Publishes { sub, second, title, to } => {
            let fits = listed(sub, word(0)) && (second.is_empty() || listed(second, word(1)));
            if fits {
                let what = match title {
                    Title::Two => format!("{name} {}", word(0)),
                    Title::Three => format!("{name} {} {}", word(0), word(1)),
                };
                list.add(Effect::Publishes { what, to: goal(to, words) });
            }
        }
        Reach::Copies => words.iter().filter_map(|w| remote(&w.text)).for_each(|to| reaches(&to)),
        Reach::Host if word(0).is_empty() => {}
        Reach::Host => reaches(word(0).rsplit('@').next().unwrap_or_default()),
        Reach::Addresses => words
            .iter()
            .filter(|w| !w.text.contains("://") && w.text.contains(['.', ':']))
            .for_each(|w| reaches(w.text.split(['/', '?']).next().unwrap_or_default())),
        Reach::Repository(subs) if listed(subs, word(0)) => {
            // A name such as `origin` is shown as it is; its host is in git's settings.
            let at = word(1);
            let named = (!at.is_empty() && !at.contains('/')).then(|| at.to_owned());
            let host = remote(at).or(named);
            reaches(host.as_deref().unwrap_or("the default remote"));
        }
        Reach::Registry(subs) if listed(subs, word(0)) => {
            reaches(&format!("the package registry of {name}"));
        }
        Reach::Repository(_) | Reach::Registry(_) => {}
    }
}

/// Returns the destination of a publication.
fn goal(to: To, words: &[&Word<'_>]) -> String {
    let text = |word: Option<&&Word<'_>>| word.map(|w| w.text.to_string()).unwrap_or_default();
    match to {
        To::Known(goal) => goal.to_owned(),
        To::Rest(default) if words.len() < 2 => default.to_owned(),
        To::Rest(_) => {
            let rest: Vec<&str> = words.iter().skip(1).map(|w| &*w.text).collect();
            rest.join(" ")
        }
        To::Second => text(words.get(1)),
        To::Last => text(words.last()),
    }
}

/// Options of these programs whose value is not an operand.
const VALUES: &str = "-X -H -d -o -A -u -b -p -i -l -e -m -C -c -n -F -T -w";

/// Returns the host of an address with a scheme.
pub(super) fn host(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    // The address may stand behind a name: `--url=https://…`, `user@https://…`.
    let scheme = scheme.rsplit(['=', '@']).next().unwrap_or(scheme);
    let plain = !scheme.is_empty()
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // `user:password@host`: only the host belongs on a card.
    let host = host.rsplit('@').next().unwrap_or_default();
    (plain && !host.is_empty() && scheme != "file").then(|| host.to_owned())
}

/// Returns the host of `user@host:path`.
fn remote(text: &str) -> Option<String> {
    let (host, _) = text.split_once(':')?;
    let host = host.rsplit('@').next().unwrap_or(host);
    (!host.is_empty() && !host.contains('/')).then(|| host.to_owned())
}
