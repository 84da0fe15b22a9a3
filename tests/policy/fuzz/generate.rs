//! Random shell-like texts: token soup, mutated commands, and small grammatical scripts.

use crate::chance::Chance;

/// A text to judge.
pub fn text(chance: &mut Chance) -> String {
    match chance.below(100) {
        0..30 => soup(chance),
        30..70 => mutant(chance),
        _ => {
            let mut script = list(chance, 3);
            if chance.percent(50) {
                mutate(chance, &mut script);
            }
            script
        }
    }
}

fn soup(chance: &mut Chance) -> String {
    (0..2 + chance.below(12)).map(|_| chance.pick(TOKENS)).collect()
}

fn mutant(chance: &mut Chance) -> String {
    let mut text = chance.pick(SEEDS).to_owned();
    if chance.percent(40) {
        text += chance.pick(&[";", " && ", "\n", " | ", " "]);
        text += chance.pick(SEEDS);
    }
    for _ in 0..1 + chance.below(3) {
        mutate(chance, &mut text);
    }
    text
}

fn mutate(chance: &mut Chance, text: &mut String) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let first = chance.below(places.len());
    let last = (first + 1 + chance.below(6)).min(places.len() - 1);
    let range = places[first]..places[last.max(first)];
    match chance.below(100) {
        0..55 => text.insert_str(range.start, chance.pick(TOKENS)),
        55..80 => text.replace_range(range, ""),
        _ => {
            let copy = text[range.clone()].to_owned();
            text.insert_str(range.end, &copy);
        }
    }
}

/// A grammatical list of commands.
fn list(chance: &mut Chance, depth: usize) -> String {
    let mut out = command(chance, depth);
    for _ in 0..chance.below(3) {
        out += chance.pick(&["; ", "\n", " && ", " || ", " | ", " & ", " |& ", ";\n"]);
        out += &command(chance, depth);
    }
    out
}

fn command(chance: &mut Chance, depth: usize) -> String {
    if depth == 0 || chance.percent(50) {
        return simple(chance, depth);
    }
    let d = depth - 1;
    match chance.below(14) {
        0 => format!("( {} )", list(chance, d)),
        1 => format!("{{ {}; }}", list(chance, d)),
        2 => format!(
            "if {}; then {}; else {}; fi",
            list(chance, d),
            list(chance, d),
            list(chance, d)
        ),
        3 => format!("for x in {}; do {}; done", word(chance, d), list(chance, d)),
        4 => format!(
            "case {} in {}) {};; *) {};; esac",
            word(chance, d),
            word(chance, d),
            list(chance, d),
            list(chance, d)
        ),
        5 => format!("f() {{ {}; }}; f", list(chance, d)),
        6 => format!("! {}", command(chance, d)),
        7 => format!("cat <<EOF\n{}\nEOF\n{}", word(chance, d), command(chance, d)),
        8 => format!("cat <<'EOF' | {}\n{}\nEOF", command(chance, d), word(chance, d)),
        9 => format!("[[ {} == {} ]] && {}", word(chance, d), word(chance, d), command(chance, d)),
        10 => format!(
            "i={}; {}; echo $((i+1))",
            chance.pick(&["0", "1", "$x", "'a[$(evil)]'", "$((2))"]),
            command(chance, d)
        ),
        11 => format!(
            "while read -r {}; do {}; break; done",
            chance.pick(&["x", "i", "'a[$(evil)]'"]),
            list(chance, d)
        ),
        12 => format!("for ((i=0;i<2;i++)); do {}; done", list(chance, d)),
        _ => format!("a=({} {}) ; {}", word(chance, d), word(chance, d), command(chance, d)),
    }
}

fn simple(chance: &mut Chance, depth: usize) -> String {
    let mut out = String::new();
    if chance.percent(15) {
        out += chance.pick(&[
            "x=1 ",
            "i=2; ",
            "x=$(evil) ",
            "i='a[$(evil)]'; ",
            "a[0]=1; ",
            "a[$i]=2; ",
        ]);
    }
    out += chance.pick(&[
        "evil",
        "ls",
        "echo",
        "cat",
        "[",
        "test",
        "printf",
        "read",
        "export",
        "unset",
        "evil2",
        "command evil",
        "time evil",
    ]);
    for _ in 0..chance.below(4) {
        out.push(' ');
        out += &word(chance, depth);
    }
    if chance.percent(20) {
        out += chance.pick(&[
            " >/dev/null",
            " 2>&1",
            " <<< x",
            " </dev/null",
            " &>/dev/null",
            " 3>&-",
            " < f",
            " >> /dev/stdin",
            " < f > /dev/fd/0",
            " >! f",
            " 10>g",
            " 3< f > /dev/fd/3",
        ]);
    }
    out
}

fn word(chance: &mut Chance, depth: usize) -> String {
    if depth > 0 && chance.percent(25) {
        let inner = list(chance, depth - 1);
        return match chance.below(6) {
            0 => format!("$({inner})"),
            1 => format!("\"$({inner})\""),
            2 => format!("`{inner}`"),
            3 => format!("${{x:-$({inner})}}"),
            4 => format!("<({inner})"),
            _ => format!("\"a ${{x#`{inner}`}} b\""),
        };
    }
    chance.pick(WORDS).to_owned()
}

const WORDS: &[&str] = &[
    "a",
    "-v",
    "'a[$(evil)]'",
    "\"b c\"",
    "'d;e'",
    "$x",
    "\"$x\"",
    "${x}",
    "$i",
    "-eq",
    "=",
    "0",
    "]",
    "~",
    "~/x",
    "*",
    "a{b,c}",
    "$((1+2))",
    "$((i))",
    "$((i++))",
    "${#x}",
    "${x:0:1}",
    "${x:i}",
    "${a[0]}",
    "${a[$i]}",
    "${a[i]}",
    "\"${a[@]}\"",
    "a\\ b",
    "$'t\\tq'",
    "\"\\$(evil)\"",
    "'`evil`'",
    "x=~",
    "#c",
    "a#b",
    "-n",
    "-f",
    "!",
    "-a",
    "%s",
    "x=1",
    "i=$x",
    "\\\n",
    "\"a\\\nb\"",
    "[[",
    "then",
    "}",
    "else",
    "{",
    "$x[i]",
    "\"$x[1]\"",
    "'PATH[$(evil)]'",
    "%d",
    "$=x",
    "=ls",
    "<1-9>",
    "always",
];

const TOKENS: &[&str] = &[
    "evil",
    "ls",
    "echo ",
    "cat ",
    "'",
    "\"",
    "`",
    "$(",
    "${x:-",
    "}",
    ")",
    "(",
    "{ ",
    "; }",
    ";",
    "&",
    "|",
    "&&",
    "||",
    "\n",
    "\\\n",
    "\\",
    " ",
    " ",
    " ",
    "\t",
    "#",
    "<",
    "<<<",
    ">",
    ">&",
    "2>&1",
    "&>",
    "$'",
    "$\"",
    "$((",
    "))",
    "[[ ",
    " ]]",
    "[ ",
    " ]",
    "if ",
    "; then ",
    "; fi",
    "case x in x)",
    ";;",
    " esac",
    "for x in a; do ",
    "; done",
    "! ",
    "time ",
    "a=",
    "a[0]=",
    "a=(",
    "*",
    "?",
    "~",
    "{a,b}",
    "=",
    "<<EOF\n",
    "\nEOF\n",
    "<<'EOF'\n",
    "<<-EOF\n",
    "\n\tEOF\n",
    "EOF",
    "-",
    "--",
    "1",
    "2>",
    "f() {",
    "coproc ",
    "function f ",
    "\r",
    "${x@P}",
    "${!x}",
    "${#x}",
    "${x/a/",
    "$x",
    "$@",
    "$[",
    "]",
    "evil2",
    "'a b'",
    "\"a b\"",
    "`evil`",
    "$(evil)",
    "<(evil)",
    ">(evil)",
    "x",
    "=~ ",
    "-eq ",
    "!",
    "%",
    "+",
    "@(",
    ":",
    "../a",
    "/dev/null",
    "((",
    "i=0;",
    "i++",
    "$((i))",
    "test -v ",
    "'a[$(evil)]'",
    "read ",
    "unset ",
    "export ",
    "printf -v ",
    "for ((i=0;i<1;i++)); do ",
    "else ",
    "elif ",
    "${a[i]}",
    "|&",
    "<&-",
    ">&-",
    "{fd}>",
    "select x in a; do ",
    "until ",
    "while ",
    "do ",
    "done",
    "in ",
    "set -- ",
    "\"$@\"",
    "\\$",
    "\\`",
    "\\\"",
    "$\\\n(evil)",
    "${",
    "eval ",
    "x='a[$(evil)]';",
    "declare -i ",
    "alias ",
    "é",
    "\u{fe0f}",
    "*)",
    ";&",
    "&!",
    "&|",
    "} else { ",
    "} always { ",
    "printf %d ",
    "'PATH[$(evil)]'",
    "exit ",
    "read -t ",
    "repeat 2 ",
    "noglob ",
    "$x[",
    "$=",
    ">!",
    "10>",
    "< f",
    "/dev/stdin",
    "/dev/fd/0",
    "/dev/./stdin",
    ">> ",
    "> g",
    "=(",
    "x+=1 ",
];

const SEEDS: &[&str] = &[
    "echo \"a $(evil) b\" | cat",
    "ls -la && evil; cat <<EOF\nx $(evil)\nEOF",
    "for f in *.rs; do evil \"$f\"; done",
    "if [ -f a ]; then evil; fi",
    "cat a | grep 'x;y' > /dev/null 2>&1",
    "x=$(evil) ls \"${x:-`evil`}\"",
    "case \"$x\" in a|b) evil;; *) ls;; esac",
    "[[ $x =~ ^a(b|c)$ ]] && evil",
    "echo 'it'\\''s' \"q\\\"q\" $'t\\t'",
    "{ ls; evil; } >/dev/null",
    "(cd /tmp && evil)",
    "! evil || ls",
    "cat <(evil) >(evil2)",
    "evil <<< \"$x\"",
    "f() { evil; }; f",
    "a=1 b='2 3' evil -x --y=\"z w\"",
    "echo $((1+2)) ${x#a} ${x%%b}",
    "evil \\\n -a \\\n -b",
    "while read -r l; do evil \"$l\"; done < f",
    "i=0; while [ $i -lt 2 ]; do evil $i; i=$((i+1)); done",
    "for ((i=0;i<2;i++)); do evil \"${a[i]}\"; done",
    "x='a[$(evil)]'; i=1; echo $((i)) ${a[$i]} ${x:i:1}",
    "cat > f <<'EOF'\n$(evil) `evil`\nEOF\nls f",
    "git commit -m \"$(cat <<'EOF'\nsubject; evil\n\nEOF\n)\"",
    "cat <<-A <<B\n\tx\n\tA\n$(evil)\nB\nevil",
    "a=(1 \"b c\" $(evil)); echo ${#a[@]} \"${a[@]}\"",
    "set -euo pipefail\nls || evil\n# evil2\nevil # 'x",
    "export A=1 B=\"$(evil)\"; unset A; read -r x y <<< 'a b'",
    "[ \"$x\" = y ] || [ -n \"$x\" -a 1 -eq 1 ] && evil",
    "printf '%s\\n' \"$x\" | evil; echo `evil 2>/dev/null`",
    "function g { evil; }; g & wait; echo $! $? $#",
    "case $x in (a) evil;;& b|c) ls;& *) evil2; esac",
    "if ! evil; then :; elif evil2; then ls; else echo; fi 2>&1 | cat",
    "until false; do evil; break; done; select s in a b; do evil; done",
    "echo ~ ~/a \"~\" a=~ {a,b}c {1..3} [ab] *",
    "((x=1)) && evil; (( x > 0 || 1 )); echo $((x<<2))",
    "evil 2>&1 >/dev/null <&- 3>x; echo a#b #c",
    "echo x < f >> /dev/stdin; { evil > /dev/stdin; } < f",
    "printf '%d %s' \"$i\" 'PATH[$(evil)]'; exit 1",
    "if false; then { ls } else { evil; }; fi",
    "echo $'\\'; evil #'",
    "echo a &> g; echo b >& g; cat <<< x",
    "select s in a b\ndo evil; done; time ls; x+=1 evil",
    "while read -r -t 1 l; do echo \"$l\" > /dev/stdout; done < f",
    "cat <<EOF\n\\$(evil) \\`evil\\` ${x:-$(evil2)} \\\nEOF\nEOF\nevil",
    "echo ${x:=$(evil)} ${x:+`ls`} ${!a[@]} ${x^^} ${x//a/b} \"${x%.*}\"",
];
