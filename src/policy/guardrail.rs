//! What no rule, mode, grant or button can lift: the bridge's own files, program and addresses,
//! and the operator's denies.

use memchr::memmem::Finder;

use crate::call::{Call, Kind};
use crate::glob::Glob;
use crate::place::{self, Place};
use crate::rules::Rules;
use crate::shell::{Word, WordKind};
use crate::values::Values;
use crate::wrappers::base;

/// The bridge's own files, program and addresses, and the operator's denies.
#[derive(Clone, Debug, Default)]
pub struct Guardrail {
    /// Files and directories that agents must not touch: config, rules, store, socket, tokens.
    paths: Vec<Own>,
    /// Programs whose answering commands agents must not run.
    names: Vec<&'static str>,
    /// Addresses of the daemon (`127.0.0.1:7117`).
    addresses: Vec<Own>,
    /// Rules of the operator whose denies hold whatever else is allowed.
    pub(crate) denies: Rules,
}

/// Something of the bridge's own, and the text without which it is not named.
#[derive(Clone, Debug)]
struct Own {
    name: String,
    mark: Finder<'static>,
}

impl Own {
    fn new(name: String, mark: &str) -> Self {
        Self { mark: Finder::new(mark).into_owned(), name }
    }

    fn may_be_in(&self, text: &str) -> bool {
        text.len() >= self.mark.needle().len() && self.mark.find(text.as_bytes()).is_some()
    }
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

impl Guardrail {
    /// Guardrails for a bridge with these files, program names and addresses.
    pub fn new(
        paths: impl IntoIterator<Item = String>,
        names: impl IntoIterator<Item = &'static str>,
        addresses: impl IntoIterator<Item = String>,
    ) -> Self {
        let path = |path: String| {
            let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or(&path).to_owned();
            Own::new(path, &last)
        };
        let address = |address: String| {
            let port = address.rsplit_once(':').filter(|(_, port)| is_port(port));
            let mark = port.map_or_else(|| address.clone(), |(_, port)| format!(":{port}"));
            Own::new(address, &mark)
        };
        Self {
            paths: paths.into_iter().filter(|path| path.len() > 1).map(path).collect(),
            names: names.into_iter().collect(),
            addresses: addresses.into_iter().filter(|a| !a.is_empty()).map(address).collect(),
            denies: Rules::default(),
        }
    }

    /// The same guardrails with the denies of the operator's own rules among them.
    #[must_use]
    pub fn with_denies(self, denies: Rules) -> Self {
        Self { denies, ..self }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.names.is_empty() && self.addresses.is_empty()
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
        let inside = self.is_inside(place);
        words
            .iter()
            .find_map(|word| self.forbid_word(word, inside, place))
            .or_else(|| self.forbid_program(words))
    }

    /// Why a text must not be part of a call: it names one of the bridge's files or addresses.
    pub(crate) fn forbid_text(&self, text: &str, place: Place<'_>) -> Option<String> {
        self.forbid_text_from(text, self.is_inside(place), place)
    }

    /// The working directory is where a bare name may be one of our files.
    fn is_inside(&self, place: Place<'_>) -> bool {
        place.cwd.is_some_and(|cwd| self.paths.iter().any(|own| inside(cwd, &own.name)))
    }

    fn forbid_text_from(&self, text: &str, inside: bool, place: Place<'_>) -> Option<String> {
        if !inside && !self.paths.iter().any(|own| own.may_be_in(text)) {
            return self.forbid_address(text);
        }
        let home = place.home.unwrap_or("~");
        let expanded =
            text.replace("${HOME}", home).replace("$HOME", home).replace("~/", &format!("{home}/"));
        let path = place::clean(&expanded, place);
        self.paths
            .iter()
            .find(|own| {
                let own = place::clean(&own.name, place);
                expanded.contains(&*own) || place::within(&path, &own)
            })
            .map(|own| format!("{} belongs to the bridge; agents must not touch it.", own.name))
            .or_else(|| self.forbid_address(&expanded))
    }

    fn forbid_address(&self, text: &str) -> Option<String> {
        let reached =
            self.addresses.iter().filter(|address| address.may_be_in(text)).find(|own| {
                let port = own.name.rsplit_once(':').map(|(_, port)| port).filter(|p| is_port(p));
                text.contains(&*own.name)
                    || port.is_some_and(|port| {
                        HERE.iter().any(|host| names_port(text, &format!("{host}:{port}")))
                    })
            })?;
        let name = &reached.name;
        Some(format!("{name} is the bridge's own address; agents have their own way in."))
    }

    fn forbid_word(&self, word: &Word<'_>, inside: bool, place: Place<'_>) -> Option<String> {
        if let Some(reason) = self.forbid_text_from(&word.text, inside, place) {
            return Some(reason);
        }
        if word.kind == WordKind::Literal || !word.text.contains(['*', '?', '[']) {
            return None;
        }
        // `~/.config/c*/p*` may be one of our files.
        let pattern = place::path(word, place).unwrap_or_else(|| (&*word.text).into());
        let glob = Glob::parse(&place::clean(&pattern, place)).ok()?;
        self.paths
            .iter()
            .find(|own| glob.reaches(&place::clean(&own.name, place)))
            .map(|own| format!("{} may name {}, which belongs to the bridge.", word.text, own.name))
    }

    fn forbid_program(&self, words: &[Word<'_>]) -> Option<String> {
        let (first, args) = words.split_first()?;
        let name = base(&first.text);
        if !self.names.contains(&name) {
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

/// From here a bare name may be a file of the bridge.
fn inside(cwd: &str, own: &str) -> bool {
    let parent = own.trim_end_matches('/').rsplit_once('/').map_or("", |(parent, _)| parent);
    place::within(cwd, own) || place::within(cwd, parent) || cwd.contains("/..")
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
