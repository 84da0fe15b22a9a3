//! Fuzzes the scanner against the bash of this machine, jailed (see `fuzz/jail.rs`).
//!
//! `COUNTERSIGN_FUZZ=200000 COUNTERSIGN_SEED=1 cargo test -p countersign-policy --test fuzz_bash`
//! runs that many texts; without the variable a short run is made. Where bash cannot be jailed
//! (no root, no namespaces) the test says so and passes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "tests fail by panicking"
)]

#[path = "fuzz/generate.rs"]
mod generate;
#[path = "fuzz/jail.rs"]
mod jail;
mod judge;

use countersign_policy::shell::scan;
use generate::Chance;
use jail::{HOME, Jail};
use judge::unreported;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn bash_runs_nothing_that_the_scanner_kept_silent_about() {
    let jail = match Jail::new() {
        Ok(jail) => jail,
        Err(why) => return println!("skipped: {why}"),
    };
    let (wanted, seed) = (number("COUNTERSIGN_FUZZ", 1500), number("COUNTERSIGN_SEED", 7));
    let mut chance = Chance::new(seed);
    let (mut understood, mut executed, mut missed) = (0u64, 0usize, Vec::new());
    let mut batch = Vec::new();
    for n in 0..wanted {
        let text = generate::text(&mut chance);
        if scan(&text).understood() {
            understood += 1;
            batch.push(text);
        }
        if batch.len() == 250 || n + 1 == wanted {
            for (text, argvs) in batch.iter().zip(jail.run(&batch).expect("the jail runs")) {
                executed += argvs.len();
                for argv in unreported(&scan(text), &argvs, HOME) {
                    println!("MISS {text:?} ran {argv:?}");
                    missed.push(text.clone());
                }
            }
            batch.clear();
        }
    }
    println!(
        "seed {seed}: {wanted} texts, {understood} understood, {executed} executed, {} missed",
        missed.len()
    );
    assert!(understood * 20 > wanted, "the generator makes too little that is understood");
    assert_eq!(missed, Vec::<String>::new());
}
