//! The programs of this machine judge how their options are read.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panicking"
)]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::facts::programs;
use crate::facts::programs::getopt::{Getopt, Resolved, Syntax, Takes};

/// Programs that answer `--=`, a beginning of all their options, with an error that names them.
const JUDGES: &str = "\
    env timeout nice nohup setsid stdbuf ionice xargs sort split csplit shuf uniq wc date du file \
    base64 sed grep cp mv install ln mkdir touch truncate tee chmod chown rm rmdir shred patch tar";

fn options(name: &str) -> Getopt {
    match programs::exact(name).unwrap().syntax {
        Syntax::Getopt(getopt) => getopt,
        Syntax::Partly(_) | Syntax::WrittenOut => panic!("{name} has no list of options"),
    }
}

/// What a program says of these words. The last one is refused by every judge, so that nothing
/// runs.
fn says(program: &str, words: &[&str]) -> Option<String> {
    let folder = std::env::temp_dir();
    let mut command = Command::new(program);
    command.args(words).env("LC_ALL", "C").current_dir(folder).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().ok()?;
    let mut text = Vec::new();
    let start = Instant::now();
    child.stderr.take()?.take(1 << 16).read_to_end(&mut text).ok()?;
    let _ = child.wait();
    assert!(start.elapsed() < Duration::from_secs(20), "{program} {words:?}");
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// What the program makes of a long option, and of two words behind it that it refuses.
#[derive(Debug, PartialEq)]
enum Judged {
    Refused,
    /// The first word is an option of its own.
    Alone,
    /// The first word is its value.
    WithValue,
}

fn judged(program: &str, option: &str) -> Judged {
    let said = says(program, &[option, "--=1", "--=2"]).unwrap();
    let refuses = |word: &str| said.contains(&format!("option '{word}' is ambiguous"));
    match () {
        () if said.contains(&format!("option '{option}' is ambiguous")) => Judged::Refused,
        () if refuses("--=1") => Judged::Alone,
        () if refuses("--=2") || said.contains("--=1") => Judged::WithValue,
        // `--help` prints, and is over.
        () if said.is_empty() => Judged::Alone,
        () => Judged::Refused,
    }
}

fn ours(takes: Option<Takes>) -> Option<Judged> {
    Some(match takes? {
        Takes::Value => Judged::WithValue,
        Takes::Nothing | Takes::Maybe => Judged::Alone,
    })
}

#[test]
fn every_beginning_of_an_option_is_read_as_the_program_reads_it() {
    let whole = std::env::var("COUNTERSIGN_FUZZ").is_ok();
    let mut judges = 0;
    let mut cases = 0;
    let mut wrong = Vec::new();
    for program in JUDGES.split_whitespace() {
        let getopt = options(program);
        let Some(all) = says(program, &["--="]).filter(|said| said.contains("possibilities"))
        else {
            println!("NOTE: {program} is missing, or has no getopt_long; not compared.");
            continue;
        };
        judges += 1;
        let known = |name: &str| matches!(getopt.resolve(name), Resolved::One(it, _) if it == name);
        // Newer programs have more options; these ask here.
        let names = all.split('\'').filter_map(|part| part.strip_prefix("--"));
        let missing: Vec<&str> = names
            .filter(|it| !["=", "HANG"].contains(it) && getopt.resolve(it) == Resolved::Unknown)
            .collect();
        if !missing.is_empty() {
            println!("NOTE: {program} has options that are not listed: {missing:?}");
        }
        let mut written = std::collections::BTreeSet::new();
        for item in getopt.longs.split_whitespace() {
            let name = item.trim_end_matches(['=', '?']).split('|').next().unwrap();
            assert!(known(name), "{program} --{name}");
            for length in 1..=name.len() {
                // A short run tries the beginnings that decide.
                if whole || length <= 2 || length + 1 == name.len() {
                    written.insert(name.get(..length).unwrap());
                }
            }
        }
        for name in written {
            // A program without that option refuses it, which is no error of ours.
            let real = judged(program, &format!("--{name}"));
            let takes = match getopt.resolve(name) {
                Resolved::One(_, takes) => Some(takes),
                Resolved::Several | Resolved::Unknown => None,
            };
            cases += 1;
            // `env` reads the words of that value as its own.
            let splits = program == "env" && "split-string".starts_with(name);
            if real != Judged::Refused && !splits && ours(takes).is_some_and(|ours| ours != real) {
                wrong.push(format!("{program} --{name}: {real:?}"));
            }
        }
        for letter in ('a'..='z').chain('A'..='Z').chain('0'..='9') {
            let real = judged(program, &format!("-{letter}"));
            cases += 1;
            let ours = ours(getopt.short(letter)).filter(|_| program != "env" || letter != 'S');
            if real != Judged::Refused && ours.is_some_and(|ours| ours != real) {
                wrong.push(format!("{program} -{letter}: {real:?}"));
            }
        }
    }
    println!("{judges} programs judged {cases} options");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_beginning_is_resolved_as_glibc_does() {
    let getopt = Getopt { shorts: "ab:c::", longs: "file= files-from= colour|color? quiet|silent" };
    for (written, meaning) in [
        ("file", Resolved::One("file", Takes::Value)),
        ("files", Resolved::One("files-from", Takes::Value)),
        ("fil", Resolved::Several),
        ("f", Resolved::Several),
        ("col", Resolved::One("colour", Takes::Maybe)),
        ("color", Resolved::One("colour", Takes::Maybe)),
        ("s", Resolved::One("quiet", Takes::Nothing)),
        ("x", Resolved::Unknown),
        ("", Resolved::Several),
    ] {
        assert_eq!(getopt.resolve(written), meaning, "{written}");
    }
    let shorts: Vec<_> = "abcd:".chars().map(|letter| getopt.short(letter)).collect();
    let known = [Some(Takes::Nothing), Some(Takes::Value), Some(Takes::Maybe), None, None];
    assert_eq!(shorts, known);
}

/// A form that only reads takes a value where the program takes one.
#[test]
fn what_only_reads_knows_the_same_values() {
    let mut compared = 0;
    for name in JUDGES.split_whitespace() {
        let getopt = options(name);
        for form in programs::exact(name).unwrap().reads {
            for long in form.longs.iter().flat_map(|longs| longs.split_whitespace()) {
                let written = long.trim_end_matches(['=', '?', ':']);
                let takes = match long.as_bytes().last() {
                    Some(b'=' | b':') => Takes::Value,
                    Some(b'?') => Takes::Maybe,
                    _ => Takes::Nothing,
                };
                let Resolved::One(_, real) = getopt.resolve(written) else { continue };
                assert_eq!(takes, real, "{name} --{written}");
                compared += 1;
            }
            for (letters, takes) in [(form.flags, false), (form.values, true)] {
                for letter in letters.chars().filter(|letter| *letter != '#') {
                    let Some(real) = getopt.short(letter) else { continue };
                    assert_eq!(real == Takes::Value, takes, "{name} -{letter}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100, "{compared}");
}
