//! Session modes, their names on the wire, and who may change them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::category::Category;

/// The mode of a session, ordered by strictness: the strictest is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionMode {
    /// Only questions ask.
    Force,
    /// The built-in file tools write without asking.
    AutoEdit,
    /// Every call asks unless a list or a grant covers it.
    Default,
}

/// The source of a change of mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeChangeSource {
    /// A person at this machine.
    Local,
    /// A peer on the wire, and nobody at this machine allowed such peers to loosen a session.
    Wire,
    /// A peer on the wire, and somebody at this machine allowed that at launch.
    WireOptedIn,
}

/// The result of a change of mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ModeChange {
    /// The mode is now the requested one.
    Applied(SessionMode),
    /// The operator's minimum is stricter; the mode is that minimum.
    Clamped(SessionMode),
    /// The mode is unchanged.
    Refused,
}

impl SessionMode {
    /// Returns true when the mode alone lets a call run.
    ///
    /// `by_document` follows the protocol's document literally: auto_edit covers everything of the
    /// categories `info` and `edit`. wayland-core itself has since narrowed that to its own two
    /// file tools, because remote tools may claim any category.
    pub(super) fn covers(self, tool: &str, category: Category, by_document: bool) -> bool {
        match self {
            Self::Force => true,
            Self::AutoEdit if by_document => matches!(category, Category::Info | Category::Edit),
            Self::AutoEdit => category == Category::Edit && matches!(tool, "Write" | "Edit"),
            Self::Default => false,
        }
    }

    /// Returns the mode's name on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AutoEdit => "auto_edit",
            Self::Force => "force",
        }
    }
}

/// Decides a change to `wanted`, given its source and a minimum that only the operator sets.
// SECURITY: a peer on the wire never loosens a session unless somebody opted in at launch.
pub fn change(
    wanted: SessionMode,
    from: ModeChangeSource,
    floor: Option<SessionMode>,
) -> ModeChange {
    // In wayland-core a peer on the wire could once set force (GHSA-8r7g).
    if from == ModeChangeSource::Wire && wanted != SessionMode::Default {
        return ModeChange::Refused;
    }
    match floor {
        Some(floor) if floor > wanted => ModeChange::Clamped(floor),
        _ => ModeChange::Applied(wanted),
    }
}

// FAIL-CLOSED: an unknown mode is an error, never the default mode and never force.
impl FromStr for SessionMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "default" => Ok(Self::Default),
            "auto_edit" => Ok(Self::AutoEdit),
            "force" | "yolo" | "dangerously_skip_permissions" | "dangerously-skip-permissions" => {
                Ok(Self::Force)
            }
            _ => Err(format!(
                "there is no mode {text:?}; the modes are default, auto_edit and force"
            )),
        }
    }
}

impl fmt::Display for SessionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for SessionMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for SessionMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
