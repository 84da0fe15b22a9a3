//! The number of words that Always stores for a program, and whether it stores any.

use super::words::Words;

/// The rule that Always stores for a program: how many of its words name the action, and whether
/// such a rule may be stored at all.
#[derive(Clone, Copy)]
pub(crate) struct AlwaysRule {
    /// Number of words in molf's table, which is pinned.
    pub(crate) molf: usize,
    /// Sub-commands that take three words in molf's table.
    pub(crate) molf_three: Words,
    /// Number of words where ours differs from molf's.
    pub(crate) ours: Option<usize>,
    /// Sub-commands that take three words in our table.
    pub(crate) ours_three: Words,
    /// A rule on the name would be a rule on everything.
    pub(crate) never: bool,
    /// Sub-commands that run whatever they are given.
    pub(crate) never_subs: Words,
    /// Sub-commands that run the program named behind them; the rule includes that name.
    pub(crate) runners: Words,
    /// The program runs the program named behind it.
    pub(crate) runner: bool,
    /// Sub-commands of an interpreter that run no program text.
    pub(crate) scripts: Words,
    /// Options that act like a sub-command.
    pub(crate) options: Words,
    /// Sub-commands that delete or overwrite; a rule for one names every word.
    pub(crate) narrow: Words,
}

impl AlwaysRule {
    pub(crate) const ONE_WORD: Self = Self::words(1);
    pub(crate) const NEVER: Self = Self { never: true, ..Self::ONE_WORD };

    /// Creates a grant with this number of words, in molf's table and in ours.
    pub(crate) const fn words(count: usize) -> Self {
        Self {
            molf: count,
            molf_three: "",
            ours: None,
            ours_three: "",
            never: false,
            never_subs: "",
            runners: "",
            runner: false,
            scripts: "",
            options: "",
            narrow: "",
        }
    }

    /// Creates a grant with this number of words for a program that molf does not know.
    pub(crate) const fn our_words(count: usize) -> Self {
        Self { ours: Some(count), ..Self::ONE_WORD }
    }

    /// Sets the sub-commands that take three words.
    pub(crate) const fn three(self, subs: Words) -> Self {
        Self { molf_three: subs, ..self }
    }

    /// The same, for a program that molf does not know.
    pub(crate) const fn our_three(self, subs: Words) -> Self {
        Self { ours_three: subs, ..self }
    }

    pub(crate) const fn never(self) -> Self {
        Self { never: true, ..self }
    }

    pub(crate) const fn never_subs(self, subs: Words) -> Self {
        Self { never_subs: subs, ..self }
    }

    pub(crate) const fn runners(self, subs: Words) -> Self {
        Self { runners: subs, ..self }
    }

    pub(crate) const fn runner(self) -> Self {
        Self { runner: true, ..self }
    }

    pub(crate) const fn scripts(self, subs: Words) -> Self {
        Self { scripts: subs, ..self }
    }

    pub(crate) const fn narrow(self, subs: Words) -> Self {
        Self { narrow: subs, ..self }
    }

    pub(crate) const fn options(self, options: Words) -> Self {
        Self { options, ..self }
    }
}
