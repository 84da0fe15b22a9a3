//! Classifies bytes for unquoted words: one table lookup replaces many comparisons.

/// The classes, ordered by how much each interrupts a word; the scanner compares them with `<`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CharClass {
    /// Stands for itself.
    Plain,
    /// Stands for itself unless a [`CharClass::Mark`] precedes it.
    Inner,
    /// May start a glob, a brace or a tilde expansion, or belongs to a character beyond ASCII.
    Mark,
    /// `'`
    Single,
    /// Has a meaning in double quotes too.
    Live,
    /// `<` and `>`, which may start a substitution.
    Angle,
    /// Ends the word.
    End,
}

const CLASSES: [CharClass; 256] = {
    let mut classes = [CharClass::Plain; 256];
    // `for` is not allowed in a constant.
    let mut b = 0;
    while b < classes.len() {
        #[allow(
            clippy::indexing_slicing,
            reason = "bounded by the loop, worked out by the compiler"
        )]
        let class = &mut classes[b];
        *class = match b as u8 {
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' => CharClass::End,
            b'<' | b'>' => CharClass::Angle,
            b'"' | b'\\' | b'$' | b'`' => CharClass::Live,
            b'\'' => CharClass::Single,
            b'*' | b'?' | b'[' | b'{' | b'~' | 0x80.. => CharClass::Mark,
            b']' | b'}' | b',' | b'.' | b'=' => CharClass::Inner,
            _ => CharClass::Plain,
        };
        b += 1;
    }
    classes
};

/// Returns the class of a byte.
#[inline]
pub(super) fn class(b: u8) -> CharClass {
    // The table has an entry for every byte; the fallback only avoids an index that could panic.
    CLASSES.get(usize::from(b)).copied().unwrap_or(CharClass::End)
}

/// Returns true for bytes that end an unquoted word.
#[inline]
pub(super) fn is_meta(b: u8) -> bool {
    class(b) >= CharClass::Angle
}

#[inline]
pub(super) fn is_name_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

#[inline]
pub(super) fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}
