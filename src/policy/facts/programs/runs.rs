//! What a program runs besides itself, and where that stands among its words.

use super::words::Words;

/// How far rules about the inner commands speak for the whole one. An inner deny always denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// The inner verdict is the whole verdict (`timeout 5 ls`); a deny or ask rule on the wrapper
    /// itself still holds.
    Inner,
    /// Both the outer and every inner command must be allowed (`find … -exec`).
    Both,
    /// The outer verdict counts; the inner commands run elsewhere or are a guess (`docker exec`,
    /// `npx`, `bash build.sh`).
    Outer,
    /// At best an ask, whatever is allowed (`sudo`, `ssh`).
    DenyOnly,
}

/// What a program runs besides itself, and where that stands among its words.
#[derive(Clone, Copy)]
pub(crate) enum Runs {
    /// Nothing that is known.
    Nothing,
    /// The words behind its own options and operands.
    Behind(Wrapper),
    /// Its options are not known: any word may be the command.
    Anywhere,
    /// `-c TEXT`, a script, or its input, read as a shell that we know.
    Shell,
    /// The same for a shell with another grammar: deny rules see what can be read.
    OtherShell,
    /// All of its words, joined.
    Text,
    /// The first word is a text that runs later.
    Later,
    /// `-c TEXT` as another user.
    AsUser,
    /// The words behind a host, joined, run there.
    Remote,
    /// The words behind its options, joined; these options take the next word.
    Joined(&'static str),
    /// Between one of these options and `;` or `+`.
    UpTo(Words),
    /// Behind one of these options, to the end.
    Last { long: Words, short: &'static str },
    /// Behind one of these sub-commands, elsewhere or from a package.
    Elsewhere(Words),
    /// Its operands, from a package.
    Package,
    /// Behind this sub-command and `--`.
    Hosted(Words),
    /// In several ways, by sub-command.
    Parts(&'static [Part]),
}

/// How to find the inner command of a wrapper.
#[derive(Clone, Copy)]
pub(crate) struct Wrapper {
    pub(crate) passage: Passage,
    /// Short options with a value in the next word.
    pub(crate) shorts: &'static str,
    /// Long options with a value in the next word.
    pub(crate) longs: Words,
    /// Options with which it does something else than run the command.
    pub(crate) opaque: Words,
    /// Words before the command (`timeout 5`).
    pub(crate) operands: usize,
    /// `NAME=value` words may stand before the command.
    pub(crate) assigns: bool,
    /// It appends words that are not known.
    pub(crate) open: bool,
    /// Without a command it opens a shell.
    pub(crate) opens_shell: bool,
    /// With one of these first it runs nothing.
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

/// One of the ways in which a program runs others.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// Behind this word: the values of these options are shell texts.
    Values { behind: &'static str, options: Words },
    /// Behind these two words: a command.
    Command { behind: &'static str, second: &'static str },
    /// Behind this word, if the other stands anywhere: any word may be the command, or a text.
    Guesses { behind: &'static str, with: &'static str },
    /// Behind this word: every word is a shell text.
    Texts { behind: &'static str },
}
