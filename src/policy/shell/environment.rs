//! Which variables a command may be given without becoming another command.

/// True when setting `name` cannot change which program runs, nor make it run another.
/// `command` is the name of the command it is set for; `None` for a bare assignment.
#[must_use]
pub fn harmless(name: &str, command: Option<&str>) -> bool {
    if ASKED_FOR.contains(&name) || name.starts_with("LC_") {
        return true;
    }
    match command {
        // `while IFS= read -r line`
        Some("read") => name == "IFS",
        Some(_) => false,
        None => local(name),
    }
}

/// A variable of the script itself: what programs read is exported already and has a known name.
fn local(name: &str) -> bool {
    let lower = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let read_by_programs = name.ends_with("_proxy")
        || name.starts_with("npm_")
        || name.starts_with("yarn_")
        || name.starts_with("pnpm_")
        || name.starts_with("pip_")
        || TIED_IN_ZSH.contains(&name);
    (lower && !read_by_programs) || SCRIPT_NAMES.contains(&name)
}

/// Colours, languages, verbosity: no program runs another because of these.
const ASKED_FOR: &[&str] = &[
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "CARGO_TERM_VERBOSE",
    "CGO_ENABLED",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "GOARCH",
    "GOOS",
    "HUSKY",
    "INSTA_UPDATE",
    "LANG",
    "NODE_ENV",
    "NO_COLOR",
    "PROPTEST_CASES",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    "TERM",
    "TZ",
];

/// In zsh these lower-case names are another spelling of `PATH` and the like.
const TIED_IN_ZSH: &[&str] = &[
    "aliases",
    "argv",
    "cdpath",
    "commands",
    "fignore",
    "fpath",
    "functions",
    "galiases",
    "histchars",
    "mailpath",
    "manpath",
    "module_path",
    "options",
    "path",
    "prompt",
    "psvar",
    "saliases",
    "watch",
];

/// Upper-case names that scripts keep their own values in.
const SCRIPT_NAMES: &[&str] = &[
    "A",
    "ARG",
    "B",
    "BASE",
    "BODY",
    "BRANCH",
    "C",
    "CMD",
    "CODE",
    "COMMIT",
    "COUNT",
    "D",
    "DATE",
    "DEST",
    "DIR",
    "DIRS",
    "DST",
    "END",
    "ERR",
    "ERRORS",
    "EXIT_CODE",
    "F",
    "FILE",
    "FILES",
    "I",
    "IDX",
    "INDEX",
    "ITEM",
    "J",
    "KEY",
    "LINE",
    "LOG",
    "LOGFILE",
    "MAX",
    "MIN",
    "MODULE",
    "MSG",
    "N",
    "NAME",
    "NOW",
    "OUT",
    "OUTPUT",
    "P",
    "PACKAGE",
    "PID",
    "PIDS",
    "PKG",
    "PORT",
    "RC",
    "RES",
    "RESPONSE",
    "RESULT",
    "RET",
    "ROOT",
    "S",
    "SERVER_PID",
    "SHA",
    "SIZE",
    "SRC",
    "START",
    "STATUS",
    "SUM",
    "TAG",
    "TEST",
    "TESTS",
    "TOTAL",
    "URL",
    "VALUE",
    "VERSION",
    "X",
    "Y",
    "Z",
];

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
