//! Row 1 of issue 28: scripts in small languages. What a script of sed, awk, jq or find does is
//! read strictly; what is not certainly reading asks.

use crate::daemon::Daemon;
use serde_json::json;

/// Each runs a program, or reads or writes a file that no word names.
const REACHES: &[&str] = &[
    // The two forms of the red team, and their neighbours.
    "sed '#\\\ne touch owned' src/a",
    "sed 'a x\\\\\ne touch owned' src/a",
    "sed 'i x\\\\\ne touch owned' src/a",
    "sed 'c\\\nx\ne touch owned' src/a",
    "sed '$!{#\\\ne id\n}' src/a",
    "sed -n '# x\ne id' src/a",
    "sed '1e id' src/a",
    "sed 's/x/id/e' src/a",
    "sed 's/x/id/ge;p' src/a",
    "sed 's/x/y/w out' src/a",
    "sed 'r /etc/passwd' src/a",
    "sed 'R src/b' src/a",
    "sed 'w out' src/a",
    "sed 'W out' src/a",
    "sed 's/[/]/w out/' src/a",
    "sed -e p -e '1e id' src/a",
    "sed --expression='1e id' src/a",
    "sed --expr='1e id' src/a",
    "sed -ne '1e id' src/a",
    "sed -n 'w out' -e p src/a",
    "sed -f script src/a",
    "sed -s -n '1e id' src/a",
    "sed \"$SCRIPT\" src/a",
    "sed -i 's/a/b/' src/a",
    "awk '{system(\"id\")}' src/a",
    "awk '{system (\"id\")}' src/a",
    "awk '{while ((\"id\" | getline x) > 0) print x}' src/a",
    "awk '{getline x < \"/etc/passwd\"; print x}' src/a",
    "awk '{print > \"out\"}' src/a",
    "awk '{printf(\"%s\", $0) >> \"out\"}' src/a",
    "awk '{print | \"sh\"}' src/a",
    "awk '{if (x) /\"/; system(\"id\"); if (x) /\"/}' src/a",
    "awk 'BEGIN {ARGV[1] = \"/etc/passwd\"} 1' src/a",
    "awk '{print ENVIRON[\"TOKEN\"]}' src/a",
    "awk '@load \"readdir\"' src/a",
    "awk -f prog src/a",
    "awk 1 -v /etc/passwd",
    "gawk -i inplace 1 src/a",
    "jq env src/a.json",
    "jq -n '$ENV.TOKEN'",
    "jq '\"\\(env.TOKEN)\"' src/a.json",
    "jq '{a: if . then 1, env else 2 end}' src/a.json",
    "jq 'import \"../x\" as x; x::y' src/a.json",
    "jq -L .. 'include \"x\"; y' src/a.json",
    "jq --rawfile x /etc/passwd '$x' src/a.json",
    "jq input_filename src/a.json",
    "find . -fprintf out '%p'",
    "find . -exec sh -c id ';'",
    "find . -delete",
    "find . -files0-from src/a",
    "ls | xargs sh",
    "ls | xargs -a /etc/passwd echo",
    "ls | xargs sed -n 1p",
    "perl -ne 'print if /x/' src/a",
    "ruby -ne 'puts $_' src/a",
    "printf 'w out\\n' | ed src/a",
];

const READS: &[&str] = &[
    "sed -n '1,5p' src/a",
    "sed -n -e '/x/,/y/p' -e '$=' src/a",
    "sed --expression='s/[^/]*$//' src/a",
    "sed ':a;N;$!ba;s/\\n/ /g' src/a",
    "sed -E 's/^(a+)w e/\\1/; /e id/d' src/a",
    "sed '1i # e id' src/a",
    "sed -s -n '$p' src/a src/b",
    "sed y/abc/xyz/ src/a",
    "awk '{print $1}' src/a",
    "awk -F: 'NR>1 && $3 > 10 {n[$1]++} END {for (k in n) print k, n[k]/2}' src/a",
    "awk '/system|getline/ {print \"a > b\"}' src/a",
    "jq -r '.env | to_entries[] | \"\\(.key)=\\(.value)\"' src/a.json",
    "jq --arg name x '.[] | select(.name == $name)' src/a.json",
    "find . -name '*.rs' -not -path './target/*' -printf '%s %p\\n' | sort -n",
    "ls | xargs echo",
];

#[tokio::test]
async fn row_1_only_scripts_that_certainly_read_are_allowed() {
    let daemon = Daemon::start("").await;
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir(project.path().join("src")).unwrap();
    let cwd = project.path().canonicalize().unwrap();
    for mode in ["default", "plan"] {
        for (commands, expected) in [(REACHES, "ask"), (READS, "allow")] {
            for command in commands {
                let call = json!({"agent": "claude-code", "session": "s", "cwd": cwd, "tool": "Bash",
                    "args": {"command": command}, "agent_mode": mode});
                let (_, said) = daemon.call(&call).await;
                assert_eq!(said["verdict"], expected, "{mode}: {command}: {}", said["reason"]);
            }
        }
    }
}

#[tokio::test]
async fn row_1_a_wildcard_covers_no_script_that_reaches_out() {
    let rules = r#"{"*": "ask", "shell_exec": {"sed *": "allow", "awk *": "allow", "jq *": "allow",
        "yq *": "allow", "find *": "allow"}}"#;
    let daemon = Daemon::start_with("", &[("permissions.jsonc", rules)]).await;
    let project = tempfile::tempdir().unwrap();
    let cwd = project.path().canonicalize().unwrap();
    for (command, expected) in [
        ("sed '#\\\ne id' a", "ask"),
        ("sed 'a x\\\\\ne id' a", "ask"),
        ("sed -n '1e id' a", "ask"),
        ("sed --expr='1e id' a", "ask"),
        ("sed \"s/a/$x/\" a", "ask"),
        ("awk '{print | \"sh\"}' a", "ask"),
        ("awk \"{print $x}\" a", "ask"),
        ("awk 1 /inet/tcp/0/example.org/80", "ask"),
        ("jq '[env]' a.json", "ask"),
        ("jq \".[$x]\" a.json", "ask"),
        ("yq 'load(\"/etc/passwd\")' a.yml", "ask"),
        ("yq e '.a = strenv(TOKEN)' a.yml", "ask"),
        ("find . -fls out", "ask"),
        ("find . -unknown", "ask"),
        ("sed -n '1,5p' a", "allow"),
        ("sed 's/e/w/' /usr/share/dict/words", "allow"),
        ("awk -F: '{print $2}' a", "allow"),
        ("jq --arg n x '.[$n]' a.json", "allow"),
        ("yq '.a.b | keys' a.yml", "allow"),
        ("yq e -o json '.a[] | select(.b == \"c\")' a.yml", "allow"),
        ("find -L . -name x -newer a", "allow"),
    ] {
        let call = json!({"agent": "claude-code", "session": "s", "cwd": cwd, "tool": "Bash",
            "args": {"command": command}});
        let (_, said) = daemon.call(&call).await;
        assert_eq!(said["verdict"], expected, "{command}: {}", said["reason"]);
    }
}
