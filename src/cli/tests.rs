#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use super::*;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_and_option_explains_itself() {
    fn silent(command: &clap::Command, found: &mut Vec<String>) {
        for argument in command.get_arguments().filter(|argument| argument.get_help().is_none()) {
            found.push(format!("{} {}", command.get_name(), argument.get_id()));
        }
        for inner in command.get_subcommands() {
            silent(inner, found);
        }
    }
    let mut found = Vec::new();
    silent(&Cli::command(), &mut found);
    assert_eq!(found, Vec::<String>::new());
}

/// The guardrail reads our command lines from its own data, which must agree with this parser.
#[test]
fn the_guardrail_knows_every_command_and_every_option_in_front_of_one() {
    use countersign_policy::guardrail::own_program::{COMMANDS, OwnCommand as Known, WITH_VALUE};
    let mut ours = Cli::command();
    ours.build();
    let mut names: Vec<&str> = ours.get_subcommands().map(clap::Command::get_name).collect();
    let mut known: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
    // Abbreviations must be refused: the guardrail knows only the full words.
    for words in [["countersign", "appr", "x"], ["countersign", "--confi=x", "pending"]] {
        assert!(Cli::try_parse_from(words).is_err(), "{words:?}");
    }
    for command in ours.get_subcommands() {
        assert_eq!(command.get_all_aliases().count(), 0, "{}", command.get_name());
        assert_eq!(command.get_all_short_flag_aliases().count(), 0);
    }
    let takes = |arg: &&clap::Arg| arg.get_action().takes_values() && !arg.is_positional();
    let options: Vec<String> = ours
        .get_arguments()
        .filter(takes)
        .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
        .collect();
    assert_eq!(options, WITH_VALUE);
    for (name, does) in COMMANDS {
        let Known::Has(harmless) = does else { continue };
        let command = ours.find_subcommand(name).unwrap();
        // No option of its own may take a word of its own as its value: the guardrail would
        // read that word as a command.
        let own = command.get_arguments().filter(takes);
        assert!(
            own.filter(|arg| !arg.is_global_set() && !arg.is_require_equals_set()).count() == 0,
            "{name}"
        );
        let inner: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert!(harmless.iter().all(|known| inner.contains(known)), "{name}: {inner:?}");
    }
}

#[test]
fn what_our_parser_takes_for_a_decision_the_guardrail_denies() {
    use countersign_policy::{Call, Guardrail, Layers, Mode, Ours, Rules, Verdict, decide_briefly};
    const WORDS: &[&str] = &[
        "--config",
        "--config=x",
        "ask",
        "approve",
        "deny",
        "answer",
        "grants",
        "revoke",
        "serve",
        "init",
        "pending",
        "policy",
        "check",
        "--json",
        "--",
        "x",
        "-h",
        "--version",
        "help",
        "--scope",
        "once",
        "run",
        "connect",
        "claude-code",
        "doctor",
        "--fix",
        "backup",
        "restore",
        "up",
        "docs",
        "open",
        "inbox",
        "watch",
        "man",
        "hook",
        "mcp",
        "acp",
        "approvers",
        "explain",
        "mcp-proxy",
        "--name",
        "pause",
        "resume",
        "reload",
        "log",
        "export",
        "key",
        "--rotate",
        "--accept",
        "token",
        "add",
        "rotate",
        "passkeys",
        "remove",
        "parked",
        "drop",
        "duty",
        "digest",
        "suggest",
        "-",
    ];
    let ours = Ours { programs: vec!["countersign".to_owned()], ..Ours::default() };
    let guardrail = Guardrail::new(ours);
    let all = Rules::parse(r#"{"*": "allow"}"#, "rules", None).unwrap();
    let none = Rules::default();
    let layers =
        Layers { agent: None, rules: &all, grants: &none, guardrail: &guardrail, now_ms: 0 };
    let mut state = 7_usize;
    let mut decisions = 0;
    for _ in 0..4_000 {
        let mut words = vec!["countersign"];
        for _ in 0..=(state >> 7) % 5 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            words.extend(WORDS.get((state >> 33) % WORDS.len()));
        }
        let Ok(Cli { command: Some(command), .. }) = Cli::try_parse_from(&words) else {
            continue;
        };
        let decides = match command {
            CliCommand::Approve(_)
            | CliCommand::Deny(_)
            | CliCommand::Answer(_)
            | CliCommand::Pause(_)
            | CliCommand::Resume(_)
            | CliCommand::Reload(_)
            | CliCommand::Undo(_)
            | CliCommand::Init(_)
            | CliCommand::Up(_)
            | CliCommand::Serve(_)
            | CliCommand::Connect(_)
            | CliCommand::Disconnect(_)
            | CliCommand::Open(_)
            | CliCommand::Inbox(_)
            | CliCommand::Watch(_)
            | CliCommand::Man(_)
            | CliCommand::Backup(_)
            | CliCommand::Token(_)
            | CliCommand::Restore(_) => true,
            CliCommand::Grants(args) => args.revokes(),
            CliCommand::Parked(args) => args.changes(),
            CliCommand::Passkeys(args) => args.removes(),
            CliCommand::Doctor(args) => args.fix,
            CliCommand::Log(args) => args.decides(),
            _ => false,
        };
        let ruled = decide_briefly(&Call::shell(words.join(" ")), &layers, Mode::Yolo).verdict;
        assert!(!decides || ruled == Verdict::Deny, "{words:?}");
        decisions += usize::from(decides);
    }
    assert!(decisions > 40, "{decisions} decisions are too few to prove anything");
}

#[test]
fn no_error_ends_like_a_success() {
    let refused = ClientError::Refused("no".into());
    let rejected = ClientError::Rejected("no".into());
    let cases = [
        (anyhow::Error::from(refused), Exit::Refused),
        (rejected.into(), Exit::Fault),
        (Misused("x".into()).into(), Exit::Usage),
        (anyhow::anyhow!("x"), Exit::Fault),
    ];
    for (error, exit) in cases {
        assert_eq!(Exit::of(&error), exit, "{error}");
    }
}

#[test]
fn every_command_is_in_one_group_of_the_help_but_the_hidden_ones() {
    let ours = Cli::command();
    let shown = ours.get_subcommands().filter(|command| !command.is_hide_set());
    let mut names: Vec<&str> = shown.map(clap::Command::get_name).collect();
    let mut listed: Vec<&str> =
        GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(names, listed);
}

#[test]
fn the_help_of_every_command_is_as_it_was_looked_at() {
    fn add(command: &mut clap::Command, path: &str, all: &mut String) {
        all.push_str(&format!("=== {path}\n{}\n", command.render_long_help()));
        let names: Vec<String> =
            command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
        for name in names.iter().filter(|name| *name != "help") {
            if let Some(inner) = command.find_subcommand_mut(name) {
                add(inner, &format!("{path} {name}"), all);
            }
        }
    }
    let mut command = command().term_width(100);
    command.build();
    let mut all = String::new();
    add(&mut command, "countersign", &mut all);
    let trimmed: Vec<&str> = all.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(trimmed.join("\n"));
}

fn mistake(words: &[&str]) -> String {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let mut error = command().try_get_matches_from(&words).unwrap_err();
    match missing_dashes(&error, &words) {
        Some(fix) => fix,
        None => {
            suggest_nearest(&mut error, &words);
            error.to_string()
        }
    }
}

#[test]
fn a_command_without_its_dashes_is_told_where_they_go() {
    let fix = mistake(&["countersign", "ask", "git", "push", "a b"]);
    assert_eq!(fix, "put `--` before the command: countersign ask -- git push 'a b'");
    let fix = mistake(&["countersign", "run", "--agent", "me", "make"]);
    assert_eq!(fix, "put `--` before the command: countersign run --agent me -- make");
    assert!(mistake(&["countersign", "ask", "--nope"]).contains("unexpected argument '--nope'"));
    assert!(mistake(&["countersign", "status", "git"]).contains("unexpected argument 'git'"));
}

#[test]
fn no_typing_error_is_led_to_a_pause_first() {
    for typed in ["use", "pase", "penus", "pendig", "passkey", "aprove", "statu", "pasue", "cause"]
    {
        let said = mistake(&["countersign", typed]);
        assert!(!said.contains("exists: 'pause'") && !said.contains("exist: 'pause'"), "{said}");
    }
    assert!(mistake(&["countersign", "paus"]).contains("'pause'"));
}

#[test]
fn a_typing_error_is_told_the_nearest_command_alone() {
    for (typed, meant) in [
        ("aprove", "'approve'"),
        ("conect", "'connect'"),
        ("stauts", "'status'"),
        ("histroy", "'history'"),
        ("aks", "'ask'"),
        ("pa", "'parked', 'passkeys', 'pause'"),
    ] {
        let said = mistake(&["countersign", typed]);
        let tip = said.lines().find_map(|line| line.split_once("exist")?.1.split_once(": "));
        assert_eq!(tip.map(|(_, names)| names), Some(meant), "{said}");
    }
    assert!(!mistake(&["countersign", "terraform"]).contains("tip:"));
}
