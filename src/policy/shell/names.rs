//! Variables that are known to hold nothing but a number.
//!
//! In arithmetic, bash evaluates the *value* of a variable, with the array subscripts and command
//! substitutions in it: `$((x))` runs code when `x='a[$(evil)]'`. Arithmetic may use a variable
//! only if every assignment to it in the text is a number, and one of them has certainly run
//! before.

use crate::shell::{Doubt, Uncertainty};
use crate::words::{Words, begins, listed};

/// The scanner's knowledge of the variables of a text.
#[derive(Default)]
pub(super) struct Variables<'a> {
    /// Certainly a number here, unless tainted elsewhere.
    proven: Vec<&'a str>,
    /// Certainly assigned here by the text itself.
    own: Vec<&'a str>,
    /// May hold anything.
    tainted: Vec<&'a str>,
    /// Used in arithmetic, with the offset.
    used: Vec<(&'a str, usize)>,
    /// Text out of view may set any of them (`eval`, `source`, `trap`).
    open: bool,
}

/// The state of what is proven.
#[derive(Clone, Copy)]
pub(super) struct VariablesMark(usize, usize);

/// Limit on tracked names; uses of further names are refused.
const MAX_NAMES: usize = 64;

impl<'a> Variables<'a> {
    /// Returns a mark for [`Variables::leave`]. What is proven after it may never have run
    /// (branches, loops, subshells, functions).
    pub(super) fn enter(&self) -> VariablesMark {
        VariablesMark(self.proven.len(), self.own.len())
    }

    /// Forgets everything proven since `mark`.
    pub(super) fn leave(&mut self, VariablesMark(proven, own): VariablesMark) {
        self.proven.truncate(proven);
        self.own.truncate(own);
    }

    /// Records that the text has assigned `name`.
    pub(super) fn assign(&mut self, name: &'a str) {
        if self.own.len() < MAX_NAMES {
            self.own.push(name);
        }
    }

    /// Forgets every assignment: a redirect that failed may have prevented it.
    pub(super) fn disown(&mut self) {
        self.own.clear();
    }

    /// Returns true for a variable that has a value of the text's own.
    pub(super) fn is_own(&self, name: &str) -> bool {
        self.own.contains(&name)
    }

    /// Records that `name` holds a number.
    pub(super) fn prove(&mut self, name: &'a str) {
        if self.proven.len() < MAX_NAMES {
            self.proven.push(name);
        }
    }

    /// Records that `name` may hold anything: from now on, and in a loop also before.
    pub(super) fn taint(&mut self, name: &'a str) {
        // FAIL-CLOSED: when the list is full, `conflict` refuses every use of a name.
        if self.tainted.len() < MAX_NAMES && !self.tainted.contains(&name) {
            self.tainted.push(name);
        }
    }

    /// Records that text out of view may give any variable any value.
    pub(super) fn taint_all(&mut self) {
        self.open = true;
    }

    /// Records a use of `name` in arithmetic; returns false when it may hold more than a number.
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

    /// Finds a name that arithmetic uses although some assignment may give it anything.
    pub(super) fn conflict(&self) -> Option<Uncertainty> {
        let full = self.open || self.tainted.len() >= MAX_NAMES;
        let hit = self.used.iter().find(|(name, _)| full || self.tainted.contains(name));
        hit.map(|&(_, at)| Uncertainty { doubt: Doubt::Arithmetic, at })
    }
}

/// Variables that bash itself keeps as numbers.
fn always_number(name: &str) -> bool {
    listed("RANDOM SECONDS LINENO EPOCHSECONDS BASHPID UID EUID PPID", name)
}

/// Variables that the shell obeys: setting one evaluates text, or changes how the rest is read.
pub(super) fn special(name: &str) -> bool {
    const NAMES: Words = "\
        PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND SRANDOM HISTCMD HISTFILE OPTIND OPTERR EPOCHREALTIME \
        SHELLOPTS POSIXLY_CORRECT DIRSTACK FUNCNAME GLOBIGNORE ENV COPROC MAPFILE READLINE_LINE";
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && (begins("BASH COMP_", name) || always_number(name) || listed(NAMES, name))
}

#[cfg(test)]
mod tests {
    use crate::shell::names::*;

    #[test]
    fn a_number_proven_in_a_branch_is_forgotten_after_it() {
        let mut names = Variables::default();
        let mark = names.enter();
        names.prove("i");
        assert!(names.count("i", 0));
        names.leave(mark);
        assert!(!names.count("i", 0));
    }

    #[test]
    fn a_taint_anywhere_conflicts_with_a_use() {
        let mut names = Variables::default();
        names.prove("i");
        assert!(names.count("i", 7));
        assert_eq!(names.conflict(), None);
        names.taint("i");
        assert_eq!(names.conflict(), Some(Uncertainty { doubt: Doubt::Arithmetic, at: 7 }));
    }
}
