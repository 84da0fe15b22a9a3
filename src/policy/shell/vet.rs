//! Builtins that evaluate their arguments.
//!
//! bash evaluates array subscripts in *literal* strings that name a variable: `test -v 'a[$(x)]'`,
//! `read`, `printf -v`, `unset`, `declare` … run `x`. Others run text later (`alias`, `mapfile -C`)
//! or change how the rest is read (`shopt`, `set -o posix`). Whatever is not known to be plain is
//! a doubt.

use super::class::{is_name, is_name_start};
use super::cursor::Scanner;
use super::doubt::Doubt;
use super::environment;
use super::{Command, Word, WordKind, names};

/// What vetting a builtin's arguments found.
enum Finding {
    Plain,
    Doubtful,
}
use Finding::{Doubtful, Plain};

impl<'a> Scanner<'a> {
    /// Looks at a simple command once it is read.
    pub(super) fn vet(&mut self, command: &Command<'a>) {
        let mut argv = command.argv.as_slice();
        // `command` and `builtin` hand on to the builtin behind them.
        while let [first, rest @ ..] = argv {
            let Some(name) = first.literal() else {
                // `"$dir/tool"`: some program, but neither a builtin nor several words.
                let program = first.text.contains('/') && first.quoted && self.is_one_word(first);
                if !program && first.kind != WordKind::Home {
                    self.doubt_at(Doubt::DynamicName, first.span.start);
                }
                return;
            };
            let hands_on = matches!(name, "command" | "builtin" | "exec");
            if !hands_on {
                let direct = argv.len() == command.argv.len() && !first.quoted;
                if let Doubtful = self.judge(name, rest, direct) {
                    self.doubt_at(Doubt::Builtin, first.span.start);
                }
                return;
            }
            let options = rest.iter().take_while(|w| w.text.starts_with('-')).count();
            // `command -v x` only looks a name up.
            let looks =
                name == "command" && rest.first().is_some_and(|w| matches!(&*w.text, "-v" | "-V"));
            if looks {
                return;
            }
            argv = rest.get(options..).unwrap_or_default();
        }
    }

    fn judge(&mut self, name: &str, args: &[Word<'a>], direct: bool) -> Finding {
        if matches!(name, "eval" | "source" | "." | "trap") {
            self.names.taint_all();
        }
        match name.as_bytes() {
            b"[" | b"test" => self.judge_test(name, args),
            b"printf" => self.judge_printf(args),
            b"read" => self.judge_read(args),
            b"export" | b"declare" | b"typeset" | b"local" | b"readonly" => {
                self.judge_declare(args, direct)
            }
            b"unset" => self.judge_names(args, &["-f", "-v"]),
            b"getopts" => self.judge_names(args.get(1..2).unwrap_or_default(), &[]),
            b"mapfile" | b"readarray" => self.judge_names(args, &["-t"]),
            b"wait" => self.judge_wait(args),
            b"set" => judge_set(args),
            b"shopt" => judge_shopt(args),
            b"hash" | b"history" | b"complete" | b"enable" | b"alias" if args.is_empty() => Plain,
            b"jobs" => {
                let plain = args.iter().all(|w| w.literal().is_some_and(|w| w != "-x"));
                if plain { Plain } else { Doubtful }
            }
            b"eval" => {
                let literal = args.iter().all(|w| w.literal().is_some());
                if literal { Plain } else { Doubtful }
            }
            b"trap" => match args.first() {
                None => Plain,
                Some(action) => {
                    if action.literal().is_some() {
                        Plain
                    } else {
                        Doubtful
                    }
                }
            },
            b"hash" | b"history" | b"complete" | b"enable" | b"let" | b"alias" | b"bind"
            | b"compgen" | b"compopt" | b"fc" | b"caller" => Doubtful,
            _ => Plain,
        }
    }

    /// `test` evaluates the operand of `-v` and `-R`: no word may be able to become one.
    fn judge_test(&mut self, name: &str, args: &[Word<'a>]) -> Finding {
        let args = match args {
            [inner @ .., last] if name == "[" && last.literal() == Some("]") => inner,
            _ => args,
        };
        for word in args {
            let one = word.kind == WordKind::Literal || self.is_one_word(word);
            if !one || matches!(&*word.text, "-v" | "-R") {
                return Doubtful;
            }
        }
        let known = |w: Option<&Word<'a>>| w.is_some_and(|w| w.literal().is_some());
        let mut args = args;
        while args.len() > 1 && args.first().and_then(Word::literal) == Some("!") {
            args = args.get(1..).unwrap_or_default();
        }
        match args.len() {
            0 | 1 => Plain,
            2 => {
                if known(args.first()) {
                    Plain
                } else {
                    Doubtful
                }
            }
            3 => {
                let binary = args.get(1).and_then(Word::literal).is_some_and(is_binary);
                if binary { Plain } else { self.judge_long_test(args) }
            }
            _ => self.judge_long_test(args),
        }
    }

    /// With `-a`, `-o` and parentheses: every unknown word must be the operand of a known operator.
    fn judge_long_test(&mut self, args: &[Word<'a>]) -> Finding {
        let numbers: Vec<bool> =
            args.iter().map(|w| self.is_number(w.span.start, w.span.end)).collect();
        let operator = |at: Option<usize>| {
            let word = at.and_then(|at| args.get(at)).and_then(Word::literal);
            word.is_some_and(|w| is_binary(w) && !matches!(w, "-a" | "-o"))
        };
        let sound = args.iter().zip(&numbers).enumerate().all(|(at, (word, number))| {
            *number
                || word.literal().is_some()
                || operator(at.checked_sub(1))
                || (operator(Some(at + 1)) && at + 2 < args.len())
        });
        if sound { Plain } else { Doubtful }
    }

    /// A dynamic word that stays one word: quoted as a whole, or a number.
    fn is_one_word(&mut self, word: &Word<'a>) -> bool {
        let raw = self.slice(word.span.start, word.span.end);
        let whole = raw.len() > 1
            && raw.starts_with('"')
            && raw.ends_with('"')
            && !raw.contains("[@]")
            && !raw.contains("$@")
            && !raw.contains("${@")
            && raw.matches('"').count() == 2;
        whole || word.kind == WordKind::Home || self.is_number(word.span.start, word.span.end)
    }

    /// `printf -v name` assigns; an unknown first word may be `-v…`.
    fn judge_printf(&mut self, args: &[Word<'a>]) -> Finding {
        let Some(first) = args.first() else { return Plain };
        let raw = first.text.as_bytes().first().copied().unwrap_or(0);
        let known = match first.kind {
            WordKind::Literal | WordKind::Home => true,
            // It begins with a plain character whatever comes behind it.
            WordKind::Glob => raw != b'*' && raw != b'?' && raw != b'[',
            WordKind::Dynamic => !matches!(raw, b'$' | b'`' | b'-' | b'{' | b'<'),
        };
        if !known || first.text.starts_with("-v") {
            return Doubtful;
        }
        Plain
    }

    fn judge_read(&mut self, args: &[Word<'a>]) -> Finding {
        let mut args = args.iter();
        let mut options = true;
        while let Some(word) = args.next() {
            let Some(text) = word.literal() else { return Doubtful };
            if options && text == "--" {
                options = false;
            } else if options && text.len() > 1 && text.starts_with('-') {
                let last = text.chars().next_back().unwrap_or('-');
                let flags = text.get(1..text.len() - last.len_utf8()).unwrap_or_default();
                if flags.chars().any(|c| "adinNptu".contains(c)) {
                    // `-p'text'`, `-t5`: the value is glued on; only plain numbers are read.
                    let number = text.get(2..).unwrap_or_default();
                    if text.starts_with("-a")
                        || !number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
                    {
                        return Doubtful;
                    }
                } else if last == 'a' {
                    let Some(array) = args.next() else { return Doubtful };
                    if let Doubtful = self.target(array) {
                        return Doubtful;
                    }
                } else if "dinNptu".contains(last) {
                    let Some(value) = args.next() else { return Doubtful };
                    let one = value.kind == WordKind::Literal || self.is_one_word(value);
                    if !one {
                        return Doubtful;
                    }
                } else if !"ers".contains(last) {
                    return Doubtful;
                }
            } else {
                options = false;
                if let Doubtful = self.target(word) {
                    return Doubtful;
                }
            }
        }
        Plain
    }

    /// `export X=…`: plain names, no attributes that evaluate (`-i`, `-n`) and no arrays.
    fn judge_declare(&mut self, args: &[Word<'a>], direct: bool) -> Finding {
        let mut array = false;
        for word in args {
            let raw = self.slice(word.span.start, word.span.end);
            if let Some(flags) = raw.strip_prefix('-') {
                if !flags.chars().all(|c| "xrgaAp-".contains(c)) {
                    return Doubtful;
                }
                array |= flags.contains(['a', 'A']);
                continue;
            }
            let end = raw.bytes().position(|b| !is_name(b)).unwrap_or(raw.len());
            let name = raw.get(..end).unwrap_or_default();
            let rest = raw.get(end..).unwrap_or_default();
            let value = rest.strip_prefix('=').or_else(|| rest.strip_prefix("+="));
            let plain = name.bytes().next().is_some_and(is_name_start) && !names::special(name);
            let splits = !direct && word.kind != WordKind::Literal && !word.quoted;
            if !plain
                || splits
                || (value.is_none() && !rest.is_empty())
                || (array && value.is_some())
            {
                return Doubtful;
            }
            let from = word.span.end - value.map_or(0, str::len);
            if value.is_some() && self.is_number(from, word.span.end) {
                self.names.prove(name);
            } else {
                self.names.taint(name);
            }
        }
        Plain
    }

    /// Names of variables, behind the given options.
    fn judge_names(&mut self, args: &[Word<'a>], options: &[&str]) -> Finding {
        for word in args {
            let option = word.literal().is_some_and(|text| options.contains(&text));
            if !option && let Doubtful = self.target(word) {
                return Doubtful;
            }
        }
        Plain
    }

    /// A variable that a builtin will set: a plain name, which may then hold anything.
    fn target(&mut self, word: &Word<'a>) -> Finding {
        let raw = self.slice(word.span.start, word.span.end);
        let plain = raw.bytes().next().is_some_and(is_name_start) && raw.bytes().all(is_name);
        // A name that programs obey (`read PATH`) changes what later commands are.
        if !plain || names::special(raw) || !environment::harmless(raw, None) {
            return Doubtful;
        }
        self.names.taint(raw);
        Plain
    }

    fn judge_wait(&mut self, args: &[Word<'a>]) -> Finding {
        let plain = args.iter().all(|word| match word.literal() {
            Some(text) => matches!(text, "-n" | "-f") || !text.starts_with('-'),
            None => self.is_number(word.span.start, word.span.end),
        });
        if plain { Plain } else { Doubtful }
    }
}

fn is_binary(word: &str) -> bool {
    matches!(
        word,
        "=" | "=="
            | "!="
            | "<"
            | ">"
            | "-eq"
            | "-ne"
            | "-lt"
            | "-le"
            | "-gt"
            | "-ge"
            | "-nt"
            | "-ot"
            | "-ef"
            | "-a"
            | "-o"
    )
}

/// `set -e` and the like, and positional parameters behind `--`.
fn judge_set(args: &[Word<'_>]) -> Finding {
    let mut args = args.iter();
    while let Some(word) = args.next() {
        match word.literal() {
            Some("--") => return Plain,
            Some(text) if text.starts_with(['-', '+']) => {
                let flags = text.get(1..).unwrap_or_default();
                if !flags.chars().all(|c| "efuxvaCbmBEo".contains(c)) {
                    return Doubtful;
                }
                if flags.ends_with('o')
                    && !args.next().and_then(Word::literal).is_some_and(|o| {
                        matches!(
                            o,
                            "pipefail"
                                | "errexit"
                                | "nounset"
                                | "xtrace"
                                | "noglob"
                                | "noclobber"
                                | "verbose"
                                | "errtrace"
                        )
                    })
                {
                    return Doubtful;
                }
                if flags.trim_end_matches('o').contains('o') {
                    return Doubtful;
                }
            }
            Some(_) => return Plain,
            None => return Doubtful,
        }
    }
    Plain
}

/// Queries, and options that only change globbing and exit codes.
fn judge_shopt(args: &[Word<'_>]) -> Finding {
    let sets =
        |w: &Word<'_>| w.literal().is_none_or(|w| w.starts_with('-') && w.contains(['s', 'u']));
    if !args.iter().any(sets) {
        return Plain;
    }
    let harmless = args.iter().all(|word| {
        word.literal().is_some_and(|text| {
            matches!(
                text,
                "-s" | "-u"
                    | "-q"
                    | "nullglob"
                    | "globstar"
                    | "dotglob"
                    | "failglob"
                    | "nocaseglob"
                    | "nocasematch"
                    | "inherit_errexit"
                    | "lastpipe"
                    | "checkwinsize"
            )
        })
    });
    if harmless { Plain } else { Doubtful }
}
