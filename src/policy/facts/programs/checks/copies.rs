//! Copies to and from other hosts, and raw connections.

use crate::facts::paths;
use crate::facts::programs::arguments::Arguments;
use crate::shell::WordKind;

const SENDS: &str = "it sends a value that is only known when it runs";

/// Checks rsync, scp and sftp: another host, or a destination outside the project.
pub(crate) fn copy(args: &Arguments<'_, '_>) -> Option<&'static str> {
    if args.uncertain() {
        return Some(SENDS);
    }
    let operands = args.operands("-e --rsh -f --exclude --include -P -i -l -c -F");
    let remote = |text: &str| {
        text.contains("://")
            // `host:path`; a slash before the colon makes it a local path.
            || text.split_once(':').is_some_and(|(host, _)| !host.contains('/') && !host.is_empty())
    };
    let (to, from) = operands.split_last()?;
    if remote(&to.text) && from.iter().any(|w| args.outside(w) || paths::secret(&w.text, args.dirs))
    {
        return Some("it sends files from outside the project to another host");
    }
    if !remote(&to.text) && args.outside(to) {
        return Some("it writes outside the project");
    }
    None
}

/// Checks name look-ups and raw connections, which carry whatever data they are given.
pub(crate) fn probe(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let runs = args.short("ec", "wpsiIXWqoLtmQ")
        || args.long("--exec --sh-exec --lua-exec --output")
        || args.any(|text| {
            let lower = text.to_ascii_lowercase();
            lower.starts_with("exec:")
                || lower.starts_with("system:")
                || lower.starts_with("shell:")
                || lower.starts_with("create:")
        });
    // `ping -c3` counts packets; `nc -c CMD` runs a program.
    let counts =
        args.any(|text| text.starts_with("-c") && text.bytes().skip(2).all(|b| b.is_ascii_digit()));
    if runs && !counts {
        return Some("it runs a program for the other side");
    }
    let unknown = args.open || args.words.iter().any(|w| w.kind == WordKind::Dynamic);
    unknown.then_some(SENDS)
}
