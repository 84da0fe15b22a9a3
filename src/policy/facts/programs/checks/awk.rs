//! Programs of awk: whether they run another program, or read or write a file.

use crate::facts::programs::arguments::Arguments;

const UNSEEN: &str = "a word that is only known when it runs may be an action of it";

/// Checks an awk command for `system`, pipes, `getline`, redirects, programs from files and
/// extensions.
pub(crate) fn awk(args: &Arguments<'_, '_>) -> Option<&'static str> {
    if args.short("fiElpdDoW", "vF")
        || args.long(
            "\
            --file --include --exec --load --profile --pretty-print --dump-variables \
            --debug",
        )
    {
        return Some("an option of awk reads a program or writes a file");
    }
    if args.uncertain() {
        return Some(UNSEEN);
    }
    let program = args.operands("-v -F --assign --field-separator").first().map(|w| &*w.text)?;
    awk_reaches(program).then_some("its program runs another one or reads or writes a file")
}

fn awk_reaches(program: &str) -> bool {
    let mut quoted = false;
    let mut regex = false;
    let mut before = ' ';
    let mut braces = 0i32;
    let mut code = String::with_capacity(program.len());
    let mut chars = program.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted || regex => {
                chars.next();
            }
            '"' if !regex => quoted = !quoted,
            _ if quoted => {}
            '/' if regex => regex = false,
            _ if regex => {}
            // A slash starts a regex unless a value precedes it.
            '/' if matches!(
                before,
                '(' | '{' | '}' | ',' | '~' | '!' | '&' | '|' | ';' | ' ' | '\n'
            ) && !value_before(&code) =>
            {
                regex = true
            }
            _ => {
                // A single `|` is a pipe, a double one an operator.
                if c == '|' && chars.peek() != Some(&'|') && before != '|' {
                    return true;
                }
                // `>` compares in a pattern and in parentheses; in an action it redirects.
                if c == '>' && chars.peek() != Some(&'=') && braces > 0 && redirects(&code) {
                    return true;
                }
                braces += i32::from(c == '{') - i32::from(c == '}');
                code.push(c);
            }
        }
        before = c;
    }
    // `code` holds the program without strings and regexes, so these words are not data. `@` loads
    // an extension or includes a file.
    ["system", "getline", "@"].iter().any(|word| code.contains(word))
}

/// Returns true when the code so far ends in a value, so that a slash divides.
fn value_before(code: &str) -> bool {
    code.trim_end()
        .ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, ')' | ']' | '_' | '$'))
}

/// Returns true when the statement so far is a `print` outside parentheses.
fn redirects(code: &str) -> bool {
    let statement = code.rsplit(['{', ';', '\n', '}']).next().unwrap_or_default();
    let open = statement.matches('(').count() > statement.matches(')').count();
    statement.contains("print") && !open
}
