//! Secrets sent to another host, and shells opened for one.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::sensitive::{expand, guarded, secret_word};
use crate::shell::WordKind;

/// Returns true when curl or wget sends a secret file or a secret value.
pub(crate) fn uploads(args: &Arguments<'_, '_>) -> bool {
    sent_files(args).any(|file| guarded(&file))
        || args.words.iter().any(|w| w.kind == WordKind::Dynamic && substitutes_secret(&w.text))
}

/// Returns true when scp or a similar program copies a secret to a host.
pub(crate) fn copies(args: &Arguments<'_, '_>) -> bool {
    let words = args.named();
    let Some((to, from)) = words.split_last() else { return false };
    let remote = to.text.contains(':') && !to.text.starts_with(['/', '.']);
    remote && from.iter().any(|word| secret_word(word))
}

/// Returns true when a name that is looked up carries a value.
pub(crate) fn looks_up(args: &Arguments<'_, '_>) -> bool {
    args.words.iter().any(|w| {
        w.kind == WordKind::Dynamic
            && w.text.contains(['(', '`'])
            // `$(…).example.com`: the look-up itself transports the value, even if it fails.
            && w.text.rsplit([')', '`']).next().is_some_and(|t| t.starts_with('.'))
    })
}

/// Returns true for `nc -e`, which gives the other side a program.
pub(crate) fn serves_a_program(args: &Arguments<'_, '_>) -> bool {
    args.flag("ec") || args.long("--exec --sh-exec --lua-exec")
}

/// Returns true when socat does the same.
pub(crate) fn connects_a_program(args: &Arguments<'_, '_>) -> bool {
    args.any(|text| {
        let text = text.to_ascii_lowercase();
        ["exec:", "system:", "shell:"].iter().any(|way| text.starts_with(way))
    })
}

/// Returns true for `eval "$(curl …)"` and other words that are fetched or decoded.
pub(crate) fn runs_a_fetch(args: &Arguments<'_, '_>) -> bool {
    let ways = ["curl ", "wget ", "fetch ", "base64 -d", "base64 --decode"];
    let mut dynamic = args.words.iter().filter(|w| w.kind == WordKind::Dynamic);
    dynamic.any(|w| w.text.contains(['(', '`']) && ways.iter().any(|way| w.text.contains(way)))
}

/// Returns the files that curl or wget send.
fn sent_files<'w>(args: &Arguments<'w, '_>) -> impl Iterator<Item = String> {
    // curl reads the file behind an `@`: `-d @file`, `-F name=@file`.
    let at = args.texts().filter_map(|text| text.split_once('@').map(|(_, file)| file));
    let named = args.values("-T --upload-file --post-file --body-file");
    at.chain(named).map(expand)
}

/// Returns true for `$(cat ~/.token)`, `` `env` `` and the like.
fn substitutes_secret(text: &str) -> bool {
    let Some(at) = text.find("$(").or_else(|| text.find('`')) else { return false };
    let inner = text.get(at..).unwrap_or_default();
    inner
        .split(|c: char| c.is_whitespace() || "()`;|&<>\"'".contains(c))
        .any(|word| guarded(&expand(word)) || matches!(word, "env" | "printenv"))
}
