//! The processes that this one descends from.

use std::{fs, os::unix::process::parent_id};

/// How many of them are looked at: a shell may stand between Codex and its hook.
const MOST: usize = 4;

/// The parents of this process, the nearest first; without `/proc` only that one.
pub(super) fn of_this_process() -> Vec<u32> {
    let mut found = vec![parent_id()];
    while let Some(parent) = found.last().copied().and_then(parent_of) {
        if parent <= 1 || found.len() >= MOST {
            break;
        }
        found.push(parent);
    }
    found
}

/// Reads the parent from `/proc/PID/stat`, behind the name in parentheses and the state.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parents_of_this_process_begin_with_the_one_that_started_it() {
        let found = of_this_process();
        assert_eq!(found.first(), Some(&parent_id()));
        assert!(found.len() <= MOST, "{found:?}");
    }
}
