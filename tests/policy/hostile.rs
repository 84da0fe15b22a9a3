//! Hostile texts: no shape overflows the stack, none takes long, and every refusal keeps the deny
//! rules' sight.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use std::time::{Duration, Instant};

use countersign_policy::critical::critical;
use countersign_policy::effects::of_shell;
use countersign_policy::place::Place;
use countersign_policy::shell::{Doubt, scan};
use countersign_policy::{Call, Guardrail, Layers, Mode, Rules, Verdict, rule};

const SHAPES: &[&str] = &[
    "(",
    "((",
    "{ ",
    "$(",
    "`",
    "\"",
    "'",
    "${x:-",
    "\"$(",
    "if ",
    "for x in a; do ",
    "case a in a) ",
    "f() { ",
    "while :; do ",
    "[[ ( ",
    "$((",
    "a=(",
    "<(",
    "ls;",
    "ls&&",
    "ls|",
    "! ",
    "time ",
    "\\\n",
    "<<A\n",
    "<<A ",
    "a[",
    "{a,b}",
    "$'\\",
    "x=1 ",
    "${x#",
    "\"${x:-\"",
    "&",
    ">",
    "2>&1 ",
    "#",
    "[ -v ",
    "i=0;((i++));",
    "bash -c '",
    "eval ",
    "sudo ",
    "xargs ",
    "find -exec ",
    "env -S ",
    "\u{200d}",
    "é",
];

#[test]
fn no_shape_overflows_or_takes_long() {
    // A quarter of the usual stack of a thread, unoptimised.
    let worker = std::thread::Builder::new().stack_size(512 * 1024).spawn(|| {
        let mut slowest = Duration::ZERO;
        for shape in SHAPES {
            for count in [3, 39, 300, 3_000, 30_000] {
                let text: String = shape.repeat(count).chars().take(60_000).collect();
                let start = Instant::now();
                let found = scan(&text);
                let _ = critical(&found);
                let _ = of_shell(&found, Place::default());
                slowest = slowest.max(start.elapsed());
            }
        }
        slowest
    });
    let slowest = worker.unwrap().join().expect("no overflow, no panic");
    println!("slowest: {slowest:?}");
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
}

#[test]
fn a_wrapper_in_front_of_a_program_that_runs_others_is_asked_about() {
    let (none, guardrail) = (Rules::default(), Guardrail::default());
    let layers =
        Layers { agent: None, rules: &none, grants: &none, guardrail: &guardrail, now_ms: 0 };
    for text in
        ["nice find . -exec file {} \\;", "env time fd -x wc", "timeout 5 nice find . -ok ls ;"]
    {
        let ruling = rule(&Call::shell(text), &layers, Mode::Default);
        assert_eq!(ruling.verdict, Verdict::Ask, "{text}");
    }
}

#[test]
fn nesting_beyond_the_limit_is_refused_and_the_commands_before_it_are_kept() {
    let text = format!("rm x; {}ls{}", "$(".repeat(60), ")".repeat(60));
    let found = scan(&text);
    assert_eq!(found.refusal.map(|refusal| refusal.doubt), Some(Doubt::TooDeep));
    let first = found.commands.first().and_then(|command| command.argv.first()).unwrap();
    assert_eq!(first.text, "rm");
}

#[test]
fn more_than_fifty_commands_are_refused_and_all_of_them_are_reported() {
    let text = "ls;".repeat(80);
    let found = scan(&text);
    assert_eq!(found.refusal.map(|refusal| refusal.doubt), Some(Doubt::TooMany));
    assert_eq!(found.commands.len(), 80);
}

#[test]
fn a_text_beyond_the_length_limit_is_refused_but_its_words_are_seen() {
    let text =
        format!("{}; rm -rf x", "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(2000));
    let found = scan(&text);
    assert_eq!(found.refusal.map(|refusal| refusal.doubt), Some(Doubt::TooLong));
    let seen = found.commands.iter().any(|c| c.argv.first().is_some_and(|w| w.text == "rm"));
    assert!(seen, "deny rules must see the last command");
}

/// Found by fuzzing: bash expands the word of `>&word` a second time, after quote removal.
#[test]
fn a_file_behind_a_duplicating_redirect_is_read_only_when_plain() {
    for text in [">& x='a[$(evil)]'", "ls >& 'a$(evil)'", "ls >& \"$x\"", "ls >& a\\`evil\\`"] {
        assert!(!scan(text).understood(), "{text}");
    }
    for text in ["ls >& out.log", "ls &> 'a$(evil)'", "ls > 'a$(evil)'", "ls 2>&1"] {
        assert!(scan(text).understood(), "{text}");
    }
}

#[test]
fn invisible_and_control_characters_are_refused_and_emoji_in_quotes_are_not() {
    for text in ["ls\u{200b}", "ls\r", "echo \u{202e}x", "l\u{fe0f}s", "ls\u{a0}x", "echo \u{7f}"] {
        assert!(!scan(text).understood(), "{text:?}");
    }
    for text in ["echo '⚠\u{fe0f} done'", "echo \"👩\u{200d}💻\"", "echo héllo"] {
        assert!(scan(text).understood(), "{text:?}");
    }
}

/// Found by fuzzing: bash writes `$(…)` anew before it runs it, and forgets a `;`.
#[test]
fn a_semicolon_behind_a_here_document_in_a_substitution_is_not_trusted() {
    let inside = |list: &str| format!("echo $(cat <<E\nx\nE\n{list}\n)");
    for list in ["a; b", "a && b; c", "f\n{ a; }", "if a\nthen b; c\nfi"] {
        assert!(!scan(&inside(list)).understood(), "{list}");
    }
    for list in ["", "a\nb", "a && b", "echo $(a; b)"] {
        assert!(scan(&inside(list)).understood(), "{list}");
    }
    assert!(scan("cat <<E\nx\nE\na; b").understood());
    assert!(scan("echo $(cat <<E\nx\nE\n); a; b").understood());
}
