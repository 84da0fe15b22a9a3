//! `[[people]]`, `[[groups]]` and `[approvers]`: who answers, with a name or by a list of ids.

use super::{
    ApproverSettings,
    oidc::id as oidc_id,
    routes::{hour_span, zone},
    section::{
        ConfigEntries, ConfigNode, ConfigValue, Section, flag, id_of, is_new, list, number, text,
    },
    values::token,
};
use crate::platforms::Registered;
use countersign_people::{
    approvers::{Members, NamedPerson, OIDC, People, QuietException, QuietHours, RoleGroup},
    duty::Hours,
};
use countersign_port::{IdForm, Names, line};
use countersign_web::OidcSettings;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};

/// The longest name, in characters.
const LONGEST: usize = 64;

/// Reads both lists.
pub(super) fn read(
    people: ConfigEntries,
    groups: ConfigEntries,
    (platforms, oidc): (&[Registered], Option<&OidcSettings>),
    problems: &mut Vec<String>,
) -> People {
    let groups = groups.read(problems, |section, earlier: &[RoleGroup]| {
        let group = group(section, platforms)?;
        let twice = earlier.iter().any(|other| other.name == group.name);
        is_new(section, &group.name, twice).then_some(group)
    });
    let named = people.read(problems, |section, earlier| {
        let person = person(section, platforms, oidc)?;
        conflicts(earlier, &person).for_each(|why| section.problem(&why));
        Some(person)
    });
    People { named, groups }
}

fn person(
    section: &mut Section<'_>,
    platforms: &[Registered],
    oidc: Option<&OidcSettings>,
) -> Option<NamedPerson> {
    let name = section.need("name", "cards and the history show it", name);
    let mut identities = ids(section, platforms, Names::People);
    let vouched = section.get("oidc", |node| {
        let claim = oidc.ok_or("needs [oidc], which says who the identity provider is")?.claim;
        each(node).iter().map(|node| oidc_id(node, claim)).collect::<Result<BTreeSet<_>, _>>()
    });
    identities.extend(vouched.filter(|ids| !ids.is_empty()).map(|ids| (OIDC.to_owned(), ids)));
    let token = section.get("token", token).map(|token| token.hash());
    identities.extend(token.iter().map(|token| ("api".to_owned(), [token.id()].into())));
    let groups = section.get("groups", |node| list(node)?.iter().map(group_name).collect());
    let hosts = section.get("hosts", |node| each(node).iter().map(text).collect());
    let agents = section.get("agents", |node| each(node).iter().map(text).collect());
    let zone = section.get("zone", zone);
    let quiet = quiet(section, zone.as_ref());
    let name = name?;
    if identities.is_empty() {
        let known = platforms.iter().map(|it| it.name).collect::<Vec<_>>().join("`, `");
        section.problem(&format!(
            "`{name}` has no identity, so they could not answer; give `{known}`, `oidc` or `token`"
        ));
    }
    let groups = groups.unwrap_or_default();
    let hosts = hosts.unwrap_or_default();
    let agents = agents.unwrap_or_default();
    Some(NamedPerson { name, identities, token, groups, hosts, agents, zone, quiet })
}

/// When a person gets no direct messages.
fn quiet(section: &mut Section<'_>, zone: Option<&TimeZone>) -> Option<QuietHours> {
    let span = section.get("quiet", hour_span);
    let except = section.get("quiet_except", |node| match text(node)?.as_str() {
        "critical" => Ok(QuietException::Critical),
        "nothing" => Ok(QuietException::Nothing),
        _ => Err("must be \"critical\" or \"nothing\"".to_owned()),
    });
    let (from, until) = span?;
    let Some(zone) = zone.cloned() else {
        section.problem("has `quiet` hours without a `zone`, such as \"Europe/Rome\"");
        return None;
    };
    let hours = Hours { from, until, days: Vec::new(), zone };
    Some(QuietHours { hours, except: except.unwrap_or_default() })
}

fn group(section: &mut Section<'_>, platforms: &[Registered]) -> Option<RoleGroup> {
    let name = section.need("name", "people and rules refer to it", group_name);
    let roles = ids(section, platforms, Names::Roles);
    if let (Some(name), true) = (&name, roles.is_empty()) {
        section.problem(&format!(
            "`{name}` names no role; a group of people needs no entry here, only `groups` of \
             each of them"
        ));
    }
    Some(RoleGroup { name: name?, roles })
}

/// The ids of every platform, each one or a list.
fn ids(
    section: &mut Section<'_>,
    platforms: &[Registered],
    names: Names,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::new();
    for registered in platforms {
        let ids = ids_of(section, registered, names, |node| Ok(each(node)));
        if !ids.is_empty() {
            all.insert(registered.name.to_owned(), ids);
        }
    }
    all
}

/// The ids in the lists of a platform; `split` reads a list.
fn ids_of(
    section: &mut Section<'_>,
    registered: &Registered,
    names: Names,
    split: impl Fn(&ConfigNode) -> Result<Vec<ConfigNode>, String>,
) -> BTreeSet<String> {
    let keys: Vec<(String, Option<IdForm>)> = match registered.platform {
        Some(platform) => {
            let lists = platform.description().approvers.iter();
            let lists = lists.filter(|list| list.names == names);
            lists.map(|list| (list.key.to_owned(), Some(list.form))).collect()
        }
        // The form of its ids is not known; nobody can press there either.
        None => section.keys_of(registered.name).into_iter().map(|key| (key, None)).collect(),
    };
    let mut all = BTreeSet::new();
    for (key, form) in keys {
        let ids: Option<BTreeSet<String>> =
            section.get(&key, |node| split(node)?.iter().map(|id| one(form, id)).collect());
        all.extend(ids.unwrap_or_default());
    }
    all
}

fn each(node: &ConfigNode) -> Vec<ConfigNode> {
    match node.value() {
        ConfigValue::List(list) => list.clone(),
        _ => vec![node.clone()],
    }
}

fn one(form: Option<IdForm>, node: &ConfigNode) -> Result<String, String> {
    match form {
        Some(form) => id_of(form, node),
        None => text(node).or_else(|_| number(node).map(|number| number.to_string())),
    }
}

/// A name that every surface shows as it is written.
fn name(node: &ConfigNode) -> Result<String, String> {
    let name = text(node)?.trim().to_owned();
    let fits = (1..=LONGEST).contains(&name.chars().count()) && line(&name) == name;
    fits.then_some(name)
        .ok_or_else(|| format!("must have 1 to {LONGEST} characters, all of which can be shown"))
}

/// The name of a group.
pub(super) fn group_name(node: &ConfigNode) -> Result<String, String> {
    let name = text(node)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = (1..=LONGEST).contains(&name.len()) && name.chars().all(plain);
    fits.then_some(name)
        .ok_or_else(|| "must consist of letters, digits, `-`, `_` and `.`".to_owned())
}

/// What a person shares with those before them, though only one may have it.
// SECURITY: an identity of two people would answer as either, and could vote twice.
fn conflicts<'a>(
    earlier: &'a [NamedPerson],
    person: &'a NamedPerson,
) -> impl Iterator<Item = String> + 'a {
    earlier.iter().flat_map(|other| {
        let same_name = other.name.to_lowercase() == person.name.to_lowercase();
        let name =
            same_name.then(|| format!("has the name `{}` twice; names must be unique", other.name));
        let shared = person.identities.iter().filter_map(|(platform, ids)| {
            let id = ids.intersection(other.identities.get(platform)?).next()?;
            // Equal tokens are reported with all others.
            (platform != "api").then(|| {
                format!(
                    "gives `{platform}` {id} to `{}` and to `{}`; an identity belongs \
                     to one person",
                    other.name, person.name
                )
            })
        });
        let host = person.hosts.intersection(&other.hosts).next().map(|host| {
            format!(
                "gives the machine `{host}` to `{}` and to `{}`; its agents work for \
                 one person",
                other.name, person.name
            )
        });
        let agent = person.agents.intersection(&other.agents).next().map(|agent| {
            format!(
                "gives the agent `{agent}` to `{}` and to `{}`; it works for one person",
                other.name, person.name
            )
        });
        name.into_iter().chain(shared).chain(host).chain(agent).collect::<Vec<_>>()
    })
}

/// What `inbox = true` is told where people have names.
const NO_INBOX: &str = "cannot be true while [[people]] names people: anyone who has the inbox's \
                        address or the approver's token would answer without a name. Remove it, \
                        and give people tokens of their own";

/// Reads `[approvers]`, with the people who were read before.
pub(super) fn read_approvers(
    mut section: Section<'_>,
    platforms: &[Registered],
    people: People,
) -> ApproverSettings {
    let mut chats = BTreeMap::new();
    for registered in platforms {
        let mut members = Members {
            people: ids_of(&mut section, registered, Names::People, list),
            roles: BTreeSet::new(),
        };
        // Members of a platform that this program was built without cannot answer here, but they
        // count as approvers in a chat, so that local answering stays off (see
        // `daemon::approvers`).
        if registered.platform.is_some() {
            members.roles = ids_of(&mut section, registered, Names::Roles, list);
        }
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
        _ => {
            Err("must be 1: [[answer_rules]] with `approvals` say where more people have to agree"
                .into())
        }
    });
    let _ = section.get("four_eyes", |node| {
        if flag(node)? {
            Err("must be false: [[answer_rules]] with `exclude = \"requester\"` say where \
                      it matters who asks"
                .into())
        } else {
            Ok(())
        }
    });
    section.finish();
    approvers
}
