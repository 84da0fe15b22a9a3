//! The approvers listed in the config.

use super::model::ApproverSettings;
use super::node::ConfigNode;
use super::section::{Section, flag, id_of, list, number, text};
use crate::platforms::Registered;
use countersign_people::approvers::{Members, People};
use countersign_port::{ApproverList, Description, Names};
use std::collections::{BTreeMap, BTreeSet};

/// What `inbox = true` is told where people have names.
const NO_INBOX: &str = "cannot be true while [[people]] names people: anyone who has the inbox's \
                        address or the approver's token would answer without a name. Remove it, \
                        and give people tokens of their own";

/// Reads `[approvers]`, with the people who were read before.
pub(super) fn read(
    mut section: Section<'_>,
    platforms: &[Registered],
    people: People,
) -> ApproverSettings {
    let mut chats = BTreeMap::new();
    for registered in platforms {
        let members = match registered.platform {
            Some(platform) => members(&mut section, platform.description()),
            None => unknown(&mut section, registered.name),
        };
        if members.count() > 0 {
            chats.insert(registered.name.to_owned(), members);
        }
    }
    // FAIL-CLOSED: nobody answers without a name once people have names.
    let inbox = section.get("inbox", |node| match flag(node)? {
        true if !people.is_empty() => Err(NO_INBOX.to_owned()),
        on => Ok(on),
    });
    let approvers = ApproverSettings { chats, inbox, people, rules: Vec::new() };
    // FAIL-CLOSED: an operator who asks for two signatures must not silently get one.
    let _ = section.get("quorum", |node| match number(node)? {
        1 => Ok(()),
        _ => Err(
            "can only be 1: [[answer_rules]] with `approvals` say where more people have to agree"
                .into(),
        ),
    });
    let _ = section.get("four_eyes", |node| match flag(node)? {
        false => Ok(()),
        true => {
            Err("can only be false: [[answer_rules]] with `exclude = \"requester\"` say where \
                      it matters who asks"
                .into())
        }
    });
    section.finish();
    approvers
}

/// The members of a platform, from its own lists.
fn members(section: &mut Section<'_>, about: &Description) -> Members {
    let mut members = Members::default();
    for ApproverList { key, names, form, .. } in about.approvers {
        let ids = |node: &ConfigNode| list(node)?.iter().map(|id| id_of(*form, id)).collect();
        let ids: BTreeSet<String> = section.get(key, ids).unwrap_or_default();
        match names {
            Names::People => members.people.extend(ids),
            Names::Roles => members.roles.extend(ids),
        }
    }
    members
}

/// The members of a platform that this program was built without. None of them can answer here, but
/// they count as approvers in a chat, so that local answering stays off (see `daemon::approvers`).
fn unknown(section: &mut Section<'_>, name: &str) -> Members {
    let mut members = Members::default();
    for key in section.keys_of(name) {
        // The form of its ids is not known, so both numbers and texts are accepted.
        let any = |node: &ConfigNode| {
            let digits = || number(node).map(|number| number.to_string());
            text(node).or_else(|_| digits())
        };
        let ids = |node: &ConfigNode| list(node)?.iter().map(any).collect();
        let ids: BTreeSet<String> = section.get(&key, ids).unwrap_or_default();
        members.people.extend(ids);
    }
    members
}
