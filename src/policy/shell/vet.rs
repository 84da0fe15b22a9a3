//! Builtins that evaluate their arguments.
//!
//! bash evaluates array subscripts in *literal* strings that name a variable: `test -v 'a[$(x)]'`,
//! `read`, `printf -v`, `unset`, `declare` … run `x`. Other builtins run text later (`alias`,
//! `mapfile -C`) or change how the rest is read (`shopt`, `set -o posix`). Every form that is not
//! known to be plain is a doubt.

use crate::shell::cursor::{Scanner, is_name, is_name_start};
use crate::shell::{Command, Doubt, Word, WordKind, environment, names};
use crate::words::{Words, listed};

impl<'a> Scanner<'a> {
    /// Checks a simple command after it is read.
    pub(super) fn vet(&mut self, command: &Command<'a>) {
        let mut argv = command.argv.as_slice();
        // `command`, `builtin` and `exec` pass the rest to the builtin or program behind them.
        while let [first, rest @ ..] = argv {
            let Some(name) = first.literal() else {
                // `"$dir/tool"` is some program. It is neither a builtin nor several words.
                let program = first.text.contains('/') && first.quoted && self.is_one_word(first);
                if !program && first.kind != WordKind::Home {
                    self.doubt_at(Doubt::DynamicName, first.span.start);
                }
                return;
            };
            let hands_on = matches!(name, "command" | "builtin" | "exec");
            if !hands_on {
                // bash splits no words in `export x=$y`, but may in `command export x=$y` and
                // `'export' x=$y`.
                let direct = argv.len() == command.argv.len() && !first.quoted;
                if !self.vet_builtin(name, rest, direct) {
                    self.doubt_at(Doubt::Builtin, first.span.start);
                }
                return;
            }
            let options = rest.iter().take_while(|w| w.text.starts_with('-')).count();
            // `command -v x` only looks up a name.
            let looks =
                name == "command" && rest.first().is_some_and(|w| matches!(&*w.text, "-v" | "-V"));
            if looks {
                return;
            }
            argv = rest.get(options..).unwrap_or_default();
        }
    }

    /// Returns true when the arguments are known to be plain: the builtin evaluates none of them.
    /// The checks of single builtins do the same.
    fn vet_builtin(&mut self, name: &str, args: &[Word<'a>], direct: bool) -> bool {
        // The text that these run may assign any variable.
        if matches!(name, "eval" | "source" | "." | "trap") {
            self.names.taint_all();
        }
        match name.as_bytes() {
            b"[" | b"test" => self.vet_test(name, args),
            b"printf" => self.vet_printf(args),
            b"read" => self.vet_read(args),
            b"export" | b"declare" | b"typeset" | b"local" | b"readonly" => {
                self.vet_declare(args, direct)
            }
            b"unset" => self.vet_names(args, &["-f", "-v"]),
            b"getopts" => self.vet_names(args.get(1..2).unwrap_or_default(), &[]),
            b"mapfile" | b"readarray" => self.vet_names(args, &["-t"]),
            b"wait" => self.vet_wait(args),
            // zsh evaluates these words as arithmetic, with the subscripts in them.
            b"exit" | b"return" | b"break" | b"continue" | b"shift" => self.vet_numbers(args),
            // To zsh these are words before a command.
            b"-" | b"noglob" | b"nocorrect" | b"repeat" | b"foreach" => false,
            b"set" => vet_set(args),
            b"shopt" => vet_shopt(args),
            // Without arguments these only print.
            b"hash" | b"history" | b"complete" | b"enable" | b"alias" if args.is_empty() => true,
            // `jobs -x` runs a command.
            b"jobs" => args.iter().all(|w| w.literal().is_some_and(|w| w != "-x")),
            b"eval" => args.iter().all(|w| w.literal().is_some()),
            b"trap" => args.first().is_none_or(|action| action.literal().is_some()),
            b"hash" | b"history" | b"complete" | b"enable" | b"let" | b"alias" | b"bind"
            | b"compgen" | b"compopt" | b"fc" | b"caller" => false,
            _ => true,
        }
    }

    /// Returns true for a dynamic word that stays one word: quoted as a whole, or a number.
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

    /// Checks words that must be numbers.
    fn vet_numbers(&mut self, args: &[Word<'a>]) -> bool {
        args.iter().all(|word| self.is_number(word.span.start, word.span.end))
    }

    fn vet_wait(&mut self, args: &[Word<'a>]) -> bool {
        args.iter().all(|word| match word.literal() {
            Some(text) => matches!(text, "-n" | "-f") || !text.starts_with('-'),
            None => self.is_number(word.span.start, word.span.end),
        })
    }
}

// Builtins that set variables by name.

impl<'a> Scanner<'a> {
    /// Checks `printf`: `-v name` assigns, an unknown first word may become `-v…`, and zsh evaluates
    /// every word that is printed as a number.
    fn vet_printf(&mut self, args: &[Word<'a>]) -> bool {
        let Some(first) = args.first() else { return true };
        let raw = first.text.as_bytes().first().copied().unwrap_or(0);
        let known = match first.kind {
            WordKind::Literal | WordKind::Home => true,
            // The word starts with a plain character, whatever follows it.
            WordKind::Glob => raw != b'*' && raw != b'?' && raw != b'[',
            WordKind::Dynamic => !matches!(raw, b'$' | b'`' | b'-' | b'{' | b'<'),
        };
        if !known || first.text.starts_with("-v") {
            return false;
        }
        let (format, args) = match args {
            [dashes, format, args @ ..] if dashes.text == "--" => (format, args),
            [format, args @ ..] => (format, args),
            [] => return true,
        };
        let numbers = match format.literal() {
            Some(format) => conversions(format),
            None => vec![true],
        };
        // A word that may become several shifts the others.
        let certain = args.iter().all(|word| word.literal().is_some() || self.is_one_word(word));
        let plain = args.iter().zip(numbers.iter().cycle()).all(|(word, &number)| {
            certain && !number
                || word
                    .literal()
                    .is_some_and(|text| text.bytes().all(|b| b"0123456789.".contains(&b)))
                || self.is_number(word.span.start, word.span.end)
        });
        plain || !numbers.contains(&true)
    }

    fn vet_read(&mut self, args: &[Word<'a>]) -> bool {
        let mut args = args.iter();
        let mut options = true;
        while let Some(word) = args.next() {
            let Some(text) = word.literal() else { return false };
            if options && text == "--" {
                options = false;
            } else if options && text.len() > 1 && text.starts_with('-') {
                let last = text.chars().next_back().unwrap_or('-');
                let flags = text.get(1..text.len() - last.len_utf8()).unwrap_or_default();
                if flags.chars().any(|c| "adinNptu".contains(c)) {
                    // `-p'text'`, `-t5`: the value is attached to the option. Only plain numbers
                    // are read.
                    let number = text.get(2..).unwrap_or_default();
                    if text.starts_with("-a")
                        || !number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
                    {
                        return false;
                    }
                } else if last == 'a' {
                    let Some(array) = args.next() else { return false };
                    if !self.target(array) {
                        return false;
                    }
                } else if "nNtu".contains(last) {
                    let Some(value) = args.next() else { return false };
                    let decimal = value
                        .literal()
                        .is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
                    if !decimal && !self.is_number(value.span.start, value.span.end) {
                        return false;
                    }
                } else if "dip".contains(last) {
                    let Some(value) = args.next() else { return false };
                    let one = value.kind == WordKind::Literal || self.is_one_word(value);
                    if !one {
                        return false;
                    }
                } else if !"ers".contains(last) {
                    return false;
                }
            } else {
                options = false;
                if !self.target(word) {
                    return false;
                }
            }
        }
        true
    }

    /// Checks `export X=…` and its kin: plain names, no attribute that evaluates (`-i`, `-n`), no
    /// arrays.
    fn vet_declare(&mut self, args: &[Word<'a>], direct: bool) -> bool {
        let mut array = false;
        for word in args {
            let raw = self.slice(word.span.start, word.span.end);
            if let Some(flags) = raw.strip_prefix('-') {
                if !flags.chars().all(|c| "xrgaAp-".contains(c)) {
                    return false;
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
            // `declare -a x='([i]=…)'` reads the value as an array and evaluates its subscripts.
            if !plain
                || splits
                || (value.is_none() && !rest.is_empty())
                || (array && value.is_some())
            {
                return false;
            }
            let from = word.span.end - value.map_or(0, str::len);
            if value.is_some() && self.is_number(from, word.span.end) {
                self.names.prove(name);
            } else {
                self.names.taint(name);
            }
        }
        true
    }

    /// Checks the names of variables, which may follow the given options.
    fn vet_names(&mut self, args: &[Word<'a>], options: &[&str]) -> bool {
        let is_option = |word: &Word<'_>| word.literal().is_some_and(|it| options.contains(&it));
        args.iter().all(|word| is_option(word) || self.target(word))
    }

    /// Checks a variable that a builtin will set: a plain name, which may hold anything afterwards.
    fn target(&mut self, word: &Word<'a>) -> bool {
        let raw = self.slice(word.span.start, word.span.end);
        let plain = raw.bytes().next().is_some_and(is_name_start) && raw.bytes().all(is_name);
        // `read PATH` changes which programs the later commands run.
        if !plain || names::special(raw) || !environment::harmless(raw, None) {
            return false;
        }
        self.names.taint(raw);
        true
    }
}

/// Returns for each conversion of a format whether it prints a number; one entry without any. Where
/// that is not certain, every word may be a number.
fn conversions(format: &str) -> Vec<bool> {
    let mut found = Vec::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        let number = match c {
            '%' => match chars.find(|c| !"-+ #0123456789.'".contains(*c)) {
                Some('%') => continue,
                Some('s' | 'b' | 'q' | 'c') => false,
                Some('d' | 'i' | 'o' | 'u' | 'x' | 'X' | 'e' | 'f' | 'g') => true,
                // `%*s` takes the width from a word, `%2$s` the words in another order.
                _ => return vec![true],
            },
            _ => continue,
        };
        found.push(number);
    }
    if found.is_empty() { vec![false] } else { found }
}

// `set` and `shopt`: options of the shell itself.

/// Checks `set`. Options like `-e` are plain; words behind `--` are positional parameters.
fn vet_set(args: &[Word<'_>]) -> bool {
    const NAMED: Words = "pipefail errexit nounset xtrace noglob noclobber verbose errtrace";
    let mut args = args.iter();
    while let Some(word) = args.next() {
        match word.literal() {
            Some("--") => return true,
            Some(text) if text.starts_with(['-', '+']) => {
                let flags = text.get(1..).unwrap_or_default();
                // Left out on purpose: `-k` takes assignments from anywhere in a command, `-H`
                // expands history.
                if !flags.chars().all(|c| "efuxvaCbmBEo".contains(c)) {
                    return false;
                }
                let named = |option| listed(NAMED, option);
                if flags.ends_with('o') && !args.next().and_then(Word::literal).is_some_and(named)
                    || flags.trim_end_matches('o').contains('o')
                {
                    return false;
                }
            }
            Some(_) => return true,
            None => return false,
        }
    }
    true
}

/// Checks `shopt`: queries are plain, and options that only change globbing and exit codes.
fn vet_shopt(args: &[Word<'_>]) -> bool {
    const PLAIN: Words = "\
        -s -u -q nullglob globstar dotglob failglob nocaseglob nocasematch inherit_errexit \
        lastpipe checkwinsize";
    let sets =
        |w: &Word<'_>| w.literal().is_none_or(|w| w.starts_with('-') && w.contains(['s', 'u']));
    !args.iter().any(sets) || args.iter().all(|w| w.literal().is_some_and(|w| listed(PLAIN, w)))
}

// `test` and `[`, which evaluate the operands of `-v` and `-R`.

impl<'a> Scanner<'a> {
    /// Checks `test`, which evaluates the operand of `-v` and `-R`: no word may become such an
    /// option.
    fn vet_test(&mut self, name: &str, args: &[Word<'a>]) -> bool {
        let args = match args {
            [inner @ .., last] if name == "[" && last.literal() == Some("]") => inner,
            _ => args,
        };
        for word in args {
            let one = word.kind == WordKind::Literal || self.is_one_word(word);
            if !one || matches!(&*word.text, "-v" | "-R") {
                return false;
            }
        }
        // zsh evaluates the operand of `-t` as arithmetic, with the subscripts in it.
        for pair in args.windows(2) {
            let [test, of] = pair else { continue };
            if test.text == "-t" && !self.is_number(of.span.start, of.span.end) {
                return false;
            }
        }
        let mut args = args;
        // Each leading `!` negates the rest, which counts by its own length.
        while args.len() > 1 && args.first().and_then(Word::literal) == Some("!") {
            args = args.get(1..).unwrap_or_default();
        }
        match args.len() {
            0 | 1 => true,
            // With two words the first is an operator, so an unknown one may become `-v`.
            2 => args.first().is_some_and(|word| word.literal().is_some()),
            3 if args.get(1).and_then(Word::literal).is_some_and(is_binary) => true,
            _ => self.vet_long_test(args),
        }
    }

    /// Checks a test with `-a`, `-o` or parentheses: every unknown word must be the operand of a
    /// known operator.
    fn vet_long_test(&mut self, args: &[Word<'a>]) -> bool {
        let numbers: Vec<bool> =
            args.iter().map(|w| self.is_number(w.span.start, w.span.end)).collect();
        let operator = |at: Option<usize>| {
            let word = at.and_then(|at| args.get(at)).and_then(Word::literal);
            word.is_some_and(|w| is_binary(w) && !matches!(w, "-a" | "-o"))
        };
        args.iter().zip(&numbers).enumerate().all(|(at, (word, number))| {
            *number
                || word.literal().is_some()
                || operator(at.checked_sub(1))
                || (operator(Some(at + 1)) && at + 2 < args.len())
        })
    }
}

fn is_binary(word: &str) -> bool {
    listed("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o", word)
}
