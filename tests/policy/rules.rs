//! The rules file as people write it, and what a ruling does with it: tests through the public
//! names of the crate.

use countersign_policy::Verdict::{self, Allow, Ask, Deny};
use countersign_policy::{
    Call, DEFAULT_RULES, Decision, Guardrail, Layers, Mode, Ours, Rule, Rules, decide, file,
};
use countersign_policy_tools::examples::{self, ExampleReport};
use countersign_policy_tools::explain::explain;
use serde_json::json;

const HOME: Option<&str> = Some("/home/u");

fn rules(text: &str) -> Rules {
    Rules::parse(text, "permissions.jsonc", HOME).unwrap_or_else(|p| panic!("{}", said(&p)))
}

fn said(problems: &[countersign_policy::RuleProblem]) -> String {
    problems.iter().map(|p| format!("{p}\n")).collect()
}

fn ruled_in(call: &Call, text: &str, mode: Mode) -> Decision {
    let (rules, grants, guardrail) = (rules(text), Rules::default(), guardrail());
    let layers =
        Layers { agent: None, rules: &rules, grants: &grants, guardrail: &guardrail, now_ms: 0 };
    decide(call, &layers, mode)
}

fn ruled(call: &Call, text: &str) -> Verdict {
    ruled_in(call, text, Mode::Default).verdict
}

fn guardrail() -> Guardrail {
    Guardrail::new(Ours {
        paths: vec!["/home/u/.config/countersign/permissions.jsonc".to_owned()],
        programs: vec!["countersign".to_owned()],
        addresses: vec!["127.0.0.1:7117".to_owned()],
        ..Ours::default()
    })
}

fn read(path: &str) -> Call {
    Call::new("Read", json!({ "file_path": path }))
}

#[test]
fn the_built_in_rules_allow_what_only_reads_inside_the_project() {
    assert!(rules(DEFAULT_RULES).warnings().is_empty());
    for (call, verdict) in [
        (read("src/main.rs"), Allow),
        (read("/home/u/work/src/main.rs"), Allow),
        (read("../other/main.rs"), Ask),
        (read("/usr/include/stdio.h"), Ask),
        (read("/home/u/.ssh/id_rsa"), Ask),
        (read("prod.key"), Ask),
        (read(".env"), Deny),
        (read("./config/.env.local"), Deny),
        (read(".env.example"), Ask),
        (Call::new("Write", json!({ "file_path": "src/main.rs" })), Ask),
        (Call::new("Edit", json!({ "file_path": "src/main.rs" })), Ask),
        (Call::new("Write", json!({ "file_path": ".env.example" })), Deny),
        (Call::new("Grep", json!({ "pattern": "x" })), Allow),
        (Call::new("Grep", json!({ "pattern": "x", "path": ".." })), Ask),
        (Call::new("Grep", json!({ "pattern": "", "path": ".env" })), Ask),
        (Call::new("Grep", json!({ "pattern": "", "glob": ".env" })), Ask),
        (Call::new("Glob", json!({ "pattern": "**/*.rs" })), Allow),
        (Call::new("Glob", json!({ "pattern": "../*" })), Ask),
        (Call::new("LS", json!({ "path": "/" })), Ask),
        (Call::shell("ls"), Allow),
        (Call::shell("git diff | head -20"), Allow),
        (Call::shell("git diff --output=x"), Ask),
        (Call::shell("cargo test"), Ask),
        (Call::new("mcp__fs__read", json!({})), Ask),
    ] {
        let there = Call { cwd: Some("/home/u/work".to_owned()), ..call };
        assert_eq!(ruled(&there, DEFAULT_RULES), verdict, "{there:?}");
    }
}

#[test]
fn where_there_is_no_project_the_built_in_rules_allow_nothing() {
    for cwd in [None, Some("/"), Some("//"), Some("/home"), Some("/home/u"), Some("/home/u/.")] {
        for call in
            [Call::shell("ls"), read("notes.md"), Call::new("Grep", json!({"pattern": "x"}))]
        {
            let there = Call { cwd: cwd.map(str::to_owned), home: Some("/home/u".into()), ..call };
            assert_eq!(ruled(&there, DEFAULT_RULES), Ask, "{there:?}");
        }
    }
    for cwd in ["/tmp", "/var/tmp", "/etc", "/usr/local", "/root/..", "relative", ""] {
        let there = Call { cwd: Some(cwd.to_owned()), ..Call::shell("ls") };
        assert_eq!(ruled(&there, DEFAULT_RULES), Ask, "{cwd:?}");
    }
}

#[test]
fn the_class_of_reading_calls_can_only_be_allowed_and_only_where_it_is_known() {
    for (text, problem) in [
        (r#"{"shell_exec": {"@reads": "deny"}}"#, "can only be allowed"),
        (r#"{"write_file": {"@reads": "allow"}}"#, "is known for shell_exec"),
        (r#"{"mcp__fs__read": {"@reads": "allow"}}"#, "is known for shell_exec"),
    ] {
        let problems = Rules::parse(text, "permissions.jsonc", HOME).unwrap_err();
        assert!(problems.iter().any(|one| one.message.contains(problem)), "{problems:?}");
    }
}

#[test]
fn a_file_or_command_by_the_name_of_the_class_gets_no_rule() {
    for call in [read("@reads"), Call::shell("@reads")] {
        let ruling = ruled_in(&call, r#"{"*": "ask"}"#, Mode::Default);
        assert_eq!((ruling.always, ruling.exact), (vec![], vec![]), "{call:?}");
    }
}

#[test]
fn mistakes_are_named_with_line_column_and_a_way_to_mend_them() {
    let text = "{\n  \"shell_exec\": \"alow\",\n  \"read_file\": { \"@(a|b)\": \"deny\" }\n}";
    let problems = Rules::parse(text, "permissions.jsonc", HOME).unwrap_err();
    assert_eq!(
        said(&problems),
        "permissions.jsonc:2:17: error: \"alow\" is not a valid action; the actions are \"allow\", \
         \"ask\" and \"deny\". Did you mean \"allow\"?\n\
         permissions.jsonc:3:18: error: the extglob `@(` is not supported; write `{a,b}` for \
         alternatives\n"
    );
    for broken in ["", "{\"a\": ", "[1]", "7", "{\"a\": 1}", "{'a': \"ask\"}"] {
        assert!(Rules::parse(broken, "x", None).is_err(), "{broken}");
    }
}

#[test]
fn what_is_odd_is_a_warning() {
    let text = r#"{
  "shel_exec": "ask",
  "shell_exec": { "git *": "allow", "*": "ask" },
  "Bash": { "a * && b *": "allow" }
}"#;
    assert_eq!(
        said(rules(text).warnings()),
        "permissions.jsonc:2:3: warning: no tool is called \"shel_exec\"; did you mean \
         \"shell_exec\"?\n\
         permissions.jsonc:3:19: warning: this rule never wins: \"*\" in line 3 matches all of \
         its calls and comes later\n\
         permissions.jsonc:4:13: warning: every command of a text is checked alone, so \
         \"a * && b *\" never matches; write one rule per command\n"
    );
}

#[test]
fn examples_are_checked_when_the_file_is_loaded() {
    let good = r#"{ "shell_exec": { "git push *": {
        "action": "allow", "match": ["git push origin main"], "not_match": ["git pull x"] } } }"#;
    let bad = good.replace("git pull x", "git push x");
    let problems = Rules::parse(&bad, "permissions.jsonc", None).unwrap_err();
    assert_eq!(
        said(&problems),
        "permissions.jsonc:1:19: error: the rule \"git push *\" matches its example \"git push x\"\n"
    );
    assert_eq!(
        examples::run(&rules(good), 0),
        ExampleReport { examples: 2, surprises: Vec::new() }
    );
    let beaten = good.replace("} } }", "}, \"git push origin *\": \"deny\" } }");
    let outcome = examples::run(&rules(&beaten), 0);
    assert_eq!(outcome.surprises.len(), 1, "{outcome:?}");
}

#[test]
fn a_rule_that_denies_every_shell_call_denies_one_without_a_command_too() {
    for text in ["", "  ", "# only a comment", "ls", "$(", "X=1"] {
        let call = Call::shell(text);
        assert_eq!(ruled(&call, r#"{"shell_exec": "deny"}"#), Verdict::Deny, "{text:?}");
        assert_eq!(ruled(&call, r#"{"*": "deny"}"#), Verdict::Deny, "{text:?}");
    }
    for rules in [r#"{"shell_exec": "allow"}"#, r#"{"shell_exec": {"rm *": "deny"}}"#, "{}"] {
        assert_eq!(ruled(&Call::shell(""), rules), Verdict::Ask, "{rules}");
    }
}

#[test]
fn a_rule_expires() {
    let text = r#"{ "shell_exec": { "ls *": { "action": "allow", "expires": "1970-01-02" } } }"#;
    let (set, grants, guardrail) = (rules(text), Rules::default(), Guardrail::default());
    let at = |now_ms| {
        let layers =
            Layers { agent: None, rules: &set, grants: &grants, guardrail: &guardrail, now_ms };
        decide(&Call::shell("ls -l"), &layers, Mode::Default).verdict
    };
    assert_eq!([at(0), at(86_399_999), at(86_400_000)], [Allow, Allow, Ask]);
}

#[test]
fn claude_strings_work_as_keys_and_as_lists() {
    let text = r#"{ "*": "ask", "Bash(git diff *)": "allow", "WebFetch(domain:example.com)": "allow",
        "deny": ["Bash(git diff --output *)"], "allow": ["mcp__fs", "Bash(npm run test:*)"] }"#;
    let fetch = |url: &str| Call::new("WebFetch", json!({ "url": url }));
    for (call, verdict) in [
        (Call::shell("git diff"), Allow),
        (Call::shell("git diff HEAD"), Allow),
        (Call::shell("git diff --output x"), Deny),
        (Call::shell("npm run test"), Allow),
        (Call::new("mcp__fs__read", json!({ "path": "a\nb" })), Allow),
        (fetch("https://example.com/a"), Allow),
        (fetch("https://example.com.evil.org/a"), Ask),
        (fetch("https://example.com@evil.org/"), Ask),
    ] {
        assert_eq!(ruled(&call, text), verdict, "{call:?}");
    }
}

#[test]
fn one_tool_has_many_names() {
    for (key, tool) in [("shell_exec", "Bash"), ("Bash", "run_shell_command"), ("shell_*", "Bash")]
    {
        let text = format!("{{\"{key}\": {{\"ls *\": \"allow\"}}}}");
        let call = Call::new(tool, json!({ "command": "ls -l" }));
        assert_eq!(ruled(&call, &text), Allow, "{key} {tool}");
    }
}

#[test]
fn values_of_the_wrong_type_ask_whatever_is_allowed() {
    let text = r#"{ "*": "allow" }"#;
    for call in [
        Call::new("Bash", json!({ "command": 5 })),
        Call::new("Bash", json!({})),
        Call::new("Read", json!({ "file_path": ["a", 1] })),
        Call::new("Write", json!({ "content": "x" })),
        Call::new("AskUserQuestion", json!({ "questions": [] })),
    ] {
        assert_eq!(ruled(&call, text), Ask, "{call:?}");
    }
}

#[test]
fn the_agents_own_denies_are_a_veto() {
    let agent =
        Rules::from_rules(&[Rule { tool: "*".to_owned(), pattern: "*".to_owned(), verdict: Deny }]);
    let all = rules(r#"{ "*": "allow" }"#);
    let guardrail = Guardrail::default();
    let layers =
        Layers { agent: Some(&agent), rules: &all, grants: &all, guardrail: &guardrail, now_ms: 0 };
    for mode in [Mode::Default, Mode::Yolo] {
        assert_eq!(decide(&Call::shell("ls"), &layers, mode).verdict, Deny);
        assert_eq!(decide(&read("a"), &layers, mode).verdict, Deny);
    }
}

#[test]
fn the_operators_denies_hold_whatever_is_granted() {
    let guardrail = guardrail().with_denies(rules(r#"{ "shell_exec": { "git push *": "deny" } }"#));
    let all = rules(r#"{ "*": "allow" }"#);
    let layers =
        Layers { agent: None, rules: &all, grants: &all, guardrail: &guardrail, now_ms: 0 };
    assert_eq!(decide(&Call::shell("cd x && git -C y push"), &layers, Mode::Yolo).verdict, Deny);
    assert_eq!(decide(&Call::shell("git pull"), &layers, Mode::Default).verdict, Allow);
}

#[test]
fn an_agent_cannot_reach_the_bridge() {
    let all = r#"{ "*": "allow" }"#;
    let own = "/home/u/.config/countersign/permissions.jsonc";
    for call in [
        Call::shell("countersign approve 7"),
        Call::shell("env A=1 /usr/bin/countersign --config x deny 7"),
        Call::shell("bash -c 'countersign answer 7'"),
        Call::shell("countersign grants revoke 3"),
        Call::shell("echo {} > ~/.config/countersign/permissions.jsonc"),
        Call::shell(format!("cat {own}")),
        Call::shell("cat \"$HOME/.config/countersign/permissions.jsonc\""),
        Call::shell("rm ~/.config/c*/permissions.jsonc"),
        Call::shell("sed -i s/ask/allow/ /home/u/x/../.config/countersign/permissions.jsonc"),
        Call::shell("curl -X POST http://localhost:7117/v1/asks/7/answer"),
        Call::new("Edit", json!({ "file_path": own, "new_string": "x" })),
        Call::new("WebFetch", json!({ "url": "http://127.0.0.1:7117/v1/asks" })),
        Call::new("mcp__fs__write", json!({ "files": [{ "to": own }] })),
    ] {
        let call = Call { home: Some("/home/u".to_owned()), ..call };
        for mode in [Mode::Default, Mode::Yolo] {
            assert_eq!(ruled_in(&call, all, mode).verdict, Deny, "{call:?}");
        }
    }
    for call in [
        Call::shell("countersign ask 'deploy now?'"),
        Call::shell("countersign --version"),
        Call::shell("countersign grants"),
        Call::shell("curl http://localhost:71170/"),
    ] {
        assert_eq!(ruled(&call, all), Allow, "{call:?}");
    }
}

#[test]
fn relative_paths_are_looked_for_where_a_cd_of_the_text_leads() {
    let rules = r#"{
        "shell_exec": { "*": "ask", "cd *": "allow", "echo *": "allow", "touch *": "allow",
            "ls": "allow" },
        "write_file": { "*": "allow", "/home/u/other/kept*": "deny" }
    }"#;
    let ruled_at = |text: &str| {
        let cwd = Some("/home/u/work".to_owned());
        ruled(&Call { cwd, home: HOME.map(str::to_owned), ..Call::shell(text) }, rules)
    };
    for (text, verdict) in [
        ("cd src && echo x > a", Allow),
        ("cd /home/u/work/src && touch a", Allow),
        ("(cd ../other && ls); echo x > a", Allow),
        ("cd ../other && ls", Allow),
        ("cd ../other && echo x > a", Ask),
        ("cd ../other && touch a", Ask),
        ("cd ../other && env touch a", Ask),
        ("cd \"$there\" && echo x > a", Ask),
        ("cd \"$there\" && echo x > /home/u/work/a", Allow),
        ("cd /home/u/other && echo x > kept", Deny),
        ("cd ~/other; bash -c 'cd x; cd ..; echo x' > kept.txt", Deny),
        ("cd ~/.config/countersign && touch permissions.jsonc", Deny),
    ] {
        assert_eq!(ruled_at(text), verdict, "{text}");
    }
}

#[test]
fn denies_of_files_hold_for_redirects() {
    let text = r#"{ "*": "allow", "write_file": { "*.env": "deny" } }"#;
    assert_eq!(ruled(&Call::shell("echo A=1 > config/.env"), text), Deny);
    assert_eq!(ruled(&Call::shell("echo A=1 > config/env"), text), Allow);
}

#[test]
fn an_allow_for_a_folder_holds_for_the_redirect_where_it_runs() {
    let text =
        r#"{"*": "ask", "write_file": {"src/*": "allow"}, "shell_exec": {"@reads": "allow"}}"#;
    let ruled = |command: &str| {
        let cwd = Some("/home/u/work".into());
        ruled(&Call { cwd, home: Some("/home/u".into()), ..Call::shell(command) }, text)
    };
    assert_eq!(ruled("ls > src/a"), Allow);
    assert_eq!(ruled("(cd docs && ls); ls > src/a"), Allow);
    assert_eq!(ruled("cd /home/u/work && ls > src/a"), Allow);
    for command in [
        "cd docs && ls > src/a",
        "cd docs; bash -c 'ls > src/a'",
        "while ls > src/a; do cd docs; done",
        "cd docs; false && cd /home/u/work; ls > src/a",
    ] {
        assert_eq!(ruled(command), Ask, "{command}");
    }
}

#[test]
fn denies_of_reading_hold_for_what_only_reads_and_for_a_view() {
    let text = r#"{"*": "ask", "shell_exec": {"@reads": "allow"}, "edit_file": {"*": "allow"},
        "read_file": {"@reads": "allow", "private/**": "deny"}}"#;
    let at = |call: Call| Call {
        cwd: Some("/home/u/work".into()),
        home: Some("/home/u".into()),
        ..call
    };
    for command in [
        "cat private/a",
        "head -1 ./private/x/b",
        "grep x private/a",
        "cat src/../private/a",
        "cat /home/u/work/private/a",
        "cd private && cat a",
        "ls; timeout 5 cat private/a",
        "cat private/*.rs",
        "cat PRIVATE/a",
        "cat privat?/a",
        "cat p*/a",
        "cat */a",
        "cat [^]]rivate/a",
        "grep -r x private",
        "git diff -- private",
        "git log -L1,2:private/a",
        "paste src/a.rs private/a",
        "comm private/a src/a.rs",
        "fmt private/a",
        "jq . private/a",
        "git show HEAD:private/a",
        "git diff -- private/a",
        "git grep x -- private/a",
        "cd private && bash -c 'cat a'",
        "cd private; false && cd /home/u/work; cat a",
        "cat pr?vate/a.rs",
        "cat pr[i]vate/a.rs",
        "cat priv*/*.rs",
        "grep x src/../p*/a.rs",
        "cd p?ivate; cat a.rs",
    ] {
        assert_eq!(ruled(&at(Call::shell(command)), text), Ask, "{command}");
    }
    for command in ["cat < private/a", "cd private; cat < a", "cd private; cd .. < none; cat src/a"]
    {
        assert_eq!(ruled(&at(Call::shell(command)), text), Deny, "{command}");
    }
    for command in [
        "cat src/a.rs",
        "cat src/*.rs",
        "cat s?c/[ab].rs",
        "cat *.md",
        "wc -l s*/a.rs",
        "grep -rn private src",
        "cd src && cat a.rs",
    ] {
        assert_eq!(ruled(&at(Call::shell(command)), text), Allow, "{command}");
    }
    let view = |path: &str| {
        at(Call::new("str_replace_editor", json!({ "command": "view", "path": path })))
    };
    assert_eq!(ruled(&view("private/a"), text), Deny);
    assert_eq!(ruled(&view("src/a.rs"), text), Allow);
}

#[test]
fn a_hidden_file_of_the_project_needs_a_rule_that_names_it() {
    let text = r#"{"*": "ask", "write_file": {"**": "allow", ".storybook/**": "allow"},
        "shell_exec": {"cp *": "allow", "cd *": "allow"}}"#;
    let at = |call: Call| Call {
        cwd: Some("/home/u/.worktrees/w".into()),
        home: Some("/home/u".into()),
        ..call
    };
    let write = |path: &str| at(Call::new("Write", json!({ "file_path": path })));
    for path in ["src/a.rs", ".storybook/main.js", ".gitignore", "/home/u/.worktrees/w/b"] {
        assert_eq!(ruled(&write(path), text), Allow, "{path}");
    }
    for path in [".tool/x", "sub/.toolrc", "/home/u/.worktrees/w/.tool/x", ".storybook/.git/x"] {
        assert_eq!(ruled(&write(path), text), Ask, "{path}");
    }
    for (command, verdict) in [
        ("cp a src/b", Allow),
        ("cp a .storybook/b", Allow),
        ("cp a .tool/b", Ask),
        ("cd sub && cp a .tool/b", Ask),
        ("cd .github && cp a workflows/b.yml", Ask),
        ("cd src && cp a b", Allow),
    ] {
        assert_eq!(ruled(&at(Call::shell(command)), text), verdict, "{command}");
    }
}

#[test]
fn a_redirect_into_the_workspace_needs_what_writing_needs() {
    let text =
        r#"{ "*": "ask", "shell_exec": { "echo *": "allow" }, "write_file": { "*": "allow" } }"#;
    for (command, verdict) in [
        ("echo x > notes.txt", Allow),
        ("echo x > ../notes.txt", Ask),
        ("echo x > .git/hooks/pre-commit", Ask),
        ("echo x > $F", Ask),
    ] {
        assert_eq!(ruled(&Call::shell(command), text), verdict, "{command}");
    }
}

#[test]
fn links_are_ruled_on_by_where_they_lead() {
    let text = r#"{ "read_file": { "*": "allow", "*.env": "deny" } }"#;
    let link = Call { resolved: vec!["/w/.env".to_owned()], ..read("config/link") };
    assert_eq!(ruled(&link, text), Deny);
    assert_eq!(ruled(&read("config/link"), text), Allow);
}

#[test]
fn paths_below_the_workspace_are_known_by_both_of_their_names() {
    let text = r#"{ "edit_file": { "src/**": "allow", "/w/docs/*": "allow" } }"#;
    let edit = |path: &str| Call {
        cwd: Some("/w".to_owned()),
        ..Call::new("Edit", json!({ "file_path": path }))
    };
    for (path, verdict) in [
        ("/w/src/a.rs", Allow),
        ("src/../src/a.rs", Allow),
        ("docs/a.md", Allow),
        ("/w/src/../Cargo.toml", Ask),
        ("/x/src/a.rs", Ask),
    ] {
        assert_eq!(ruled(&edit(path), text), verdict, "{path}");
    }
}

#[test]
fn yolo_lifts_asks_and_no_deny_and_not_what_it_cannot_read() {
    let text = r#"{ "*": "ask", "shell_exec": { "*": "ask", "rm *": "deny" } }"#;
    for (command, verdict) in
        [("git push --force", Allow), ("rm x", Deny), ("$X y", Ask), ("bash -c \"$X\"", Ask)]
    {
        assert_eq!(ruled_in(&Call::shell(command), text, Mode::Yolo).verdict, verdict, "{command}");
    }
}

#[test]
fn critical_commands_ask_whatever_is_allowed_and_are_never_offered() {
    let ruling = ruled_in(&Call::shell("rm -rf ~"), r#"{ "*": "allow" }"#, Mode::Default);
    assert_eq!(ruling.verdict, Ask);
    assert!(ruling.critical && ruling.always.is_empty() && ruling.exact.is_empty());
    assert!(ruling.reason.ends_with("It always needs a person."), "{}", ruling.reason);
}

#[test]
fn exactly_this_stores_the_very_words() {
    for (command, rules) in [
        ("python3 -c 'print(1)'", vec!["python3 -c 'print\\(1\\)'"]),
        ("cargo test | grep a", vec!["cargo test | grep a"]),
        ("FOO=1 make", vec!["FOO=1 make"]),
        ("echo $X", vec![]),
    ] {
        let ruling = ruled_in(&Call::shell(command), "{}", Mode::Default);
        let exact: Vec<&str> = ruling.exact.iter().map(|rule| rule.pattern.as_str()).collect();
        assert_eq!(exact, rules, "{command}");
        let granted = Rules::from_rules(&ruling.exact);
        let (none, guardrail) = (Rules::default(), Guardrail::default());
        let layers = Layers {
            agent: None,
            rules: &none,
            grants: &granted,
            guardrail: &guardrail,
            now_ms: 0,
        };
        if !exact.is_empty() {
            assert_eq!(decide(&Call::shell(command), &layers, Mode::Default).verdict, Allow);
        }
        let other = format!("{command} --more");
        assert_eq!(decide(&Call::shell(other), &layers, Mode::Default).verdict, Ask, "{command}");
    }
}

#[test]
fn the_rule_that_decides_is_named_with_its_line() {
    let text = "{\n  \"shell_exec\": {\n    \"git *\": \"allow\"\n  }\n}";
    let ruling = ruled_in(&Call::shell("git status"), text, Mode::Default);
    assert_eq!(ruling.rule.as_deref(), Some("shell_exec: \"git *\": allow (permissions.jsonc:3)"));
}

#[test]
fn an_explanation_says_which_words_met_which_rule() {
    let set = rules("{ \"shell_exec\": { \"*\": \"ask\", \"git *\": \"allow\" } }");
    let (grants, guardrail) = (Rules::default(), Guardrail::default());
    let layers =
        Layers { agent: None, rules: &set, grants: &grants, guardrail: &guardrail, now_ms: 0 };
    let said = explain(&Call::shell("git status | wc -l"), &layers, Mode::Default).to_string();
    assert!(
        said.contains(
            "git status\n    allow: `git` meets shell_exec: \"git *\": allow (permissions.jsonc:1)"
        ),
        "{said}"
    );
    assert!(said.contains("always would store: shell: wc *"), "{said}");
}

#[test]
fn what_always_stores_in_a_file_wins_afterwards() {
    let before = DEFAULT_RULES;
    let call = Call::shell("cargo test --lib | tail -5");
    let ruling = ruled_in(&call, before, Mode::Default);
    let after = file::append(before, &ruling.always).unwrap();
    assert_eq!(ruled(&call, &after), Allow, "{after}");
    assert!(after.starts_with("// What agents may do without asking."));
    let back = ruling.always.iter().fold(after, |text, rule| file::remove(&text, rule).unwrap());
    assert_eq!(ruled(&call, &back), Ask, "{back}");
}
