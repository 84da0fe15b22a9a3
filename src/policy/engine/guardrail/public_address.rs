//! The address under which people reach the inbox through a proxy.

use url::{Host, Url};

use super::host::{decode, parse};

/// A public address. Other names are never taken for it, because anything on the web has a port
/// like its own.
#[derive(Clone, Debug)]
pub(super) struct PublicAddress {
    shown: String,
    host: Host,
    port: u16,
}

impl PublicAddress {
    /// The address in a URL; `None` where it names no host.
    pub(super) fn new(url: &str) -> Option<Self> {
        let parsed = Url::parse(url).ok()?;
        let port = parsed.port_or_known_default()?;
        Some(Self { host: parse(parsed.host_str()?)?, port, shown: url.to_owned() })
    }

    /// Returns why these texts must not be parts of one call: they name the address.
    pub(super) fn forbid<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Option<String> {
        let decoded: Vec<String> = texts.map(decode).collect();
        let parts: Vec<&str> = decoded.iter().flat_map(|text| text.split(ENDS)).collect();
        let is_port = |text: &str| text.parse() == Ok(self.port);
        // Host and port may be separate words: `nc approve.example 8443`.
        let port_is_named = self.port == HTTPS || parts.iter().any(|part| is_port(part));
        let follows = |port: Option<&str>| match port {
            None | Some("") => port_is_named,
            Some(port) => is_port(port) || port_is_named && port.parse::<u16>().is_err(),
        };
        let names = |part: &&str| {
            // `--connect-to=HOST:PORT:HOST:PORT` names several.
            let mut pieces = part.split(':').peekable();
            while let Some(piece) = pieces.next() {
                if self.is_host(piece) && follows(pieces.peek().copied()) {
                    return true;
                }
            }
            // The colons of an IPv6 address are its own.
            part.rsplit_once(':').is_some_and(|(host, port)| self.is_host(host) && is_port(port))
                || port_is_named && self.is_host(part)
        };
        parts
            .iter()
            .any(names)
            .then(|| format!("{} is countersign's own address. Agents may not use it.", self.shown))
    }

    fn is_host(&self, name: &str) -> bool {
        parse(name).is_some_and(|host| host == self.host)
    }
}

const HTTPS: u16 = 443;

/// What ends a host in a URL, an option or a command.
const ENDS: [char; 18] =
    ['/', '@', ',', '=', ';', '"', '\'', '(', ')', '<', '>', '|', ' ', '\t', '\n', '\\', '?', '#'];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_public_address_is_found_in_every_spelling_and_other_hosts_and_ports_are_not() {
        let own = PublicAddress::new("https://approve.example:8443").unwrap();
        let default = PublicAddress::new("https://approve.example").unwrap();
        let cases: [(&[&str], bool, bool); 11] = [
            (&["curl", "https://approve.example:8443/inbox/press"], true, false),
            (&["curl", "https://me@APPROVE.example.:8443"], true, false),
            (&["curl", "https://approve%2Eexample:8443/"], true, false),
            (&["nc", "approve.example", "8443"], true, true),
            (&["curl", "https://approve.example/v1/asks"], false, true),
            (&["curl", "--connect-to=approve.example:443:10.0.0.1:80"], false, true),
            (&["curl", "approve.example:"], false, true),
            (&["curl", "https://approve.example:9000/"], false, false),
            (&["curl", "https://docs.example:8443/"], false, false),
            (&["curl", "https://notapprove.example/", "https://example/"], false, false),
            (&["echo", "approve", "8443"], false, false),
        ];
        for (words, at_port, at_default) in cases {
            assert_eq!(own.forbid(words.iter().copied()).is_some(), at_port, "{words:?}");
            assert_eq!(default.forbid(words.iter().copied()).is_some(), at_default, "{words:?}");
        }
        assert_eq!(
            default.forbid(["https://approve.example"].into_iter()).as_deref(),
            Some("https://approve.example is countersign's own address. Agents may not use it.")
        );
    }
}
