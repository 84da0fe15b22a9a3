//! Programs and commands that no wildcard should cover: they delete, overwrite, publish, pay, gain
//! rights or pass their words to an interpreter.

use crate::facts::programs::description::{Access, Files, Program, Reach, Role};
use crate::facts::programs::{self, Words, base, each, listed};

/// Sub-commands, and words in tool names, that remove something for good.
const DELETES: Words = "\
    delete del rm rmi remove destroy drop purge prune clean clear erase wipe truncate uninstall \
    unpublish terminate kill down reset revert rollback overwrite restore discard empty flush \
    trash unlink";
/// The same for publishing and sending.
const PUBLISHES: Words = "\
    push publish deploy release upload send post submit share broadcast email mail tweet promote \
    merge invite transfer";
/// The same for spending money.
const PAYS: Words = "\
    pay payment payments purchase buy order checkout charge refund payout invoice subscribe \
    donate withdraw";
/// The same for changing permissions and identities.
const GRANTS: Words = "sudo grant chmod chown login impersonate assume";

/// The roles of programs that no wildcard covers.
const NARROW: [Role; 6] = [
    Role::Database,
    Role::HandsOn,
    Role::Privilege,
    Role::Recipes,
    Role::Overwrites,
    Role::Reaching,
];

/// Returns true when a word means that something is deleted, published, paid or granted.
pub(crate) fn grave(word: &str) -> bool {
    [DELETES, PUBLISHES, PAYS, GRANTS].iter().any(|list| listed(list, word))
}

/// Returns true when one of the words in a tool's name does (`mcp__github__delete_repo`,
/// `createPayment`).
pub(crate) fn grave_name(tool: &str) -> bool {
    let mut word = String::new();
    let mut small = false;
    for c in tool.chars().chain(['_']) {
        // `createPayment` is two words, `DROP` is one.
        if !c.is_alphanumeric() || c.is_uppercase() && small {
            if grave(&word) {
                return true;
            }
            word.clear();
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        small = c.is_lowercase();
    }
    false
}

/// Returns true for a program of whose sub-commands nothing is known, if it has any: nobody said
/// what it reads or changes, what goes beyond a grant, or how many of its words name the action.
pub(crate) fn may_have_commands(name: &str) -> bool {
    programs::of(name).is_none_or(|program| {
        matches!(program.files, Files::Unknown)
            && program.reads.is_empty()
            && program.beyond.is_empty()
            && program.grant.ours.is_none()
            && program.grant.molf == 1
    })
}

/// Returns true when a wildcard behind these words would cover too much. The first word is
/// the program's name; the others name the action.
pub(crate) fn grave_behind(program: Option<&Program>, head: &[&str]) -> bool {
    let subs = head.get(1..).unwrap_or_default();
    // What nobody described says what it does by its name: `./deploy.sh`.
    let says = |name: &&str| base(name).split(['-', '_', '.']).any(grave);
    if program.is_none() && head.first().is_some_and(says) {
        return true;
    }
    // A sub-command may be part of a word: `db:drop`, `apps:destroy`.
    let named = |sub: &&str| sub.split(':').any(grave);
    if subs.iter().any(named) {
        return true;
    }
    program.is_some_and(|program| {
        changes_files(program)
            || NARROW.iter().any(|role| program.is(*role))
            || subs.iter().any(|sub| listed(program.grant.narrow, sub))
            || program.reaches.iter().any(|reach| contacts(*reach) || publishes(*reach, subs))
    })
}

/// Returns true when the program overwrites, moves or deletes operands, or changes their rights.
fn changes_files(program: &Program) -> bool {
    if program.is(Role::Creates) {
        return false;
    }
    match program.files {
        // A grant of find covers none of its actions.
        Files::Unknown | Files::Each { access: Access::Read, .. } | Files::Searched => false,
        // Its grant is narrow for such sub-commands.
        Files::As(_) => false,
        Files::Each { .. }
        | Files::Edited
        | Files::Transfer(_)
        | Files::Assigned
        | Files::Behind(_)
        | Files::Archive => true,
    }
}

/// Returns true when the words of a command say which host it contacts.
fn contacts(reach: Reach) -> bool {
    matches!(reach, Reach::Host | Reach::Copies | Reach::Addresses)
}

/// Returns true when a command with these words may publish: they name no other sub-command.
fn publishes(reach: Reach, subs: &[&str]) -> bool {
    let Reach::Publishes { sub, second, .. } = reach else { return false };
    let may = |wanted: Words, word: Option<&&str>| match word {
        Some(word) => each(wanted).next().is_none() || listed(wanted, word),
        None => true,
    };
    may(sub, subs.first()) && may(second, subs.get(1))
}

#[cfg(test)]
mod tests {
    use crate::facts::programs;
    use crate::facts::programs::wide::*;

    #[test]
    fn the_name_of_a_tool_says_what_it_takes_gives_or_pays() {
        for tool in [
            "mcp__github__delete_repo",
            "mcp__stripe__create_payment",
            "deleteFile",
            "mcp__slack__post-message",
            "send_email",
            "SendMessage",
            "mcp__db__DROP",
        ] {
            assert!(grave_name(tool), "{tool}");
        }
        for tool in [
            "mcp__github__list_issues",
            "mcp__linear__get_issue",
            "ordering",
            "Notion",
            "resend_all",
        ] {
            assert!(!grave_name(tool), "{tool}");
        }
    }

    #[test]
    fn a_wildcard_that_may_publish_or_take_away_is_told_by_the_words_in_front_of_it() {
        let behind =
            |head: &[&str]| grave_behind(head.first().and_then(|name| programs::exact(name)), head);
        for head in [
            ["git", "push"].as_slice(),
            &["git", "checkout"],
            &["git", "stash"],
            &["gh", "pr", "create"],
            &["gh", "pr"],
            &["gh"],
            &["rm"],
            &["mv"],
            &["curl"],
            &["psql"],
            &["xargs"],
            &["make", "test"],
            &["docker", "compose", "down"],
            &["unknown", "apps:destroy"],
        ] {
            assert!(behind(head), "{head:?}");
        }
        for head in [
            ["git", "commit"].as_slice(),
            &["git", "add"],
            &["gh", "pr", "view"],
            &["cargo", "build"],
            &["mkdir"],
            &["docker", "compose", "up"],
            &["grep"],
            &["unknown"],
        ] {
            assert!(!behind(head), "{head:?}");
        }
    }
}
