//! Judges the readers of small languages by the programs: no script that counts as reading may run
//! a program, or read or write a file.
//!
//! `COUNTERSIGN_SCRIPTS=200000 COUNTERSIGN_SEED=1 cargo test -p countersign-policy --test policy
//! small_languages -- --nocapture` makes that many scripts of sed and of awk, and a hundredth of it
//! of jq; without the variable a short run is made. A program that is missing judges nothing.

#[path = "fuzz/scripts.rs"]
mod scripts;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use countersign_policy::{Call, agent_mode};
use scripts::{AWK, Chance, JQ, Language, SED};

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Returns true when the command with this script counts as reading.
fn reads(command: &str, script: &str) -> bool {
    let quoted = script.replace('\'', "'\\''");
    let mut call = Call::shell(format!("{command} '{quoted}' f"));
    call.cwd = Some("/home/u/work".to_owned());
    call.home = Some("/home/u".to_owned());
    agent_mode::only_reads(&call)
}

/// What a program says of a script, in a folder of its own.
fn said(folder: &Path, program: &str, args: &[&str], stdin: &str) -> String {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env("MARK", "the-secret");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that read enough has closed its input.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let ended = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&ended.stdout) + &text(&ended.stderr)
}

fn is_there(program: &str, args: &[&str]) -> bool {
    let there = Command::new(program).args(args).stdin(Stdio::null()).output();
    let there = there.is_ok_and(|ended| ended.status.success());
    if !there {
        println!("NOTE: {program} is missing and judges nothing");
    }
    there
}

/// Makes scripts and returns those that count as reading although the judge objects.
fn run(
    language: &Language,
    command: &str,
    wanted: usize,
    objects: impl Fn(&Path, &str) -> bool + Sync,
) {
    let seed = number("COUNTERSIGN_SEED", 7);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let found = Mutex::new((0, Vec::new()));
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (found, objects) = (&found, &objects);
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let write = |name: &str, text: &str| {
                    std::fs::write(folder.path().join(name), text).unwrap();
                };
                write("data.json", r#"{"a": [{"b": 1}], "dependencies": {"x": "1"}}"#);
                write("m.jq", "def f: \"the-secret\";");
                write("d.json", "\"the-secret\"");
                let mut chance = Chance::new((seed * 1000 + worker) as u64);
                for _ in 0..wanted / workers {
                    let script = language.script(&mut chance);
                    if !reads(command, &script) {
                        continue;
                    }
                    found.lock().unwrap().0 += 1;
                    if objects(folder.path(), &script) {
                        println!("MISS {command} {script:?}");
                        found.lock().unwrap().1.push(script);
                    }
                }
                // Whatever the judges said: nothing but what was laid there, and the script.
                let names = std::fs::read_dir(folder.path()).unwrap();
                let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
                let left = ["data.json", "m.jq", "d.json", "script"];
                let more: Vec<_> = names.filter(|name| !left.contains(&&**name)).collect();
                assert_eq!(more, Vec::<String>::new(), "files written by {command}");
            });
        }
    });
    let (read, missed) = found.into_inner().unwrap();
    println!("{command}: seed {seed}, {wanted} scripts, {read} read, {} missed", missed.len());
    assert!(read * 10 > wanted, "the generator makes too little that counts as reading");
    assert_eq!(missed, Vec::<String>::new());
}

#[test]
fn sed_refuses_no_script_in_its_sandbox() {
    if is_there("sed", &["--sandbox", "p"]) {
        run(&SED, "sed -n -e", number("COUNTERSIGN_SCRIPTS", 1000), sed_objects);
    }
}

#[test]
fn awk_compiles_no_program_to_a_pipe_redirect_or_command() {
    let there: Vec<_> = AWKS.iter().filter(|awk| is_there(awk.name, awk.harmless)).collect();
    if !there.is_empty() {
        run(&AWK, "awk", number("COUNTERSIGN_SCRIPTS", 600), |folder, program| {
            std::fs::write(folder.join("script"), program).unwrap();
            there.iter().any(|awk| (awk.objects)(folder, program))
        });
    }
}

#[test]
fn jq_shows_neither_the_environment_nor_a_module() {
    if is_there("jq", &["-n", "1"]) && is_there("timeout", &["1", "true"]) {
        run(&JQ, "jq", number("COUNTERSIGN_SCRIPTS", 15_000) / 100, jq_objects);
    }
}

#[test]
fn the_judges_object_to_what_reaches_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("data.json"), "{}").unwrap();
    std::fs::write(folder.join("m.jq"), "def f: \"the-secret\";").unwrap();
    if is_there("sed", &["--sandbox", "p"]) {
        for script in ["1e id", "s/a/b/we", "#\\\ne id", "a x\\\\\ne id", "R f"] {
            assert!(sed_objects(folder, script), "{script}");
        }
        assert!(!sed_objects(folder, "s/w/e/;p"));
    }
    let awk = [
        "{print > \"f\"}",
        "{printf \"a\" | \"sh\"}",
        "{system(\"id\")}",
        "{getline x < \"f\"}",
        "{print ENVIRON[\"A\"]}",
        "BEGIN{ARGV[1]=\"f\"}",
    ];
    for Awk { name, harmless, sees, objects } in AWKS {
        if is_there(name, harmless) {
            let objects = |program: &str| {
                std::fs::write(folder.join("script"), program).unwrap();
                objects(folder, program)
            };
            for program in awk.iter().take(*sees) {
                assert!(objects(program), "{name}: {program}");
            }
            let harmless = "/system/ {print (1 > -2), \"ENVIRON\", length(-1)}";
            assert!(!objects(harmless), "{name}");
        }
    }
    if is_there("jq", &["-n", "1"]) {
        for filter in ["env", "$ENV.MARK", "import \"m\" as m; m::f"] {
            assert!(jq_objects(folder, filter), "{filter}");
        }
        assert!(!jq_objects(folder, "."));
    }
}

/// Each refusal of the sandbox is a message of sed's parser, so no line is read.
fn sed_objects(folder: &Path, script: &str) -> bool {
    let modes: [&[&str]; 2] = [&["-n"], &["-nE", "--posix"]];
    modes.iter().any(|mode| {
        let args = [&["--sandbox"], *mode, &["-e", script]].concat();
        said(folder, "sed", &args, "").contains("sandbox")
    })
}

/// An awk that tells what a program does without running it.
struct Awk {
    name: &'static str,
    harmless: &'static [&'static str],
    /// The number of samples that it objects to.
    sees: usize,
    /// Judges the program, which is in the file `script` too.
    objects: fn(&Path, &str) -> bool,
}

const AWKS: &[Awk] = &[
    Awk { name: "gawk", harmless: &["1"], sees: 6, objects: gawk_objects },
    Awk { name: "mawk", harmless: &["-Wdump", "1"], sees: 6, objects: mawk_objects },
    Awk { name: "original-awk", harmless: &["-safe", "1"], sees: 3, objects: kernighan_objects },
];

/// The debugger of gawk compiles a program and prints its instructions.
fn gawk_objects(folder: &Path, _: &str) -> bool {
    said(folder, "gawk", &["-D", "-f", "script"], "dump\nquit\n").lines().any(of_gawk)
}

fn mawk_objects(folder: &Path, _: &str) -> bool {
    said(folder, "mawk", &["-Wdump", "-f", "script"], "").lines().any(of_mawk)
}

/// The parser objects; an error at the end keeps the program from running.
fn kernighan_objects(folder: &Path, program: &str) -> bool {
    let broken = [program, "\n)"].concat();
    said(folder, "original-awk", &["-safe", &broken], "").contains("is unsafe")
}

fn jq_objects(folder: &Path, filter: &str) -> bool {
    let args = ["2", "jq", "-L", ".", filter, "data.json"];
    said(folder, "timeout", &args, "").contains("the-secret")
}

/// What no instruction of a program that only reads names.
const DOORS: [&str; 10] = [
    "system", "getline", "close", "fflush", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "ARGV",
    "ARGC",
];

/// Returns true for an instruction of gawk that runs, reads or writes something.
fn of_gawk(line: &str) -> bool {
    // `[     1:0xef54350] Op_builtin          : system [arg_count = 1]`
    let Some((_, rest)) = line.split_once("] Op_") else { return false };
    let (operation, operand) = rest.split_once(": ").unwrap_or((rest, ""));
    let named = operand.split(' ').next().unwrap_or_default();
    operation.contains("getline")
        || operation.contains("func_cal")
        || operation.contains("ext_builtin")
        || operation.starts_with("K_print") && !operand.contains("redir_type = \"\"")
        || !operation.starts_with("push_i") && DOORS.contains(&named)
}

/// Returns true for an instruction of mawk that runs, reads or writes something.
fn of_mawk(line: &str) -> bool {
    // `021 .	system`; a redirect is a negative number in front of `print`.
    let mut words = line.split_whitespace().skip(2);
    let (operation, operand) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    DOORS.contains(&operation)
        || operation == "pushint" && operand.starts_with('-')
        || DOORS.contains(&operand)
}
