//! `test` and `[`, which evaluate the operands of `-v` and `-R`.

use super::cursor::Scanner;
use super::vetted::Vetted;
use super::{Word, WordKind};

impl<'a> Scanner<'a> {
    /// Checks `test`, which evaluates the operand of `-v` and `-R`: no word may become such an
    /// option.
    pub(super) fn vet_test(&mut self, name: &str, args: &[Word<'a>]) -> Vetted {
        let args = match args {
            [inner @ .., last] if name == "[" && last.literal() == Some("]") => inner,
            _ => args,
        };
        for word in args {
            let one = word.kind == WordKind::Literal || self.is_one_word(word);
            if !one || matches!(&*word.text, "-v" | "-R") {
                return Vetted::Doubtful;
            }
        }
        let known = |w: Option<&Word<'a>>| w.is_some_and(|w| w.literal().is_some());
        let mut args = args;
        // Each leading `!` negates the rest, which counts by its own length.
        while args.len() > 1 && args.first().and_then(Word::literal) == Some("!") {
            args = args.get(1..).unwrap_or_default();
        }
        match args.len() {
            0 | 1 => Vetted::Plain,
            // With two words the first is an operator, so an unknown one may become `-v`.
            2 => {
                if known(args.first()) {
                    Vetted::Plain
                } else {
                    Vetted::Doubtful
                }
            }
            3 => {
                let binary = args.get(1).and_then(Word::literal).is_some_and(is_binary);
                if binary { Vetted::Plain } else { self.vet_long_test(args) }
            }
            _ => self.vet_long_test(args),
        }
    }

    /// Checks a test with `-a`, `-o` or parentheses: every unknown word must be the operand of a
    /// known operator.
    fn vet_long_test(&mut self, args: &[Word<'a>]) -> Vetted {
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
        if sound { Vetted::Plain } else { Vetted::Doubtful }
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
