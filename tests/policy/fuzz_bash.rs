//! Fuzzes the scanner against the bash of this machine, jailed (see `fuzz/jail.rs`).
//!
//! `COUNTERSIGN_FUZZ=200000 COUNTERSIGN_SEED=1 cargo test -p countersign-policy --test fuzz_bash --
//! --nocapture` runs that many texts and tells how far it is; without the variable a short run is
//! made. Where bash cannot be jailed (no root, no namespaces) the test says so and passes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "tests fail by panicking"
)]

#[path = "fuzz/chance.rs"]
mod chance;
#[path = "fuzz/generate.rs"]
mod generate;
#[path = "fuzz/jail.rs"]
mod jail;
mod judge;

use std::sync::Mutex;

use chance::Chance;
use countersign_policy::shell::scan;
use jail::{HOME, Jail};
use judge::unreported;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// The texts that are still to be made.
struct Source {
    chance: Chance,
    left: u64,
}

impl Source {
    /// The next texts of which the scanner is certain; `None` when all have been made.
    fn batch(&mut self) -> Option<Vec<String>> {
        if self.left == 0 {
            return None;
        }
        let mut batch = Vec::new();
        while self.left > 0 && batch.len() < 250 {
            self.left -= 1;
            let text = generate::text(&mut self.chance);
            if scan(&text).understood() {
                batch.push(text);
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
fn bash_runs_nothing_that_the_scanner_kept_silent_about() {
    // Two to a core: a text that hangs until its time is up costs no computing.
    let workers = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let jails: Result<Vec<Jail>, _> = (0..workers).map(|_| Jail::new()).collect();
    let jails = match jails {
        Ok(jails) => jails,
        Err(why) => return println!("skipped: {why}"),
    };
    let (wanted, seed) = (number("COUNTERSIGN_FUZZ", 1500), number("COUNTERSIGN_SEED", 7));
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

fn judge_batch(batch: &[String], ran: &[Vec<Vec<String>>], seen: &mut Seen) {
    for (text, argvs) in batch.iter().zip(ran) {
        seen.understood += 1;
        seen.executed += argvs.len();
        for argv in unreported(&scan(text), argvs, HOME) {
            println!("MISS {text:?} ran {argv:?}");
            seen.missed.push(text.clone());
        }
    }
    println!("{} understood texts have run, {} missed so far", seen.understood, seen.missed.len());
}
