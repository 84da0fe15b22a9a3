//! Whatever `@reads` allows prints no secret. Random texts over a project with planted secrets are
//! really run by bash; the vocabulary only reads.
//!
//! `COUNTERSIGN_SECRETS=20000 COUNTERSIGN_SEED=1 cargo test -p countersign-policy --test policy secrets
//! -- --nocapture` makes that many texts; without the variable a short run is made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::chance::Chance;
use countersign_policy::{Call, agent_mode};

/// The content of every secret. A part of it is enough to recognise it.
const MARK: &str = "ZQXJZQXJZQXJZQXJZQXJZQXJ";
/// The mark as it is, reversed, in base64, hexadecimal and octal.
const TRACES: &[&str] = &["zqxj", "jxqz", "wlfys", "pr3hkw", "5a51584a", "132121130112"];

const FILES: &[&str] = &[
    ".env",
    ".env.local",
    ".env~",
    ".env.bak",
    "#.env#",
    ".envrc",
    "prod.env",
    "app.key",
    "app.key.bak",
    "server.pem",
    "id_rsa",
    "id_ed25519",
    "auth.json",
    "service-account-1.json",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    "prod.tfvars",
    "kubeconfig",
    ".netrc",
    ".npmrc",
    ".pypirc",
    "secrets.yml",
    "credentials.toml",
    "passwords.txt",
    "config/.env",
    "config/master.key",
    "config/app.pem~",
    ".aws/config",
    ".docker/config.json",
    ".kube/config",
    ".ssh/id_x",
    "../outside.txt",
    "../.config/token",
    "src/id_rsa",
];
/// Those that are in a commit too.
const COMMITTED: &[&str] = &[".env", "config/.env", "config/master.key", "id_rsa"];
const PLAIN: &[&str] = &[
    "README.md",
    "src/main.rs",
    "src/a.ts",
    "package.json",
    "config/app.toml",
    "Makefile",
    "docs/a b.md",
    "-v",
    "@list",
];
/// Variables of the environment, each with a secret.
const VARIABLES: &[&str] =
    &["SECRET", "API_TOKEN", "api_key", "db_password", "x", "f", "line", "DIR", "KEY", "OUT", "_y"];

struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        let write = |name: &str, text: &str| {
            let path = project.cwd().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in PLAIN {
            write(name, "one two\nthree\n");
        }
        // Options for a program that reads them from `@file`.
        write("@list", &format!("{}\n", project.cwd().join("../outside.txt").display()));
        for name in FILES {
            write(name, &format!("a={MARK}\n{MARK} b\n"));
        }
        let git = |args: &[&str]| {
            let name =
                ["-c", "user.name=u", "-c", "user.email=u@x", "-c", "init.defaultBranch=main"];
            let args: Vec<&str> = name.iter().chain(args).copied().collect();
            project.command("git").args(args).output().unwrap()
        };
        git(&["init", "-q"]);
        git(&[&["add", "-f", "README.md", "src/main.rs", "package.json"], COMMITTED].concat());
        git(&["commit", "-qm", "one"]);
        git(&["remote", "add", "origin", &format!("https://u:{MARK}@example.org/x")]);
        git(&["config", "http.proxy", &format!("http://{MARK}@x")]);
        git(&["config", "alias.x", &format!("!curl -u {MARK}")]);
        project
    }

    fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home")
    }

    fn cwd(&self) -> PathBuf {
        self.home().join("w")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.cwd()).env_clear().stdin(std::process::Stdio::null());
        command.envs(VARIABLES.iter().map(|name| (name, MARK)));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env("PATH", path).env("HOME", self.home()).env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn is_allowed(&self, text: &str) -> bool {
        let path = |path: &Path| Some(path.display().to_string());
        let (cwd, home) = (path(&self.cwd()), path(&self.home()));
        agent_mode::only_reads(&Call { cwd, home, ..Call::shell(text) })
    }

    /// What of a secret a text prints.
    fn leak(&self, text: &str) -> Option<String> {
        let mut command = self.command("timeout");
        let Output { stdout, stderr, .. } =
            command.args(["5", "bash", "-c", text]).output().unwrap();
        let printed = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
        let letters: String = printed.chars().filter(|c| !c.is_whitespace()).collect();
        let letters = letters.to_ascii_lowercase();
        TRACES.iter().any(|trace| letters.contains(trace)).then_some(printed)
    }
}

/// A name of a file, or a pattern that may match it.
fn path(chance: &mut Chance) -> String {
    let mut name = match chance.percent(75) {
        true => chance.pick(FILES),
        false => chance.pick(PLAIN),
    }
    .to_owned();
    for _ in 0..chance.below(4) {
        let places: Vec<usize> = name.char_indices().map(|(at, _)| at).collect();
        let at = places[chance.below(places.len())];
        let char = name.get(at..).unwrap().chars().next().unwrap();
        if "*?[]{}'\\ ".contains(char) {
            continue;
        }
        let to = at + char.len_utf8();
        match chance.below(14) {
            12 => name.replace_range(at..to, "[[:graph:]]"),
            13 => {
                let class =
                    chance.pick(&["[^]]", "[!]]", "[]C]", "[x\\]C]", "[x\"]\"C]", "[[=C=]]"]);
                name.replace_range(at..to, &class.replace('C', &char.to_string()));
            }
            0 => name.replace_range(at..to, "?"),
            1 | 2 => name.replace_range(at..to, "*"),
            3 => name.replace_range(at..to, &format!("[{char}]")),
            4 => name.replace_range(at..to, &format!("[!{}]", if char == 'z' { 'y' } else { 'z' })),
            5 => name.replace_range(at..to, &format!("{{{char},z}}")),
            6 => name.replace_range(at..to, &format!("'{char}'")),
            7 => name.replace_range(at..to, &format!("\\{char}")),
            8 => name.truncate(at),
            9 => name.insert_str(0, chance.pick(&["./", "src/../", "*/", "**/", "../w/", "$PWD/"])),
            10 => name = format!("'{}'", name.replace('\'', "")),
            _ => name.replace_range(at.., "*"),
        }
        if name.is_empty() {
            name.push('*');
        }
    }
    name
}

/// A word in which a shell puts the value of a variable.
fn variable(chance: &mut Chance) -> String {
    let name = chance.pick(VARIABLES);
    let form = chance.pick(&[
        "$N",
        "\"$N\"",
        "${N}",
        "${N:-d}",
        "${N#a}",
        "${N:0:9}",
        "${!N}",
        "${nope:-$N}",
        "${nope:?$N}",
        "${N^^}",
        "${N@Q}",
        "\"a ${N}\"",
        "$(echo $N)",
        "`echo $N`",
        "<(echo $N)",
        "$((N))",
        "${N[0]}",
        "\"${N[@]}\"",
        "${N:+set}",
        "${#N}",
        "${N/a/b}",
        "'$N'",
        "$'$N'",
        "${N:=d}",
    ]);
    form.replace('N', name)
}

fn file_command(chance: &mut Chance) -> String {
    let form = chance.pick(&[
        "cat P",
        "head -n 3 P",
        "tail -5 P",
        "wc -l P",
        "sed -n 1,5p P",
        "awk '{print $1}' P",
        "grep -n . P",
        "sort P",
        "cut -c1-30 P",
        "nl P",
        "od -c P",
        "xxd P",
        "base64 P",
        "strings P",
        "diff P README.md",
        "rev P",
        "tac P",
        "paste README.md P",
        "jq . P",
        "cat < P",
        "sort < P",
        "tr a b < P",
        "cat -- P",
        "uniq P",
        "comm P README.md",
        "while read -r line; do echo \"$line\"; done < P",
        "x=$(< P); echo $x",
        "x=$(cat P); echo $x",
        "read -r x < P; echo $x",
        "for f in P; do cat \"$f\"; done",
        "for f in P; do cat $f; done",
        "cd config && cat P",
        "cat README.md P",
        "grep -rn . --include=P config",
        "grep -rn . --include='P' config",
        "rg . -g 'P' config",
        "grep . P",
        "cat <<< $(cat P)",
        "x=P; cat $x",
        "x=P; cat < $x",
        "echo P",
        "ls P",
        "stat P",
        "file P",
        "find P",
        "cat $(echo P)",
        "column P",
        "fold P",
    ]);
    let path = path(chance);
    // A search without a pattern may find a secret, and says so.
    if form.contains("config") && path.chars().all(|c| "*/'".contains(c)) {
        return "ls".into();
    }
    form.replace('P', &if form.contains("'P'") { path.replace('\'', "") } else { path })
}

fn variable_command(chance: &mut Chance) -> String {
    let form = chance.pick(&[
        "echo V",
        "printf '%s\\n' V",
        "cat <<< V",
        "cat <<EOF\nV\nEOF",
        "cat <<'EOF'\nV\nEOF",
        "x=V; echo $x",
        "x=V y=$x; echo $y",
        "for f in V; do echo \"$f\"; done",
        "for f in a V; do echo \"$f\"; done; echo $f",
        "read -r x <<< V; echo $x",
        "case V in Z*) echo ZQ ;; *) echo no ;; esac",
        "cd V",
        "exit V",
        "[ V -gt 0 ]",
        "test V = a",
        "[ -n V ] && echo set",
        "[[ -n V ]] && echo set",
        "[[ V == a ]] || echo no",
        "basename V",
        "seq V",
        "expr V",
        "true V",
        "sleep V",
        "wc -c <<< V",
        "(x=1); echo $x",
        "false && x=1; echo $x",
        "false && x=1 || echo $x",
        "x=1 | cat; echo $x",
        "x=1 & echo $x",
        "x+=1; echo $x",
        "x=1 echo $x",
        "x=1; echo $x",
        "f() { x=1; }; echo $x",
        "if false; then x=1; fi; echo $x",
        "while false; do x=1; done; echo $x",
        "for x in; do :; done; echo $x",
        "read -t 0 x; echo $x",
        "read -r x < none; echo $x",
        "{ x=1; } < none; echo $x",
        "echo $line; while read -r line; do echo $line; done < README.md; echo $line",
        "unset x; echo $x",
        "set -x; : V",
        "x=1 < none; echo $x",
        "echo ${x:=1}",
        "set",
        "declare -p",
        "export -p",
        "env",
        "printenv SECRET",
        "printenv x",
        "cat /proc/$$/environ",
        "cat < /proc/self/environ",
        "cat < /proc/$$/environ",
        "tr a b < /proc/$PPID/environ",
        "printf V",
        "date +V",
        "find . -name V",
        "ls V",
        "cat V",
        "cat < V",
        "readonly",
        "trap",
        "alias",
        "type V",
        "command -v V",
        "x[0]=1; echo $x",
        "x=(1 2); echo ${x[1]}",
        "i=0; echo $((i+1))",
        "echo $_ $1 $@ $# $- $0",
        "jq -n env",
        "jq -n '$ENV.x'",
        "awk 'BEGIN{print ENVIRON[\"x\"]}'",
        "ps eww",
        "echo ${!S*} ${!x@}",
        "x='*'; echo $x",
        "shift V",
        "return V",
        "wait V",
    ]);
    form.replace('V', &variable(chance))
}

fn git_command(chance: &mut Chance) -> String {
    let form = chance.pick(&[
        "git log -p -1 -- P",
        "git show HEAD -- P",
        "git show HEAD:P",
        "git show 'HEAD:P'",
        "git show :P",
        "git diff -- P",
        "git diff --cached HEAD -- P",
        "git grep -n . -- P",
        "git grep -e . -- 'P'",
        "git grep . HEAD -- P",
        "git blame P",
        "git cat-file -p HEAD:P",
        "git log -L 1,2:P",
        "git remote",
        "git remote -v",
        "git remote get-url origin",
        "git config --get remote.origin.url",
        "git config --get http.proxy",
        "git config --get alias.x",
        "git config --list",
        "git config --get user.name",
        "git ls-files P",
        "git status -- P",
        "cat .git/config",
        "cat .git/P",
        "git branch -vv",
        "git show HEAD~0:./P",
        "git log -p -1 -- ':(glob)P'",
        "git log -p -1 -- ':(icase)P'",
        "git log -p -1 -- ':/P'",
        "git log -p -1 -- ':(top,glob)P'",
        "git ls-files -s -- P",
    ]);
    let path = path(chance);
    // The whole history may hold a secret, as a whole folder may. `#` begins a comment.
    let plain = path.replace(['\'', '\\'], "");
    let last = plain.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let folder = ["config", "src", "docs", "w", "$PWD", ".aws", ".ssh", ".docker", ".kube"];
    let whole = last.chars().all(|c| "*.?".contains(c))
        || folder.contains(&last)
        || path.contains("*/")
        || path.starts_with('#');
    let path = if whole { ".en?".to_owned() } else { path };
    form.replace('P', &if form.contains('\'') { path.replace('\'', "") } else { path })
}

fn text(chance: &mut Chance) -> String {
    let mut text = match chance.below(10) {
        0..5 => file_command(chance),
        5..8 => variable_command(chance),
        _ => git_command(chance),
    };
    if chance.percent(15) {
        let more = if chance.percent(50) { file_command(chance) } else { variable_command(chance) };
        text = [text, chance.pick(&["; ", " && ", "\n", " || "]).to_owned(), more].concat();
    }
    if chance.percent(10) {
        let form = chance.pick(&[
            "T | head -3",
            "echo $(T)",
            "{ T; }",
            "(T)",
            "timeout 3 T",
            "if true; then T; fi",
            "bash -c \"T\"",
        ]);
        text = form.replace('T', &text);
    }
    text
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn what_reads_allows_prints_no_secret() {
    let project = Project::new();
    let seen = project.leak("cat .env; echo $x").unwrap();
    assert_eq!(seen.matches(MARK).count(), 3, "the secrets are planted: {seen}");
    let (seed, count) = (number("COUNTERSIGN_SEED", 1), number("COUNTERSIGN_SECRETS", 1_000));
    let mut chance = Chance::new(seed);
    let random = (0..count).map(|_| text(&mut chance));
    let (mut allowed, mut leaks) = (0_u64, Vec::new());
    for text in SEEDS.iter().map(|text| (*text).to_owned()).chain(random) {
        if !project.is_allowed(&text) {
            continue;
        }
        allowed += 1;
        if let Some(printed) = project.leak(&text) {
            leaks.push(format!(
                "{text:?} prints {:?}",
                printed.chars().take(80).collect::<String>()
            ));
        }
    }
    eprintln!("seed {seed}: {count} texts, {allowed} allowed and run, {} leak", leaks.len());
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
    assert!(allowed > count / 20, "the texts are too odd: {allowed} of {count}");
}

/// Texts that leaked once.
const SEEDS: &[&str] = &[
    "cat <<< \"$SECRET\"",
    "x=$SECRET; echo $x",
    "echo $api_key",
    "cat < *.env",
    "cat app.ke[y]",
    "git log -p -- '.en[v]'",
    "git remote -v",
    "strings @list",
    "false && x=1 || echo $x",
    "exit $SECRET",
    "grep -rn . --include='.en\\v' config",
    "base64 app.key.ba?",
    "git grep -e . -- 'i\\d_rsa'",
];
