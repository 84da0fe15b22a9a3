//! The bridge's own files and folders, and the location of a path relative to them. Lexical: the
//! caller, who has access to the host, follows links.

use crate::engine::guardrail::route::{Fit, Route, fits};
use crate::facts::paths::{self, Directories};

/// Files and folders of the bridge.
#[derive(Clone, Debug, Default)]
pub(super) struct Territory {
    own: Vec<Own>,
    /// Every folder above one of them.
    above: Vec<String>,
}

#[derive(Clone, Debug)]
struct Own {
    path: String,
    segments: Vec<String>,
}

/// The location of a path relative to the bridge's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lie {
    Elsewhere,
    /// Known only at run time.
    Unknown,
    Above(Above),
    /// Ours if wildcards also match dot files.
    MayBeOurs(String),
    /// Ours, or below something of ours.
    Ours(String),
}

/// A folder above something of the bridge's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Above {
    pub(super) own: String,
    pub(super) below_home: bool,
    /// A `**` in the pattern walks down from there.
    pub(super) walks: bool,
}

impl Territory {
    pub(super) fn new(paths: impl IntoIterator<Item = String>) -> Self {
        let clean = |path: String| paths::clean(&path, Directories::default()).into_owned();
        let mut paths: Vec<String> = paths.into_iter().map(clean).collect();
        // A folder sorts before its contents, which are covered by it then.
        paths.sort_unstable();
        let mut territory = Self { own: Vec::new(), above: vec!["/".to_owned()] };
        for path in paths.into_iter().filter(|path| path.len() > 1 && path.starts_with('/')) {
            if !territory.own.iter().any(|own| paths::within(&path, &own.path)) {
                territory.add(path);
            }
        }
        territory
    }

    fn add(&mut self, path: String) {
        for (at, _) in path.match_indices('/').filter(|(at, _)| *at > 0) {
            let folder = path.get(..at).unwrap_or_default();
            if !self.above.iter().any(|known| known == folder) {
                self.above.push(folder.to_owned());
            }
        }
        let segments = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned);
        self.own.push(Own { segments: segments.collect(), path });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Iterates over the folders above ours, including `/`.
    pub(super) fn above(&self) -> impl Iterator<Item = &str> {
        self.above.iter().map(String::as_str)
    }

    /// Returns true when a relative path from there may reach something of ours without a `..`.
    pub(super) fn is_near(&self, folder: &str) -> bool {
        let folder = paths::clean(folder, Directories::default());
        self.above.iter().any(|above| above.eq_ignore_ascii_case(&folder))
            || self.own.iter().any(|own| paths::within(&folder, &own.path))
            || folder.starts_with("/proc")
    }

    /// Returns the path of ours that a text contains anywhere.
    pub(super) fn spelled_in(&self, text: &str) -> Option<&str> {
        // A path of one segment, such as `/data`, occurs in too many harmless texts.
        let mut own = self.own.iter().filter(|own| own.segments.len() > 1);
        own.find(|own| text.len() >= own.path.len() && spells(text, &own.path))
            .map(|own| &*own.path)
    }

    /// Returns the location of a path; the strictest of all that it may mean.
    pub(super) fn lie(&self, route: &Route<'_>, home: Option<&str>) -> Lie {
        let mut found = if route.unknown { Lie::Unknown } else { Lie::Elsewhere };
        for own in &self.own {
            let lie = lie_to(own, route, home);
            if rank(&lie) > rank(&found) {
                found = lie;
            }
        }
        found
    }
}

/// Returns true when the text contains the path and the path ends there: `/a/bc` does not contain
/// `/a/b`.
fn spells(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let next = text.as_bytes().get(at + path.len());
        !next.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    })
}

fn lie_to(own: &Own, route: &Route<'_>, home: Option<&str>) -> Lie {
    let plain = lie_along(own, &route.segments, home, false);
    // `a/**/x` matches at any depth, so everything below the part before the stars is within reach.
    let stars = route.segments.iter().position(|part| route.is_pattern && part.contains("**"));
    match stars.and_then(|at| route.segments.get(..at)) {
        Some(before) => {
            let walked = lie_along(own, before, home, true);
            if rank(&walked) > rank(&plain) { walked } else { plain }
        }
        None => plain,
    }
}

fn lie_along<S: AsRef<str>>(own: &Own, segments: &[S], home: Option<&str>, walks: bool) -> Lie {
    let mut loose = false;
    // Compared as far as both go: a shorter path is above ours, a longer one below.
    for (segment, name) in segments.iter().zip(&own.segments) {
        match fits(segment.as_ref(), name) {
            Fit::Exact => {}
            Fit::Loose => loose = true,
            Fit::No => return Lie::Elsewhere,
        }
    }
    match own.segments.get(..segments.len()).filter(|above| above.len() < own.segments.len()) {
        Some(above) => Lie::Above(Above {
            own: own.path.clone(),
            below_home: home.is_some_and(|home| {
                let folder = ["/", &above.join("/")].concat();
                folder != home && paths::within(&folder, home)
            }),
            walks,
        }),
        None if loose => Lie::MayBeOurs(own.path.clone()),
        None => Lie::Ours(own.path.clone()),
    }
}

fn rank(lie: &Lie) -> u8 {
    match lie {
        Lie::Elsewhere => 0,
        Lie::Unknown => 1,
        Lie::Above(above) => 2 + u8::from(above.walks) + 2 * u8::from(above.below_home),
        Lie::MayBeOurs(_) => 6,
        Lie::Ours(_) => 7,
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::guardrail::territory::*;

    fn lie(text: &str) -> String {
        let file = "/home/u/.config/countersign/countersign.toml";
        let own = [file, "/home/u/.config/countersign", "/run/user/7/countersign.sock", "/proc/42"];
        let territory = Territory::new(own.map(str::to_owned));
        let route =
            Route::new("/home/u/work", text, text.contains(['*', '?', '[']), "/home/u/work");
        assert!(territory.above().all(|folder| !folder.contains("countersign")));
        match territory.lie(&route, Some("/home/u")) {
            Lie::Above(Above { below_home, walks, .. }) => format!("above {below_home} {walks}"),
            Lie::Ours(_) => "ours".to_owned(),
            Lie::MayBeOurs(_) => "may be ours".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    #[test]
    fn paths_are_ours_above_ours_or_elsewhere() {
        for (text, expected) in [
            ("../.config/countersign/approver.token", "ours"),
            ("/home/u/.config/countersign", "ours"),
            ("/home/u/.CONFIG/Countersign/x", "ours"),
            ("/home/u/.c*/c*/*", "ours"),
            ("/home/u/*/countersign/*", "may be ours"),
            ("/home/u/.config/**/x", "ours"),
            ("/home/u/.config/x/**", "elsewhere"),
            ("/home/u/.config/**", "ours"),
            ("/home/u/**/x", "above false true"),
            ("/home/u/.config", "above true false"),
            ("..", "above false false"),
            ("/", "above false false"),
            ("/proc/self/root/home/u/.config/countersign/x", "ours"),
            ("/proc/42/environ", "ours"),
            ("/proc/[0-9]*/environ", "ours"),
            ("/proc/7/environ", "elsewhere"),
            ("/proc/7/cwd/x", "unknown"),
            ("/run/user/7/countersign.sock", "ours"),
            (".", "elsewhere"),
            ("src/**/*.rs", "elsewhere"),
            ("/home/u/.config/countersign.bak", "elsewhere"),
        ] {
            assert_eq!(lie(text), expected, "{text}");
        }
    }
}
