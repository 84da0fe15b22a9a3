//! What an approval covers, and how it is written.

use countersign_tokens::clock;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an approval covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// This call.
    Once,
    /// Calls of the same session that the rules of its button cover.
    Session,
    /// Calls of any session that the offered rules cover, until revoked.
    Always,
    /// This very call, of any session, until revoked.
    Exact,
    /// Calls of the same session whose commands begin as the offered ones do.
    Prefix,
    /// This very call in the same session, for so many seconds.
    Timed(u32),
}

impl Scope {
    /// What its button is called, and all that speaks of it.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Once => "Once".to_owned(),
            Self::Session => "Session".to_owned(),
            Self::Always => "Always".to_owned(),
            Self::Exact => "Always exactly this".to_owned(),
            Self::Prefix => "Always this prefix".to_owned(),
            Self::Timed(seconds) => clock::brief_span(i64::from(seconds) * 1_000),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once => f.write_str("once"),
            Self::Session => f.write_str("session"),
            Self::Always => f.write_str("always"),
            Self::Exact => f.write_str("exact"),
            Self::Prefix => f.write_str("always_prefix"),
            Self::Timed(seconds) if seconds % 3600 == 0 => write!(f, "{}h", seconds / 3600),
            Self::Timed(seconds) if seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            Self::Timed(seconds) => write!(f, "{seconds}s"),
        }
    }
}

impl std::str::FromStr for Scope {
    type Err = String;

    // FAIL-CLOSED: an unknown scope is refused, never taken for `once`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || {
            format!(
                "`{text}` is not a valid scope; use once, session, always, always_prefix, exact, or a time \
                 such as 10m or 24h"
            )
        };
        match text {
            "once" => Ok(Self::Once),
            "session" => Ok(Self::Session),
            "always" => Ok(Self::Always),
            "exact" => Ok(Self::Exact),
            "always_prefix" => Ok(Self::Prefix),
            _ => {
                let (number, unit) =
                    text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(unknown)?;
                let unit = match unit {
                    "s" => 1,
                    "m" => 60,
                    "h" => 3600,
                    _ => return Err(unknown()),
                };
                let number: u32 = number.parse().map_err(|_| unknown())?;
                let seconds = number.checked_mul(unit).filter(|s| (1..=30 * 86_400).contains(s));
                seconds.map(Self::Timed).ok_or_else(unknown)
            }
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Scope {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "What an approval covers: `once`, `session`, `always`, `always_prefix`, \
                `exact`, or a time such as `10m`.",
            "pattern": "^(once|session|always|always_prefix|exact|[0-9]+[smh])$",
        })
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How far a grant goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GrantScope {
    /// The session that it was given in.
    Session,
    /// That session, until it expires.
    Timed,
    /// Every session, until it is revoked.
    Always,
    /// Exactly one call, once, until it expires: it was approved ahead.
    Budget,
    /// Every session, until it is revoked: it allows nothing, but makes calls ask that it covers.
    Review,
}

impl GrantScope {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Session, Self::Timed, Self::Always, Self::Budget, Self::Review];

    /// The word for it in JSON, in the store and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Timed => "timed",
            Self::Always => "always",
            Self::Budget => "budget",
            Self::Review => "review",
        }
    }

    /// The scope of this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }

    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Timed => "for a time",
            Self::Always => "always",
            Self::Budget => "once",
            Self::Review => "asks, a review said",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_and_written_in_the_same_words() {
        for (text, scope) in [
            ("once", Scope::Once),
            ("session", Scope::Session),
            ("always", Scope::Always),
            ("exact", Scope::Exact),
            ("always_prefix", Scope::Prefix),
            ("10m", Scope::Timed(600)),
            ("24h", Scope::Timed(86_400)),
            ("90s", Scope::Timed(90)),
        ] {
            assert_eq!((text.parse(), scope.to_string()), (Ok(scope), text.to_owned()));
        }
    }

    #[test]
    fn an_unknown_scope_is_refused_and_never_taken_for_once() {
        for text in ["", "Once", "forever", "0m", "m", "-5m", "99999999999h", "10", "é"] {
            assert_eq!(
                text.parse::<Scope>(),
                Err(format!(
                    "`{text}` is not a valid scope; use once, session, always, always_prefix, exact, or a \
                     time such as 10m or 24h"
                ))
            );
        }
    }
}
