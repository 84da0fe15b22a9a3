//! Patches: the files that one names, and whether it was understood to its last line.

mod envelope;
mod file;
mod lines;
mod unified;

pub use file::PatchedFile;

/// The files that a patch names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch<'t> {
    /// Every file, in order, each once.
    pub files: Vec<PatchedFile<'t>>,
    /// Every line was understood. Otherwise the patch may change more than these files.
    pub is_exact: bool,
}

/// Reads a patch in the form of Codex (`*** Begin Patch`) or a unified diff.
// FAIL-CLOSED: programs differ in what they take for a header: after blanks, behind odd line
// breaks, before the beginning or after the end. Every line that one of them may take for a header
// counts as one, and a patch with such a line is not exact.
#[must_use]
pub fn read(text: &str) -> Patch<'_> {
    let loose = lines::possible_headers(text);
    let strict = match lines::has_envelope(text) {
        true => envelope::read(text),
        // Inside of its hunks, whose lines are counted, nothing is a header.
        false if !lines::has_odd_breaks(text) => match unified::read(text) {
            Some(files) => return Patch { files: once(files), is_exact: true },
            None => None,
        },
        false => unified::read(text),
    };
    let is_known = |file: &PatchedFile<'_>| {
        strict.as_ref().is_some_and(|strict| strict.iter().any(|it| it.path == file.path))
    };
    let is_exact = loose.iter().all(is_known) && strict.is_some();
    let files = once(strict.into_iter().flatten().chain(loose).collect());
    Patch { files, is_exact }
}

/// Each path once, with the access that it came with first.
fn once(files: Vec<PatchedFile<'_>>) -> Vec<PatchedFile<'_>> {
    let mut seen = std::collections::HashSet::new();
    files.into_iter().filter(|file| seen.insert(file.path)).collect()
}

#[cfg(test)]
mod tests;
