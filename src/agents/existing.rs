//! Looks at the file that a call would replace, on the machine where it would run. What is found
//! there decides nothing: it is a fact for the person who answers.

use countersign_domain::{Existing, call::Call};
use countersign_policy::{
    argument_names::FILES,
    tools::{Kind, kind_of},
};
use rustix::fs::OFlags;
use std::{
    fs::File,
    io::{ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// A larger file is not read; bytes.
const READ: u64 = 1 << 20;

/// Returns what is at the path that this call writes whole; `None` for other calls, and where it
/// cannot be told.
#[must_use]
pub fn existing(call: &Call) -> Option<Existing> {
    if kind_of(&call.tool) != Kind::Write {
        return None;
    }
    let path = FILES.iter().find_map(|key| call.args.get(*key)?.as_str())?;
    let path = match (Path::new(path), call.cwd.as_deref()) {
        (path, _) if path.is_absolute() => path.to_owned(),
        (path, Some(folder)) => PathBuf::from(folder).join(path),
        (_, None) => return None,
    };
    // A pipe would be waited for.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
    match File::options().read(true).custom_flags(flags).open(&path) {
        Ok(file) => of_file(file),
        Err(error) if error.kind() == ErrorKind::NotFound => Some(Existing::Nothing),
        Err(_) => {
            let file = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some(Existing::File { bytes: file.len(), lines: None })
        }
    }
}

fn of_file(file: File) -> Option<Existing> {
    let bytes = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut content = Vec::new();
    let is_small = bytes <= READ && file.take(READ).read_to_end(&mut content).is_ok();
    let lines = std::str::from_utf8(&content).ok().filter(|text| is_small && !text.contains('\0'));
    Some(Existing::File { bytes, lines: lines.map(|text| text.lines().count() as u64) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;
    use std::fs;

    fn found(folder: &Path, tool: &str, path: &str) -> Option<Existing> {
        let args = json!({ "file_path": path, "content": "x" });
        let cwd = Some(folder.display().to_string());
        existing(&Call { cwd, ..Call::new("a", "s", tool, args) })
    }

    #[test]
    fn a_file_that_a_call_would_replace_is_counted_and_a_new_one_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        fs::write(here.join("notes.md"), "one\ntwo\nthree").unwrap();
        fs::write(here.join("logo.png"), "\u{0}PNG").unwrap();
        fs::create_dir(here.join("src")).unwrap();
        let absolute = here.join("notes.md").display().to_string();
        let text = Some(Existing::File { bytes: 13, lines: Some(3) });
        assert_eq!(found(here, "Write", "notes.md"), text);
        assert_eq!(found(here, "create_file", &absolute), text);
        let binary = Some(Existing::File { bytes: 4, lines: None });
        assert_eq!(found(here, "Write", "logo.png"), binary);
        assert_eq!(found(here, "Write", "src/new.rs"), Some(Existing::Nothing));
        assert_eq!(found(here, "Write", "src"), None, "a folder is no file");
        assert_eq!(found(here, "Read", "notes.md"), None);
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(found(folder.path(), "Write", "pipe"), None);
    }
}
