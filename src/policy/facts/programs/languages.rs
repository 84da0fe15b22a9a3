//! Scripts in small languages that stand on a command line.
//!
//! FAIL-CLOSED: a reader accepts a short grammar of what people use to print and change text. Any
//! other script counts as one that may run a program, or read or write a file.

pub(crate) mod awk;
pub(crate) mod jq;
pub(crate) mod sed;

/// The rest of a script, read from the left.
struct ScriptText<'s>(&'s str);

impl<'s> ScriptText<'s> {
    fn peek(&self) -> Option<char> {
        self.0.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.0 = self.0.strip_prefix(c)?;
        Some(c)
    }

    fn eat(&mut self, wanted: &str) -> bool {
        match self.0.strip_prefix(wanted) {
            Some(rest) => self.0 = rest,
            None => return false,
        }
        true
    }

    /// Reads all characters of a kind.
    fn take(&mut self, kind: impl Fn(char) -> bool) -> &'s str {
        let (taken, rest) = self.0.split_at(self.0.find(|c| !kind(c)).unwrap_or(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Reads a name.
    fn name(&mut self) -> &'s str {
        self.take(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Reads the character behind a backslash. A newline there would continue what is read, and
    /// `\c` of sed takes one more character.
    fn escaped(&mut self) -> Option<()> {
        self.next().filter(|c| (c.is_ascii_graphic() || *c == ' ') && *c != 'c').map(drop)
    }

    /// Reads a text up to `end`.
    fn text(&mut self, end: char) -> Option<()> {
        loop {
            match self.next()? {
                '\n' => return None,
                '\\' => self.escaped()?,
                c if c == end => return Some(()),
                _ => {}
            }
        }
    }

    /// Reads a regular expression up to `end`. Returns true when a bracket in it holds `end`: for
    /// some programs it ends there.
    fn regex(&mut self, end: char) -> Option<bool> {
        let mut early = false;
        loop {
            match self.next()? {
                '\n' => return None,
                '\\' => self.escaped()?,
                '[' => early |= self.bracket(end)?,
                c if c == end => return Some(early),
                _ => {}
            }
        }
    }

    /// Reads `[^/]` behind its first character. Programs agree on where it ends, because `[` and
    /// a backslash in front of `]` are refused, and because `end` comes last.
    fn bracket(&mut self, end: char) -> Option<bool> {
        self.eat("^");
        self.eat("]");
        loop {
            if end != ':' && self.eat("[:") {
                self.take(|c| c.is_ascii_lowercase());
                self.eat(":]").then_some(())?;
                continue;
            }
            match self.next()? {
                ']' => return Some(false),
                c if c == end => return self.eat("]").then_some(true),
                '\\' if self.0.starts_with([']', '[']) => return None,
                '\\' => self.escaped()?,
                '\n' | '[' => return None,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{awk, jq, sed};

    #[test]
    fn everyday_scripts_read() {
        for script in [
            "120,180p",
            "/fn main/,/^}/p",
            "/a/,+5p;20q",
            "s/^ *//; s/ *$//",
            "s#^src/##g",
            "s|[^|]*$||p",
            "s/[^/]*\\/[^/]*$/\\1/",
            "s/\\[[^]]*\\]//gI",
            ":a;N;$!ba;s/\\n/,/g",
            "/a/{\n/b/!p\n}",
            "\\,^/usr,d",
            "y/abc/xyz/",
            "$!{h;d}",
            "1i # e id",
            "s/x/\\x27/2",
        ] {
            assert!(sed::reads(script), "{script}");
        }
        for program in [
            "{print $1}",
            "NR>=5 && NR<=9 || /x/",
            "!seen[$0]++",
            "/^\\[a\\]/{f=1;next} /[^]]x/{f=0} f",
            "{n += $1 / 2; m /= 3} END {printf \"%s > %d | %d\\n\", FILENAME, n / NR, (m)/2}",
            "{for (i = NF; i > 0; i--) print substr($i, 2), ($i > 9 ? \"a\" : \"b\")}",
            "{if ($1 ~ /a\"b/) print length\nelse print toupper($2)}",
        ] {
            assert!(awk::reads(program), "{program}");
        }
        for filter in [
            ".",
            ".a.env | keys[]",
            "to_entries[] | \"\\(.key) \\(.value | length)\"",
            "map(select(.a > 1 and (.b | test(\"x\")))) | .[:3]",
            "{name, env: .x, if: 1, n: (.a // 0)}",
            "reduce .[] as $x (0; . + $x)",
            "if . == 1 then \"a\" elif .b then 2 else empty end",
            "[..|numbers] | @csv",
        ] {
            assert!(jq::reads(filter), "{filter}");
        }
    }

    /// Found by the red team, by `tests/policy/small_languages.rs`, and by reading the programs.
    #[test]
    fn scripts_that_reach_out_or_are_unclear_do_not() {
        for script in [
            "#\\\ne id",
            "# p",
            "a x\\\\\ne id",
            "i\\\nx",
            "$a",
            "1e id",
            "e",
            "s/a/b/e",
            "s/a/b/ge",
            "s/a/b/w f",
            "w f",
            "r f",
            "R f",
            "W f",
            ":a e id",
            "bx e id",
            "p e id",
            "}e",
            "s\ne\n",
            "s/a\\\n/b/",
            "s/a/\\c/e/",
            "y/[/,/e/w f",
            // Where a bracket does not protect the slash, the flags start elsewhere.
            "s/[/]/w f/",
            "s/[/]/e/",
            "/[/w f]/p",
            "s/[\\]/]/w f/",
            "s:[[:a:]:]:w f:",
            "s/[]/x]/&/",
            "f\u{e9}",
        ] {
            assert!(!sed::reads(script), "{script:?}");
        }
        for program in [
            "{print > \"f\"}",
            "{print $1,\n$2 > \"f\"}",
            "{print (1)(2) > \"f\"}",
            "{print a[1 > 2]}",
            "{print >> \"f\"}",
            "BEGIN{for (print 1 > \"f\"; 1;) x}",
            "{print | \"sh\"}",
            "{print |& \"sh\"}",
            "{system (\"id\")}",
            "{awk::system(\"id\")}",
            "{@f(1)}",
            "{getline}",
            "system",
            "{x = system \"id\"}",
            "{1getline < \"f\"}",
            "{1e5getline < \"f\"}",
            "{print ENVIRON[1]}",
            "BEGIN{ARGV[1] = \"f\"}",
            // Behind the parenthesis of `if`, a slash starts a pattern.
            "{if (x) /\"/; system(\"sh\"); if (x) /\"/}",
            "{print length /\"/ system(\"sh\") /\"/}",
            "/[/]/ {print}",
            "{print \"a\\\nb\"}",
            "# x\n{print}",
            "function f() {}",
        ] {
            assert!(!awk::reads(program), "{program:?}");
        }
        for filter in [
            "env",
            "env.A",
            "$ENV",
            "$ ENV",
            "..env",
            "1.env",
            "\"\\(env)\"",
            "\"\\(\"\\(1, $ENV)\")\"",
            "{a: env}",
            "{(env): 1}",
            "{a: if . then 1, env else 2 end}",
            ".[env:]",
            "input_filename",
            "$__loc__",
            "import \"a\" as a; a::x",
            "include \"a\"; x",
            "def f: env; f",
            "\"m\" | modulemeta",
            ". # x",
        ] {
            assert!(!jq::reads(filter), "{filter:?}");
        }
        assert!(!jq::reads(&"\"\\(".repeat(100_000)));
    }
}
