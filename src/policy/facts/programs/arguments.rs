//! The words behind a program's name, and how options are found among them.

use std::collections::BTreeSet;

use crate::facts::obeyed;
use crate::facts::paths::{self, Directories};
use crate::facts::programs::description::Program;
use crate::facts::programs::getopt::{Arg, OptionReader, OptionValue, Syntax, Valued};
use crate::facts::programs::{Words, listed};
use crate::shell::{Redirect, RedirectOp, Word, WordKind};

/// The arguments of one command.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'w, 'a> {
    pub(crate) words: &'w [Word<'a>],
    /// Unknown words follow (`xargs`).
    pub(crate) open: bool,
    pub(crate) dirs: Directories<'w>,
    /// The redirects of the command.
    pub(crate) redirects: &'w [Redirect<'a>],
    /// The sub-command that precedes `words`; empty when none was searched for.
    pub(crate) sub: &'w str,
    /// Options whose next word is not an operand.
    pub(crate) valued: &'w str,
    /// Options before the sub-command that take the next word as their value.
    pub(crate) global: &'w str,
    /// How the program reads its options.
    pub(crate) syntax: Syntax,
}

impl<'w, 'a> Arguments<'w, 'a> {
    pub(crate) fn new(words: &'w [Word<'a>]) -> Self {
        let dirs = Directories::default();
        let syntax = Syntax::Partly("");
        Self { words, open: false, dirs, redirects: &[], sub: "", valued: "", global: "", syntax }
    }

    /// Creates the arguments of a described program.
    pub(crate) fn of(program: &Program, words: &'w [Word<'a>]) -> Self {
        Self { syntax: program.syntax, global: program.global, ..Self::new(words) }
    }

    /// Reads the words as the program does. `letters` and `list` have options with a value, for a
    /// program whose options are not known.
    fn read<'v>(&self, letters: &'v str, list: &'v str) -> OptionReader<'w, 'a, 'v>
    where
        'w: 'v,
    {
        OptionReader::new(self.syntax, self.words, Valued { letters, lists: [list, self.valued] })
    }

    /// Returns true when an option of the list may be given. The letters of `values` take a value.
    fn gives(&self, list: &str, values: &str) -> bool {
        self.read(values, "").any(|arg| arg.may_be(self.syntax, list))
    }

    /// Returns the arguments behind the sub-command; options before it are skipped.
    pub(crate) fn behind_sub(self) -> Self {
        let mut rest = self.words;
        while let Some((word, more)) = rest.split_first() {
            rest = match &*word.text {
                sub if !sub.starts_with('-') => return Self { words: more, sub, ..self },
                // `git -C push status`: the value of a global option is not the sub-command.
                option if listed(self.global, option) => more.get(1..).unwrap_or_default(),
                _ => more,
            };
        }
        Self { words: rest, ..self }
    }

    /// Iterates over the texts, as far as they are known.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'w str> {
        self.words.iter().map(|word| &*word.text)
    }

    /// Returns true when some text satisfies the condition.
    pub(crate) fn any(&self, condition: impl FnMut(&str) -> bool) -> bool {
        self.texts().any(condition)
    }

    /// Returns true when a word equals one of the list.
    pub(crate) fn has(&self, wanted: Words) -> bool {
        self.any(|text| listed(wanted, text))
    }

    /// Returns the words of which one is the verb: the first text that is no option, and as long as
    /// it may be the value of the option in front of it, the next one too.
    pub(crate) fn verbs(&self) -> Vec<&'w str> {
        let mut verbs = Vec::new();
        let mut texts = self.texts();
        let mut may_be_value = false;
        while let Some(text) = texts.next() {
            if listed(self.global, text) {
                texts.next();
            } else if text.starts_with(['-', '+']) {
                may_be_value = text.starts_with('-') && !text.contains('=');
            } else {
                verbs.push(text);
                if !std::mem::take(&mut may_be_value) {
                    break;
                }
            }
        }
        verbs
    }

    /// Returns true when the operand at a position fits. With `may`, each of the first operands may
    /// be the value of the option in front of it, so that the next one counts too.
    pub(crate) fn nth(&self, at: usize, may: bool, fits: impl Fn(&str) -> bool) -> bool {
        let mut first = may && !matches!(self.syntax, Syntax::Getopt(_));
        let mut may_be_value = false;
        let mut position = 0;
        let mut last = at;
        for arg in self.read("", "") {
            let Arg::Operand(word) = arg else {
                may_be_value = arg.value().is_none();
                continue;
            };
            first &= std::mem::take(&mut may_be_value);
            last += usize::from(first);
            if position > last {
                return false;
            }
            if position >= at && fits(&word.text) {
                return true;
            }
            position += 1;
        }
        false
    }

    /// Returns true when one of these short options is given, alone or in a cluster.
    pub(crate) fn flag(&self, letters: &str) -> bool {
        match self.syntax {
            Syntax::Getopt(_) => self.short(letters, ""),
            // Which letters take the rest of the word as a value is not known.
            Syntax::Partly(_) | Syntax::WrittenOut => self.before_end().any(|word| {
                let flags = word.text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
                flags.is_some_and(|flags| flags.contains(|c| letters.contains(c)))
            }),
        }
    }

    /// Returns true when a word of the list is given that is neither an operand behind `--` nor the
    /// value of the option in front of it (`mkfs -L --help /dev/sda`), and nothing takes it back
    /// (`--dry-run false`, `--no-dry-run`).
    pub(crate) fn surely(&self, list: &str) -> bool {
        let values = self.read("", "").filter_map(|arg| arg.value());
        let whole = values.filter(|value| value.text.len() == value.word.text.len());
        let whole: BTreeSet<_> = whole.map(|value| std::ptr::from_ref(value.word)).collect();
        let runs_dry = |text: &str| text.contains("dry-run") || text.contains("dryrun");
        if self.any(|text| text == "false") || self.texts().filter(|it| runs_dry(it)).count() > 1 {
            return false;
        }
        let mut is_open = false;
        self.before_end().any(|word| {
            let may_be_value = is_open || whole.contains(&std::ptr::from_ref(word));
            is_open = word.text.starts_with('-') && !word.text.contains('=');
            listed(list, &word.text) && !may_be_value
        })
    }

    /// Returns true when a word may become an option at run time: it is unknown from its first
    /// character on.
    pub(crate) fn uncertain(&self) -> bool {
        self.open
            || self.before_end().any(|word| {
                word.kind == WordKind::Dynamic && word.text.starts_with(['$', '`', '{', '-'])
            })
    }

    /// Returns true when a long option of the list is given, whole or abbreviated (`--out` for
    /// `--output`), with or without a value.
    pub(crate) fn long(&self, options: &str) -> bool {
        self.gives(options, "")
    }

    /// Returns true when one of these short options is given, alone or in a cluster (`-ro`).
    /// Letters behind an option of `values` are its value.
    pub(crate) fn short(&self, letters: &str, values: &str) -> bool {
        self.read(values, "").any(|arg| match arg {
            Arg::Short(letter, _) => letters.contains(letter),
            Arg::Unclear(text) => !text.starts_with("--") && text.contains(|c| letters.contains(c)),
            Arg::Long(..) | Arg::Operand(_) => false,
        })
    }

    /// Returns the words that are neither options nor the value of an option of `values`.
    pub(crate) fn operands(&self, values: &str) -> Vec<&'w Word<'a>> {
        self.read("", values).filter_map(operand).collect()
    }

    /// Returns the operands according to the case that is being checked.
    pub(crate) fn named(&self) -> Vec<&'w Word<'a>> {
        self.each_named().collect()
    }

    pub(crate) fn each_named(&self) -> impl Iterator<Item = &'w Word<'a>> {
        self.read("", "").filter_map(operand)
    }

    /// Returns the operand at a position; empty when there is none.
    pub(crate) fn operand(&self, at: usize) -> &'w str {
        self.each_named().nth(at).map(|word| &*word.text).unwrap_or_default()
    }

    /// Iterates over the texts given as the command's input.
    pub(crate) fn input(&self) -> impl Iterator<Item = &'w str> {
        let redirects = self.redirects.iter();
        redirects
            .filter(|r| matches!(r.op, RedirectOp::HereString | RedirectOp::HereDocument))
            .map(|r| &*r.target.text)
    }

    /// Returns the values of options: the next word, or an attached value (`-ofile`, `-sofile`,
    /// `--output=file`).
    pub(crate) fn values(&self, options: &str) -> Vec<&'w str> {
        self.given(options).into_iter().map(|value| value.text).collect()
    }

    /// Returns the same with the words that hold the values.
    pub(crate) fn given(&self, options: &str) -> Vec<OptionValue<'w, 'a>> {
        let given = self.read("", options).filter(|arg| arg.may_be(self.syntax, options));
        given.filter_map(|arg| arg.value()).collect()
    }

    /// Returns true when the word names a file outside the project, or one that cannot be
    /// determined.
    pub(crate) fn outside(&self, word: &Word<'_>) -> bool {
        match paths::of_word(word, self.dirs) {
            Some(path) => self.path_outside(&path),
            None => true,
        }
    }

    /// Returns true when the path is outside the project, or is one that tools obey.
    pub(crate) fn path_outside(&self, path: &str) -> bool {
        !paths::sink(path) && (paths::outside(path, self.dirs) || obeyed::runs_later(path))
    }

    /// Iterates over the words that may be options.
    fn before_end(&self) -> impl Iterator<Item = &'w Word<'a>> {
        let mut reader = self.read("", "");
        while reader.behind_end.is_none() && reader.next().is_some() {}
        self.words.iter().take(self.words.len() - reader.behind_end.unwrap_or_default())
    }
}

fn operand<'w, 'a>(arg: Arg<'w, 'a>) -> Option<&'w Word<'a>> {
    if let Arg::Operand(word) = arg { Some(word) } else { None }
}

/// Returns the words that are neither options nor the value of one of `values`.
pub(crate) fn operands<'w, 'a>(args: &'w [Word<'a>], values: &str) -> Vec<&'w Word<'a>> {
    Arguments::new(args).operands(values)
}
