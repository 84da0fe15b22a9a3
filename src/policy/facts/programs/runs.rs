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
    /// Unknown options: any word may be the command, or a text for a shell.
    Anywhere {
        /// Without a command it opens a shell.
        opens_shell: bool,
    },
    /// The file that is its first operand, in this shell.
    Sourced,
    /// A file (`at -f`), or its input.
    Queued,
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

/// The position of a wrapper's inner command, behind its own options.
#[derive(Clone, Copy)]
pub(crate) struct Wrapper {
    pub(crate) passage: Passage,
    /// Options with which it does not simply run the command.
    pub(crate) opaque: Words,
    /// Options whose value is split into words that come first.
    pub(crate) splits: Words,
    /// Options whose value stands for unknown words in the command (`xargs -I{}`).
    pub(crate) fills: Words,
    /// Options with which it runs nothing.
    pub(crate) tells: Words,
    /// Number of words before the command (`timeout 5`).
    pub(crate) operands: usize,
    /// `NAME=value` words may stand before the command.
    pub(crate) assigns: bool,
    /// It appends unknown words.
    pub(crate) open: bool,
    /// Without a command it opens a shell.
    pub(crate) opens_shell: bool,
}

impl Wrapper {
    pub(crate) const fn new(passage: Passage) -> Self {
        Self {
            passage,
            opaque: "",
            splits: "",
            fills: "",
            tells: "",
            operands: 0,
            assigns: false,
            open: false,
            opens_shell: false,
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
