#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]
//! The table of decisions: what becomes of a call by its kind, the rules, what was granted, the
//! session's mode, the agent's token, a budget, what was before, and a pause.
//!
//! `tests/golden/decisions.txt` is the whole table; `UPDATE_DECISIONS=1` writes it anew. Beside it
//! stand properties that hold whatever that file says.

mod dimensions;
mod properties;
mod table;
mod world;

use dimensions::{Combination, Rule};
use std::{collections::HashMap, env, fs, panic::resume_unwind, path::Path};
use table::Row;

#[test]
fn every_combination_is_decided_as_the_table_says() {
    // A world for each half of the rules: the machine has more than one core.
    let (left, right) = Rule::ALL.split_at(Rule::ALL.len() / 2);
    let halves = [left, right].map(|rules| {
        // Unoptimised, the futures of the whole table need more than a test's stack.
        let world = std::thread::Builder::new().stack_size(16 << 20).spawn(|| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().start_paused(true).build().unwrap();
            runtime.block_on(world::rows_of(rules))
        });
        world.unwrap()
    });
    let joined = halves.map(|half| half.join().unwrap_or_else(|panic| resume_unwind(panic)));
    let mut rows: HashMap<Combination, Row> =
        joined.into_iter().flatten().map(|row| (row.at, row)).collect();
    compare(&Combination::all().iter().map(|at| rows.remove(at).unwrap()).collect::<Vec<_>>());
}

fn compare(rows: &[Row]) {
    properties::check(rows);
    let text = table::text(rows);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/decisions.txt");
    if env::var_os("UPDATE_DECISIONS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let golden = fs::read_to_string(&file).unwrap();
    let differs = golden.lines().zip(text.lines()).find(|(golden, now)| golden != now);
    assert_eq!(differs, None, "the first line that differs, in the golden file and now");
    assert_eq!(golden.lines().count(), text.lines().count());
}
