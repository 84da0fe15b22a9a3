//! Patches in the form of Codex, from `*** Begin Patch` to `*** End Patch`, read strictly.

use super::file::{PatchedFile, plain};
use super::lines::{BEGIN, HEADERS};
use crate::facts::access::Access;

/// The part of a patch that a line belongs to.
enum FileSection {
    None,
    Add,
    Delete,
    /// Directly below its header, where the destination of a move may follow.
    UpdateHead,
    Update,
}

/// Reads the files of a patch; `None` when a line is not understood.
pub(super) fn read(text: &str) -> Option<Vec<PatchedFile<'_>>> {
    let body = text.trim_matches('\n').strip_prefix(BEGIN)?.strip_suffix("*** End Patch")?;
    let body = body.strip_prefix('\n')?.strip_suffix('\n')?;
    let (mut files, mut section) = (Vec::<PatchedFile<'_>>::new(), FileSection::None);
    for line in body.split('\n') {
        let head = HEADERS.iter().find_map(|(start, access)| {
            let path = line.strip_prefix(start)?.strip_prefix(' ')?;
            Some((*start, *access, plain(path)))
        });
        if let Some((start, access, path)) = head {
            let path = path?;
            section = match start {
                "*** Add File:" => FileSection::Add,
                "*** Delete File:" => FileSection::Delete,
                "*** Move to:" => {
                    let FileSection::UpdateHead = section else { return None };
                    files.last_mut()?.access = Access::Move;
                    FileSection::Update
                }
                _ => FileSection::UpdateHead,
            };
            files.push(PatchedFile { access, path });
            continue;
        }
        let known = match section {
            FileSection::None | FileSection::Delete => false,
            FileSection::Add => line.starts_with('+'),
            FileSection::UpdateHead | FileSection::Update => {
                section = FileSection::Update;
                line.is_empty()
                    || line.starts_with(['@', ' ', '+', '-'])
                    || line == "*** End of File"
            }
        };
        if !known {
            return None;
        }
    }
    (!files.is_empty()).then_some(files)
}
