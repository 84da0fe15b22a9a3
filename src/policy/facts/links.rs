//! Where paths really lead on the host, as somebody found who could look.

use std::collections::{HashMap, HashSet};

/// What was found about the paths and programs that [`crate::sights()`] names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    leads: HashMap<String, Lead>,
    programs: HashSet<String>,
    unresolved: Option<String>,
    is_cut: bool,
}

/// Where a path leads through links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lead {
    /// To these, all links followed; several for a pattern.
    To(Vec<String>),
    /// It cannot be told, for this reason.
    Unknown(String),
}

impl Links {
    /// Keeps where a path leads.
    pub fn lead(&mut self, path: String, lead: Lead) {
        self.leads.insert(path, lead);
    }

    /// Keeps a name that starts the bridge's own program.
    pub fn own_program(&mut self, name: String) {
        self.programs.insert(name);
    }

    /// There was more than could be looked at.
    pub fn cut(&mut self) {
        self.is_cut = true;
    }

    /// There was more than could be looked at.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// A file that a tool names cannot be followed, for this reason: its rules cannot be trusted.
    pub fn unresolved(&mut self, path: &str, why: &str) {
        self.unresolved.get_or_insert_with(|| {
            format!("Where {path} leads cannot be told ({why}); it may be another file.")
        });
    }

    /// A file that a tool names cannot be followed.
    #[must_use]
    pub fn is_unresolved(&self) -> bool {
        self.unresolved.is_some()
    }

    pub(crate) fn doubt(&self) -> Option<&str> {
        self.unresolved.as_deref()
    }

    pub(crate) fn places(&self, path: &str) -> &[String] {
        match self.of(path) {
            Some(Lead::To(places)) => places,
            Some(Lead::Unknown(_)) | None => &[],
        }
    }

    pub(crate) fn of(&self, path: &str) -> Option<&Lead> {
        self.leads.get(path)
    }

    /// Nothing that was looked at is a link.
    pub(crate) fn lead_nowhere(&self) -> bool {
        self.leads.is_empty()
    }

    /// The first path that `stays`, and leads to a place that does not or that cannot be told.
    pub(crate) fn leaving(&self, stays: impl Fn(&str) -> bool) -> Option<&str> {
        let leaves = |lead: &Lead| match lead {
            Lead::To(places) => !places.iter().all(|place| stays(place)),
            Lead::Unknown(_) => true,
        };
        let mut paths: Vec<&str> = self
            .leads
            .iter()
            .filter(|(path, lead)| stays(path) && leaves(lead))
            .map(|(path, _)| path.as_str())
            .collect();
        paths.sort_unstable();
        paths.first().copied()
    }

    pub(crate) fn is_own_program(&self, name: &str) -> bool {
        self.programs.contains(name)
    }
}

/// What somebody who can look at the host should look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sights {
    /// Paths from the root, not cleaned, because `..` behind a link leads elsewhere; some hold
    /// wildcards.
    pub paths: Vec<String>,
    /// Those of them that a tool names as its files, which rules are written for.
    pub files: HashSet<String>,
    /// Where relative names of programs begin.
    pub cwd: Option<String>,
    /// The home folder.
    pub home: Option<String>,
    /// Names of programs: bare ones are looked for where the system keeps programs.
    pub programs: Vec<String>,
    /// There are more than are named.
    pub is_cut: bool,
}
