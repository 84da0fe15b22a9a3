//! The daemons at which callers of an ask wait. Pure.

use std::fmt;

/// The daemons at which a caller of an ask waits now. One text, `/one/two/`, so that the store can
/// compare and set it as a whole; empty if nobody waits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct AttachedDaemons(String);

/// The step that a daemon takes after an ask's last caller here has gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnDetach {
    /// Nothing: this daemon was not attached.
    Nothing,
    /// Records that this daemon is no longer attached.
    Note(AttachedDaemons),
    /// Cancels the ask.
    Cancel,
}

impl AttachedDaemons {
    /// Wraps the text from the store.
    #[must_use]
    pub fn read(text: String) -> Self {
        Self(text)
    }

    /// The text for the store.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this daemon is attached.
    #[must_use]
    pub fn has(&self, daemon: &str) -> bool {
        self.iter().any(|other| other == daemon)
    }

    /// The same with this daemon added.
    #[must_use]
    pub fn with(&self, daemon: &str) -> Self {
        self.iter().filter(|other| *other != daemon).chain([daemon]).collect()
    }

    /// The same without this daemon.
    #[must_use]
    pub fn without(&self, daemon: &str) -> Self {
        self.iter().filter(|other| *other != daemon).collect()
    }

    /// Decides what `daemon` does when its last caller has gone: one that `left` without an answer,
    /// or one that got a response and may come back. `alive` returns whether callers may still wait
    /// at a daemon, or come back to it.
    // INVARIANT: an ask is cancelled only when nobody waits for it anywhere.
    #[must_use]
    pub fn on_detach(&self, daemon: &str, left: bool, alive: impl Fn(&str) -> bool) -> OnDetach {
        let rest = self.without(daemon);
        if !self.has(daemon) {
            OnDetach::Nothing
        } else if left && !rest.iter().any(alive) {
            OnDetach::Cancel
        } else {
            OnDetach::Note(rest)
        }
    }

    // Each name is delimited on both sides, so `on` does not match `one`.
    fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|daemon| !daemon.is_empty())
    }
}

impl<'a> FromIterator<&'a str> for AttachedDaemons {
    fn from_iter<I: IntoIterator<Item = &'a str>>(daemons: I) -> Self {
        let mut text = String::new();
        for daemon in daemons {
            text.push_str(if text.is_empty() { "/" } else { "" });
            text.push_str(daemon);
            text.push('/');
        }
        Self(text)
    }
}

impl fmt::Display for AttachedDaemons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemons_come_and_go_and_the_text_is_the_same_either_way() {
        let one = AttachedDaemons::default().with("one");
        let both = one.with("two");
        assert_eq!((one.as_str(), both.as_str()), ("/one/", "/one/two/"));
        assert_eq!(both.with("two"), both);
        assert_eq!(both.without("two"), one);
        assert_eq!(one.without("one"), AttachedDaemons::default());
        assert_eq!(AttachedDaemons::read("/one/two/".to_owned()), both);
        assert!(both.has("one") && !both.has("on") && !one.has("two"));
    }

    #[test]
    fn an_ask_is_taken_back_by_the_last_one_whose_caller_left_it() {
        let both = AttachedDaemons::default().with("here").with("there");
        let (here, there) = (both.without("there"), both.without("here"));
        let dead = |_: &str| false;
        assert_eq!(both.on_detach("here", true, |daemon| daemon == "there"), OnDetach::Note(there));
        assert_eq!(both.on_detach("here", true, dead), OnDetach::Cancel);
        assert_eq!(here.on_detach("here", true, |_| true), OnDetach::Cancel);
        assert_eq!(here.on_detach("here", false, dead), OnDetach::Note(AttachedDaemons::default()));
        assert_eq!(here.on_detach("there", true, dead), OnDetach::Nothing);
    }
}
