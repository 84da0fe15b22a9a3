//! How many asks there were, how fast they were answered and by whom. Pure.

use super::closed::{AskEnd, ClosedAsk};
use std::collections::BTreeMap;

/// The asks of a time in figures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskSummary {
    /// All of them.
    pub asks: usize,
    /// Approved by people, with another command too.
    pub approved: usize,
    /// Questions that people answered.
    pub answered: usize,
    /// Denied by people.
    pub denied: usize,
    /// Closed by their deadlines.
    pub timed_out: usize,
    /// Closed by a rule or grant that came to cover them.
    pub by_rule: usize,
    /// Cancelled by their callers.
    pub cancelled: usize,
    /// Half of what people answered took at most so long; milliseconds.
    pub median_ms: Option<i64>,
    /// Nine of ten took at most so long; milliseconds.
    pub p90_ms: Option<i64>,
    /// Who answered how many, those who answered most first. Of several people who agree each
    /// counts.
    pub people: Vec<(String, usize)>,
}

impl AskSummary {
    /// Counts these asks.
    pub(super) fn of(asks: &[&ClosedAsk]) -> Self {
        let ended = |ends: &[AskEnd]| asks.iter().filter(|ask| ends.contains(&ask.end)).count();
        let by_people = asks.iter().filter(|ask| ask.is_by_people());
        let mut times: Vec<i64> = by_people.map(|ask| ask.open_ms).collect();
        times.sort_unstable();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in asks.iter().flat_map(|ask| &ask.people) {
            *counts.entry(name).or_default() += 1;
        }
        let mut people: Vec<_> = counts.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
        people.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Self {
            asks: asks.len(),
            approved: ended(&[AskEnd::Approved, AskEnd::Edited]),
            answered: ended(&[AskEnd::Answered]),
            denied: ended(&[AskEnd::Denied]),
            timed_out: ended(&[AskEnd::TimedOut]),
            by_rule: ended(&[AskEnd::ByRule]),
            cancelled: ended(&[AskEnd::Cancelled]),
            median_ms: nearest_rank(&times, 50),
            p90_ms: nearest_rank(&times, 90),
            people,
        }
    }
}

/// The least value that so many of a hundred do not exceed.
fn nearest_rank(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = sorted.len().checked_mul(percent)?.div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_and_a_tenth_are_times_that_somebody_really_took() {
        assert_eq!(nearest_rank(&[], 50), None);
        assert_eq!(nearest_rank(&[7], 50), Some(7));
        assert_eq!(nearest_rank(&[7], 90), Some(7));
        let ten: Vec<i64> = (1..=10).collect();
        assert_eq!((nearest_rank(&ten, 50), nearest_rank(&ten, 90)), (Some(5), Some(9)));
        assert_eq!(nearest_rank(&[1, 2, 3], 50), Some(2));
    }
}
