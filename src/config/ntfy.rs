//! `[ntfy]`: a topic of an ntfy server that is told of new requests.

use super::{
    DaemonSettings,
    section::{ConfigNode, Section, secret, text},
    values::https,
};
use countersign_people::approvers::People;
use countersign_tokens::secret::Secret;
use countersign_web::{NtfyConfig, is_topic};

/// Reads the section, if it is written.
pub(super) fn read(
    mut section: Section<'_>,
    daemon: &DaemonSettings,
    people: &People,
) -> Option<NtfyConfig> {
    let url = section.need("url", "the address of your ntfy server", |node| {
        https(node, "https://ntfy.example.org")
    });
    let topic =
        section.need("topic", "a name that nobody guesses; your phone subscribes to it", topic);
    let token = section.get("token", secret);
    let whose = |node: &ConfigNode| identity(node, people);
    let person = if people.is_empty() {
        section.get("person", whose)
    } else {
        let hint = "people answer by name here, so say whose topic it is";
        section.need("person", hint, whose)
    };
    if daemon.push.is_none() {
        section.problem("sends what `push` in [daemon] shows, and that is \"off\"");
    }
    section.finish();
    let public = daemon.public_url.as_ref().map(|url| url.origin.clone());
    Some(NtfyConfig { url: url?, topic: topic?, token, person, public })
}

fn topic(node: &ConfigNode) -> Result<Secret, String> {
    let topic = secret(node)?;
    if is_topic(topic.reveal()) {
        return Ok(topic);
    }
    Err("must be 1 to 64 letters, digits, `_` and `-`".to_owned())
}

/// An identity of a person, as the inbox knows them.
fn identity(node: &ConfigNode, people: &People) -> Result<String, String> {
    let name = text(node)?;
    let person = people.named.iter().find(|person| person.name == name);
    let person = person.ok_or("must be the name of somebody in [[people]]")?;
    let mut ids = person
        .identities
        .iter()
        .flat_map(|(platform, ids)| ids.iter().map(move |id| format!("{platform}:{id}")));
    ids.next().ok_or_else(|| format!("`{name}` has no identity to answer with"))
}
