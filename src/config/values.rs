//! Parses single values of a config.

use super::section::{ConfigNode, ConfigValue};
use super::section::{list, text};
use countersign_client::Server;
use countersign_gate::OnTimeout;
use countersign_profiles::Profile;
use countersign_tokens::secret::Token;
use countersign_web::{PublicUrl, PushShows};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

pub(super) fn token(node: &ConfigNode) -> Result<Token, String> {
    // A token from a file or a variable may end with a line break.
    Token::parse(text(node)?.trim())
}

/// Parses a path; `resolve` makes it absolute.
pub(super) fn path(
    node: &ConfigNode,
    resolve: impl Fn(&str) -> PathBuf,
) -> Result<PathBuf, String> {
    text(node).map(|text| resolve(&text))
}

pub(super) fn default_address() -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7117)
}

pub(super) fn address(node: &ConfigNode) -> Result<SocketAddr, String> {
    text(node)?
        .parse()
        .map_err(|_| "must be an address and a port such as \"127.0.0.1:7117\"".into())
}

pub(super) fn url(node: &ConfigNode) -> Result<String, String> {
    let text = text(node)?;
    match reqwest::Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err("must be an address that begins with https:// or http://".into()),
    }
}

/// Parses the address of the inbox.
// The page proves itself with the browser's cryptography, which plain http has on this machine
// only.
pub(super) fn public_url(node: &ConfigNode) -> Result<PublicUrl, String> {
    let wanted = "must be the address of the inbox, such as \"https://approve.example.org\"";
    let url = reqwest::Url::parse(&text(node)?).map_err(|_| wanted.to_owned())?;
    let is_bare = url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    match url.scheme() {
        "https" | "http" if !is_bare => {
            Err(format!("{wanted}: a scheme, a host and a port, and nothing after them"))
        }
        "https" | "http" if url.scheme() == "https" || is_loopback(&url) => Ok(PublicUrl {
            host: url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
            origin: url.origin().ascii_serialization(),
        }),
        "http" => Err("is plain http to another machine, where browsers give the page no \
                       cryptography and anybody on the way can read it; use https"
            .into()),
        _ => Err(wanted.into()),
    }
}

/// Parses a text; an empty one, as `disconnect` leaves it, has no values.
pub(super) fn optional(node: &ConfigNode) -> Result<Option<String>, String> {
    text(node).map(|text| Some(text).filter(|text| !text.is_empty()))
}

/// Parses what push messages show.
pub(super) fn push(node: &ConfigNode) -> Result<Option<PushShows>, String> {
    match text(node)?.as_str() {
        "line" => Ok(Some(PushShows::Line)),
        "count" => Ok(Some(PushShows::Count)),
        "off" => Ok(None),
        _ => Err("must be \"line\", \"count\" or \"off\"".into()),
    }
}

/// Parses names of hosts, without ports.
pub(super) fn hosts(node: &ConfigNode) -> Result<Vec<String>, String> {
    let hosts = list(node)?.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    // SECURITY: a pattern would let in names that an attacker chooses (DNS rebinding).
    let is_host = |host: &str| {
        let is_name = || {
            let url = reqwest::Url::parse(&format!("https://{host}/"));
            url.is_ok_and(|url| url.host_str().is_some_and(|name| name.eq_ignore_ascii_case(host)))
        };
        host.parse::<IpAddr>().is_ok() || !host.contains('*') && is_name()
    };
    match hosts.iter().find(|host| !is_host(host)) {
        None => Ok(hosts),
        Some(host) => Err(format!("must be host names without a port, not \"{host}\"")),
    }
}

/// Parses one address, or a list of them.
pub(super) fn servers(
    node: &ConfigNode,
    insecure_http: bool,
    resolve: impl Fn(&str) -> PathBuf,
) -> Result<Vec<Server>, String> {
    match node.value() {
        ConfigValue::List(nodes) if nodes.is_empty() => {
            Err("is empty; it names where daemons are".into())
        }
        ConfigValue::List(nodes) => {
            nodes.iter().map(|node| server(node, insecure_http, &resolve)).collect()
        }
        _ => Ok(vec![server(node, insecure_http, &resolve)?]),
    }
}

fn server(
    node: &ConfigNode,
    insecure_http: bool,
    resolve: &impl Fn(&str) -> PathBuf,
) -> Result<Server, String> {
    let text = text(node)?;
    if let Some(path) = text.strip_prefix("unix:") {
        return Ok(Server::Unix(resolve(path.strip_prefix("//").unwrap_or(path))));
    }
    let wanted = "must be \"unix:PATH\" or \"https://HOST:PORT\"";
    let url = reqwest::Url::parse(&text).map_err(|_| wanted.to_owned())?;
    match url.scheme() {
        "https" => Ok(Server::Http(url)),
        "http" if insecure_http || is_loopback(&url) => Ok(Server::Http(url)),
        // SECURITY: tokens and commands would cross the network in clear text.
        "http" => Err("is plain http to another machine, which anybody on the way can read and \
                       change; use https, or set insecure_http = true in [client]"
            .into()),
        _ => Err(wanted.into()),
    }
}

/// Parses the address of a server that is reached by https, such as this one.
// SECURITY: over plain http anybody on the way could read what is sent, and answer in its place.
pub(super) fn https(node: &ConfigNode, example: &str) -> Result<String, String> {
    let text = text(node)?;
    match reqwest::Url::parse(&text) {
        Ok(url) if url.query().is_some() || url.fragment().is_some() => {
            Err("must be an address without `?` and `#`".to_owned())
        }
        Ok(url) if url.scheme() == "https" => Ok(text),
        Ok(url) if url.scheme() == "http" && is_loopback(&url) => Ok(text),
        _ => Err(format!("must be an https address such as \"{example}\"")),
    }
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

pub(super) fn profile(node: &ConfigNode) -> Result<Profile, String> {
    let name = text(node)?;
    name.parse().map_err(|_| {
        format!(
            "\"{name}\" is unknown; use \"standard\", \"wcore\", \"connectonion\", \"molf\", \
             \"ohmypi\" or \"zeptoclaw\""
        )
    })
}

pub(super) fn on_timeout(node: &ConfigNode, tools: Vec<String>) -> Result<OnTimeout, String> {
    match text(node)?.as_str() {
        "deny" => Ok(OnTimeout::Deny),
        "wait" => Ok(OnTimeout::Wait),
        "approve" if tools.is_empty() => {
            Err("\"approve\" needs the tools by name, as approve_on_timeout = [\"read_file\"]"
                .into())
        }
        "approve" => Ok(OnTimeout::Approve(tools)),
        other => Err(format!("\"{other}\" is unknown; use \"deny\", \"wait\" or \"approve\"")),
    }
}

pub(super) fn tools(node: &ConfigNode) -> Result<Vec<String>, String> {
    let tools = list(node)?.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    match tools.iter().find(|tool| tool.contains(['*', '?', '[']) || tool.trim().is_empty()) {
        None => Ok(tools),
        // FAIL-CLOSED: only tools that the operator names are ever approved without a person.
        Some(tool) => Err(format!("must be whole names of tools, not \"{tool}\"")),
    }
}

pub(super) fn length(node: &ConfigNode) -> Result<Duration, String> {
    let wanted = "must be a duration such as \"5m\", \"90s\" or a number of seconds";
    let seconds = match node.value() {
        ConfigValue::Number(seconds) => Some(*seconds),
        // A quoted number counts as seconds too.
        ConfigValue::Text(text) => text.trim().parse().ok().or_else(|| {
            text.trim().parse::<jiff::SignedDuration>().ok().map(|length| length.as_secs())
        }),
        _ => None,
    };
    let seconds = seconds.ok_or(wanted)?;
    match u64::try_from(seconds) {
        Ok(seconds) if (1..=31_536_000).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err("must be between 1 second and 365 days".into()),
    }
}
