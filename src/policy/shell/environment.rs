//! Environment variables that do not change which program runs.

use crate::words::{Words, begins, listed};

/// Returns true when setting `name` cannot change which program runs or make it run another.
///
/// `command` is the name of the command it is set for; `None` for a bare assignment.
#[must_use]
pub fn harmless(name: &str, command: Option<&str>) -> bool {
    // A prefix such as `GIT_PAGER=…` may run another program; such prefixes bypassed the rules of
    // opencode (its issues 14110 and 16075).
    if listed(ASKED_FOR, name) || name.starts_with("LC_") {
        return true;
    }
    match command {
        // The usual loop over lines: `while IFS= read -r line`.
        Some("read") => name == "IFS",
        Some(_) => false,
        None => local(name),
    }
}

/// Returns true for a variable that only the script itself reads.
fn local(name: &str) -> bool {
    // A bare assignment reaches programs only if the name is exported already. Exported names are
    // upper case by convention; the known exceptions are listed here.
    let lower = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let read_by_programs = name.ends_with("_proxy")
        || begins("npm_ yarn_ pnpm_ pip_", name)
        || listed(TIED_IN_ZSH, name);
    (lower && !read_by_programs) || listed(SCRIPT_NAMES, name)
}

/// Returns true when the value of this variable of the environment is no secret.
#[must_use]
pub fn shown(name: &str) -> bool {
    listed(SHOWN, name)
}

/// Variables that every process has, and those that shells set.
const SHOWN: Words = "\
    HOME PWD OLDPWD USER LOGNAME SHELL HOSTNAME PATH UID EUID PPID RANDOM SECONDS LINENO TERM LANG \
    TZ TMPDIR EDITOR COLUMNS LINES BASH_VERSION SHLVL OSTYPE MACHTYPE CI VIRTUAL_ENV";

/// Variables for colour, language and verbosity; none makes a program run another.
const ASKED_FOR: Words = "\
    CARGO_INCREMENTAL CARGO_NET_OFFLINE CARGO_TERM_COLOR CARGO_TERM_PROGRESS_WHEN \
    CARGO_TERM_VERBOSE CGO_ENABLED CI CLICOLOR CLICOLOR_FORCE COLORTERM COLUMNS DEBUG FORCE_COLOR \
    GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT GOARCH GOOS HUSKY INSTA_UPDATE LANG NODE_ENV NO_COLOR \
    PROPTEST_CASES PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUNBUFFERED \
    PYTHONUTF8 RUST_BACKTRACE RUST_LOG RUST_TEST_THREADS TERM TZ";

/// Lower-case names that zsh itself obeys; some are another spelling of `PATH` and its kin.
const TIED_IN_ZSH: Words = "\
    aliases argv cdpath commands fignore fpath functions galiases histchars mailpath manpath \
    module_path options path prompt psvar saliases watch";

/// Upper-case names in which scripts keep their own values.
const SCRIPT_NAMES: Words = "\
    A ARG B BASE BODY BRANCH C CMD CODE COMMIT COUNT D DATE DEST DIR DIRS DST END ERR ERRORS \
    EXIT_CODE F FILE FILES I IDX INDEX ITEM J KEY LINE LOG LOGFILE MAX MIN MODULE MSG N NAME NOW \
    OUT OUTPUT P PACKAGE PID PIDS PKG PORT RC RES RESPONSE RESULT RET ROOT S SERVER_PID SHA SIZE \
    SRC START STATUS SUM TAG TEST TESTS TOTAL URL VALUE VERSION X Y Z";

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn what_chooses_programs_is_never_harmless() {
        for name in
            ["PATH", "LD_PRELOAD", "GIT_SSH_COMMAND", "path", "http_proxy", "NODE_OPTIONS", "IFS"]
        {
            assert!(!harmless(name, Some("ls")) && !harmless(name, None), "{name}");
        }
    }

    #[test]
    fn script_variables_are_harmless_alone_and_not_in_front_of_a_command() {
        assert!(harmless("count", None) && !harmless("count", Some("make")));
        assert!(harmless("RUST_LOG", Some("cargo")) && harmless("IFS", Some("read")));
    }
}
