//! Web addresses.

/// Returns the host of a URL in lower case; `None` when it cannot be determined with certainty.
pub(crate) fn host(url: &str) -> Option<String> {
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        url.get(..scheme.len())
            .filter(|head| head.eq_ignore_ascii_case(scheme))
            .and_then(|head| url.get(head.len()..))
    })?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.split(':').next()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    // SECURITY: with user names, backslashes or other scripts, programs disagree about the host. No
    // DNS name is longer.
    ((1..=253).contains(&host.len()) && host.bytes().all(plain) && !authority.contains('@'))
        .then(|| host.trim_end_matches('.').to_ascii_lowercase())
}
