//! Calls that only read, inside the workspace and without secrets: the class that `@reads` in a
//! rule covers.
//!
//! FAIL-CLOSED: a program, sub-command, option or word that the tables do not list does not count
//! as reading.

use crate::facts::paths::{self, Directories, PatternOf};
use crate::facts::programs::description::{Operands, Program, Reading};
use crate::facts::programs::known::listing::{Follows, follows};
use crate::facts::programs::languages::{awk, jq, sed};
use crate::facts::programs::own::OperatorProgram;
use crate::facts::programs::{self, Words, base, each, listed};
use crate::facts::tools::Kind;
use crate::facts::values::Value;
use crate::shell::{Word, WordKind, environment, is_visible};

/// The name of the class in rules.
pub const CLASS: &str = "@reads";

/// The folders of the system's own programs.
const SYSTEM_PROGRAMS: &[&str] = &["/usr/bin/", "/bin/"];

/// Returns the project that a call works in. Returns `None` when it is unknown or not a project:
/// the home folder or one above it, a folder of the system, or one that every user may write to.
#[must_use]
pub fn workspace<'p>(dirs: Directories<'p>) -> Option<std::borrow::Cow<'p, str>> {
    let nowhere = Directories::default();
    let cwd = dirs.cwd.filter(|cwd| cwd.starts_with('/'))?;
    let cwd = paths::clean(cwd, nowhere);
    let above_home = dirs
        .home
        .filter(|home| home.starts_with('/'))
        .is_some_and(|home| paths::within(&paths::clean(home, nowhere), &cwd));
    (!above_home && paths::workspace(dirs).is_some()).then_some(cwd)
}

/// Returns true when a simple command only reads. `open` is true when unknown words follow.
pub(crate) fn command(argv: &[Word<'_>], open: bool, dirs: Directories<'_>) -> bool {
    let Some((first, args)) = argv.split_first() else { return false };
    let Some(path) = first.literal() else { return false };
    let name = base(path);
    // `./ls` is some program of the workspace, not the system's `ls`.
    let of_the_system = SYSTEM_PROGRAMS.iter().any(|dir| path.strip_prefix(dir) == Some(name));
    if open || path.contains('/') && !of_the_system || workspace(dirs).is_none() {
        return false;
    }
    let Some(program) = programs::exact(name) else { return false };
    let args = behind_plain(program, args);
    // `--version` alone prints and exits.
    let tells = matches!(args, [one] if one.literal().is_some_and(|t| listed(program.versions, t)));
    tells
        || program
            .reads
            .iter()
            .any(|form| behind_sub(form, args).is_some_and(|args| reads(form, args, dirs)))
}

/// Returns the words behind the options that change nothing.
fn behind_plain<'w, 'a>(program: &Program, args: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let plain = |word: &&Word<'_>| {
        word.text.starts_with('-') && word.literal().is_some_and(|t| listed(program.plain, t))
    };
    let from = if program.plain.is_empty() { 0 } else { args.iter().take_while(plain).count() };
    args.get(from..).unwrap_or_default()
}

/// Returns the files that a command which only reads may show, by whatever form it is read.
pub(crate) fn shown(argv: &[Word<'_>]) -> Vec<String> {
    let Some((first, args)) = argv.split_first() else { return Vec::new() };
    let Some(program) = first.literal().map(base).and_then(programs::exact) else {
        return Vec::new();
    };
    let args = behind_plain(program, args);
    let forms = program.reads.iter().filter_map(|form| Some((form, behind_sub(form, args)?)));
    forms.flat_map(|(form, args)| shown_by(form, args)).collect()
}

/// Returns the files that a form of a program may show.
fn shown_by(form: &Reading, args: &[Word<'_>]) -> Vec<String> {
    let Some(words) = SortedWords::of(form, args) else { return Vec::new() };
    let from = match form.operands {
        Operands::Contents | Operands::Guarded | Operands::OneFile | Operands::Revisions => 0,
        Operands::Pattern(given) => usize::from(!words.has(given)),
        Operands::Sed | Operands::Awk | Operands::Jq => {
            scripts(form.operands, &words).unwrap_or_default()
        }
        _ => return Vec::new(),
    };
    // `-L 1,9:src/a.rs`
    let lines = words.values.iter().filter(|(name, _)| *name == "L").map(|(_, value)| *value);
    let texts = words.operands.iter().skip(from).map(|(word, _)| &*word.text).chain(lines);
    // `HEAD:src/a.rs`
    let behind = |text: &str| text.rsplit_once(':').map(|(_, path)| path.to_owned());
    texts.flat_map(|text| [Some(text.to_owned()), behind(text)]).flatten().collect()
}

/// Returns the words behind the sub-command of a form.
fn behind_sub<'w, 'a>(form: &Reading, args: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    let mut rest = args;
    for sub in each(form.sub) {
        let (word, more) = rest.split_first()?;
        word.literal().filter(|text| text.as_bytes() == sub)?;
        rest = more;
    }
    Some(rest)
}

/// Returns true when a program that the operator describes only reads: a known form of it, called
/// by its bare name, that names nothing outside the project and no secret.
pub(crate) fn own(program: &OperatorProgram, argv: &[Word<'_>], dirs: Directories<'_>) -> bool {
    let Some((first, args)) = argv.split_first() else { return false };
    let readable = |text: &&str| opened(text, dirs);
    first.literal() == Some(&program.name)
        && workspace(dirs).is_some()
        && program
            .reads
            .iter()
            .any(|form| form.operands(args).is_some_and(|operands| operands.iter().all(readable)))
}

/// Returns true when a file tool only reads what it names, for whatever it takes the name.
pub(crate) fn value(kind: Kind, value: &Value, dirs: Directories<'_>) -> bool {
    let readable = |path: &str| match kind {
        Kind::Read => selects(path, PatternOf::Files, dirs) && !may_climb(path),
        Kind::Grep => selects(path, PatternOf::Search, dirs) && !may_climb(path),
        Kind::Glob => readable(path, false, dirs) && !may_climb(path),
        _ => false,
    };
    value.is_path && workspace(dirs).is_some() && value.readings(dirs).iter().all(|it| readable(it))
}

/// Returns true when a part of a pattern may match `..`, and a path goes on behind it.
fn may_climb(pattern: &str) -> bool {
    let folders = pattern.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|part| {
        part.contains("(..") || part.starts_with('.') && part.contains(['?', '*', '[', '('])
    })
}

/// Returns true when a search without a folder stays in the workspace.
pub(crate) fn every_value(kind: Kind, dirs: Directories<'_>) -> bool {
    matches!(kind, Kind::Glob | Kind::Grep) && workspace(dirs).is_some()
}

/// Returns true when all words behind a program's name or sub-command are known to read.
fn reads(form: &Reading, args: &[Word<'_>], dirs: Directories<'_>) -> bool {
    match form.operands {
        Operands::Words => args.iter().all(|word| said(word, dirs)),
        Operands::Find => find(args, dirs),
        Operands::Ps => ps(args),
        Operands::Xxd => xxd(args, dirs),
        operands => SortedWords::of(form, args).is_some_and(|words| read(operands, &words, dirs)),
    }
}

// The operands that a reading program may have.

/// Returns true when all words of a command are known to read.
fn read(operands: Operands, words: &SortedWords<'_, '_>, dirs: Directories<'_>) -> bool {
    let literal = |at: usize| words.operands.get(at).and_then(|(word, _)| word.literal());
    let from = |from: usize, shows: bool, guarded: bool| {
        words
            .operands
            .iter()
            .skip(from)
            .all(|(word, behind)| named(word, shows, guarded && !behind, dirs))
    };
    // rg's `-g` takes a pattern of file names, which may select a secret.
    let short = words.values.iter().filter(|(name, _)| *name == "g").map(|(_, value)| value);
    // A pattern that starts with `!` excludes files from a search.
    let mut patterns = words.files.iter().chain(short).filter(|file| !file.starts_with('!'));
    if !patterns.all(|file| selects(file, PatternOf::Search, dirs)) {
        return false;
    }
    match operands {
        Operands::None | Operands::Find | Operands::Ps | Operands::Xxd => {
            words.operands.is_empty() && !checks_signatures(words)
        }
        Operands::Words => words.operands.iter().all(|(word, _)| said(word, dirs)),
        Operands::Literals => (0..words.operands.len()).all(|at| literal(at).is_some()),
        Operands::Variables => {
            !words.operands.is_empty()
                && (0..words.operands.len()).all(|at| literal(at).is_some_and(environment::shown))
        }
        Operands::Format => match words.operands.as_slice() {
            [] => true,
            [(word, _)] => word.literal().is_some_and(|text| text.starts_with('+')),
            _ => false,
        },
        Operands::Names => from(0, false, false),
        Operands::GuardedNames => from(0, false, true),
        Operands::Contents => from(0, true, false),
        Operands::Guarded => from(0, true, true),
        Operands::OneFile => {
            let one = words.operands.iter().all(|(word, _)| is_one_file(word));
            one && !words.late && words.operands.len() <= 1 && from(0, true, true)
        }
        Operands::Pattern(given) => {
            let pattern = !words.has(given);
            let known = !pattern || words.operands.is_empty() || literal(0).is_some();
            known && from(usize::from(pattern), true, true)
        }
        Operands::Sed | Operands::Awk | Operands::Jq => {
            scripts(operands, words).is_some_and(|scripts| from(scripts, true, true))
        }
        Operands::Revisions => {
            // `-L 1,9:file` names a file behind the colon.
            let lines = words.values.iter().filter(|(name, _)| *name == "L");
            !checks_signatures(words)
                && lines.map(|(_, value)| value).all(|value| opened(value, dirs))
                && words.operands.iter().all(|(word, behind)| revision(word, *behind, dirs))
        }
        Operands::Setting => words.operands.len() == 1 && literal(0).is_some_and(setting),
        Operands::Listed(given) => {
            let plain = |word: &Word<'_>| !(word.kind == WordKind::Glob && begins_freely(word));
            (words.operands.is_empty() || words.has(given))
                && words.operands.iter().all(|(word, behind)| *behind || plain(word))
                && !checks_signatures(words)
        }
    }
}

/// Returns true when git runs the program that checks signatures, to print or sort by what it says.
fn checks_signatures(words: &SortedWords<'_, '_>) -> bool {
    let mut formats = words
        .values
        .iter()
        .filter(|(name, _)| matches!(*name, "format" | "pretty" | "sort" | "group"));
    // `%+G?`, `%-G?` and `% G?` are `%G?` with a line or a blank before it.
    let signs = |format: &str| {
        let mut fields = format.split('%').skip(1);
        fields.any(|field| field.trim_start_matches(['+', '-', ' ']).starts_with('G'))
    };
    formats.any(|(_, format)| signs(format) || format.contains("signature"))
}

/// Returns true for a revision, a range of them, a file in one (`HEAD:src/a.rs`), or a path.
fn revision(word: &Word<'_>, behind: bool, dirs: Directories<'_>) -> bool {
    let text = &*word.text;
    let known = match word.kind {
        WordKind::Literal => true,
        WordKind::Glob => behind || !text.starts_with(['*', '?', '[', '-']),
        WordKind::Home | WordKind::Dynamic => false,
    };
    known && opened(text, dirs)
}

/// Returns true for a key of git's configuration that holds no token. Addresses, aliases and
/// commands may hold one.
fn setting(key: &str) -> bool {
    const KEYS: Words = "\
        user.name user.email init.defaultBranch core.autocrlf core.ignorecase core.bare \
        core.filemode core.hooksPath pull.rebase push.default";
    listed(KEYS, key)
}

// Sorts the words of a command by its program's description.

/// Options, their values, and operands.
pub(crate) struct SortedWords<'w, 'a> {
    /// Options without dashes; each short option alone.
    pub(crate) options: Vec<&'w str>,
    /// Values of options, with the option's name.
    pub(crate) values: Vec<(&'w str, &'w str)>,
    /// Values of options that name files.
    pub(crate) files: Vec<&'w str>,
    /// Words that are not options; true when `--` precedes them.
    pub(crate) operands: Vec<(&'w Word<'a>, bool)>,
    /// An option follows an operand: for a program that does not sort its words, a file.
    late: bool,
}

impl<'w, 'a> SortedWords<'w, 'a> {
    /// Sorts the words; `None` when an option is unknown or a word may become one.
    pub(crate) fn of(form: &Reading, args: &'w [Word<'a>]) -> Option<Self> {
        let (options, values, files, operands, late) = Default::default();
        let mut words = Self { options, values, files, operands, late };
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            // Behind `--`, a word that starts with a dash is a file.
            if word.text == "--" {
                words.operands.extend(rest.map(|word| (word, true)));
                return Some(words);
            }
            let option = word.text.strip_prefix('-').filter(|option| !option.is_empty());
            words.late |= option.is_some() && !words.operands.is_empty();
            match option {
                None => words.operands.push((word, false)),
                Some(option) if !is_known(word, option) => return None,
                Some(option) => match option.strip_prefix('-') {
                    Some(long) => words.long(form, long, &mut rest)?,
                    None => words.short(form, option, &mut rest)?,
                },
            }
        }
        Some(words)
    }

    fn long(
        &mut self,
        form: &Reading,
        option: &'w str,
        rest: &mut impl Iterator<Item = &'w Word<'a>>,
    ) -> Option<()> {
        let (name, given) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        match (form.long(name)?, given) {
            (OptionTakes::Nothing, None) | (OptionTakes::Maybe, None) => {}
            (OptionTakes::Nothing, Some(_)) => return None,
            (OptionTakes::Maybe, Some(value)) => self.values.push((name, value)),
            (OptionTakes::Text, given) => {
                let value = given.or_else(|| self.next_value(rest))?;
                self.values.push((name, value));
            }
            (OptionTakes::Pair, None) => {
                rest.next()?.literal()?;
                rest.next()?.literal()?;
            }
            (OptionTakes::Pair, Some(_)) => return None,
            (OptionTakes::File, given) => {
                self.files.push(given.or_else(|| rest.next()?.literal())?)
            }
        }
        self.options.push(name);
        Some(())
    }

    /// Takes the next word as a value.
    fn next_value(&mut self, rest: &mut impl Iterator<Item = &'w Word<'a>>) -> Option<&'w str> {
        let value = rest.next()?.literal()?;
        self.files.extend(self.late.then_some(value));
        Some(value)
    }

    /// Reads `-la`, `-n5`, `-n 5`, `-50`.
    fn short(
        &mut self,
        form: &Reading,
        cluster: &'w str,
        rest: &mut impl Iterator<Item = &'w Word<'a>>,
    ) -> Option<()> {
        let number = cluster.bytes().all(|b| b.is_ascii_digit());
        if number && form.flags.contains('#') {
            return Some(());
        }
        for (at, letter) in cluster.char_indices() {
            let end = at + letter.len_utf8();
            let name = cluster.get(at..end)?;
            let more = cluster.get(end..)?;
            self.options.push(name);
            match form.short(letter)? {
                OptionTakes::Nothing => {}
                _ => {
                    let value = if more.is_empty() { self.next_value(rest)? } else { more };
                    self.values.push((name, value));
                    return Some(());
                }
            }
        }
        Some(())
    }

    /// Returns true when an option of the blank-separated list is given.
    pub(crate) fn has(&self, list: &str) -> bool {
        list.split(' ').any(|name| self.options.contains(&name))
    }
}

/// Returns true for a literal, or for a name pattern as the value of a long option
/// (`--include=*.rs`).
fn is_known(word: &Word<'_>, option: &str) -> bool {
    let plain = |name: &str| !name.contains(['*', '?', '[']);
    let pattern =
        option.split_once('=').is_some_and(|(name, _)| name.starts_with('-') && plain(name));
    word.kind == WordKind::Literal || word.kind == WordKind::Glob && pattern
}

/// The kind of value that an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionTakes {
    /// No value.
    Nothing,
    /// An attached value, or none.
    Maybe,
    /// A text or number.
    Text,
    /// Two texts, in the next words.
    Pair,
    /// A file, folder or pattern of names.
    File,
}

impl Reading {
    fn short(&self, letter: char) -> Option<OptionTakes> {
        let is = |letters: &str| letter != '#' && letters.contains(letter);
        if is(self.flags) {
            Some(OptionTakes::Nothing)
        } else {
            is(self.values).then_some(OptionTakes::Text)
        }
    }

    /// Looks up a long option. The list has `name`, `name=` with a text, `name?` with an optional
    /// value, `name:` with a file, `name==` with two texts.
    fn long(&self, name: &str) -> Option<OptionTakes> {
        let all = self.longs.iter().flat_map(|longs| longs.split_whitespace());
        all.filter_map(|known| known.strip_prefix(name)).find_map(|rest| match rest {
            "" => Some(OptionTakes::Nothing),
            "=" => Some(OptionTakes::Text),
            "==" => Some(OptionTakes::Pair),
            "?" => Some(OptionTakes::Maybe),
            ":" => Some(OptionTakes::File),
            _ => None,
        })
    }
}

// Words that name files, and words that are only printed.

/// Returns true when a word is only printed: it names no foreign file. The variables of the
/// environment in it are looked at for the command as a whole.
fn said(word: &Word<'_>, dirs: Directories<'_>) -> bool {
    match word.kind {
        WordKind::Literal | WordKind::Home => true,
        WordKind::Glob => named(word, false, false, dirs),
        WordKind::Dynamic => {
            // These two are variables, although they contain glob characters.
            let names = word.text.replace("$?", "").replace("$*", "");
            !names.contains(['*', '?', '['])
        }
    }
}

/// Returns true when the word names a file or folder of the workspace.
fn named(word: &Word<'_>, shows: bool, guarded: bool, dirs: Directories<'_>) -> bool {
    let text = &*word.text;
    match word.kind {
        // The standard input.
        WordKind::Literal if text == "-" => true,
        WordKind::Literal if !shows => readable(text, false, dirs),
        // SECURITY: `@file` is a list of options to some programs, which may name any file.
        WordKind::Literal => !text.starts_with('@') && opened(text, dirs),
        WordKind::Home => {
            paths::of_word(word, dirs).is_some_and(|path| readable(&path, shows, dirs))
        }
        WordKind::Glob => {
            // A file whose name starts with a dash acts as an option; `.*` also matches the parent
            // folder.
            let first = begins_freely(word);
            let hidden =
                text.split('/').any(|part| part.starts_with('.') && part.contains(['*', '?', '[']));
            !(guarded && first || text.starts_with('-') || hidden)
                && readable(text, shows, dirs)
                && !(shows && paths::may_be_secret(text, PatternOf::Files))
        }
        WordKind::Dynamic => false,
    }
}

/// Returns true when a path stays in the workspace and, where its content is shown, is not a
/// secret.
fn readable(path: &str, shows: bool, dirs: Directories<'_>) -> bool {
    let cleaned = paths::clean(path, dirs);
    paths::source(path)
        || !paths::outside(path, dirs)
            // Some file systems ignore invisible characters, and find a secret without them.
            && is_visible(path)
            // Cleaning may change the name, so both spellings are checked.
            && !(shows
                && (paths::secret(&cleaned, dirs)
                    || paths::secret(path, dirs)
                    || holds_settings(&cleaned)))
}

/// Returns true for a folder in which git or another tool keeps settings: they may contain a token.
fn holds_settings(path: &str) -> bool {
    paths::is_folder_of_settings(path) || path.contains("/.git/modules")
}

/// Returns true when a pattern that a program reads itself stays in the workspace and matches no
/// secret.
fn selects(pattern: &str, of: PatternOf, dirs: Directories<'_>) -> bool {
    let plain = !pattern.contains(['*', '?', '[', '{', '(', '\\']);
    readable(pattern, true, dirs) && (plain || !paths::may_be_secret(pattern, of))
}

/// Returns true when a word shows no secret: neither as it is, nor behind the colon of a revision
/// or the magic of a pathspec (`HEAD:.env`, `:(glob)**/.en?`), of which git expands the wildcards.
fn opened(text: &str, dirs: Directories<'_>) -> bool {
    let shown = |path: &str| selects(path, PatternOf::Search, dirs);
    let magic = text.strip_prefix(":(").and_then(|magic| magic.split_once(')'));
    magic.is_none_or(|(_, path)| shown(path))
        && text.rsplit_once(':').is_none_or(|(_, path)| shown(path))
        && shown(text)
}

// Programs whose operands are a small language: find, ps, sed, awk, jq.

/// Returns true for `find` with start points in the workspace, tests and printing only.
fn find(args: &[Word<'_>], dirs: Directories<'_>) -> bool {
    let mut words = args.iter();
    // Start points come before the first test.
    let mut starts = true;
    while let Some(word) = words.next() {
        let text = &*word.text;
        let expression = text.starts_with('-') || matches!(text, "(" | ")" | "!" | ",");
        starts &= !expression || text == "-P";
        let known = match (starts && !expression, word.kind) {
            (true, WordKind::Literal | WordKind::Home) => said(word, dirs) && stays(word, dirs),
            (true, WordKind::Glob) => !text.starts_with(['*', '?', '[']) && stays(word, dirs),
            (false, WordKind::Literal) => match follows(text) {
                Some(Follows::Nothing) => true,
                Some(Follows::Text) => words.next().is_some_and(|value| value.literal().is_some()),
                Some(Follows::File) => words
                    .next()
                    .and_then(Word::literal)
                    .is_some_and(|file| readable(file, false, dirs)),
                None => false,
            },
            _ => false,
        };
        if !known {
            return false;
        }
    }
    true
}

/// Returns true for a word that names one file at most: a pattern may become several.
fn is_one_file(word: &Word<'_>) -> bool {
    word.kind != WordKind::Glob
}

/// Returns true for a pattern that may match a name that acts as an option or as a list of them.
fn begins_freely(word: &Word<'_>) -> bool {
    word.text.starts_with(['*', '?', '[', '-', '@'])
}

fn stays(word: &Word<'_>, dirs: Directories<'_>) -> bool {
    crate::facts::paths::of_word(word, dirs).is_some_and(|path| readable(&path, false, dirs))
}

/// Returns true for `ps aux`, `ps -ef` and the like. In the old style, the letter `e` prints
/// environments.
fn ps(args: &[Word<'_>]) -> bool {
    args.iter().all(|word| {
        let Some(text) = word.literal() else { return false };
        let only = |text: &str, letters: &str| text.chars().all(|c| letters.contains(c));
        match text.strip_prefix('-') {
            Some(long) if long.starts_with('-') => {
                matches!(long, "-forest" | "-no-headers") || long.starts_with("-sort=")
            }
            Some(flags) => only(flags, "AaefFHjlLMTyZw"),
            None => only(text, "afHjlmrTuvwxX") || only(text, "0123456789,"),
        }
    })
}

/// Returns true for `xxd -l 64 f`, `xxd -ps f` and the like. Only the first letter of an option
/// counts, and a second file would be written.
fn xxd(args: &[Word<'_>], dirs: Directories<'_>) -> bool {
    let number = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-".contains(&b))
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let option = word.text.strip_prefix('-').and_then(|option| option.split_at_checked(1));
        let known = match option.filter(|_| word.kind == WordKind::Literal) {
            Some(("a" | "b" | "p" | "u" | "i", _)) => true,
            Some(("c" | "g" | "l" | "o" | "s", "")) => {
                words.next().and_then(Word::literal).is_some_and(number)
            }
            Some(("c" | "g" | "l" | "o" | "s", value)) => value.bytes().all(|b| b.is_ascii_digit()),
            Some(_) => false,
            // What follows the file would be written, even if it looks like an option.
            None => words.next().is_none() && is_one_file(word) && named(word, true, true, dirs),
        };
        if !known {
            return false;
        }
    }
    true
}

/// Returns the number of operands that are scripts, if every script on the command line only reads
/// and prints.
pub(super) fn scripts(operands: Operands, words: &SortedWords<'_, '_>) -> Option<usize> {
    let reads = match operands {
        Operands::Sed => sed::reads,
        Operands::Awk => awk::reads,
        Operands::Jq => jq::reads,
        _ => return Some(0),
    };
    // Where options end at the first operand, that is the script, whatever follows.
    if words.late && operands != Operands::Jq {
        return None;
    }
    // `-e` of sed; without it, the first operand is the script.
    let values = words.values.iter().filter(|(name, _)| name.starts_with('e'));
    let given: Vec<&str> = values.map(|(_, script)| *script).collect();
    let from = usize::from(given.is_empty());
    let first = || words.operands.first().and_then(|(word, _)| word.literal());
    let all = if from == 1 { vec![first()?] } else { given };
    all.into_iter().all(reads).then_some(from)
}

#[cfg(test)]
mod tests {
    use crate::facts::reads::*;

    #[test]
    fn a_folder_of_settings_is_not_searched() {
        let dirs = Directories { cwd: Some("/home/u/w"), home: Some("/home/u") };
        let is_read = |text: &str| {
            let value =
                Value { text: text.to_owned(), is_path: true, is_leaf: false, access: None };
            super::value(Kind::Grep, &value, dirs)
        };
        for path in [".kube", "deploy/.docker", ".git/", "./.m2"] {
            assert!(!is_read(path), "{path}");
        }
        for path in ["src", "src/gh", "docs/docker"] {
            assert!(is_read(path), "{path}");
        }
    }

    #[test]
    fn a_name_with_invisible_characters_is_not_read() {
        let dirs = Directories { cwd: Some("/home/u/w"), home: Some("/home/u") };
        let is_read = |text: &str| {
            let value =
                Value { text: text.to_owned(), is_path: true, is_leaf: false, access: None };
            super::value(Kind::Read, &value, dirs)
        };
        for path in
            [".\u{200b}env", "id\u{200d}_rsa", "auth\u{fe0f}.json", "a\u{202e}txt", "a\u{1}"]
        {
            assert!(!is_read(path), "{path:?}");
        }
        for path in ["src/a.rs", "docs/übersicht.md", "メモ.txt"] {
            assert!(is_read(path), "{path}");
        }
    }
}
