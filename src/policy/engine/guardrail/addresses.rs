//! The bridge's own addresses, in every notation that reaches this machine.

use std::borrow::Cow;
use std::net::IpAddr;

use url::{Host, Url};

use crate::engine::guardrail::GuardrailHit;
use crate::facts::paths::decoded;
use crate::facts::programs::input::is_interpreter;
use crate::facts::wrappers::base;
use crate::shell::Word;

/// Longer texts are not read as one URL.
const LONGEST_URL: usize = 4096;

/// The addresses of the daemon and its store.
#[derive(Clone, Debug, Default)]
pub(super) struct Addresses {
    own: Vec<Address>,
    /// Names and addresses of this machine.
    here: Vec<Host>,
}

#[derive(Clone, Debug)]
struct Address {
    shown: String,
    host: Host,
    port: String,
}

/// Tells whether a name refers to the machine of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Meant {
    No,
    /// A name that may resolve to that address, or one that is not known yet.
    Maybe,
    Yes,
}

impl Addresses {
    pub(super) fn new(own: impl IntoIterator<Item = String>, here: &[String]) -> Self {
        let own = own.into_iter().filter_map(|shown| {
            let (host, port) = shown.rsplit_once(':')?;
            let host = Host::parse(host).ok()?;
            Some(Address { host, port: port.to_owned(), shown })
        });
        let here = here.iter().filter_map(|name| parse(name)).collect();
        Self { own: own.collect(), here }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Returns why a text must not be part of a call: it contains one of our addresses.
    pub(super) fn forbid_text(&self, text: &str) -> Option<String> {
        self.own.iter().find(|own| self.named(own, text) == Meant::Yes).map(Address::reason)
    }

    /// Returns what the words of a command reach.
    pub(super) fn judge(&self, argv: &[Word<'_>]) -> Option<GuardrailHit> {
        let texts: Vec<&str> = argv.iter().map(|word| &*word.text).collect();
        self.judge_texts(texts.first().copied().map(base), &texts)
    }

    /// Returns what these texts for a program reach.
    pub(super) fn judge_texts(&self, name: Option<&str>, texts: &[&str]) -> Option<GuardrailHit> {
        self.worst(|own| self.of_texts(own, name, texts))
    }

    /// Returns what the values of a call reach that may connect to what they name.
    pub(super) fn judge_values(&self, values: &[&str]) -> Option<GuardrailHit> {
        self.worst(|own| {
            let named = values.iter().map(|value| self.named(own, value)).max();
            // Host and port may be separate values.
            let here = |value: &&str| value.len() > 2 && self.means(own, value) == Meant::Yes;
            if values.iter().any(|value| is_port(value, own)) && values.iter().any(here) {
                Meant::Yes
            } else {
                named.unwrap_or(Meant::No)
            }
        })
    }

    fn worst(&self, meant: impl Fn(&Address) -> Meant) -> Option<GuardrailHit> {
        let worst = self.own.iter().map(|own| (meant(own), own)).max_by_key(|(meant, _)| *meant)?;
        match worst {
            (Meant::No, _) => None,
            (Meant::Maybe, own) => Some(GuardrailHit::Asks(format!(
                "It may connect to countersign's own port {}.",
                own.port
            ))),
            (Meant::Yes, own) => Some(GuardrailHit::Denied(own.reason())),
        }
    }

    fn of_texts(&self, own: &Address, name: Option<&str>, texts: &[&str]) -> Meant {
        let mut meant = Meant::No;
        let mut port_alone = false;
        for text in texts.iter().filter(|text| may_name(text, &own.port)) {
            meant = meant.max(self.named(own, text));
            let mut numbers = text.split(PORT_ENDS);
            port_alone |= numbers.any(|part| is_port(part, own));
        }
        if port_alone && meant != Meant::Yes {
            // Host and port may be separate words: `nc 127.1 7117`, `curl --resolve
            // x:7117:127.0.0.1`, `connect(("127.0.0.1", 7117))`.
            let hosts = texts.iter().flat_map(|text| text.split(HOST_ENDS));
            let parts = hosts.flat_map(|part| [part].into_iter().chain(part.split(':')));
            // Shorter parts are option letters and numbers, not hosts.
            if parts.filter(|part| part.len() > 2).any(|part| self.means(own, part) == Meant::Yes) {
                meant = Meant::Yes;
            } else if name.is_some_and(|name| CLIENTS.contains(&name) || is_interpreter(name)) {
                meant = Meant::Maybe;
            }
        }
        meant
    }

    /// Returns what a redirect to `/dev/tcp/HOST/PORT` reaches.
    pub(super) fn connection(&self, target: &Word<'_>) -> Option<GuardrailHit> {
        let rest =
            ["/dev/tcp/", "/dev/udp/"].iter().find_map(|dev| target.text.strip_prefix(dev))?;
        let (host, port) = rest.split_once('/')?;
        self.worst(|own| self.means(own, host).min(own.is_at(port)))
    }

    /// Returns whether a text names the address: a URL, `HOST:PORT` or `/dev/tcp/HOST/PORT`.
    fn named(&self, own: &Address, text: &str) -> Meant {
        self.in_url(own, text).max(self.in_text(own, text))
    }

    // Clients drop tabs and line breaks in a URL, also within the port.
    fn in_url(&self, own: &Address, text: &str) -> Meant {
        let url = Some(text).filter(|text| text.len() < LONGEST_URL && text.contains(':'));
        let url = url.and_then(|text| Url::parse(text).ok());
        let port = url.as_ref().and_then(Url::port_or_known_default);
        match url.as_ref().and_then(Url::host_str) {
            Some(host) if port.is_some_and(|port| port.to_string() == own.port) => {
                self.means(own, host)
            }
            _ => Meant::No,
        }
    }

    fn in_text(&self, own: &Address, text: &str) -> Meant {
        if !may_name(text, &own.port) {
            return Meant::No;
        }
        let decoded = decoded(text);
        let text = decoded.as_deref().unwrap_or(text);
        // Port 80 is implied by `http://`.
        let plain = own.port == "80" && text.contains("://");
        let found = hosts_before_port(text, own).map(|host| self.means(own, host));
        let default = plain.then(|| authority(text)).flatten().map(|host| self.means(own, host));
        found.chain(default).max().unwrap_or(Meant::No)
    }

    fn means(&self, own: &Address, name: &str) -> Meant {
        if name.contains(['$', '`', '*', '{', '?']) {
            return Meant::Maybe;
        }
        let Some(host) = parse(name) else {
            // `:7117` refers to this machine for some clients.
            return if name.is_empty() { Meant::Yes } else { Meant::No };
        };
        if host == own.host || self.is_here(&own.host) && self.is_here(&host) {
            return Meant::Yes;
        }
        match host {
            // Any domain may point to this machine, and the policy asks no DNS server.
            Host::Domain(_) => Meant::Maybe,
            Host::Ipv4(_) | Host::Ipv6(_) => Meant::No,
        }
    }

    fn is_here(&self, host: &Host) -> bool {
        let local = |ip: IpAddr| {
            // `::ffff:127.0.0.1` is a loopback address as well.
            let ip = ip.to_canonical();
            // Connecting to `0.0.0.0` reaches the machine itself.
            ip.is_loopback() || ip.is_unspecified()
        };
        self.here.contains(host)
            || match host {
                Host::Domain(name) => is_local_name(name),
                Host::Ipv4(ip) => local(IpAddr::V4(*ip)),
                Host::Ipv6(ip) => {
                    local(IpAddr::V6(*ip))
                        || ip.to_ipv4().is_some_and(|v4| {
                            self.here.contains(&Host::Ipv4(v4)) || local(IpAddr::V4(v4))
                        })
                }
            }
    }
}

impl Address {
    /// Returns whether bash connects to our port: it counts modulo 2^16, and a name may be any.
    fn is_at(&self, port: &str) -> Meant {
        match (port.parse::<u64>(), self.port.parse::<u64>()) {
            (Ok(port), Ok(own)) if port % (1 << 16) == own => Meant::Yes,
            (Ok(_), _) => Meant::No,
            (Err(_), _) => Meant::Maybe,
        }
    }

    fn reason(&self) -> String {
        format!("{} is countersign's own address. Agents may not use it.", self.shown)
    }
}

/// Programs that open connections.
const CLIENTS: &[&str] = &[
    "curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "ssh", "http", "https", "xh",
    "httpie", "openssl", "websocat", "wscat", "aria2c", "lynx", "w3m", "psql", "mysql", "hurl",
    "grpcurl",
];

/// What ends a port in a word or a program.
const PORT_ENDS: [char; 13] = [',', ':', '=', '-', ' ', '(', ')', '[', ']', '"', '\'', ';', '\n'];

/// What ends a host in a word, an address or a program.
const HOST_ENDS: [char; 13] = [',', '=', '@', ' ', '/', '"', '\'', '(', ')', '[', ']', ';', '\n'];

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let name = name.strip_suffix(".localdomain").unwrap_or(&name);
    matches!(name, "localhost" | "ip6-localhost" | "ip6-loopback" | "localhost4" | "localhost6")
        || name.ends_with(".localhost")
}

fn is_port(text: &str, own: &Address) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.trim_start_matches('0') == own.port
}

fn may_name(text: &str, port: &str) -> bool {
    // A percent escape may hide the port.
    port == "80" || text.contains(port) || text.contains('%')
}

/// Iterates over the hosts before our port.
fn hosts_before_port<'t>(text: &'t str, own: &'t Address) -> impl Iterator<Item = &'t str> {
    text.match_indices(&*own.port).filter_map(move |(at, port)| {
        let after = text.as_bytes().get(at + port.len());
        // Clients accept leading zeros in a port (`:07117`).
        let before = text.get(..at)?.trim_end_matches('0');
        if after.is_some_and(u8::is_ascii_digit) {
            return None;
        }
        if let Some(before) = before.strip_suffix('/') {
            let (front, host) = before.rsplit_once('/')?;
            let devices = ["/dev/tcp", "/dev/udp", "/inet"];
            return devices.iter().any(|device| front.contains(device)).then_some(host);
        }
        let before = before.strip_suffix(':')?;
        if before.ends_with(']') {
            return before.get(before.rfind('[')?..);
        }
        let ends = [
            '/', '@', ',', '=', ';', '"', '\'', '(', ')', '<', '>', '|', ' ', '\t', '\n', ':', '\\',
        ];
        let from = before.rfind(ends).map_or(0, |at| at + 1);
        before.get(from..)
    })
}

/// Returns the host of `scheme://host/`.
fn authority(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#', '"', '\'', ' ']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    Some(authority.rsplit_once('@').map_or(authority, |(_, host)| host))
}

/// Parses a host as web clients do: `0x7f.1` and `２１３０７０６４３３` are `127.0.0.1`.
fn parse(name: &str) -> Option<Host> {
    let name = match name.trim_end_matches('.') {
        "" => return None,
        name if name.matches(':').count() > 1 && !name.starts_with('[') => {
            // An IPv6 address may carry a zone: `fe80::1%eth0`.
            return name.split('%').next()?.parse().ok().map(Host::Ipv6);
        }
        name => name,
    };
    match Host::parse(name).ok()? {
        Host::Domain(name) => Some(Host::Domain(name.trim_end_matches('.').to_owned())),
        other => Some(other),
    }
}

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
        let decoded: Vec<Cow<'_, str>> =
            texts.map(|text| decoded(text).map_or(text.into(), Cow::Owned)).collect();
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
mod tests;
