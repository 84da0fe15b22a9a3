//! Checks that tokens differ, so that one of them does not grant what another is for.

use super::section::{ConfigNode, ConfigPlace, ConfigTable, ConfigValue};
use crate::platforms::Registered;
use countersign_port::Takes;
use countersign_tokens::secret::{Token, TokenHash};

/// A key that holds a secret: its section and its name.
pub(super) type SecretKey = (&'static str, &'static str);

/// The keys with secrets in every program.
const KEYS: [SecretKey; 8] = [
    ("daemon", "agent_token"),
    ("daemon", "approver_token"),
    ("client", "token"),
    ("store", "url"),
    ("log", "webhook_secret"),
    ("oidc", "client_secret"),
    ("ntfy", "topic"),
    ("ntfy", "token"),
];

/// All keys with secrets; each can also be read from the file that its `…_FILE` variable names.
pub(super) fn keys(platforms: &[Registered]) -> Vec<SecretKey> {
    let mut keys = KEYS.to_vec();
    for registered in platforms {
        match registered.platform {
            Some(platform) => {
                let all = platform.description().keys.iter();
                let secret = all.filter(|key| matches!(key.takes, Takes::Secret));
                keys.extend(secret.map(|key| (registered.name, key.name)));
            }
            // The keys of a missing platform are not known; most platforms have this one.
            None => keys.push((registered.name, "token")),
        }
    }
    keys
}

/// A token in the config.
struct ConfigToken<'a> {
    section: &'static str,
    key: &'static str,
    place: &'a ConfigPlace,
    hash: TokenHash,
}

/// A sentence for each pair of equal tokens that grant different things.
// SECURITY: with `agent_token` equal to `approver_token`, every agent could answer its own asks.
pub(super) fn shared(root: &ConfigTable, keys: &[SecretKey]) -> Vec<String> {
    let given: Vec<ConfigToken<'_>> = keys
        .iter()
        // The database's URL grants nothing at this daemon, so it is not compared.
        .filter(|key| **key != ("store", "url"))
        .filter_map(|(section, key)| given(root, section, key))
        .chain(of_people(root))
        .collect();
    let pairs = given.iter().enumerate().flat_map(|(at, one)| {
        let others = given.iter().skip(at + 1);
        others
            .filter(|other| one.hash == other.hash && !one.may_equal(other))
            .map(move |o| (one, o))
    });
    pairs.map(|(one, other)| sentence(one, other)).collect()
}

fn given<'a>(
    root: &'a ConfigTable,
    section: &'static str,
    key: &'static str,
) -> Option<ConfigToken<'a>> {
    let tables = root.iter().filter(|(name, ..)| name == section);
    let mut keys = tables.filter_map(|(.., node)| match &node.value {
        ConfigValue::Table(table) => table.iter().find(|(name, ..)| name == key),
        _ => None,
    });
    let (.., node) = keys.next()?;
    Some(ConfigToken { section, key, place: &node.place, hash: hash(section, node)? })
}

/// The tokens of people.
fn of_people(root: &ConfigTable) -> impl Iterator<Item = ConfigToken<'_>> {
    let lists = root.iter().filter(|(name, ..)| name == "people");
    let nodes = lists.filter_map(|(.., node)| match node.value() {
        ConfigValue::List(nodes) => Some(nodes),
        _ => None,
    });
    nodes.flatten().filter_map(|node| {
        let ConfigValue::Table(table) = node.value() else { return None };
        let (.., node) = table.iter().find(|(name, ..)| name == "token")?;
        let section = "[people]";
        let key = "token";
        Some(ConfigToken { section, key, place: &node.place, hash: hash("daemon", node)? })
    })
}

/// The hash of a token. Only the daemon's own tokens may be written as a hash.
fn hash(section: &str, node: &ConfigNode) -> Option<TokenHash> {
    let text = node.text()?.trim();
    match section {
        "daemon" => Token::parse(text).ok().map(|token| token.hash()),
        _ => Some(TokenHash::of(text)).filter(|_| !text.is_empty()),
    }
}

impl ConfigToken<'_> {
    fn is(&self, section: &str, key: &str) -> bool {
        (self.section, self.key) == (section, key)
    }

    /// The agents' token appears twice: where it is checked, and where clients read it.
    fn may_equal(&self, other: &Self) -> bool {
        // One direction is enough: pairs come in the order of `KEYS`.
        self.is("daemon", "agent_token") && other.is("client", "token")
    }

    fn name(&self) -> String {
        format!("[{}] `{}`", self.section, self.key)
    }
}

fn sentence(one: &ConfigToken<'_>, other: &ConfigToken<'_>) -> String {
    let answers =
        |it: &ConfigToken<'_>| it.is("daemon", "approver_token") || it.is("[people]", "token");
    let why = if one.is("[people]", "token") && other.is("[people]", "token") {
        "one of them could answer as the other"
    } else if answers(one) || answers(other) {
        "an agent that has it could answer its own asks"
    } else {
        "what is given the one has the other too"
    };
    format!(
        "{}: {} is the same token as {} ({}); {why}. Give each a token of its own, such as \
         `openssl rand -hex 32` prints",
        other.place,
        other.name(),
        one.name(),
        one.place,
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{config::section, platforms::BUILT_IN};
    use std::path::Path;

    fn shared_in(toml: &str) -> Vec<String> {
        shared(&section::read_file(Path::new("c"), toml).unwrap(), &keys(BUILT_IN))
    }

    #[test]
    fn tokens_that_open_different_things_differ_however_they_are_written() {
        let hash = TokenHash::of("same").to_string();
        let upper = hash.replace("sha256:", "").to_uppercase();
        for (agent, approver) in [
            ("same", "same"),
            ("same", " same "),
            ("same", &*hash),
            (&*hash, "same"),
            (&*hash, &*format!("sha256:{upper}")),
        ] {
            let toml =
                format!("[daemon]\nagent_token = '{agent}'\napprover_token = '{approver}'\n");
            assert_eq!(
                shared_in(&toml),
                ["c:3:18: [daemon] `approver_token` is the same token as [daemon] `agent_token` \
                  (c:2:15); an agent that has it could answer its own asks. Give each a token of \
                  its own, such as `openssl rand -hex 32` prints"]
            );
        }
    }

    #[test]
    fn the_tokens_of_clients_and_bots_are_compared_too() {
        let both = |one: &str, other: &str| shared_in(&format!("{one} = 'same'\n{other} = 'same'"));
        for (one, other, why) in [
            ("daemon.approver_token", "client.token", "answer its own asks"),
            ("daemon.approver_token", "telegram.token", "answer its own asks"),
            ("daemon.agent_token", "discord.token", "has the other too"),
            ("client.token", "telegram.token", "has the other too"),
            ("telegram.token", "discord.token", "has the other too"),
        ] {
            let said = both(one, other);
            assert_eq!(said.len(), 1, "{one} {other}");
            assert!(said.iter().all(|said| said.contains(why)), "{said:?}");
        }
        assert_eq!(both("daemon.agent_token", "client.token"), [""; 0]);
        let apart = "daemon.agent_token = 'a'\ndaemon.approver_token = 'b'\nclient.token = 'a'\n";
        assert_eq!(shared_in(apart), [""; 0]);
        let empty = "daemon.agent_token = ''\ndaemon.approver_token = ''\nclient.token = ''";
        assert_eq!(shared_in(empty), [""; 0]);
    }
}
