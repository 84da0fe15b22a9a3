//! Builtins that evaluate their arguments.
//!
//! bash evaluates array subscripts in *literal* strings that name a variable: `test -v 'a[$(x)]'`,
//! `read`, `printf -v`, `unset`, `declare` … run `x`. Other builtins run text later (`alias`,
//! `mapfile -C`) or change how the rest is read (`shopt`, `set -o posix`). Every form that is not
//! known to be plain is a doubt.

use super::cursor::Scanner;
use super::doubt::Doubt;
use super::vet_options::{vet_set, vet_shopt};
use super::vetted::Vetted;
use super::{Command, Word, WordKind};

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
                if let Vetted::Doubtful = self.vet_builtin(name, rest, direct) {
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

    fn vet_builtin(&mut self, name: &str, args: &[Word<'a>], direct: bool) -> Vetted {
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
            b"-" | b"noglob" | b"nocorrect" | b"repeat" | b"foreach" => Vetted::Doubtful,
            b"set" => vet_set(args),
            b"shopt" => vet_shopt(args),
            // Without arguments these only print.
            b"hash" | b"history" | b"complete" | b"enable" | b"alias" if args.is_empty() => {
                Vetted::Plain
            }
            b"jobs" => {
                // `jobs -x` runs a command.
                let plain = args.iter().all(|w| w.literal().is_some_and(|w| w != "-x"));
                if plain { Vetted::Plain } else { Vetted::Doubtful }
            }
            b"eval" => {
                let literal = args.iter().all(|w| w.literal().is_some());
                if literal { Vetted::Plain } else { Vetted::Doubtful }
            }
            b"trap" => match args.first() {
                None => Vetted::Plain,
                Some(action) => {
                    if action.literal().is_some() {
                        Vetted::Plain
                    } else {
                        Vetted::Doubtful
                    }
                }
            },
            b"hash" | b"history" | b"complete" | b"enable" | b"let" | b"alias" | b"bind"
            | b"compgen" | b"compopt" | b"fc" | b"caller" => Vetted::Doubtful,
            _ => Vetted::Plain,
        }
    }

    /// Returns true for a dynamic word that stays one word: quoted as a whole, or a number.
    pub(super) fn is_one_word(&mut self, word: &Word<'a>) -> bool {
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
    pub(super) fn vet_numbers(&mut self, args: &[Word<'a>]) -> Vetted {
        let plain = args.iter().all(|word| self.is_number(word.span.start, word.span.end));
        if plain { Vetted::Plain } else { Vetted::Doubtful }
    }

    fn vet_wait(&mut self, args: &[Word<'a>]) -> Vetted {
        let plain = args.iter().all(|word| match word.literal() {
            Some(text) => matches!(text, "-n" | "-f") || !text.starts_with('-'),
            None => self.is_number(word.span.start, word.span.end),
        });
        if plain { Vetted::Plain } else { Vetted::Doubtful }
    }
}
