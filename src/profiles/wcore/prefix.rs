//! Checks granted prefixes against what the shell would really run: every command, in whole words,
//! without redirects, and nothing behind a wrapper that no prefix names.

use crate::{Prefix, wcore::config::Category};
use countersign_policy::{
    always,
    builtins::{Builtin, builtin},
    paths,
    shell::{self, Command, Redirect, RedirectOp, Scan, Via, Word, WordKind},
    wrappers::{Inner, Passage, unwrap},
};

/// Depth limit for commands inside commands.
const MAX_DEPTH: u32 = 4;

/// Returns true when the prefixes granted to the category cover every command of a text.
// SECURITY: a text is covered only if it is understood to its end and nothing in it is decided at
// run time.
#[must_use]
pub fn covers(prefixes: &[Prefix], category: Category, text: &str) -> bool {
    let scan = shell::scan(text);
    let heads: Vec<Vec<String>> = prefixes
        .iter()
        .filter(|prefix| prefix.category == category.word())
        .flat_map(|prefix| heads(&prefix.text))
        .collect();
    plain(&scan) && scan.commands.iter().all(|command| argv(&heads, &command.argv, 0))
}

/// Returns the prefixes that would cover a text, one per command. Returns none when no prefix
/// should be granted for one of the commands (shells, wrappers, interpreters).
#[must_use]
pub fn offers(text: &str, category: Category) -> Vec<String> {
    let scan = shell::scan(text);
    let offered: Option<Vec<String>> =
        if plain(&scan) { scan.commands.iter().map(offer).collect() } else { None };
    let mut offered = offered.unwrap_or_default();
    offered.sort();
    offered.dedup();
    let prefix = |text: &String| Prefix { text: text.clone(), category: category.word().into() };
    let granted: Vec<Prefix> = offered.iter().map(prefix).collect();
    // Otherwise the same call would ask again after the grant.
    if covers(&granted, category, text) { offered } else { Vec::new() }
}

fn offer(command: &Command<'_>) -> Option<String> {
    // This refuses shells, wrappers and interpreters.
    always::of_command(&command.argv, 0)?;
    Some(infer_prefix(&always::spoken(&command.argv)))
}

/// Returns true for simple commands with known words only.
fn plain(scan: &Scan<'_>) -> bool {
    let known = |word: &Word<'_>| word.kind != WordKind::Dynamic;
    scan.understood()
        && !scan.background
        && scan.functions.is_empty()
        && !scan.commands.is_empty()
        && scan.commands.iter().all(|command| {
            command.via == Via::Direct
                && command.assigns.is_empty()
                && command.redirects.iter().all(harmless)
                && command.argv.iter().all(known)
        })
}

/// Returns true for a redirect to a sink, or from one stream to another.
fn harmless(redirect: &Redirect<'_>) -> bool {
    redirect.op == RedirectOp::Duplicate || redirect.target.literal().is_some_and(paths::sink)
}

/// Returns true when a command starts with a granted prefix, and so does everything that it runs.
fn argv(heads: &[Vec<String>], words: &[Word<'_>], depth: u32) -> bool {
    let begins = heads.iter().any(|head| {
        words.len() >= head.len()
            && head.iter().zip(words).all(|(head, word)| word.literal() == Some(head))
    });
    if !begins || depth > MAX_DEPTH || matches!(builtin(words), Some(Builtin::Poison(_))) {
        return false;
    }
    let Some(behind) = unwrap(words) else { return true };
    match behind.passage {
        Passage::DenyOnly => false,
        // What it runs is elsewhere, as with `docker exec`.
        Passage::Outer => true,
        Passage::Inner | Passage::Both => behind.inner.iter().all(|inner| match inner {
            Inner::Argv { argv: words, .. } => argv(heads, words, depth + 1),
            Inner::Script { .. } | Inner::Input(_) | Inner::File | Inner::Unknown => false,
        }),
    }
}

/// Returns the beginnings that a prefix stands for: `cargo {build,test}:*` is `cargo build` and
/// `cargo test`. Returns none when it names nothing in particular.
fn heads(prefix: &str) -> Vec<Vec<String>> {
    let text = prefix.trim();
    // Such an ending means "and any more words", which every prefix allows.
    let text = text.strip_suffix(":*").or_else(|| text.strip_suffix('*')).unwrap_or(text);
    let mut heads: Vec<Vec<String>> = vec![Vec::new()];
    for word in text.split_whitespace() {
        let spelled = alternatives(word);
        heads = heads
            .iter()
            .flat_map(|head| {
                spelled.iter().map(|word| [head.as_slice(), std::slice::from_ref(word)].concat())
            })
            .collect();
    }
    // FAIL-CLOSED: an empty prefix covers nothing, and a pattern inside a word matches no word.
    let spelled = |head: &Vec<String>| {
        !head.is_empty() && head.iter().all(|word| !word.contains(['{', '}', '*', '?', '[']))
    };
    heads.into_iter().filter(spelled).collect()
}

/// Expands `x{a,b}y` to `xay` and `xby`; any other word stays as it is.
fn alternatives(word: &str) -> Vec<String> {
    let parts = word.split_once('{').and_then(|(before, rest)| {
        rest.split_once('}').map(|(inside, after)| (before, inside, after))
    });
    match parts {
        Some((before, inside, after)) => {
            inside.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
        }
        None => vec![word.to_owned()],
    }
}

// wayland-core's own rules: plain text, without knowledge of the shell. A grant that these refuse
// never counts; where they accept too much, `covers` refuses.

/// Returns true when every piece of the command starts with one of the prefixes granted to the
/// category.
#[must_use]
pub fn covers_as_text(prefixes: &[Prefix], category: Category, command: &str) -> bool {
    let begins = |piece: &&str| {
        prefixes
            .iter()
            // By category and not by tool, as in wayland-core: a grant for Bash covers every tool
            // of its category.
            .filter(|prefix| prefix.category == category.word())
            .any(|prefix| matches(&prefix.text, piece))
    };
    let pieces = split(command);
    !runs_unseen(command) && !pieces.is_empty() && pieces.iter().all(begins)
}

/// Returns true when one command starts with a rule, which counts up to the first of `{`, `*` and
/// `:`.
#[must_use]
pub fn matches(rule: &str, command: &str) -> bool {
    // Cut as in wayland-core: `cargo {build,test}:*` therefore also approves `cargo publish`.
    let head = rule.split(['{', '*', ':']).next().unwrap_or_default().trim();
    // No word boundary either: `cargo ` also approves `cargo-evil`. The strict profile checks whole
    // words in addition.
    !head.is_empty() && command.trim_start().starts_with(head)
}

/// Splits the command at separators, ignoring quotes.
#[must_use]
pub fn split(command: &str) -> Vec<&str> {
    command.split([';', '\n', '&', '|']).map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

/// Returns true when the text runs something that splitting does not show: a substitution, or a
/// lone `&`.
#[must_use]
pub fn runs_unseen(command: &str) -> bool {
    let substitutes = ["$(", "`", "<(", ">("].iter().any(|mark| command.contains(mark));
    // `2>&1` counts as a lone `&` too, and so asks.
    substitutes || runs_of_ampersands(command).any(|length| length == 1)
}

/// Returns the prefix to offer for a command: its first word, and the second one unless it is an
/// option.
#[must_use]
pub fn infer_prefix(command: &str) -> String {
    // This may be `sudo rm ` or `bash `; the strict profile offers `offers` instead.
    let mut words = command.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => String::new(),
        (Some(first), Some(second)) if !second.starts_with('-') => format!("{first} {second} "),
        (Some(first), _) => format!("{first} "),
    }
}

fn runs_of_ampersands(command: &str) -> impl Iterator<Item = usize> {
    command.split(|c| c != '&').map(str::len).filter(|length| *length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(prefix: &str, command: &str) -> bool {
        let prefix = Prefix { text: prefix.to_owned(), category: "exec".to_owned() };
        covers(&[prefix], Category::Exec, command)
    }

    #[test]
    fn a_prefix_covers_whole_words_only() {
        assert!(granted("cargo ", "cargo build --release"));
        assert!(granted("npm run test:unit ", "npm run test:unit -- --bail"));
        for command in ["cargo-evil", "cargobuild", "xcargo build", "./cargo build"] {
            assert!(!granted("cargo", command), "{command}");
        }
        assert!(!granted("npm run test:unit ", "npm run test"));
    }

    #[test]
    fn alternatives_mean_what_they_show() {
        assert!(granted("cargo {build,test}:*", "cargo test --lib"));
        assert!(!granted("cargo {build,test}:*", "cargo publish"));
        for prefix in ["", "*", ":*", "{a,b", "c*go build", "{,}"] {
            assert!(!granted(prefix, "cargo build"), "{prefix}");
        }
    }

    #[test]
    fn what_a_wrapper_runs_needs_a_prefix_of_its_own() {
        assert!(!granted("timeout ", "timeout 5 rm x"));
        assert!(!granted("find ", "find . -exec rm {} +"));
        assert!(!granted("sudo ", "sudo ls"));
        assert!(!granted("bash ", "bash -c 'rm x'"));
        assert!(!granted("eval ", "eval ls"));
        assert!(!granted("alias ", "alias ls=rm"));
        assert!(granted("find ", "find . -name x"));
    }

    #[test]
    fn a_redirect_is_no_argument() {
        assert!(granted("cargo ", "cargo build > /dev/null 2>&1"));
        for command in ["cargo build > x", "cargo build >> ~/.bashrc", "cargo build < in"] {
            assert!(!granted("cargo ", command), "{command}");
        }
    }

    #[test]
    fn nothing_that_only_the_shell_will_know_is_covered() {
        for command in [
            "cargo build $X",
            "cargo build ${X:-$(id)}",
            "cargo build {a,$b}",
            "PATH=. cargo build",
            "cargo() { rm x; }; cargo",
            "cargo build & cargo test",
            "cargo build\rcurl x",
        ] {
            assert!(!granted("cargo ", command), "{command}");
        }
    }

    #[test]
    fn every_offer_covers_its_command_and_wrappers_get_none() {
        let of = |command| offers(command, Category::Exec);
        assert_eq!(of("cargo test --lib && git status"), ["cargo test ", "git status "]);
        assert_eq!(of("ls"), ["ls "]);
        for command in
            ["sudo rm x", "bash x.sh", "FOO=1 cargo build", "cargo test > x", "git -C x push", ""]
        {
            assert_eq!(of(command), Vec::<String>::new(), "{command}");
        }
    }
}
