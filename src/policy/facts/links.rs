//! The targets of paths on the host, as the caller looked them up.

use std::collections::{HashMap, HashSet};

/// The results for the paths and programs that [`crate::lookups()`] names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    leads: HashMap<String, LinkTarget>,
    programs: HashSet<String>,
    unresolved: Option<String>,
    is_cut: bool,
    in_inner_repository: bool,
}

/// The target of a path through links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    /// These paths, with all links followed; several for a pattern.
    To(Vec<String>),
    /// The target cannot be determined, for this reason.
    Unknown(String),
}

impl Links {
    /// Stores the target of a path.
    pub fn lead(&mut self, path: String, lead: LinkTarget) {
        self.leads.insert(path, lead);
    }

    /// Stores a name that starts the bridge's own program.
    pub fn own_program(&mut self, name: String) {
        self.programs.insert(name);
    }

    /// Records that there was more than could be looked at.
    pub fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Records that the call's folder belongs to a repository inside another one.
    pub fn inner_repository(&mut self) {
        self.in_inner_repository = true;
    }

    /// Returns true when the call's folder belongs to a repository inside another one, which may
    /// have come with it.
    #[must_use]
    pub fn is_in_inner_repository(&self) -> bool {
        self.in_inner_repository
    }

    /// Returns true when there was more than could be looked at.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Records that a file named by a tool cannot be followed, with the reason. Rules for it cannot
    /// be trusted.
    pub fn unresolved(&mut self, path: &str, why: &str) {
        // The first one is enough for the sentence that asks.
        self.unresolved.get_or_insert_with(|| {
            format!("Where {path} leads cannot be told ({why}); it may be another file.")
        });
    }

    /// Returns true when a file named by a tool cannot be followed.
    #[must_use]
    pub fn is_unresolved(&self) -> bool {
        self.unresolved.is_some()
    }

    pub(crate) fn doubt(&self) -> Option<&str> {
        self.unresolved.as_deref()
    }

    pub(crate) fn places(&self, path: &str) -> &[String] {
        match self.of(path) {
            Some(LinkTarget::To(places)) => places,
            Some(LinkTarget::Unknown(_)) | None => &[],
        }
    }

    pub(crate) fn of(&self, path: &str) -> Option<&LinkTarget> {
        self.leads.get(path)
    }

    /// Returns true when none of the paths is a link.
    pub(crate) fn lead_nowhere(&self) -> bool {
        self.leads.is_empty()
    }

    /// Returns the first path that `stays` itself but is led away by one of its links, or by one
    /// that cannot be followed.
    pub(crate) fn leaving(
        &self,
        stays: impl Fn(&str) -> bool,
        is_away: impl Fn(&str, &str) -> bool,
    ) -> Option<&str> {
        let leaves = |path: &str, lead: &LinkTarget| match lead {
            LinkTarget::To(places) => places.iter().any(|place| is_away(path, place)),
            LinkTarget::Unknown(_) => true,
        };
        let mut paths: Vec<&str> = self
            .leads
            .iter()
            .filter(|(path, lead)| stays(path) && leaves(path, lead))
            .map(|(path, _)| path.as_str())
            .collect();
        // The map has no order; the same call must name the same path every time.
        paths.sort_unstable();
        paths.first().copied()
    }

    pub(crate) fn is_own_program(&self, name: &str) -> bool {
        self.programs.contains(name)
    }
}

/// The paths and programs that a caller with access to the host should look up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lookups {
    /// Absolute paths, some with wildcards. They are not cleaned, because `..` behind a link leads
    /// elsewhere.
    pub paths: Vec<String>,
    /// Those of the paths that a tool names as its files; rules are written for these.
    pub files: HashSet<String>,
    /// The directory of relative program names.
    pub cwd: Option<String>,
    /// The home directory.
    pub home: Option<String>,
    /// One of the programs obeys the repository of its folder.
    pub obeys_folder: bool,
    /// Names of programs; bare ones are looked up where the system keeps programs.
    pub programs: Vec<String>,
    /// There are more than are listed.
    pub is_cut: bool,
}
