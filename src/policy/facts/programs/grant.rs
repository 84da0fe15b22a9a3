//! How many words of a program Always stores, and whether it stores any.

use super::words::Words;

/// What Always stores for a program: how many of its words name what it does, and whether such a
/// rule may be stored at all.
#[derive(Clone, Copy)]
pub(crate) struct Grant {
    /// Words by molf's table, which is pinned.
    pub(crate) molf: usize,
    /// Sub-commands with which they are three, by molf's table.
    pub(crate) molf_three: Words,
    /// Words, where ours are not molf's.
    pub(crate) ours: Option<usize>,
    /// Sub-commands with which ours are three.
    pub(crate) ours_three: Words,
    /// A rule on its name is a rule on everything.
    pub(crate) never: bool,
    /// Sub-commands that run whatever they are given.
    pub(crate) never_subs: Words,
    /// Sub-commands that run the program named behind them; the rule names it too.
    pub(crate) runners: Words,
    /// It runs the program named behind it.
    pub(crate) runner: bool,
    /// Sub-commands of an interpreter that run no text.
    pub(crate) scripts: Words,
    /// Options that are as good as a sub-command.
    pub(crate) options: Words,
}

impl Grant {
    pub(crate) const ONE_WORD: Self = Self::words(1);
    pub(crate) const NEVER: Self = Self { never: true, ..Self::ONE_WORD };

    /// Words that name what it does, by molf's table and ours.
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
        }
    }

    /// Words that name what it does, where molf knows nothing of it.
    pub(crate) const fn our_words(count: usize) -> Self {
        Self { ours: Some(count), ..Self::ONE_WORD }
    }

    /// With these sub-commands it takes three.
    pub(crate) const fn three(self, subs: Words) -> Self {
        Self { molf_three: subs, ..self }
    }

    /// The same, where molf knows nothing of it.
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

    pub(crate) const fn options(self, options: Words) -> Self {
        Self { options, ..self }
    }
}
