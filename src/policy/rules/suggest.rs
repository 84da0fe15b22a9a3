//! Finds the known word nearest to a mistyped one.

/// Returns the candidate nearest to `word`, if it is near enough to be meant.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    candidates
        .into_iter()
        .map(|candidate| (distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        // One slip per four letters: `allwo` finds `allow`, and short words that merely look alike
        // are left alone.
        .filter(|&(distance, candidate)| distance > 0 && distance <= candidate.len() / 4 + 1)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance in which a swap of neighbours counts as one.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let get = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut best = (get(&last, j) + usize::from(a != b))
                .min(get(&last, j + 1) + 1)
                .min(get(&row, j) + 1);
            let swapped =
                i > 0 && j > 0 && one.get(i - 1) == Some(b) && other.get(j - 1) == Some(a);
            if swapped {
                best = best.min(get(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_typing_error_finds_its_word_and_another_word_does_not() {
        let words = ["allow", "ask", "deny"];
        assert_eq!(nearest("alow", words), Some("allow"));
        assert_eq!(nearest("dney", words), Some("deny"));
        assert_eq!(nearest("permit", words), None);
        assert_eq!(nearest("allow", ["allow"]), None);
    }
}
