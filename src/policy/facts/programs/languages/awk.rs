//! Programs of awk.

use crate::facts::programs::description::{Operands, Reading, reading};
use crate::facts::programs::languages::ScriptText;
use crate::facts::programs::{Words, listed};

/// Options that set a variable. Without long ones: Kernighan's awk ignores them, and takes the word
/// behind them for its program.
pub(crate) const FORM: Reading = reading("", "vF", &[], Operands::Awk);

/// Words of the language that neither run nor open anything.
const KEYWORDS: Words = "\
    BEGIN END if else while for do in break continue next nextfile exit delete print printf";
const FUNCTIONS: Words = "\
    length substr index split match sub gsub gensub sprintf tolower toupper int sqrt exp log sin \
    cos atan2 rand srand strftime mktime systime strtonum asort asorti and or xor lshift rshift \
    compl";
/// Names in capitals may be doors: `ENVIRON`, `ARGV`, `PROCINFO`, `SYMTAB`.
const VARIABLES: Words = "\
    NR NF FNR FS OFS RS ORS RT FILENAME SUBSEP RSTART RLENGTH CONVFMT OFMT IGNORECASE FIELDWIDTHS \
    FPAT";

/// What a slash means behind a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Divides,
    StartsRegex,
    Unclear,
}

/// Returns true when a program of awk only reads its input and prints: no function but the listed
/// ones, no pipe, no redirect, no comment.
pub(crate) fn reads(program: &str) -> bool {
    tokens(&mut ScriptText(program)).is_some()
}

fn tokens(rest: &mut ScriptText<'_>) -> Option<()> {
    use Slash::{Divides, StartsRegex, Unclear};
    let mut slash = StartsRegex;
    // Open parentheses, true for those of `if`, `while` and `for`.
    let mut open = Vec::new();
    let mut control = false;
    let mut printing = false;
    loop {
        if !rest.take(|c| c.is_ascii_digit() || c == '.').is_empty() {
            // `1getline` is two tokens, `1e5` is one.
            if rest.peek().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') {
                return None;
            }
            slash = Divides;
        }
        let name = rest.name();
        if !name.is_empty() {
            let called = rest.0.trim_start_matches([' ', '\t']).starts_with('(');
            let prints = matches!(name, "print" | "printf");
            if prints && !open.is_empty() {
                return None;
            }
            printing |= prints;
            control = matches!(name, "if" | "while" | "for");
            slash = match listed(KEYWORDS, name) || listed(FUNCTIONS, name) {
                true => Unclear,
                false if called || !is_variable(name) => return None,
                false => Divides,
            };
            continue;
        }
        let Some(c) = rest.next() else { return Some(()) };
        slash = match c {
            ' ' | '\t' => continue,
            '"' => rest.text('"').map(|()| Unclear)?,
            '/' if slash == Divides => StartsRegex,
            '/' if slash == StartsRegex && !rest.regex('/')? => Unclear,
            '(' => {
                open.push(std::mem::take(&mut control));
                StartsRegex
            }
            ')' if open.pop()? => Unclear,
            ')' | ']' => Divides,
            '+' | '-' if rest.0.starts_with(c) => rest.next().map(|_| Unclear)?,
            '|' if !rest.eat("|") => return None,
            '&' if !rest.eat("&") => return None,
            // In parentheses it compares, behind `print` it writes.
            '>' if !rest.eat("=") && (printing && open.is_empty() || rest.eat(">")) => return None,
            ';' | '}' => {
                printing = false;
                StartsRegex
            }
            // A newline may continue a `print`.
            '\n' | '{' | '[' | ',' | '!' | '~' | '=' | '<' | '>' | '|' | '&' | '+' | '-' | '*'
            | '%' | '^' | '?' | ':' | '$' => StartsRegex,
            _ => return None,
        };
    }
}

/// Returns true for a known variable, or one of the program's own.
fn is_variable(name: &str) -> bool {
    // Kernighan's awk runs the line as a command for a bare `system`.
    let door = matches!(name, "getline" | "system" | "close" | "fflush");
    listed(VARIABLES, name) || name.contains(|c: char| !c.is_ascii_uppercase()) && !door
}
