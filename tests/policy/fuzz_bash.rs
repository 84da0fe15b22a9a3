//! Fuzzes the scanner against the shells of this machine, jailed (see `fuzz/jail.rs`): what it
//! understands as bash's is run by bash and zsh, what it understands as any shell's by dash too.
//!
//! `COUNTERSIGN_FUZZ=200000 COUNTERSIGN_SEED=1 cargo test -p countersign-policy --test policy fuzz_bash
//! -- --nocapture` runs that many texts and tells how far it is; without the variable a short run
//! is made. Where bash cannot be jailed (no root, no namespaces) the test says so and passes.

#[path = "fuzz/generate.rs"]
mod generate;
#[path = "fuzz/jail.rs"]
mod jail;

use std::sync::Mutex;

use crate::chance::Chance;
use crate::judge::unreported;
use countersign_policy::shell::{Dialect, Scan, WordKind, scan, scan_as};
use jail::{HOME, Jail, Ran, Text};

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Builtins that run their words, which dash cannot be told to leave. The scanner reports them with
/// their words.
const HANDS_ON: &[&str] = &["exec", "eval", "trap", "command", ". "];

/// The texts that are still to be made.
struct Source {
    chance: Chance,
    left: u64,
}

impl Source {
    /// The next texts of which the scanner is certain; `None` when all have been made.
    fn batch(&mut self) -> Option<Vec<Text>> {
        if self.left == 0 {
            return None;
        }
        let mut batch = Vec::new();
        while self.left > 0 && batch.len() < 250 {
            self.left -= 1;
            let text = generate::text(&mut self.chance);
            if scan(&text).understood() {
                let sh = !HANDS_ON.iter().any(|word| text.contains(word))
                    && scan_as(&text, Dialect::Posix).understood();
                batch.push(Text { text, sh });
            }
        }
        Some(batch)
    }
}

/// What has been seen so far.
#[derive(Default)]
struct Seen {
    understood: u64,
    executed: usize,
    missed: Vec<String>,
}

#[test]
fn no_shell_runs_or_writes_anything_that_the_scanner_kept_silent_about() {
    if !jail::has_zsh() {
        println!("NOTE: zsh is not installed and runs nothing here");
    }
    // Two to a core: a text that hangs until its time is up costs no computing.
    let workers = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let jails: Result<Vec<Jail>, _> = (0..workers).map(|_| Jail::new()).collect();
    let jails = match jails {
        Ok(jails) => jails,
        Err(why) => return println!("skipped: {why}"),
    };
    let (wanted, seed) = (number("COUNTERSIGN_FUZZ", 600), number("COUNTERSIGN_SEED", 7));
    let source = Mutex::new(Source { chance: Chance::new(seed), left: wanted });
    let seen = Mutex::new(Seen::default());
    std::thread::scope(|scope| {
        for jail in &jails {
            scope.spawn(|| {
                loop {
                    let Some(batch) = source.lock().unwrap().batch() else { return };
                    let ran = jail.run(&batch).expect("the jail runs");
                    judge_batch(&batch, &ran, &mut seen.lock().unwrap());
                }
            });
        }
    });
    let Seen { understood, executed, missed } = seen.into_inner().unwrap();
    println!(
        "seed {seed}: {wanted} texts, {understood} understood, {executed} executed, {} missed",
        missed.len()
    );
    assert!(understood * 20 > wanted, "the generator makes too little that is understood");
    assert_eq!(missed, Vec::<String>::new());
}

fn judge_batch(batch: &[Text], ran: &[Ran], seen: &mut Seen) {
    for (Text { text, .. }, ran) in batch.iter().zip(ran) {
        seen.understood += 1;
        seen.executed += ran.argvs.len();
        let scan = scan(text);
        let idle = scan.commands.iter().any(|command| command.argv.is_empty());
        let argvs: Vec<_> =
            ran.argvs.iter().filter(|argv| !own_of_zsh(argv, idle)).cloned().collect();
        for argv in unreported(&scan, &argvs, HOME) {
            // For dash `time` is a program; its words are what it runs.
            let behind = match argv {
                [time, option, rest @ ..] if time == "time" && option == "-p" => rest,
                [time, rest @ ..] if time == "time" => rest,
                _ => argv,
            };
            if unreported(&scan, &[behind.to_vec()], HOME).is_empty() {
                continue;
            }
            println!("MISS {text:?} ran {argv:?}");
            seen.missed.push(text.clone());
        }
        for file in ran.written.iter().filter(|file| !may_write(&scan, file)) {
            println!("MISS {text:?} wrote {file:?}");
            seen.missed.push(text.clone());
        }
    }
    println!("{} understood texts have run, {} missed so far", seen.understood, seen.missed.len());
}

/// Returns whether zsh runs this by itself: a pager or `cat` for a redirect without a command (`idle`),
/// `fg` or `bg` for the name of a job.
fn own_of_zsh(argv: &[String], idle: bool) -> bool {
    match argv {
        [name] => idle && matches!(&**name, "cat" | "more" | "pager"),
        [name, job, ..] => matches!(&**name, "fg" | "bg") && job.starts_with('%'),
        [] => true,
    }
}

/// Returns whether a redirect that writes names the file, or is known only when it runs.
fn may_write(scan: &Scan<'_>, file: &str) -> bool {
    let redirects = scan.commands.iter().flat_map(|command| &command.redirects);
    redirects.filter(|redirect| redirect.op.writes()).any(|redirect| {
        let name = redirect.target.text.trim_start_matches("./");
        redirect.target.kind != WordKind::Literal || name == file
    })
}
