//! Builtins that set variables by name.

use super::class::{is_name, is_name_start};
use super::cursor::Scanner;
use super::vetted::Vetted;
use super::{Word, WordKind, environment, names};

impl<'a> Scanner<'a> {
    /// Checks `printf`: `-v name` assigns, an unknown first word may become `-v…`, and zsh evaluates
    /// every word that is printed as a number.
    pub(super) fn vet_printf(&mut self, args: &[Word<'a>]) -> Vetted {
        let Some(first) = args.first() else { return Vetted::Plain };
        let raw = first.text.as_bytes().first().copied().unwrap_or(0);
        let known = match first.kind {
            WordKind::Literal | WordKind::Home => true,
            // The word starts with a plain character, whatever follows it.
            WordKind::Glob => raw != b'*' && raw != b'?' && raw != b'[',
            WordKind::Dynamic => !matches!(raw, b'$' | b'`' | b'-' | b'{' | b'<'),
        };
        if !known || first.text.starts_with("-v") {
            return Vetted::Doubtful;
        }
        let (format, args) = match args {
            [dashes, format, args @ ..] if dashes.text == "--" => (format, args),
            [format, args @ ..] => (format, args),
            [] => return Vetted::Plain,
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
        if plain || !numbers.contains(&true) { Vetted::Plain } else { Vetted::Doubtful }
    }

    pub(super) fn vet_read(&mut self, args: &[Word<'a>]) -> Vetted {
        let mut args = args.iter();
        let mut options = true;
        while let Some(word) = args.next() {
            let Some(text) = word.literal() else { return Vetted::Doubtful };
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
                        return Vetted::Doubtful;
                    }
                } else if last == 'a' {
                    let Some(array) = args.next() else { return Vetted::Doubtful };
                    if let Vetted::Doubtful = self.target(array) {
                        return Vetted::Doubtful;
                    }
                } else if "nNtu".contains(last) {
                    let Some(value) = args.next() else { return Vetted::Doubtful };
                    let decimal = value
                        .literal()
                        .is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
                    if !decimal && !self.is_number(value.span.start, value.span.end) {
                        return Vetted::Doubtful;
                    }
                } else if "dip".contains(last) {
                    let Some(value) = args.next() else { return Vetted::Doubtful };
                    let one = value.kind == WordKind::Literal || self.is_one_word(value);
                    if !one {
                        return Vetted::Doubtful;
                    }
                } else if !"ers".contains(last) {
                    return Vetted::Doubtful;
                }
            } else {
                options = false;
                if let Vetted::Doubtful = self.target(word) {
                    return Vetted::Doubtful;
                }
            }
        }
        Vetted::Plain
    }

    /// Checks `export X=…` and its kin: plain names, no attribute that evaluates (`-i`, `-n`), no
    /// arrays.
    pub(super) fn vet_declare(&mut self, args: &[Word<'a>], direct: bool) -> Vetted {
        let mut array = false;
        for word in args {
            let raw = self.slice(word.span.start, word.span.end);
            if let Some(flags) = raw.strip_prefix('-') {
                if !flags.chars().all(|c| "xrgaAp-".contains(c)) {
                    return Vetted::Doubtful;
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
                return Vetted::Doubtful;
            }
            let from = word.span.end - value.map_or(0, str::len);
            if value.is_some() && self.is_number(from, word.span.end) {
                self.names.prove(name);
            } else {
                self.names.taint(name);
            }
        }
        Vetted::Plain
    }

    /// Checks the names of variables, which may follow the given options.
    pub(super) fn vet_names(&mut self, args: &[Word<'a>], options: &[&str]) -> Vetted {
        for word in args {
            let option = word.literal().is_some_and(|text| options.contains(&text));
            if !option && let Vetted::Doubtful = self.target(word) {
                return Vetted::Doubtful;
            }
        }
        Vetted::Plain
    }

    /// Checks a variable that a builtin will set: a plain name, which may hold anything afterwards.
    fn target(&mut self, word: &Word<'a>) -> Vetted {
        let raw = self.slice(word.span.start, word.span.end);
        let plain = raw.bytes().next().is_some_and(is_name_start) && raw.bytes().all(is_name);
        // `read PATH` changes which programs the later commands run.
        if !plain || names::special(raw) || !environment::harmless(raw, None) {
            return Vetted::Doubtful;
        }
        self.names.taint(raw);
        Vetted::Plain
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
