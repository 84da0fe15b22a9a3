//! The directory of a command whose text has changed the directory before it.

use crate::shell::{Command, Scan, Word, WordKind};

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
fn after_cd(commands: &[Command<'_>], command: &Command<'_>) -> Option<WorkingDirectory> {
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

/// Limit on the directories in which one command may run.
const MOST: usize = 15;

/// Returns the directories in which a command of a text may run, besides the one in which the text
/// starts: any `cd` before it may fail, be skipped or have been skipped.
// SECURITY: `cd sub || cd /project; git status` runs in `sub`, and so does the second turn of
// `while git status; do cd sub; done`.
pub(crate) fn possible(scan: &Scan<'_>, command: &Command<'_>) -> Vec<WorkingDirectory> {
    let steps: Vec<&Command<'_>> = if scan.wanders {
        scan.moves().collect()
    } else {
        let before = |command: &Command<'_>| scan.commands.get(command.moved_by?);
        std::iter::successors(before(command), |cd| before(cd)).take(MAX_STEPS + 1).collect()
    };
    // FAIL-CLOSED: a step too far back to be followed counts too. In a command taken out of its text, the
    // index leads to the command itself, and there is no end.
    if steps.len() > MAX_STEPS {
        return vec![WorkingDirectory::Unknown];
    }
    let mut all = Vec::new();
    for cd in steps.iter().rev() {
        // In a loop, the same step may be taken any number of times.
        match target(&cd.argv).filter(|step| !scan.wanders || step.starts_with(['/', '~'])) {
            Some(step) => step_to(&mut all, step),
            None => return vec![WorkingDirectory::Unknown],
        }
        if all.len() > MOST {
            return vec![WorkingDirectory::Unknown];
        }
    }
    all.into_iter().map(WorkingDirectory::To).collect()
}

/// Returns the directories of known names in which a command of a text may run: first the one to which
/// every step leads in turn, then all [`possible`] ones.
pub(crate) fn known(scan: &Scan<'_>, command: &Command<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for place in after_cd(&scan.commands, command).into_iter().chain(possible(scan, command)) {
        match place {
            WorkingDirectory::To(place) if !all.contains(&place) => all.push(place),
            WorkingDirectory::To(_) | WorkingDirectory::Unknown => {}
        }
    }
    all
}

/// Adds the directories to which a step leads from these and from the start.
fn step_to(all: &mut Vec<String>, step: &str) {
    let mut there = vec![step.to_owned()];
    there.extend(from_each(all, step));
    there.retain(|to| !all.contains(to));
    all.extend(there);
}

/// Returns where a step leads from each of these; nowhere else than from the start if it is absolute.
fn from_each(all: &[String], step: &str) -> impl Iterator<Item = String> {
    let relative = !step.starts_with(['/', '~']);
    all.iter().filter(move |_| relative).map(move |from| [from, "/", step].concat())
}

/// Returns the directories of a text that runs in one of the `outer` ones, for a command that runs
/// in one of the `inner` ones, seen from there.
pub(crate) fn below(
    outer: &[WorkingDirectory],
    inner: Vec<WorkingDirectory>,
) -> Vec<WorkingDirectory> {
    use WorkingDirectory::{To, Unknown};
    if outer.is_empty() || inner.is_empty() {
        return if inner.is_empty() { outer.to_vec() } else { inner };
    }
    let mut from = Vec::new();
    let mut all = Vec::new();
    for place in outer {
        let To(place) = place else { return vec![Unknown] };
        from.push(place.clone());
    }
    for place in inner {
        let To(place) = place else { return vec![Unknown] };
        all.extend(from_each(&from, &place));
        all.push(place);
    }
    all.extend(from);
    if all.len() > MOST {
        return vec![Unknown];
    }
    all.into_iter().map(To).collect()
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
    use crate::facts::working_directory::{WorkingDirectory, after_cd, below, known, possible};
    use crate::shell::{Scan, scan};

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

    /// Returns the directories in which a text's last command may run; `?` for unknown.
    fn all_of(text: &str) -> Vec<String> {
        let scan = scan(text);
        let all = possible(&scan, scan.commands.last().unwrap());
        let name = |place| match place {
            WorkingDirectory::To(place) => place,
            WorkingDirectory::Unknown => "?".to_owned(),
        };
        all.into_iter().map(name).collect()
    }

    #[test]
    fn a_step_may_fail_or_be_skipped() {
        for (text, all) in [
            ("x", vec![]),
            ("cd a && x", vec!["a"]),
            ("cd a; cd b; x", vec!["a", "b", "a/b"]),
            ("cd a || cd /h; x", vec!["a", "/h"]),
            ("cd a; false && cd ~/h; cd b; x", vec!["a", "~/h", "b", "a/b", "~/h/b"]),
            ("cd a; cd /h & x", vec!["a", "/h"]),
            ("ls | cd a; x", vec!["a"]),
            ("(cd a; y); x", vec![]),
            ("cd a | y; x", vec![]),
        ] {
            assert_eq!(all_of(text), all, "{text}");
        }
        assert_eq!(all_of("cd a; cd b; cd c; cd d; cd e; x"), ["?"]);
        // Where nothing lies in the way of `cd /h`, none of them says where the text is.
        let far = |steps| ["cd a; ", &"cd /h < none; ".repeat(steps), "x"].concat();
        assert_eq!(all_of(&far(15)), ["a", "/h"]);
        assert_eq!(all_of(&far(16)), ["?"]);
    }

    #[test]
    fn of_known_names_the_last_comes_first_and_each_once() {
        let of = |text: &str| {
            let scan = scan(text);
            known(&scan, scan.commands.last().unwrap())
        };
        assert_eq!(of("cd a; cd b; x"), ["a/b", "a", "b"]);
        assert_eq!(of("while y; do cd /h; cd a; x; done"), ["/h/a"]);
        assert_eq!(of("x"), Vec::<String>::new());
    }

    #[test]
    fn in_loops_and_functions_the_order_tells_nothing() {
        for text in [
            "for i in 1 2; do cd a; x; done",
            "while x; do cd a; done; y",
            "until cd a; do x; done",
            "f() { x; }; cd a; f",
            "cd a; f() { cd /h; }; x",
        ] {
            assert_eq!(all_of(text), ["?"], "{text}");
        }
        let scan = scan("while x; do cd /h; done");
        let first = possible(&scan, scan.commands.first().unwrap());
        assert_eq!(first, [WorkingDirectory::To("/h".to_owned())]);
        assert_eq!(all_of("for i in 1 2; do (cd a; y); done; x"), Vec::<String>::new());
    }

    #[test]
    fn a_command_taken_out_of_its_text_may_run_anywhere() {
        let whole = scan("cd a; x");
        let alone = Scan { commands: whole.commands.get(1..).unwrap().to_vec(), ..Scan::default() };
        let found = possible(&alone, alone.commands.first().unwrap());
        assert_eq!(found, [WorkingDirectory::Unknown]);
    }

    #[test]
    fn what_runs_in_a_text_runs_where_the_text_does() {
        let to = |place: &str| WorkingDirectory::To(place.to_owned());
        assert_eq!(below(&[], vec![to("a")]), [to("a")]);
        assert_eq!(below(&[to("a")], vec![]), [to("a")]);
        assert_eq!(
            below(&[to("a")], vec![to("b"), to("/c")]),
            [to("a/b"), to("b"), to("/c"), to("a")]
        );
        assert_eq!(below(&[WorkingDirectory::Unknown], vec![to("b")]), [WorkingDirectory::Unknown]);
    }

    #[test]
    fn what_only_the_shell_knows_is_unknown() {
        for text in [
            "cd \"$x\"; y",
            "cd -; y",
            "popd; y",
            "cd a b; y",
            "cd */; y",
            "pushd; y",
            "command -p cd a; y",
            "command -- cd a; y",
        ] {
            assert_eq!(of(text), Some(WorkingDirectory::Unknown), "{text}");
        }
    }
}
