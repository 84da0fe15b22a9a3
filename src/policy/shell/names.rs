//! Which variables are known to hold nothing but a number.
//!
//! bash evaluates the *value* of a variable in arithmetic, array subscripts and command
//! substitutions inside it included, so `$((x))` runs code when `x='a[$(evil)]'`. A variable may be
//! counted with only if every assignment to it in the text is a number, and one of them has
//! certainly happened before.

use super::doubt::{Doubt, Refusal};

/// What is known about the variables of a text.
#[derive(Default)]
pub(super) struct Names<'a> {
    /// Certainly a number at this place, unless tainted elsewhere.
    proven: Vec<&'a str>,
    /// May hold anything.
    tainted: Vec<&'a str>,
    /// Counted with, and where.
    used: Vec<(&'a str, usize)>,
    /// Text that is not in view may set any of them (`eval`, `source`, `trap`).
    open: bool,
}

/// More names than this are not followed: uses of further ones are refused.
const MAX_NAMES: usize = 64;

impl<'a> Names<'a> {
    /// A place to come back to with [`Names::leave`]: what is proven after it may never have
    /// happened (branches, loops, subshells, functions).
    pub(super) fn enter(&self) -> usize {
        self.proven.len()
    }

    /// Forgets what was proven since `mark`.
    pub(super) fn leave(&mut self, mark: usize) {
        self.proven.truncate(mark);
    }

    /// `name` has been given a number.
    pub(super) fn prove(&mut self, name: &'a str) {
        if self.proven.len() < MAX_NAMES {
            self.proven.push(name);
        }
    }

    /// `name` may hold anything from now on, or before if this is a loop.
    pub(super) fn taint(&mut self, name: &'a str) {
        // FAIL-CLOSED: when the list is full, nothing may be counted with any more.
        if self.tainted.len() < MAX_NAMES && !self.tainted.contains(&name) {
            self.tainted.push(name);
        }
    }

    /// Something unseen may give any variable any value.
    pub(super) fn taint_all(&mut self) {
        self.open = true;
    }

    /// Counts with `name`; false when it may hold more than a number.
    pub(super) fn count(&mut self, name: &'a str, at: usize) -> bool {
        if always_number(name) {
            return true;
        }
        if !self.proven.contains(&name) || self.used.len() >= MAX_NAMES {
            return false;
        }
        self.used.push((name, at));
        true
    }

    /// A name that was counted with although some assignment may give it anything.
    pub(super) fn conflict(&self) -> Option<Refusal> {
        let full = self.open || self.tainted.len() >= MAX_NAMES;
        let hit = self.used.iter().find(|(name, _)| full || self.tainted.contains(name));
        hit.map(|&(_, at)| Refusal { doubt: Doubt::Arithmetic, at })
    }
}

/// Variables that bash itself keeps as numbers.
fn always_number(name: &str) -> bool {
    matches!(
        name,
        "RANDOM" | "SECONDS" | "LINENO" | "EPOCHSECONDS" | "BASHPID" | "UID" | "EUID" | "PPID"
    )
}

/// Variables that the shell obeys: setting one evaluates text, or changes how the rest is read.
pub(super) fn special(name: &str) -> bool {
    name.starts_with("BASH")
        || name.starts_with("COMP_")
        || always_number(name)
        || matches!(
            name,
            "PS0"
                | "PS1"
                | "PS2"
                | "PS3"
                | "PS4"
                | "PROMPT_COMMAND"
                | "SRANDOM"
                | "HISTCMD"
                | "HISTFILE"
                | "OPTIND"
                | "OPTERR"
                | "EPOCHREALTIME"
                | "SHELLOPTS"
                | "POSIXLY_CORRECT"
                | "DIRSTACK"
                | "FUNCNAME"
                | "GLOBIGNORE"
                | "ENV"
                | "COPROC"
                | "MAPFILE"
                | "READLINE_LINE"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_proven_in_a_branch_is_forgotten_after_it() {
        let mut names = Names::default();
        let mark = names.enter();
        names.prove("i");
        assert!(names.count("i", 0));
        names.leave(mark);
        assert!(!names.count("i", 0));
    }

    #[test]
    fn a_taint_anywhere_conflicts_with_a_use() {
        let mut names = Names::default();
        names.prove("i");
        assert!(names.count("i", 7));
        assert_eq!(names.conflict(), None);
        names.taint("i");
        assert_eq!(names.conflict(), Some(Refusal { doubt: Doubt::Arithmetic, at: 7 }));
    }
}
