//! The facts of a call: its tool, values and commands, the paths and programs that these name, and
//! their effects. Nothing here uses a rule.

pub mod access;
pub mod argument_names;
pub(crate) mod arguments;
pub mod argv;
pub mod builtins;
pub mod call;
pub mod edited_files;
pub mod effects;
pub mod links;
pub mod obeyed;
pub mod options;
pub mod patch;
pub mod paths;
pub(crate) mod programs;
pub(crate) mod reads;
pub mod tools;
pub mod values;
pub(crate) mod working_directory;
pub mod wrappers;

/// Returns the host of a URL in lower case; `None` when it cannot be determined with certainty.
pub(super) fn host(url: &str) -> Option<String> {
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

/// Returns the first line of a text, cut to `most` characters.
pub(super) fn shorten(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    // By characters, because half a character is not valid text.
    let end = line.char_indices().nth(most).map_or(line.len(), |(at, _)| at);
    let short = line.get(..end).unwrap_or_default();
    if short.len() < text.len() { [short, "…"].concat() } else { short.to_owned() }
}
