//! What a byte means to an unquoted word: one look into a table instead of many comparisons.

/// The classes, ordered by how much they interrupt a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Stands for itself.
    Plain,
    /// Stands for itself unless it comes behind a [`Class::Mark`].
    Inner,
    /// May make a glob, a brace or a tilde, or is part of a character beyond ASCII.
    Mark,
    /// `'`
    Single,
    /// Means something in double quotes too.
    Live,
    /// `<` and `>`, which may begin a substitution.
    Angle,
    /// Ends the word.
    End,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Plain; 256];
    let mut b = 0;
    while b < classes.len() {
        #[allow(
            clippy::indexing_slicing,
            reason = "bounded by the loop, worked out by the compiler"
        )]
        let class = &mut classes[b];
        *class = match b as u8 {
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' => Class::End,
            b'<' | b'>' => Class::Angle,
            b'"' | b'\\' | b'$' | b'`' => Class::Live,
            b'\'' => Class::Single,
            b'*' | b'?' | b'[' | b'{' | b'~' | 0x80.. => Class::Mark,
            b']' | b'}' | b',' | b'.' | b'=' => Class::Inner,
            _ => Class::Plain,
        };
        b += 1;
    }
    classes
};

/// The class of a byte.
#[inline]
pub(super) fn class(b: u8) -> Class {
    CLASSES.get(usize::from(b)).copied().unwrap_or(Class::End)
}

/// Bytes that end an unquoted word.
#[inline]
pub(super) fn is_meta(b: u8) -> bool {
    class(b) >= Class::Angle
}

#[inline]
pub(super) fn is_name_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

#[inline]
pub(super) fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}
