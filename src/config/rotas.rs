//! `[[rotas]]`: who is on duty in which week.

use super::hours::zone;
use super::node::ConfigNode;
use super::people::{ConfigEntries, group_name};
use super::section::{Section, list, text};
use countersign_people::{approvers::People, duty::Rota};
use jiff::civil::DateTime;

/// Reads the rotas of these people.
pub(super) fn read(
    entries: ConfigEntries,
    people: &People,
    problems: &mut Vec<String>,
) -> Vec<Rota> {
    let mut rotas: Vec<Rota> = Vec::new();
    for (place, table) in entries {
        let mut section = Section::new("[rotas]", Some(place.clone()), table, problems);
        let rota = rota(&mut section, people);
        section.finish();
        let Some(rota) = rota else { continue };
        match rotas.iter().any(|other| other.name == rota.name) {
            true => problems.push(format!("{place}: [[rotas]] has `{}` twice", rota.name)),
            false => rotas.push(rota),
        }
    }
    rotas
}

fn rota(section: &mut Section<'_>, people: &People) -> Option<Rota> {
    let name = section.need("name", "routes refer to it as \"duty:NAME\"", group_name);
    let people = section.need("people", "name them in the order of their weeks", |node| {
        let names = list(node)?.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        match names.iter().find(|name| !people.named.iter().any(|it| it.name == **name)) {
            Some(name) => Err(format!("names `{name}`, who is not in [[people]]")),
            None if names.is_empty() => Err("is empty".to_owned()),
            None => Ok(names),
        }
    });
    let starts = section.need("starts", "say when the first week begins", starts);
    let zone = section.need("zone", "name it, such as \"Europe/Rome\"", zone);
    Some(Rota { name: name?, people: people?, starts: starts?, zone: zone? })
}

/// A day and an hour.
fn starts(node: &ConfigNode) -> Result<DateTime, String> {
    let wanted = "wants a day and an hour in quotes, such as \"2026-01-05 09:00\"";
    let text = text(node)?;
    if text.len() < "2026-01-05 09:00".len() {
        return Err(wanted.to_owned());
    }
    text.parse().map_err(|_| wanted.to_owned())
}
