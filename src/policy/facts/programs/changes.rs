//! What programs delete or change elsewhere, in plain words: in a cluster, a cloud, a registry of
//! containers. For cards only: whether a command is harmless is never read from it.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::{LOOKS, VALUES, When};
use crate::facts::programs::description::Program;
use crate::facts::programs::{Words, listed};
use crate::shell::Word;

/// Something that a program deletes or changes elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    /// The condition under which it does.
    when: When,
    says: Says,
}

#[derive(Clone, Copy)]
enum Says {
    /// This clause.
    Clause(&'static str),
    /// It deletes such things, named by the operands behind the first `skip`.
    Deletes { what: &'static str, skip: usize },
    /// What the check says, if anything.
    Judge(fn(&Arguments<'_, '_>) -> Option<String>),
}

/// Creates a change that is always the same: a clause such as "deletes unused volumes".
pub(super) const fn says(when: When, clause: &'static str) -> Change {
    Change { when, says: Says::Clause(clause) }
}

/// Creates a change that deletes what the operands behind the first `skip` name.
pub(super) const fn deletes(when: When, skip: usize, what: &'static str) -> Change {
    Change { when, says: Says::Deletes { what, skip } }
}

/// Creates a change that a check reads.
pub(super) const fn judged(when: When, judge: fn(&Arguments<'_, '_>) -> Option<String>) -> Change {
    Change { when, says: Says::Judge(judge) }
}

/// Returns what this command deletes or changes elsewhere, a clause for each.
pub(crate) fn of(program: &Program, words: &[Word<'_>]) -> Vec<String> {
    let args = Arguments { valued: VALUES, ..Arguments::of(program, words) };
    if program.changes.is_empty() || LOOKS.holds(&args) {
        return Vec::new();
    }
    let held = program.changes.iter().filter(|change| change.when.holds(&args));
    let clause = |change: &Change| match change.says {
        Says::Clause(clause) => Some(clause.to_owned()),
        Says::Deletes { what, skip } => Some(format!("deletes {}", named(&args, skip, what))),
        Says::Judge(judge) => judge(&args),
    };
    held.filter_map(clause).collect()
}

/// Options of these programs without a value, as far as they stand before names.
const FLAGS: Words = "\
    -f --force -r -R --recursive -y --yes -q --quiet -a -af --all -A --all-namespaces -v --volumes \
    --now --wait --ignore-not-found --no-wait --purge -auto-approve --auto-approve -destroy \
    --destroy --confirm --cleanup-tag --if-exists -e -i";

/// Names the operands behind the first `skip`: "the volume a", "the volumes a, b". Where it is not
/// certain which words are operands, all are shown as they are written.
pub(crate) fn named(args: &Arguments<'_, '_>, skip: usize, what: &str) -> String {
    let names = names(args);
    let names: Vec<&str> = match &names {
        Some(names) => names.iter().skip(skip).copied().collect(),
        None => {
            // The sub-commands are the first words that equal the first operands.
            let subs: Vec<&str> = args.named().iter().take(skip).map(|word| &*word.text).collect();
            let mut rest = args.texts().skip_while(|text| !subs.contains(text));
            for _ in 0..skip {
                rest.next();
            }
            return format!("{what}s: {}", rest.collect::<Vec<_>>().join(" "));
        }
    };
    match names.as_slice() {
        [] => format!("{what}s"),
        [one] => format!("the {what} {one}"),
        many => format!("the {what}s {}", many.join(", ")),
    }
}

/// Returns the operands, where no word may be the value of an option that is not known.
fn names<'w>(args: &Arguments<'w, '_>) -> Option<Vec<&'w str>> {
    let mut found = Vec::new();
    let mut words = args.texts().peekable();
    while let Some(text) = words.next() {
        if text == "--" {
            found.extend(words);
            break;
        }
        if !text.starts_with('-') {
            found.push(text);
        } else if listed(args.valued, text) || listed(args.global, text) {
            words.next();
        } else if !text.contains('=')
            && !listed(FLAGS, text)
            && words.peek().is_some_and(|next| !next.starts_with('-'))
        {
            return None;
        }
    }
    Some(found)
}

/// Returns " in NAME" for the namespace that the command names.
pub(crate) fn within(args: &Arguments<'_, '_>) -> String {
    if args.has("-A --all-namespaces") {
        return " in every namespace".to_owned();
    }
    let named = args.values("-n --namespace");
    named.first().map(|name| format!(" in {name}")).unwrap_or_default()
}
