//! What no rule, mode, grant or button can lift: the bridge's own files, program and addresses,
//! and the operator's denies.

use crate::call::{Call, Kind};
use crate::glob::Glob;
use crate::place::{self, Place};
use crate::rules::Rules;
use crate::shell::{Word, WordKind};
use crate::values::Values;
use crate::wrappers::base;

/// The bridge's own files, program and addresses, and the operator's denies.
#[derive(Clone, Debug, Default)]
pub struct Floors {
    /// Files and directories that agents must not touch: config, rules, store, socket, tokens.
    pub protected_paths: Vec<String>,
    /// Programs whose answering commands agents must not run.
    pub protected_names: Vec<&'static str>,
    /// Addresses of the daemon (`127.0.0.1:7117`, a socket's path).
    pub protected_addresses: Vec<String>,
    /// Rules of the operator whose denies hold whatever else is allowed.
    pub denies: Rules,
}

/// Commands of the bridge that ask or tell and decide nothing.
const HARMLESS: &[&str] = &[
    "ask",
    "run",
    "hook",
    "acp",
    "mcp",
    "host",
    "doctor",
    "pending",
    "log",
    "policy",
    "schema",
    "completions",
    "help",
    "--help",
    "-h",
    "version",
    "--version",
    "-V",
];

impl Floors {
    /// Floors for a bridge with these files, program names and addresses.
    pub fn new(
        paths: impl IntoIterator<Item = String>,
        names: impl IntoIterator<Item = &'static str>,
        addresses: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            protected_paths: paths.into_iter().filter(|path| path.len() > 1).collect(),
            protected_names: names.into_iter().collect(),
            protected_addresses: addresses.into_iter().filter(|a| !a.is_empty()).collect(),
            denies: Rules::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.protected_paths.is_empty()
            && self.protected_names.is_empty()
            && self.protected_addresses.is_empty()
    }

    /// Why a call of a tool that is no shell must not run: one of its texts reaches for the bridge.
    pub(crate) fn forbid_call(&self, call: &Call, place: Place<'_>) -> Option<String> {
        if self.is_empty() || call.kind() == Kind::Question {
            return None;
        }
        let resolved = call.resolved.iter().map(String::as_str);
        Values::naming(&call.args)
            .into_iter()
            .chain(resolved)
            .find_map(|text| self.forbid_text(text, place))
    }

    /// Why a command with these words must not run.
    pub(crate) fn forbid_words(&self, words: &[Word<'_>], place: Place<'_>) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        words
            .iter()
            .find_map(|word| self.forbid_word(word, place))
            .or_else(|| self.forbid_program(words))
    }

    /// Why a text must not be part of a call: it names one of the bridge's files or addresses.
    pub(crate) fn forbid_text(&self, text: &str, place: Place<'_>) -> Option<String> {
        if !self.protected_paths.iter().any(|own| may_name(text, own, place)) {
            return self.forbid_address(text);
        }
        let expanded = text
            .replace("${HOME}", place.home.unwrap_or("~"))
            .replace("$HOME", place.home.unwrap_or("~"))
            .replace("~/", &format!("{}/", place.home.unwrap_or("~")));
        let path = place::clean(&expanded, place);
        self.protected_paths
            .iter()
            .find(|own| {
                let own = place::clean(own, place);
                expanded.contains(&*own) || place::within(&path, &own)
            })
            .map(|own| format!("{own} belongs to the bridge; agents must not touch it."))
            .or_else(|| self.forbid_address(&expanded))
    }

    fn forbid_address(&self, text: &str) -> Option<String> {
        let reached = self.protected_addresses.iter().find(|address| {
            let port = address.rsplit_once(':').map(|(_, port)| port).filter(|port| is_port(port));
            text.contains(&**address)
                || port.is_some_and(|port| {
                    HERE.iter().any(|host| names_port(text, &format!("{host}:{port}")))
                })
        })?;
        Some(format!("{reached} is the bridge's own address; agents have their own way in."))
    }

    fn forbid_word(&self, word: &Word<'_>, place: Place<'_>) -> Option<String> {
        if let Some(reason) = self.forbid_text(&word.text, place) {
            return Some(reason);
        }
        if word.kind == WordKind::Literal || !word.text.contains(['*', '?', '[']) {
            return None;
        }
        // `~/.config/c*/p*` may be one of our files.
        let pattern = place::path(word, place).unwrap_or_else(|| (&*word.text).into());
        let glob = Glob::parse(&place::clean(&pattern, place)).ok()?;
        self.protected_paths
            .iter()
            .find(|own| glob.reaches(&place::clean(own, place)))
            .map(|own| format!("{} may name {own}, which belongs to the bridge.", word.text))
    }

    fn forbid_program(&self, words: &[Word<'_>]) -> Option<String> {
        let (first, args) = words.split_first()?;
        let name = base(&first.text);
        if !self.protected_names.contains(&name) {
            return None;
        }
        let command = args.iter().find(|word| !word.text.starts_with("--config"));
        let allowed = match command {
            None => true,
            Some(word) => {
                let read_only = word.literal() == Some("grants")
                    && args.iter().all(|w| w.literal().is_some_and(|w| w != "revoke"));
                read_only || word.literal().is_some_and(|word| HARMLESS.contains(&word))
            }
        };
        (!allowed).then(|| {
            format!(
                "`{name} {}` decides about asks; an agent cannot approve itself.",
                command.map_or("", |word| &*word.text)
            )
        })
    }
}

/// A text that names `own` holds its last part, or is written from inside of it.
fn may_name(text: &str, own: &str, place: Place<'_>) -> bool {
    let last = own.trim_end_matches('/').rsplit('/').next().unwrap_or(own);
    text.contains(last)
        || place.cwd.is_some_and(|cwd| place::within(cwd, own) || cwd.contains("/.."))
}

/// Names of this machine.
const HERE: &[&str] = &["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "127.1", "[::]"];

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `address` occurs and the port does not go on.
fn names_port(text: &str, address: &str) -> bool {
    text.match_indices(address)
        .any(|(at, found)| !text.as_bytes().get(at + found.len()).is_some_and(u8::is_ascii_digit))
}
