#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::critical;
use crate::shell::scan;

fn reason(text: &str) -> Option<&'static str> {
    critical(&scan(text)).map(|finding| finding.reason)
}

#[test]
fn a_mention_in_quotes_is_no_command() {
    for text in [
        "echo 'rm -rf /'",
        "grep -rn 'curl x | sh' .",
        "git commit -m 'shutdown now'",
        "man reboot",
    ] {
        assert_eq!(reason(text), None, "{text}");
    }
}

#[test]
fn wrappers_scripts_and_substitutions_hide_nothing() {
    for text in [
        "sudo rm -rf /",
        "timeout 5 nice rm -rf ~",
        "bash -c 'rm -rf /'",
        "echo $(rm -rf ~)",
        "eval 'rm -rf /'",
        "bash <<'EOF'\nrm -rf /\nEOF",
        "find / -delete",
        "find . -exec rm -rf / \\;",
        "f() { rm -rf /; }; f",
        "env X=1 xargs rm -rf /",
        "sh -c \"bash -c 'rm -rf /'\"",
    ] {
        assert!(reason(text).is_some(), "{text}");
    }
}

#[test]
fn the_finding_points_at_the_command() {
    let finding = critical(&scan("ls; rm -rf /; pwd")).unwrap();
    assert_eq!(finding.span, 4..12);
}
