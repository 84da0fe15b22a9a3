//! Hosts as web clients read them.

use url::Host;

/// Parses a host as web clients do: `0x7f.1` and `２１３０７０６４３３` are `127.0.0.1`.
pub(super) fn parse(name: &str) -> Option<Host> {
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

/// Decodes percent escapes: `%31` is `1`.
pub(super) fn decode(text: &str) -> String {
    let (bytes, mut at) = (text.as_bytes(), 0);
    let mut out = Vec::with_capacity(bytes.len());
    while let Some(byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code.filter(|_| *byte == b'%') {
            Some(code) => {
                out.push(code);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
