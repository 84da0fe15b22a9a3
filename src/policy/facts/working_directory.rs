//! The directory of a command whose text has changed the directory before it.

use crate::shell::{Command, Word, WordKind};

/// The directory of a command behind a `cd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkingDirectory {
    /// As written; relative to the start of the text unless it starts with `/` or `~`.
    To(String),
    /// Known only at run time.
    Unknown,
}

/// Limit on the steps that are followed.
const MAX_STEPS: usize = 16;

/// Returns the directory of `command`, one of `commands`; `None` for the directory in which the
/// text starts.
pub(crate) fn after_cd(
    commands: &[Command<'_>],
    command: &Command<'_>,
) -> Option<WorkingDirectory> {
    let mut steps: Vec<&str> = Vec::new();
    let mut before = Some(command.moved_by?);
    while let Some(cd) = before.and_then(|at| commands.get(at)) {
        let Some(step) = target(&cd.argv).filter(|_| steps.len() < MAX_STEPS) else {
            return Some(WorkingDirectory::Unknown);
        };
        steps.push(step);
        // An absolute step makes the earlier ones irrelevant.
        before = if step.starts_with(['/', '~']) { None } else { cd.moved_by };
    }
    steps.reverse();
    Some(WorkingDirectory::To(steps.join("/")))
}

/// Returns the word with the directory in front, if it may be a relative path.
pub(crate) fn written_out<'a>(word: &Word<'a>, directory: &str) -> Word<'a> {
    if !is_relative(word) {
        return word.clone();
    }
    Word { text: format!("{directory}/{}", word.text).into(), ..word.clone() }
}

/// Returns true for a word that may name something below the working directory.
pub(crate) fn is_relative(word: &Word<'_>) -> bool {
    matches!(word.kind, WordKind::Literal | WordKind::Glob)
        && !word.text.is_empty()
        && !word.text.starts_with(['/', '~', '-'])
}

/// Returns the destination of `cd` and `pushd`; `None` when it cannot be determined.
fn target<'w>(argv: &'w [Word<'_>]) -> Option<&'w str> {
    let known = |word: &'w Word<'_>| match word.kind {
        WordKind::Literal | WordKind::Home => Some(&*word.text),
        WordKind::Glob | WordKind::Dynamic => None,
    };
    let mut words =
        argv.iter().map(known).skip_while(|name| matches!(name, Some("command" | "builtin")));
    let name = words.next()??;
    let mut operands = words.skip_while(|word| matches!(word, Some("-P" | "-L" | "-e" | "--")));
    match (name, operands.next(), operands.next()) {
        // `cd` alone goes to the home directory.
        ("cd", None, _) => Some("~"),
        ("cd" | "pushd", Some(Some(to)), None) => {
            // `cd -` and `pushd +2` depend on where the shell was before.
            (!to.is_empty() && !to.starts_with(['-', '+'])).then_some(to)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use crate::facts::working_directory::{WorkingDirectory, after_cd};
    use crate::shell::scan;

    /// Returns the directory of a text's last command.
    fn of(text: &str) -> Option<WorkingDirectory> {
        let scan = scan(text);
        after_cd(&scan.commands, scan.commands.last().unwrap())
    }

    #[test]
    fn steps_are_followed_from_the_last_absolute_one() {
        let to = |path: &str| Some(WorkingDirectory::To(path.to_owned()));
        assert_eq!(of("cd /a && x"), to("/a"));
        assert_eq!(of("cd a; cd -- b && cd ../c; x"), to("a/b/../c"));
        assert_eq!(of("cd /a; cd ~/b; cd c; x"), to("~/b/c"));
        assert_eq!(of("cd; command cd -P x; y"), to("~/x"));
    }

    #[test]
    fn a_directory_is_left_with_the_shell_that_went_there() {
        for text in ["(cd /a); x", "cd /a | y; x", "echo $(cd /a); x", "x", "cd /a"] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(of("if y; then cd /a; fi; x"), Some(WorkingDirectory::To("/a".to_owned())));
    }

    #[test]
    fn what_only_the_shell_knows_is_unknown() {
        for text in ["cd \"$x\"; y", "cd -; y", "popd; y", "cd a b; y", "cd */; y", "pushd; y"] {
            assert_eq!(of(text), Some(WorkingDirectory::Unknown), "{text}");
        }
    }
}
