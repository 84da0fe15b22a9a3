//! Compares what bash executed with what the scanner reported.

use countersign_policy::shell::{Command, Scan, WordKind};

/// The argvs that were executed though the scanner, claiming certainty, did not report them.
pub fn unreported<'e>(
    scan: &Scan<'_>,
    executed: &'e [Vec<String>],
    home: &str,
) -> Vec<&'e [String]> {
    if !scan.understood() {
        return Vec::new();
    }
    let reported =
        |argv: &[String]| scan.commands.iter().any(|command| covers(command, argv, home));
    executed.iter().map(Vec::as_slice).filter(|argv| !argv.is_empty() && !reported(argv)).collect()
}

/// Literal words must be equal one by one, up to the first word that may be several.
fn covers(command: &Command<'_>, argv: &[String], home: &str) -> bool {
    let mut given = argv.iter();
    for word in &command.argv {
        let expected = match word.kind {
            WordKind::Literal => word.text.to_string(),
            WordKind::Home => format!("{home}{}", word.text.trim_start_matches('~')),
            _ => return given.len() < argv.len() || command.argv.len() > 1,
        };
        if given.next() != Some(&expected) {
            return false;
        }
    }
    !command.argv.is_empty() && given.next().is_none()
}
