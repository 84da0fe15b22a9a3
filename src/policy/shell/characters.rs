//! Characters that make a person see something other than what the shell runs.

use super::doubt::{Doubt, Uncertainty};

/// Finds the first control, invisible or direction-changing character.
///
/// The two emoji joiners (U+200D, U+FE0F) pass here; [`is_joiner`] refuses them outside quotes.
pub(super) fn inspect(source: &str) -> Option<Uncertainty> {
    // In Claude Code, tabs and invisible characters hid a part of the command from the approver
    // (fixed in 2.1.223).
    let mut from = 0;
    while let Some(at) = odd(source.as_bytes(), from) {
        let c = source.get(at..)?.chars().next()?;
        if let Some(doubt) = doubtful(c) {
            return Some(Uncertainty { doubt, at });
        }
        from = at + c.len_utf8();
    }
    None
}

/// Finds the next byte that is neither printable ASCII nor a tab or newline. Reads 16 bytes at a
/// time, which the compiler turns into vector instructions.
fn odd(bytes: &[u8], from: usize) -> Option<usize> {
    // As a signed number, every byte beyond ASCII is negative, so one comparison covers them too.
    let is_odd = |b: u8| (b.cast_signed() < 0x20 && b != b'\n' && b != b'\t') || b == 0x7f;
    let (strides, _) = bytes.get(from..)?.as_chunks::<16>();
    // A fold does not stop early; a loop that did could not be vectorized.
    let any_odd = |stride: &[u8; 16]| stride.iter().fold(false, |any, &b| any | is_odd(b));
    let even = strides.iter().take_while(|stride| !any_odd(stride)).count();
    let begin = from + even * 16;
    bytes.get(begin..)?.iter().position(|&b| is_odd(b)).map(|offset| begin + offset)
}

fn doubtful(c: char) -> Option<Doubt> {
    match c {
        '\n' | '\t' => None,
        // C0 and C1 controls: a terminal may obey them and overwrite what the person reads.
        '\0'..='\x1f' | '\x7f' | '\u{80}'..='\u{9f}' => Some(Doubt::Control),
        ' '..='\x7e' => None,
        _ if is_joiner(c) => None,
        // Characters that render as nothing or as an ordinary blank. With one of them, two names
        // that differ look the same on a card.
        '\u{a0}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{1680}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3000}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0e}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Some(Doubt::Invisible),
        _ => None,
    }
}

/// Returns true for the two characters that join emoji: harmless in quoted data, a disguise in a
/// bare word.
// Refusing them everywhere made about ten of 2,065 recorded agent commands ask (`echo "⚠️"`).
pub(super) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe0f}')
}
