//! Checks that somebody may answer, and says who.

use super::finding::{DoctorCheck, fail, ok, warn};
use crate::{
    config::{ChatAccount, Config},
    daemon,
};
use countersign_people::approvers::{Approvers, Members, NamedPerson};

/// Checks the people, and the lists of `[approvers]`.
pub(super) fn all(config: &Config) -> Vec<DoctorCheck> {
    let who = daemon::approvers(&config.approvers);
    let mut set_up = config.chats.iter().map(ChatAccount::name);
    if let Some(name) = set_up.find(|name| !who.may_answer_on(name)) {
        let says = format!("[{name}] is set up, but nobody there may answer");
        return vec![fail("approvers", says, format!("put their ids into [approvers] {name}"))];
    }
    let mut findings: Vec<_> = who.people.named.iter().map(person).collect();
    findings.extend(unnamed(config, &who));
    if findings.is_empty() {
        findings.push(fail("approvers", "nobody may answer", "put ids into [approvers]"));
    }
    findings
}

fn person(person: &NamedPerson) -> DoctorCheck {
    let on = person.identities.keys().map(|platform| match platform.as_str() {
        "api" => "with a token of their own".to_owned(),
        chat => format!("on {chat}"),
    });
    let groups: Vec<_> = person.groups.iter().map(String::as_str).collect();
    let groups = match groups.is_empty() {
        true => String::new(),
        false => format!("; in {}", groups.join(", ")),
    };
    let says = format!("{} answers {}{groups}", person.name, on.collect::<Vec<_>>().join(", "));
    ok("approvers", says)
}

/// Everybody who may answer without a name.
fn unnamed(config: &Config, who: &Approvers) -> Option<DoctorCheck> {
    let set_up: Vec<&str> = config.chats.iter().map(ChatAccount::name).collect();
    let count = |name: &str| who.chats.get(name).map_or(0, Members::count);
    let others = who.chats.keys().map(String::as_str).filter(|name| !set_up.contains(name));
    let all = set_up.iter().copied().chain(others);
    let mut said: Vec<String> = all
        .filter(|name| count(name) > 0)
        .map(|name| format!("{} on {name}", count(name)))
        .collect();
    for group in &who.people.groups {
        let platforms: Vec<_> = group.roles.keys().map(String::as_str).collect();
        let (group, platforms) = (&group.name, platforms.join(" and "));
        said.push(format!("everyone with a role of the group {group} on {platforms}"));
    }
    if who.answers_nameless() {
        said.push("anyone who has the inbox's address or the approver's token".into());
    }
    let said = said.join(", ");
    if said.is_empty() {
        return None;
    }
    Some(match who.people.is_empty() {
        true => ok("approvers", format!("{said}; any one of them answers alone")),
        false => warn(
            "approvers",
            format!("without a name: {said}"),
            "name them in [[people]], so that answers carry their names",
        ),
    })
}
