//! Files that are written by the name of a descriptor.
//!
//! Linux opens `/dev/stdin`, `/dev/fd/3` and `/proc/self/fd/3` anew: `echo x < Makefile >> /dev/stdin`
//! writes a Makefile that the text only reads.

use crate::shell::{Command, Redirect, RedirectOp, Scan, WordKind};

/// Counts every file that a text opens for reading as written too, where the text may name a
/// descriptor as a file.
// SECURITY: here, so that rules, critical patterns, guardrails and effects all see the file. Which
// descriptor a name means is not worked out: an enclosing `{ … } < file`, a function, `exec`,
// `bash -c` or a wrapper may have bound it.
pub(super) fn count_as_written(scan: &mut Scan<'_>) {
    let mut redirects = scan.commands.iter().flat_map(|command| &command.redirects);
    // Few texts open a file for reading, and names are only looked for in those.
    if !redirects.any(|redirect| redirect.op == RedirectOp::Read) {
        return;
    }
    let by_name = scan.commands.iter().any(names_a_descriptor);
    for redirect in scan.commands.iter_mut().flat_map(|command| &mut command.redirects) {
        // Nothing reads from its output: `1< file` is for `/dev/stdout`.
        let output = matches!(redirect.fd, Some(1 | 2));
        if redirect.op == RedirectOp::Read && (by_name || output) {
            redirect.op = RedirectOp::ReadWrite;
        }
    }
}

fn names_a_descriptor(command: &Command<'_>) -> bool {
    let words = command.argv.iter().map(|word| &word.text);
    let words = words.chain(command.assigns.iter().map(|assign| &assign.value.text));
    words
        .chain(command.redirects.iter().map(|redirect| &redirect.target.text))
        .any(|text| device(text))
        || command.redirects.iter().any(may_be_any)
}

/// Returns true for a redirect that writes a file known only when it runs, or makes an output of
/// another descriptor (`1<&0`).
fn may_be_any(redirect: &Redirect<'_>) -> bool {
    let unknown = matches!(redirect.target.kind, WordKind::Glob | WordKind::Dynamic);
    let output = matches!(redirect.fd, None | Some(1 | 2));
    let moved = redirect.op == RedirectOp::Duplicate
        && output
        && !matches!(&*redirect.target.text, "1" | "2" | "-");
    unknown && redirect.op.writes() || moved
}

/// Returns true for a text with a path of `/dev` or `/proc`, but for those that are no descriptor
/// or the tool's own output.
fn device(text: &str) -> bool {
    const PLAIN: &[&str] = &["null", "zero", "full", "random", "urandom", "stdout", "stderr"];
    let mut rest = text;
    while let Some(at) = rest.find("dev").into_iter().chain(rest.find("proc")).min() {
        // `src/dev` and `devices` are other names; `..//dev` may be ours.
        let before = rest.get(..at).unwrap_or_default();
        let rooted = before.strip_suffix('/').is_some_and(|folder| {
            !folder.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
        });
        let found = rest.get(at..).unwrap_or_default();
        let name = found.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(found.len());
        let (name, behind) = found.split_at(name);
        let plain = behind.strip_prefix('/').is_some_and(|file| {
            let end = file.find(|c: char| !c.is_ascii_alphanumeric() && c != '/' && c != '.');
            name == "dev"
                && PLAIN.contains(&file.get(..end.unwrap_or(file.len())).unwrap_or_default())
        });
        if rooted && matches!(name, "dev" | "proc") && !plain {
            return true;
        }
        rest = behind;
        if name.is_empty() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::shell::{RedirectOp, scan};

    /// Returns whether `Makefile` counts as written.
    fn written(text: &str) -> bool {
        let scan = scan(text);
        let mut redirects = scan.commands.iter().flat_map(|command| &command.redirects);
        redirects.any(|one| one.target.text == "Makefile" && one.op == RedirectOp::ReadWrite)
    }

    #[test]
    fn a_file_that_may_be_written_by_the_name_of_a_descriptor_counts_as_written() {
        for text in [
            "echo x < Makefile >> /dev/stdin",
            "echo x 3< Makefile > /dev/fd/3",
            "echo x 3< Makefile > /proc/self/fd/3",
            "echo x < Makefile > //dev/stdin",
            "echo x < Makefile > /dev/./stdin",
            "echo x < Makefile > ../../dev/stdin",
            "echo x < Makefile > \"/d\"ev/stdin",
            "echo x < Makefile | tee /dev/stdin",
            "tee /dev/stdin < Makefile",
            "cp x /dev/fd/0 < Makefile",
            "dd of=/dev/fd/0 < Makefile",
            "{ echo x >> /dev/stdin; } < Makefile",
            "f() { echo x >> /dev/stdin; }; f < Makefile",
            "bash -c 'echo x >> /dev/stdin' < Makefile",
            "exec 3< Makefile; echo x > /dev/fd/3",
            "while read -r l; do echo x >> /dev/fd/0; done < Makefile",
            "echo x < Makefile > $f",
            "echo x < Makefile > *",
            "f=/dev/stdin; tee \"$f\" < Makefile",
            "cd /dev; echo x < Makefile >> stdin",
            "cd /proc/self/fd && echo x < Makefile > 0",
            "echo x 1< Makefile > /dev/stdout",
            "echo x < Makefile 1<&0 > /dev/stdout",
            "echo x 3< Makefile >&3 > /dev/stdout",
        ] {
            assert!(written(text), "{text}");
        }
    }

    #[test]
    fn what_is_read_stays_read_beside_the_tools_own_output() {
        for text in [
            "cat < Makefile",
            "cat < Makefile 2>/dev/null",
            "while read -r l; do echo \"$l\" > /dev/stderr; done < Makefile",
            "grep x < Makefile > out.txt 2>&1",
            "sort < Makefile | tee /dev/stderr",
            "cat < Makefile > src/dev/x; cat src/proc/y devices",
            "wc -l < Makefile >&2",
        ] {
            assert!(!written(text), "{text}");
        }
    }
}
