//! How long a ruling takes by the size of a call, for every kind of argument:
//! `cargo bench -p countersign-policy --bench sizes [-- NAME]`.
//!
//! Ruling is linear: four times the size takes about four times as long, and 1 MiB at most 50 ms.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench may panic, and prints its table"
)]

#[path = "sizes/shells.rs"]
mod shells;

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use countersign_policy::highlights;
use countersign_policy::paths::Directories;
use countersign_policy::{Call, Guardrail, Layers, Mode, Ours, Rule, Rules, Verdict, decide};
use serde_json::{Map, Value, json};

const SIZES: [usize; 4] = [15 << 10, 60 << 10, 256 << 10, 1 << 20];
const AIM: Duration = Duration::from_millis(50);

/// A kind of argument: its name, and a call of about so many bytes.
type Kind = (&'static str, Box<dyn Fn(usize) -> Call>);

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let heads = ["15 KiB", "60 KiB", "256 KiB", "1 MiB"].map(|head| format!("{head:>10}"));
    println!("{:<34}{}   growth of the last step", "milliseconds for", heads.concat());
    let mut missed = 0;
    for (name, make) in kinds() {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let times = all_sizes(&*make);
        let shown: Vec<String> =
            times.iter().map(|time| format!("{:>10.2}", time.as_secs_f64() * 1e3)).collect();
        let growth = times.last().unwrap().as_secs_f64() / times[times.len() - 2].as_secs_f64();
        let misses = times.get(3).is_none_or(|time| *time > AIM);
        missed += usize::from(misses);
        let mark = if misses { "  above the aim" } else { "" };
        println!("{name:<34}{}   {growth:.1}{mark}", shown.concat());
    }
    println!("{missed} above {AIM:?}");
}

/// The times of all sizes; of the first three where the last would take too long.
fn all_sizes(make: &dyn Fn(usize) -> Call) -> Vec<Duration> {
    let mut times: Vec<Duration> = SIZES.iter().take(3).map(|size| took(&make(*size))).collect();
    if times[2] < Duration::from_secs(2) {
        times.push(took(&make(SIZES[3])));
    }
    times
}

/// The quickest of a few rulings, with all that a card needs.
fn took(call: &Call) -> Duration {
    let rules = rules();
    let grants = Rules::from_rules(&grants());
    let guardrail = guardrail();
    let layers =
        Layers { agent: None, rules: &rules, grants: &grants, guardrail: &guardrail, now_ms: 0 };
    let once = || {
        let start = Instant::now();
        let ruling = black_box(decide(black_box(call), &layers, Mode::Default));
        let _ = black_box(countersign_policy::values::paths_of(call));
        if let Some(text) = call.command() {
            let dirs = Directories { cwd: call.cwd.as_deref(), home: None };
            let _ = black_box(highlights::of_shell(text, dirs));
        }
        let _ = ruling;
        start.elapsed()
    };
    let first = once();
    let more = if first > Duration::from_millis(500) { 0 } else { 4 };
    (0..more).map(|_| once()).fold(first, Duration::min)
}

/// What an operator may have written.
fn rules() -> Rules {
    let text = r#"{
      "*": "ask",
      "read_file": { "*": "allow", "*.env": "deny", "*.env.*": "deny", "*secret*": "deny" },
      "write_file": { "*": "allow", "*.env": "deny", "docs/**": "ask", "{a,b}*/[cd]?*": "deny" },
      "web_fetch": { "*": "ask", "domain:docs.rs": "allow", "domain:*.evil.example": "deny" },
      "glob": "allow",
      "grep": "allow",
      "my_*": { "*": "allow", "*secret*": "deny", "a*a*a*b": "deny" },
      "mcp__*": "allow",
      "shell_exec": {
        "*": "ask", "ls *": "allow", "echo *": "allow", "git push *": "deny", "*evil*": "deny"
      }
    }"#;
    Rules::parse(text, "permissions.jsonc", Some("/home/me")).unwrap()
}

/// As many as a well-used store holds.
fn grants() -> Vec<Rule> {
    let commands = (0..200).map(|n| Rule::allow("shell_exec", format!("tool{n} run *")));
    let files = (0..200).map(|n| Rule::allow("write_file", format!("src/part{n}/*")));
    let denied = (0..20).map(|n| Rule {
        verdict: Verdict::Deny,
        ..Rule::allow("read_file", format!("**/private{n}/*"))
    });
    commands.chain(files).chain(denied).collect()
}

fn guardrail() -> Guardrail {
    let own = [
        "/home/me/.config/countersign",
        "/home/me/.local/state/countersign",
        "/run/user/1/countersign",
    ];
    let denies = Rules::parse(
        r#"{"read_file": {"*.env": "deny"}, "my_*": {"*secret*": "deny"}}"#,
        "r",
        None,
    );
    Guardrail::new(Ours {
        paths: own.map(str::to_owned).to_vec(),
        programs: vec!["countersign".to_owned()],
        addresses: vec!["127.0.0.1:7117".to_owned()],
        ..Ours::default()
    })
    .with_denies(denies.unwrap())
}

fn at_work(call: Call) -> Call {
    Call { cwd: Some("/home/me/work/app".into()), home: Some("/home/me".into()), ..call }
}

fn shell(text: String) -> Call {
    at_work(Call::shell(text))
}

/// Pieces, numbered, until the size is reached.
fn pieces(size: usize, piece: impl Fn(usize) -> String) -> Vec<String> {
    let (mut all, mut length) = (Vec::new(), 0);
    while length < size {
        let next = piece(all.len());
        length += next.len() + 3;
        all.push(next);
    }
    all
}

/// The same as one text.
fn text(size: usize, piece: impl Fn(usize) -> String) -> String {
    let mut all = String::with_capacity(size + 100);
    for at in 0.. {
        if all.len() >= size {
            break;
        }
        let _ = write!(all, "{}", piece(at));
    }
    all
}

fn kinds() -> Vec<Kind> {
    let mut all = shells::all();
    all.extend(tools());
    all
}

fn kind(name: &'static str, make: impl Fn(usize) -> Call + 'static) -> Kind {
    (name, Box::new(make))
}

fn list(
    tool: &'static str,
    key: &'static str,
    piece: fn(usize) -> String,
) -> impl Fn(usize) -> Call {
    move |size| at_work(Call::new(tool, json!({ key: pieces(size, piece) })))
}

fn one(
    tool: &'static str,
    key: &'static str,
    piece: fn(usize) -> String,
) -> impl Fn(usize) -> Call {
    move |size| {
        let file = if key == "content" { "src/a.rs" } else { "" };
        let mut args = json!({ key: text(size, piece) });
        if !file.is_empty() {
            args["file_path"] = file.into();
        }
        at_work(Call::new(tool, args))
    }
}

fn tools() -> Vec<Kind> {
    vec![
        kind("read: many paths", list("read_many_files", "paths", |n| format!("d/f{n}"))),
        kind("read: equal paths", list("read_many_files", "paths", |_| "d/f".into())),
        kind("read: many paths outside", list("Read", "paths", |n| format!("/data/d{n}/f"))),
        kind("read: paths below home", list("Read", "files", |n| format!("~/d/../f{n}"))),
        kind("read: one-letter paths", list("Read", "paths", |_| "a".into())),
        kind("read: one long path", one("Read", "file_path", |_| "ab/".into())),
        kind("read: one path of ..", one("Read", "file_path", |_| "a/../".into())),
        kind("read: one path of dots", one("Read", "file_path", |_| "./".into())),
        kind("read: one path of accents", one("Read", "file_path", |_| "é".into())),
        kind("read: aliases of the kernel", list("Read", "paths", |n| format!("/proc/{n}/cwd/f"))),
        kind("write: many paths", list("Write", "paths", |n| format!("src/part{n}/a"))),
        kind("write: many paths outside", list("Write", "paths", |n| format!("/etc/d/f{n}"))),
        kind("write: content", one("Write", "content", |n| format!("line {n}\n"))),
        kind("write: one path of a", one("Write", "file_path", |_| "a".into())),
        kind("glob: many", list("Glob", "paths", |n| format!("**/*{n}"))),
        kind("glob: one long", one("Glob", "pattern", |_| "*a".into())),
        kind("glob: one of braces", one("Glob", "pattern", |_| "{a,b}".into())),
        kind("grep: many", list("Grep", "paths", |n| format!("d{n}/*.rs"))),
        kind("fetch: many", list("WebFetch", "url", |n| format!("https://h{n}.example/a"))),
        kind("fetch: one long", one("WebFetch", "url", |n| format!("https://h{n}.example/"))),
        kind("fetch: one host of dots", |size| {
            let url = format!("https://{}/", "a.".repeat(size / 2));
            at_work(Call::new("WebFetch", json!({ "url": url })))
        }),
        kind("skill: many", list("Skill", "name", |n| format!("s{n}"))),
        kind("other: many strings", list("my_tool", "items", |n| format!("s{n}"))),
        kind("other: equal strings", list("my_tool", "items", |_| "s".into())),
        kind("other: one long string", one("my_tool", "body", |_| "a".into())),
        kind("other: many keys", |size| {
            let keys: Map<String, Value> = pieces(size, |n| format!("k{n}"))
                .into_iter()
                .map(|k| (k.clone(), k.into()))
                .collect();
            at_work(Call::new("my_tool", keys.into()))
        }),
        kind("other: nested", |size| {
            let deep = (0..60).fold(json!("x"), |inner, n| json!({ format!("k{n}"): [inner] }));
            let many = vec![deep; size / 900 + 1];
            at_work(Call::new("my_tool", json!({ "all": many })))
        }),
        kind("other: numbers", |size| at_work(Call::new("my_tool", json!(vec![7; size / 2])))),
        kind("unknown: many strings", list("strange", "items", |n| format!("s{n}"))),
        kind("mcp: many strings", list("mcp__x__y", "items", |n| format!("s{n}"))),
        kind("question: many options", list("ask_user", "options", |n| format!("o{n}"))),
        kind("resolved: many", |size| Call {
            resolved: pieces(size, |n| format!("/data/f{n}")),
            ..at_work(Call::new("Read", json!({ "path": "x" })))
        }),
        kind("a long folder, many paths", |size| Call {
            cwd: Some(format!("/home/me/{}", "d/".repeat(2000))),
            ..at_work(list("Write", "paths", |n| format!("f{n}"))(size))
        }),
        kind("a folder with .., many words", |size| Call {
            cwd: Some("/home/me/work/../app".into()),
            ..shell(format!("rm {}", text(size, |n| format!(" f{n}"))))
        }),
        kind("shell: words in a list", list("shell_exec", "command", |n| format!("w{n}"))),
    ]
}
