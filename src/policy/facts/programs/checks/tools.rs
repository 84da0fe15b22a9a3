//! Checks for build tools, databases and containers that need several words at once.

use crate::facts::programs::arguments::Arguments;
use crate::shell::WordKind;

/// Returns true for `cargo +/path/to/toolchain`.
pub(crate) fn names_a_toolchain(args: &Arguments<'_, '_>) -> bool {
    args.any(|text| text.starts_with('+') && text.contains('/'))
}

/// Returns true when an option of go runs a program; go accepts one dash as well as two.
pub(crate) fn go_runs(args: &Arguments<'_, '_>) -> bool {
    let options = "vettool toolexec exec overlay modfile gccgoflags ldflags=-extld";
    args.any(|text| {
        let text = text.trim_start_matches('-');
        options.split(' ').any(|option| {
            text.strip_prefix(option).is_some_and(|more| more.is_empty() || more.starts_with('='))
        })
    })
}

/// Returns true when pytest loads a plug-in.
pub(crate) fn loads_a_plugin(args: &Arguments<'_, '_>) -> bool {
    args.values("-p").iter().any(|plugin| !plugin.starts_with("no:"))
}

/// Returns true when a folder outside the project is mounted into a container.
pub(crate) fn mounts_outside(args: &Arguments<'_, '_>) -> bool {
    args.values("-v --volume --mount").iter().any(|mount| {
        let from = mount.split(':').next().unwrap_or_default();
        // A name without a slash is a volume and not a folder.
        from.contains('/') && args.path_outside(from)
            || from.contains("source=/")
            || from.contains("src=/")
    })
}

/// Returns true when a command's output will name the containers or images.
pub(crate) fn names_a_list(args: &Arguments<'_, '_>) -> bool {
    args.named().iter().any(|word| {
        word.kind == WordKind::Dynamic && word.text.contains("ps")
            || word.text.contains("docker images")
    })
}

/// Returns true when sqlite3 gets a dot command that does more than show the schema.
pub(crate) fn dot_command(args: &Arguments<'_, '_>) -> bool {
    args.any(|text| {
        let shows = matches!(
            text.trim(),
            ".tables" | ".schema" | ".help" | ".databases" | ".indexes" | ".dump"
        );
        let path = text.starts_with("./") || text.starts_with("../");
        text.trim_start().starts_with('.') && !shows && !path
    })
}

/// Returns true when the program of an interpreter is known only at run time.
pub(crate) fn runs_the_unknown(args: &Arguments<'_, '_>) -> bool {
    args.open || args.words.first().is_some_and(|word| word.kind == WordKind::Dynamic)
}

/// Returns true when the last of several words is `-1`.
pub(crate) fn ends_with_everyone(args: &Arguments<'_, '_>) -> bool {
    args.words.len() > 1 && args.words.last().is_some_and(|word| word.text == "-1")
}
