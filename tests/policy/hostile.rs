//! Hostile texts: no shape overflows the stack, none takes long, and every refusal keeps the deny
//! rules' sight.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use countersign_policy::critical::critical;
use countersign_policy::effects::of_shell;
use countersign_policy::paths::Directories;
use countersign_policy::shell::{Doubt, scan};
use countersign_policy::{Call, Guardrail, Layers, Mode, Ours, Rules, Verdict, decide};

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

/// How long this thread has worked, which does not count how long it waited for a processor.
fn worked() -> Duration {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = stat.and_then(|stat| stat.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| BEGAN.elapsed(), Duration::from_nanos)
}

#[test]
fn no_shape_overflows_or_takes_long() {
    // A quarter of the usual stack of a thread, unoptimised.
    let worker = std::thread::Builder::new().stack_size(512 * 1024).spawn(|| {
        let mut slowest = Duration::ZERO;
        for shape in SHAPES {
            for count in [3, 39, 300, 3_000, 30_000] {
                let text: String = shape.repeat(count).chars().take(60_000).collect();
                let start = worked();
                let found = scan(&text);
                let _ = critical(&found);
                let _ = of_shell(&found, Directories::default());
                slowest = slowest.max(worked() - start);
            }
        }
        slowest
    });
    let slowest = worker.unwrap().join().expect("no overflow, no panic");
    println!("slowest: {slowest:?}");
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
}

/// Once each option had all words before it looked at again: 17 s, optimised, for a call of 840 kB.
#[test]
fn a_command_with_very_many_options_takes_no_longer_than_one_with_very_many_words() {
    let (none, guardrail) = (Rules::default(), Guardrail::default());
    let layers = Layers::new(&none, &none, &guardrail, 0);
    for (first, again) in [("nice", " -1"), ("env", " -u x"), ("sudo", " -u x"), ("dropdb", " -n")]
    {
        for text in
            [[first, &again.repeat(60_000)].concat(), [first, again, " "].repeat(40_000).concat()]
        {
            let start = worked();
            let decided = decide(&Call::shell(&text), &layers, Mode::Default);
            let took = worked() - start;
            assert_eq!(decided.verdict, Verdict::Ask, "{first}{again}");
            assert!(took < Duration::from_secs(5), "{first}{again}: {took:?}");
        }
    }
}

#[test]
fn a_wrapper_in_front_of_a_program_that_runs_others_is_asked_about() {
    let (none, guardrail) = (Rules::default(), Guardrail::default());
    let layers = Layers::new(&none, &none, &guardrail, 0);
    for text in
        ["nice find . -exec file {} \\;", "env time fd -x wc", "timeout 5 nice find . -ok ls ;"]
    {
        let ruling = decide(&Call::shell(text), &layers, Mode::Default);
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

/// A ruling under these rules; `mode` is the default one.
fn ruled(rules: &str, call: &Call, mode: Mode) -> countersign_policy::Decision {
    let rules = Rules::parse(rules, "rules", Some("/home/u")).unwrap();
    let guardrail = Guardrail::new(Ours {
        paths: vec!["/home/u/.config/countersign".to_owned()],
        programs: vec!["countersign".to_owned()],
        ..Ours::default()
    });
    let grants = Rules::default();
    let layers = Layers::new(&rules, &grants, &guardrail, 0);
    let call = Call { cwd: Some("/home/u/w".into()), home: Some("/home/u".into()), ..call.clone() };
    decide(&call, &layers, mode)
}

fn reads(paths: &[String]) -> Call {
    Call::new("Read", serde_json::json!({ "paths": paths }))
}

fn files(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("d/f{n}")).collect()
}

#[test]
fn more_paths_than_rules_look_at_ask_whatever_allows_them_and_no_button_remembers_that() {
    let all = r#"{"*": "allow"}"#;
    assert_eq!(ruled(all, &reads(&files(1_000)), Mode::Default).verdict, Verdict::Allow);
    let asked = ruled(all, &reads(&files(105_000)), Mode::Default);
    assert_eq!(asked.verdict, Verdict::Ask);
    assert_eq!(
        asked.reason,
        "Read names more than rules check, which is 1,000 values and 128 KiB of them."
    );
    assert_eq!((asked.always, asked.exact), (vec![], vec![]));
    let unknown = asked.effects.iter().any(|e| e.to_string().contains("more than is looked at"));
    assert!(unknown, "{:?}", asked.effects);
    let guarded = r#"{"*": "allow", "read_file": {"*": "allow", "*.env": "deny"}}"#;
    let yolo = ruled(guarded, &reads(&files(2_000)), Mode::Yolo);
    assert_eq!(yolo.verdict, Verdict::Ask, "one of them may be an .env");
    let writes = Call::new("Write", serde_json::json!({ "paths": files(2_000) }));
    assert!(ruled(all, &writes, Mode::Default).critical, "one of them may be ~/.bashrc");
}

#[test]
fn denies_hold_among_those_that_are_looked_at_and_the_guardrail_among_all() {
    let rules = r#"{"read_file": {"*": "allow", "*.env": "deny"}}"#;
    let with = |at: usize, path: &str| {
        let mut paths = files(5_000);
        paths[at] = path.to_owned();
        ruled(rules, &reads(&paths), Mode::Default).verdict
    };
    assert_eq!(with(0, "x/.env"), Verdict::Deny);
    assert_eq!(with(999, "x/.env"), Verdict::Deny);
    assert_eq!(with(4_999, "x/.env"), Verdict::Ask);
    assert_eq!(with(4_999, "~/.config/countersign/approver.token"), Verdict::Deny);
    let none = r#"{"read_file": "deny"}"#;
    assert_eq!(ruled(none, &reads(&files(5_000)), Mode::Default).verdict, Verdict::Deny);
}

#[test]
fn texts_of_other_tools_are_covered_by_a_rule_for_every_call_until_another_has_to_look() {
    let call = Call::new("my_tool", serde_json::json!({ "body": "a".repeat(900_000) }));
    let verdict = |rules: &str| ruled(rules, &call, Mode::Default).verdict;
    assert_eq!(verdict(r#"{"my_tool": "allow"}"#), Verdict::Allow);
    assert_eq!(verdict(r#"{"my_tool": {"*": "allow", "*b*": "deny"}}"#), Verdict::Ask);
    assert_eq!(verdict(r#"{"my_tool": {"*": "ask", "a*": "allow"}}"#), Verdict::Ask);
    assert_eq!(verdict(r#"{"my_tool": {"*": "deny", "a*": "allow"}}"#), Verdict::Deny);
}

#[test]
fn a_host_that_is_longer_than_any_name_is_any_host() {
    let call = Call::new(
        "WebFetch",
        serde_json::json!({ "url": format!("https://{}example/", "a.".repeat(10_000)) }),
    );
    let allowed = r#"{"web_fetch": {"*": "ask", "domain:*.example": "allow"}}"#;
    assert_eq!(ruled(allowed, &call, Mode::Default).verdict, Verdict::Ask);
    let denied = r#"{"web_fetch": {"*": "allow", "domain:evil.example": "deny"}}"#;
    assert_eq!(ruled(denied, &call, Mode::Default).verdict, Verdict::Deny);
}

#[test]
fn commands_that_may_run_others_in_ever_more_ways_ask_and_are_critical() {
    let all = r#"{"*": "allow"}"#;
    for link in ["parallel ", "su x ", "fd -xa ", "docker exec ", "xargs -Z "] {
        let asked = ruled(all, &Call::shell(format!("{}ls", link.repeat(60))), Mode::Default);
        assert_eq!(asked.verdict, Verdict::Ask, "{link}");
    }
    let many = Call::shell(format!("{}ls", "parallel ".repeat(300)));
    assert!(ruled(all, &many, Mode::Default).critical, "what it may run was not all looked at");
    // What people write is far below the limit.
    let plain = "sudo -u ana env A=1 timeout 5 xargs -n 1 rm";
    assert!(!ruled(all, &Call::shell(plain), Mode::Default).critical);
    let texts = format!("git submodule foreach {}", "'ls' ".repeat(100));
    assert!(ruled(all, &Call::shell(texts), Mode::Default).critical);
}

#[test]
fn a_bomb_among_a_thousand_functions_is_found() {
    let harmless: String = (0..1_000).map(|n| format!("f{n}() {{ ls; }}; ")).collect();
    let text = format!("{harmless} b() {{ b | b & }}; b");
    assert_eq!(critical(&scan(&text)).unwrap().reason, "starts copies of itself without end");
    assert_eq!(critical(&scan(&harmless)), None);
}

#[test]
fn more_redirects_than_a_person_reads_are_offered_no_rule() {
    let asks = r#"{"*": "ask"}"#;
    let with = |count: usize| {
        let text: String = (0..count).map(|n| format!(" >f{n}")).collect();
        ruled(asks, &Call::shell(format!("tool run{text}")), Mode::Default).always.len()
    };
    assert_eq!((with(10), with(100)), (11, 0));
}
