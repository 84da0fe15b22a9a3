//! Path patterns in which `*` stays within a directory.

use crate::glob::Glob;

/// Matches a path part by part; `None` stands for any number of parts.
pub(super) fn stays(parts: &[Option<Glob>], value: &str) -> bool {
    // All positions at once, as in an automaton: several `**` would make backtracking exponential.
    let mut now = vec![false; parts.len() + 1];
    if let Some(start) = now.first_mut() {
        *start = true;
    }
    skip_any(parts, &mut now);
    for part in value.split('/') {
        let mut next = vec![false; parts.len() + 1];
        for (at, wanted) in parts.iter().enumerate() {
            if !now.get(at).copied().unwrap_or(false) {
                continue;
            }
            let to = match wanted {
                None => at,
                Some(glob)
                    if glob.matches(part) || (part.is_empty() && glob.source().is_empty()) =>
                {
                    at + 1
                }
                Some(_) => continue,
            };
            if let Some(slot) = next.get_mut(to) {
                *slot = true;
            }
        }
        skip_any(parts, &mut next);
        now = next;
    }
    now.last().copied().unwrap_or(false)
}

/// Skips every `**`, which may also stand for no part at all.
fn skip_any(parts: &[Option<Glob>], places: &mut [bool]) {
    for at in 0..parts.len() {
        if matches!(parts.get(at), Some(None))
            && places.get(at).copied().unwrap_or(false)
            && let Some(slot) = places.get_mut(at + 1)
        {
            *slot = true;
        }
    }
}
