//! Commands that agents send as a list of words.

use serde_json::Value;

use crate::facts::argument_names::COMMANDS;
use crate::facts::tools::{Kind, kind_of};
use crate::facts::wrappers::base;

/// Returns the arguments of a shell tool with its list of words as one text, where a shell would
/// read that text as the same words.
// FAIL-CLOSED: some tools run the list as it is, and some join it and run the text. A list that
// these would read differently stays a list, which no rule allows.
#[must_use]
pub fn as_text(tool: &str, args: &Value) -> Value {
    let mut args = args.clone();
    if kind_of(tool) != Kind::Shell {
        return args;
    }
    for key in COMMANDS {
        let Some(place) = args.get_mut(*key) else { continue };
        if let Some(text) = place.as_array().and_then(|words| text(words)) {
            *place = Value::String(text);
        }
    }
    args
}

/// Returns the words as a text: all of them plain, or a shell that runs the last of them.
fn text(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    let (last, rest) = words.split_last()?;
    let is_plain = |words: &[&str]| {
        words.iter().all(|word| plain(word)) && words.first().is_some_and(|it| !it.contains('='))
    };
    let runs_last = match rest {
        [shell, option] => SHELLS.contains(&base(shell)) && matches!(*option, "-c" | "-lc"),
        _ => false,
    };
    if is_plain(&words) {
        return Some(words.join(" "));
    }
    let quoted = ["'", &last.replace('\'', r"'\''"), "'"].concat();
    (runs_last && is_plain(rest)).then(|| format!("{} {quoted}", rest.join(" ")))
}

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash"];

/// Returns true for a word that no shell reads as anything else.
fn plain(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    !word.is_empty() && word.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::facts::argv::*;

    #[test]
    fn words_that_every_reader_sees_alike_become_a_text() {
        for (words, wanted) in [
            (json!(["git", "push", "-n"]), json!("git push -n")),
            (json!(["bash", "-lc", "ls; it's"]), json!(r"bash -lc 'ls; it'\''s'")),
            (json!(["/bin/sh", "-c", "rm -rf $HOME"]), json!("/bin/sh -c 'rm -rf $HOME'")),
        ] {
            let args = as_text("shell", &json!({"command": words, "timeout": 5}));
            assert_eq!(args, json!({"command": wanted, "timeout": 5}));
        }
    }

    #[test]
    fn words_that_could_be_read_in_two_ways_stay_a_list() {
        for words in [
            json!(["ls", "; rm -rf ~"]),
            json!(["git", "push --force"]),
            json!(["rm", "*"]),
            json!(["X=1", "ls"]),
            json!(["echo", "$(id)"]),
            json!(["bash", "-c", "ls", "$0"]),
            json!(["env x", "-c", "ls ;"]),
            json!(["python", "-c", "import os"]),
            json!([["ls"]]),
            json!([""]),
            json!([]),
        ] {
            let args = json!({"command": words});
            assert_eq!(as_text("exec", &args), args);
        }
        let other = json!({"command": ["ls"]});
        assert_eq!(as_text("apply_patch", &other), other, "no shell");
    }
}
