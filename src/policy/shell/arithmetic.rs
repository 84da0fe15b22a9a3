//! Arithmetic: `$((…))`, `((…))`, `for ((…))`, subscripts and offsets.

use super::class::{is_name, is_name_start};
use super::cursor::{Read, Scanner};
use super::doubt::Doubt;
use super::environment::harmless;

impl<'a> Scanner<'a> {
    /// Reads an expression up to one of `stops` outside parentheses and leaves the cursor there.
    ///
    /// A value that may hold more than a number is a doubt. Quotes and unusual characters are
    /// refused, because bash may end the expression elsewhere.
    pub(super) fn arithmetic(&mut self, stops: &[u8]) -> Read<()> {
        let mut open = 0usize;
        // An assignment behind `&&`, `||` or `?` may not happen.
        let mut certain = true;
        loop {
            let b = self.peek();
            if open == 0 && stops.contains(&b) && !self.finished() {
                return Ok(());
            }
            match b {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b'0'..=b'9' => {
                    // Letters behind a digit belong to the number (`0x1f`); they are not a
                    // variable.
                    while is_name(self.peek()) {
                        self.at += 1;
                    }
                    continue;
                }
                _ if is_name_start(b) => {
                    self.counted_name(certain);
                    continue;
                }
                b'$' => {
                    let from = self.at;
                    self.dollar(true)?;
                    if !self.is_number(from, self.at) {
                        self.doubt_at(Doubt::Arithmetic, from);
                    }
                    continue;
                }
                b'&' | b'|' | b'?' => certain = false,
                b' ' | b'\t' | b'\n' | b'+' | b'-' | b'*' | b'/' | b'%' | b'=' | b'<' | b'>'
                | b'!' | b'^' | b'~' | b':' | b',' => {}
                b';' if stops.contains(&b';') => {}
                0 if self.finished() => return self.refuse(Doubt::Unfinished),
                _ => return self.refuse(Doubt::Arithmetic),
            }
            self.at += 1;
        }
    }

    /// Reads an identifier, with the assignment to it if there is one.
    fn counted_name(&mut self, certain: bool) {
        let from = self.at;
        self.at += self.identifier();
        let name = self.slice(from, self.at);
        let blanks = self.rest().iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let assigned = self.look(blanks) == b'=' && self.look(blanks + 1) != b'=';
        if assigned && (super::names::special(name) || !harmless(name, None)) {
            self.doubt_at(Doubt::Variable, from);
        } else if assigned && certain {
            self.names.prove(name);
        } else if assigned {
            // The value is a number, but the assignment may not run, so nothing is proven.
        } else if !self.names.count(name, from) {
            self.doubt_at(Doubt::Arithmetic, from);
        }
    }

    /// Returns true when the source between the offsets can only produce digits: a number, `$#`,
    /// `${#x}`, `$((…))`, or a variable that is known to hold a number.
    pub(super) fn is_number(&mut self, from: usize, to: usize) -> bool {
        let text = self.slice(from, to);
        let text = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
        if let Some(digits) = Some(text.strip_prefix('-').unwrap_or(text))
            && !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
        {
            return true;
        }
        let Some(expansion) = text.strip_prefix('$') else { return false };
        if matches!(expansion, "#" | "?" | "$" | "!") {
            return true;
        }
        if let Some(inner) = expansion.strip_prefix("((").and_then(|t| t.strip_suffix("))")) {
            // The expression was checked when it was read. The balance refuses `$((1))$((2))`,
            // which is two expansions side by side.
            return balanced(inner);
        }
        let braced = expansion.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
        if let Some(length) = braced.and_then(|t| t.strip_prefix('#')) {
            let name = length.strip_suffix("[@]").or(length.strip_suffix("[*]")).unwrap_or(length);
            return !name.is_empty() && name.bytes().all(is_name);
        }
        let name = braced.unwrap_or(expansion);
        let plain = name.bytes().next().is_some_and(is_name_start) && name.bytes().all(is_name);
        plain && self.names.count(name, from)
    }
}

fn balanced(text: &str) -> bool {
    let mut open = 0i32;
    text.bytes().all(|b| {
        open += i32::from(b == b'(') - i32::from(b == b')');
        open >= 0
    })
}
