//! Random commands that may or may not come to what is ours.

use crate::house::{FOLDERS, House};

/// A small generator of random numbers (xorshift), so that a seed names a run.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &'a [&'a T]) -> &'a &'a T {
        &from[self.below(from.len())]
    }
}

pub fn folder(chance: &mut Chance, house: &House) -> String {
    house.text(chance.pick(FOLDERS))
}

/// Ways to begin a path; `@` is the home folder.
const STARTS: &[&str] = &[
    "~/",
    "$HOME/",
    "\"$HOME\"/",
    "${HOME}/",
    "@/",
    "@/proj/../",
    "",
    "./",
    "../",
    "../../",
    "$PWD/",
    "$PWD/../",
    "~+/../",
    "/proc/self/cwd/",
    "/proc/self/cwd/../",
    "/proc/self/root@/",
    "//proc/self/root/@/",
    "to_config/",
    "to_config/../",
    "twice/",
    "sub/up/",
    "sub/deep/../../../",
    "sub/up/../",
    "sub/other/../",
    "sub/loc/",
    "{x,..}/",
    "~/{proj,.}/",
    "$X/",
    "\"$Y\"/",
    "*/../",
    "t*/",
    "~/*/",
    "~/.[a-d]*/",
    "'..'/",
    "..\\/",
    "$'\\x2e\\x2e'/",
    "?\\.\\./",
    "~/./proj//..//",
];

const MIDDLES: &[&str] = &[
    ".config/",
    ".config/",
    ".conf*/",
    ".c?nfig/",
    "{.config,proj}/",
    "\".config\"/",
    ".con\"fig\"/",
    ".[c]onfig/",
    ".*/",
    "$'.config'/",
    ".local/state/",
    ".local/*/",
    "",
    ".config/./",
    ".config/other/../",
    "$C/",
    "*/",
    ".config/../.config/",
    ".{con,x}fig/",
    "state/",
];

const ENDS: &[&str] = &[
    "countersign/approver.token",
    "countersign",
    "countersign/*",
    "c*/approver.token",
    "count*/*.t*",
    "{countersign,other}/*",
    "*/approver.token",
    "*/*",
    "countersign/workers",
    "countersig[n]/approver.token",
    "count\"ersign/\"approver.token",
    "other/settings",
    "notes.txt",
    "sub/main.rs",
    "innocent.txt",
    "to_ours/approver.token",
    "to_ours",
    "i*.txt",
    "*",
    "$N",
    "$D/approver.token",
    "countersign/../countersign/countersign.toml",
    "",
    ".",
    "countersign/countersign.db",
    "round/x",
    "?ountersign/approver.token",
    "[!x]ountersign/*",
];

const PROGRAMS: &[&str] = &[
    "cat",
    "head -1",
    "tail -n1",
    "wc -l",
    "cp",
    "cp -r",
    "rsync -a",
    "install",
    "mv",
    "rm -rf",
    "chmod -R",
    "ln -sfn",
    "scp -r",
    "grep x",
    "grep -r x",
    "tar -cf -",
    "diff -r",
    "zip -r o",
    "sqlite3",
    "tee",
    "rg x",
    "find",
    "ls",
    "ls -R",
    "stat",
    "git add",
    "foo",
    "foo --file",
    "python3",
    "source",
    "less",
    "sed p",
];

/// A path in some spelling.
pub fn path(chance: &mut Chance, house: &House) -> String {
    let parts = match chance.below(6) {
        0 => [*chance.pick(STARTS), "", *chance.pick(ENDS)],
        1 => ["", *chance.pick(MIDDLES), *chance.pick(ENDS)],
        2 => ["", "", *chance.pick(ENDS)],
        _ => [*chance.pick(STARTS), *chance.pick(MIDDLES), *chance.pick(ENDS)],
    };
    let path = parts.concat().replace('@', &house.text(""));
    if path.is_empty() { ".".to_owned() } else { path }
}

/// A path as a tool is given it: nothing is expanded but a leading `~/`.
pub fn plain_path(chance: &mut Chance, house: &House) -> String {
    loop {
        let path = path(chance, house);
        if !path.contains(['$', '"', '\'', '{', '*', '?', '[', '\\', '+']) {
            return path;
        }
    }
}

/// A command text, sometimes behind others.
pub fn text(chance: &mut Chance, house: &House) -> String {
    let plain = plain_text(chance, house);
    match chance.below(3) {
        0 => wrapped(chance, &plain),
        _ => plain,
    }
}

/// A text that answers an ask, behind up to three others.
pub fn answer(chance: &mut Chance) -> String {
    let mut text = (*chance.pick(ANSWERS)).to_owned();
    for _ in 0..chance.below(4) {
        text = wrapped(chance, &text);
    }
    text
}

const ANSWERS: &[&str] = &[
    "countersign approve 7",
    "countersign approve 7",
    "'counter'sign approve 7",
    "\"countersign\" 'approve' 7",
    "c\\ountersign approve 7",
    "command countersign approve 7",
    "x=countersign; $x approve 7",
    "x=approve; countersign $x 7",
    "echo approve | xargs -I{} countersign {} 7",
    "echo countersign | xargs -I{} {} approve 7",
];

/// Words in front of a program.
const WRAPPERS: &[&str] = &[
    "env",
    "env A=1",
    "env a-b=1",
    "env -u A",
    "env --uns A",
    "timeout 5",
    "timeout --kill 5 --sig=KILL 5",
    "nice -n 3",
    "nice -3",
    "nice --adj 3",
    "setsid -w",
    "stdbuf -oL",
    "stdbuf --out L",
    "/usr/bin/time --form x",
    "nohup",
    "xargs -a /dev/null",
    "command",
    "exec",
];

/// The text behind a program that runs words or texts, or in a small language.
fn wrapped(chance: &mut Chance, text: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let shell = *chance.pick(&["bash", "sh"]);
    let plain = quoted(text);
    match chance.below(18) {
        0..=3 => format!("{} {shell} -c {plain}", chance.pick(WRAPPERS)),
        4 => format!("{} {text}", chance.pick(WRAPPERS)),
        5 => format!("env -S {plain}"),
        6 => format!("env --spl={plain} x"),
        7 => format!("script -qc {plain} /dev/null"),
        8 => {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            format!("awk {}", quoted(&format!("BEGIN {{ system(\"{text}\") }}")))
        }
        9 => format!("perl -e 'system(shift)' {plain}"),
        10 => format!("printf %s {plain} | {shell}"),
        11 => format!("make -f - << 'END'\na:\n\t@{}\nEND", text.replace('$', "$$")),
        12 => format!("echo x | xargs {shell} -c {plain}"),
        13 => format!("{shell} << 'END'\n{text}\nEND"),
        14 => format!(". /dev/stdin << 'END'\n{text}\nEND"),
        15 => format!("eval \"$(echo {plain})\""),
        16 => format!("x={plain}; eval \"$x\""),
        _ => format!("{shell} -c {plain}"),
    }
}

fn plain_text(chance: &mut Chance, house: &House) -> String {
    let program = chance.pick(PROGRAMS);
    let mut path = || path(chance, house);
    let (one, other) = (path(), path());
    match chance.below(16) {
        0 => format!("cd {one} && {program} {other}"),
        1 => format!("cd {one}; {program} ../{other}"),
        2 => format!("{program} < {one}"),
        3 => format!("for f in {one}; do {program} \"$f\"; done"),
        4 => format!("x={one}; {program} $x"),
        5 => format!("(cd {one} && {program} {other}); {program} notes.txt"),
        6 => format!("f() {{ {program} {other}; }}; cd {one}; f"),
        7 => format!("bash -c '{program} {}'", one.replace('\'', "")),
        8 => format!("eval \"{program} {}\"", one.replace('"', "")),
        9 => format!("{program} --file={one} notes.txt"),
        10 => format!("pushd {one} && popd; {program} {other}"),
        11 => format!("{program} {one} {other}"),
        12 => format!("{program} -- {one}"),
        13 => format!("echo {one} | while read x; do {program} $x; done"),
        _ => format!("{program} {one}"),
    }
}
