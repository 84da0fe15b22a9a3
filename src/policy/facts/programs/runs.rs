//! The programs that a program runs, and their position among its words.

use super::words::Words;

/// The part that inner commands play in the decision on the whole. An inner deny always denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// The inner verdict is the verdict of the whole (`timeout 5 ls`). A deny or ask rule on the
    /// wrapper itself still applies.
    Inner,
    /// Both the outer and every inner command must be allowed (`find … -exec`).
    Both,
    /// The outer verdict counts, because the inner commands run elsewhere or are a guess (`docker
    /// exec`, `npx`, `bash build.sh`).
    Outer,
    /// At best an ask, whatever rules allow (`sudo`, `ssh`).
    DenyOnly,
}

/// The programs that a program runs, and their position among its words.
#[derive(Clone, Copy)]
pub(crate) enum Runs {
    /// Nothing known.
    Nothing,
    /// The words behind its own options and operands.
    Behind(Wrapper),
    /// Unknown options: any word may be the command.
    Anywhere,
    /// `-c TEXT`, a script, or its input, read in a shell language that the scanner knows.
    Shell,
    /// The same for a shell with another grammar; deny rules see what can be read.
    OtherShell,
    /// All of its words, joined.
    Text,
    /// The first word, a text that runs later.
    Later,
    /// `-c TEXT` as another user.
    AsUser,
    /// The words behind a host, joined; they run there.
    Remote,
    /// The words behind its options, joined. The named options take the next word.
    Joined(&'static str),
    /// The words between one of these options and `;` or `+`.
    UpTo(Words),
    /// The words behind one of these options, to the end.
    Last { long: Words, short: &'static str },
    /// The words behind one of these sub-commands, run elsewhere or from a package.
    Elsewhere(Words),
    /// Its operands, from a package.
    Package,
    /// The words behind one of these sub-commands and `--`.
    Hosted(Words),
    /// Several ways, by sub-command.
    Parts(&'static [RunsPart]),
}

/// The position of a wrapper's inner command.
#[derive(Clone, Copy)]
pub(crate) struct Wrapper {
    pub(crate) passage: Passage,
    /// Short options with a value in the next word.
    pub(crate) shorts: &'static str,
    /// Long options with a value in the next word.
    pub(crate) longs: Words,
    /// Options with which it does not simply run the command.
    pub(crate) opaque: Words,
    /// Number of words before the command (`timeout 5`).
    pub(crate) operands: usize,
    /// `NAME=value` words may stand before the command.
    pub(crate) assigns: bool,
    /// It appends unknown words.
    pub(crate) open: bool,
    /// Without a command it opens a shell.
    pub(crate) opens_shell: bool,
    /// With one of these as first word it runs nothing.
    pub(crate) tells: Words,
}

impl Wrapper {
    pub(crate) const fn new(passage: Passage, shorts: &'static str, longs: Words) -> Self {
        Self {
            passage,
            shorts,
            longs,
            opaque: "",
            operands: 0,
            assigns: false,
            open: false,
            opens_shell: false,
            tells: "",
        }
    }
}

/// One way in which a program runs others.
#[derive(Clone, Copy)]
pub(crate) enum RunsPart {
    /// Behind this word, the values of these options are shell texts.
    Values { behind: &'static str, options: Words },
    /// Behind these two words: a command.
    Command { behind: &'static str, second: &'static str },
    /// Behind this word, if the other is present: any word may be the command or a text.
    Guesses { behind: &'static str, with: &'static str },
    /// Behind this word, every word is a shell text.
    Texts { behind: &'static str },
}
