//! Where paths really lead.

use std::path::Path;

/// The path behind all links; of a file that is not there yet, the folder's is followed. `None` where
/// nothing is there to follow.
#[must_use]
pub fn follow(path: &str) -> Option<String> {
    let path = Path::new(path);
    let real = path.canonicalize().or_else(|_| {
        let folder = path.parent().unwrap_or(path).canonicalize()?;
        Ok::<_, std::io::Error>(folder.join(path.file_name().unwrap_or_default()))
    });
    Some(real.ok()?.display().to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn links_are_followed_to_files_that_are_there_and_to_folders_of_those_that_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("to")).unwrap();
        std::fs::write(real.join("to/file"), "").unwrap();
        std::os::unix::fs::symlink(real.join("to"), real.join("link")).unwrap();
        let at = |name: &str| real.join(name).display().to_string();
        assert_eq!(follow(&at("link/file")), Some(at("to/file")));
        assert_eq!(follow(&at("link/new")), Some(at("to/new")));
        assert_eq!(follow(&at("none/new")), None);
    }
}
