//! The description of a command-line program as data.

use crate::facts::programs::Words;
use crate::facts::programs::changes::Change;
use crate::facts::programs::condition::{Case, When};
use crate::facts::programs::getopt::{Getopt, Syntax};

/// Everything known about a program.
///
/// Anything not stated is unknown: the program then runs nothing else, touches no known file, and
/// no form of it only reads. [`Program::named`] starts a description; every other method adds one
/// fact.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    /// Its names; one that ends in `*` stands for every name that starts so.
    pub(crate) names: Words,
    /// Its roles for the commands around it.
    pub(crate) roles: &'static [Role],
    /// The way in which it reads its options.
    pub(crate) syntax: Syntax,
    /// Options before its sub-command that take the next word as their value.
    pub(crate) global: Words,
    /// Options before its sub-command that change nothing.
    pub(crate) plain: Words,
    /// The forms that only read.
    pub(crate) reads: &'static [Reading],
    /// Options with which it only prints its version.
    pub(crate) versions: Words,
    /// Cases that go beyond a plain `name *` grant.
    pub(crate) beyond: &'static [Case],
    /// Cases that always need a person.
    pub(crate) critical: &'static [Case],
    /// The access to the files among its operands.
    pub(crate) files: Files,
    /// The depth to which it goes into the folders among its operands.
    pub(crate) depth: Depth,
    /// Options followed by prose, which names no path.
    pub(crate) prose: Words,
    /// The programs that it runs.
    pub(crate) runs: Runs,
    /// The hosts that it contacts, and what it publishes.
    pub(crate) reaches: &'static [Reach],
    /// What it deletes or changes elsewhere.
    pub(crate) changes: &'static [Change],
    /// Its role in a pipeline.
    pub(crate) pipe: Pipe,
    /// The rule that Always stores for it.
    pub(crate) grant: AlwaysRule,
}

impl Program {
    pub(crate) const fn named(names: Words) -> Self {
        Self {
            names,
            roles: &[],
            syntax: Syntax::Partly(""),
            global: "",
            plain: "",
            reads: &[],
            versions: "",
            beyond: &[],
            critical: &[],
            files: Files::Unknown,
            depth: Depth::Walks,
            prose: "",
            runs: Runs::Nothing,
            reaches: &[],
            changes: &[],
            pipe: Pipe::NONE,
            grant: AlwaysRule::ONE_WORD,
        }
    }

    /// Returns the same description for other names; facts added later may differ.
    pub(crate) const fn renamed(self, names: Words) -> Self {
        Self { names, ..self }
    }

    pub(crate) const fn roles(self, roles: &'static [Role]) -> Self {
        Self { roles, ..self }
    }

    /// Names all of its options.
    pub(crate) const fn options(self, getopt: Getopt) -> Self {
        Self { syntax: Syntax::Getopt(getopt), ..self }
    }

    /// Names long options that are beginnings of others.
    pub(crate) const fn whole(self, longs: Words) -> Self {
        Self { syntax: Syntax::Partly(longs), ..self }
    }

    /// States that it accepts long options only as they are written out.
    pub(crate) const fn written_out(self) -> Self {
        Self { syntax: Syntax::WrittenOut, ..self }
    }

    pub(crate) const fn global(self, global: Words) -> Self {
        Self { global, ..self }
    }

    pub(crate) const fn plain(self, plain: Words) -> Self {
        Self { plain, ..self }
    }

    pub(crate) const fn reads(self, reads: &'static [Reading]) -> Self {
        Self { reads, ..self }
    }

    pub(crate) const fn versions(self, versions: Words) -> Self {
        Self { versions, ..self }
    }

    pub(crate) const fn beyond(self, beyond: &'static [Case]) -> Self {
        Self { beyond, ..self }
    }

    pub(crate) const fn critical(self, critical: &'static [Case]) -> Self {
        Self { critical, ..self }
    }

    pub(crate) const fn files(self, files: Files) -> Self {
        Self { files, ..self }
    }

    /// States that it reads its operands, and nothing below them.
    pub(crate) const fn shows_files(self) -> Self {
        self.files(SHOWN).depth(Depth::Opens)
    }

    pub(crate) const fn depth(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    pub(crate) const fn prose(self, prose: Words) -> Self {
        Self { prose, ..self }
    }

    pub(crate) const fn runs(self, runs: Runs) -> Self {
        Self { runs, ..self }
    }

    pub(crate) const fn reaches(self, reaches: &'static [Reach]) -> Self {
        Self { reaches, ..self }
    }

    pub(crate) const fn changes(self, changes: &'static [Change]) -> Self {
        Self { changes, ..self }
    }

    pub(crate) const fn pipe(self, pipe: Pipe) -> Self {
        Self { pipe, ..self }
    }

    pub(crate) const fn grant(self, grant: AlwaysRule) -> Self {
        Self { grant, ..self }
    }

    /// Returns true when it has this role.
    pub(crate) fn is(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// The role of a program for the commands around it, or on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Reads commands.
    Shell,
    /// Runs any program text or file that it is given.
    Interpreter,
    /// Fetches text from another host.
    Fetches,
    /// Prints its words.
    Says,
    /// Prints without end.
    Endless,
    /// Runs its operands on its input (`xargs`).
    HandsOn,
    /// Takes statements from its input.
    Database,
    /// Runs commands as another user.
    Privilege,
    /// It runs a program that stands among its words (`awk`).
    Programmed,
    /// What it is given decides all that it does, to other people or processes (`mail`, `pkill`).
    Reaching,
    /// Overwrites files that its words do not name.
    Overwrites,
    /// Does no more than what its effects on files say.
    OnlyFiles,
    /// Creates files and folders, and changes the content of none.
    Creates,
    /// Each of its words is a recipe of the project, which may do anything.
    Recipes,
    /// A builtin that touches nothing but the shell.
    Quiet,
    /// Appears on a card with its sub-command.
    Titled,
    /// One name for many programs: a rule for a sub-command does not cover its options.
    Many,
    /// Obeys settings in its working folder, which may make it run programs.
    ObeysFolder,
    /// At a terminal it writes the output of what it runs to a file of its own.
    KeepsOutput,
    /// Its description says which of its options may name files outside the project.
    KnownPaths,
}

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

/// A form of a program that only reads, with all options allowed in it.
///
/// Options that run a program, write a file, contact a host, follow links out of the workspace or
/// read file names from a file are left out, so that they ask.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// The words that must come first.
    pub(crate) sub: Words,
    /// Short options without a value; `#` stands for numbers (`-20`).
    pub(crate) flags: &'static str,
    /// Short options with a value.
    pub(crate) values: &'static str,
    /// Long options: `name`, `name=` with a value, `name?` with an optional value, `name:` with a
    /// file, `name==` with two texts.
    pub(crate) longs: &'static [Words],
    /// Words that may follow besides options.
    pub(crate) operands: Operands,
}

/// Creates the form of a program that only reads with these options and operands.
pub(super) const fn reading(
    flags: &'static str,
    values: &'static str,
    longs: &'static [Words],
    operands: Operands,
) -> Reading {
    Reading { sub: "", flags, values, longs, operands }
}

/// Creates the form of a sub-command.
pub(super) const fn form(
    sub: Words,
    flags: &'static str,
    values: &'static str,
    longs: &'static [Words],
    operands: Operands,
) -> Reading {
    Reading { sub, flags, values, longs, operands }
}

/// The operands of a program that reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// None.
    None,
    /// Any words; none is an option.
    Words,
    /// Known words.
    Literals,
    /// Names of variables, which are printed.
    Variables,
    /// A format that starts with `+`.
    Format,
    /// Files and folders, of which only names and numbers are printed.
    Names,
    /// The same, where no file name may act as an option, which would write or read a file.
    GuardedNames,
    /// Files that are printed.
    Contents,
    /// The same, for programs with options that write or run: no file name may act as an option.
    Guarded,
    /// At most one such file: a second one would be written.
    OneFile,
    /// A text and files; only files with one of these options.
    Pattern(Words),
    /// A script of sed, and files.
    Sed,
    /// A program of awk, and files.
    Awk,
    /// A program of jq, and files.
    Jq,
    /// Starting points and tests of find, whose words are not options.
    Find,
    /// The letters of ps, whose words are not options.
    Ps,
    /// The options of xxd, of which only the first letter counts, and at most one file.
    Xxd,
    /// Revisions and paths of git.
    Revisions,
    /// Patterns to list by, with one of these options.
    Listed(Words),
    /// One key of git's configuration.
    Setting,
}

/// The access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is created or changed.
    Write,
    /// It is deleted.
    Delete,
    /// It is moved to another place.
    Move,
    /// Its permissions or owner change.
    Rights,
}

/// The operands of a program that name files, and the access to them.
#[derive(Clone, Copy)]
pub(crate) enum Files {
    /// None that are known.
    Unknown,
    /// This sub-command's are those of the program of that name (`git mv`).
    As(&'static str),
    /// Every operand behind the first `skip`; `values` are options whose next word is not an
    /// operand.
    Each { access: Access, skip: usize, values: Words },
    /// The operands of `sed`, behind the script unless an option gives it; written with `-i`.
    Edited,
    /// The last operand is written; the others get this access.
    Transfer(Access),
    /// `if=` is read and `of=` is written.
    Assigned,
    /// The words behind these options are written.
    Behind(Words),
    /// The folders in which find starts; deleted when an action deletes what it finds.
    Searched,
    /// Every operand; a first one without a dash is a cluster of options.
    Archive,
}

/// Every operand is read.
pub(super) const SHOWN: Files =
    Files::Each { access: Access::Read, skip: 0, values: "-n -c -t -k -f -d -w -s" };

/// The depth to which a program goes into the folders that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Prints their names only.
    Names,
    /// Opens the file or folder itself, and nothing below it.
    Opens,
    /// May read everything below.
    Walks,
    /// The same; without an operand it goes through the working directory.
    WalksHere,
    /// Walks with one of these options and opens otherwise; `here` as above.
    WalksWith { letters: &'static str, longs: Words, here: bool },
    /// Walks, and goes through the working directory with one of these words.
    WalksHereWith(Words),
}

/// The hosts that a program contacts, and what it publishes.
#[derive(Clone, Copy)]
pub(crate) enum Reach {
    /// Publishes with this sub-command and one of these words behind it (any word when empty).
    Publishes { sub: Words, second: Words, title: Title, to: To },
    /// Each operand of the form `host:path`.
    Copies,
    /// Its first operand is a host.
    Host,
    /// Its operands are addresses.
    Addresses,
    /// A repository or the default remote, with these sub-commands.
    Repository(Words),
    /// Its package registry, with these sub-commands.
    Registry(Words),
}

/// The number of a command's words that a card repeats.
#[derive(Clone, Copy)]
pub(crate) enum Title {
    /// The name and the sub-command.
    Two,
    /// The word behind it as well.
    Three,
}

/// The destination of a publication.
#[derive(Clone, Copy)]
pub(crate) enum To {
    /// A fixed destination of the program.
    Known(&'static str),
    /// All operands behind the sub-command, or this text when there are none.
    Rest(&'static str),
    /// The operand behind the sub-command.
    Second,
    /// The last operand.
    Last,
}

/// The role of a program in a pipeline.
#[derive(Clone, Copy)]
pub(crate) struct Pipe {
    /// Turns its input into another text.
    pub(crate) decodes: When,
    /// Sends its input to another host.
    pub(crate) sends: When,
    /// Prints secrets; `None` means: when one of its words names a secret.
    pub(crate) tells: Option<When>,
}

impl Pipe {
    pub(crate) const NONE: Self = Self { decodes: When::Never, sends: When::Never, tells: None };

    pub(crate) const fn decodes(when: When) -> Self {
        Self { decodes: when, ..Self::NONE }
    }

    pub(crate) const fn sends(when: When) -> Self {
        Self { sends: when, ..Self::NONE }
    }

    pub(crate) const fn tells(when: When) -> Self {
        Self { tells: Some(when), ..Self::NONE }
    }

    pub(crate) const fn and_tells(self, when: When) -> Self {
        Self { tells: Some(when), ..self }
    }
}

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
    /// Its own sub-commands, where others may be added to it; empty where none may.
    pub(crate) own: Words,
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
            own: "",
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

    pub(crate) const fn own(self, subs: Words) -> Self {
        Self { own: subs, ..self }
    }

    pub(crate) const fn options(self, options: Words) -> Self {
        Self { options, ..self }
    }
}
