//! The sentences for denies and asks of the guardrail.

use crate::facts::excerpt::shorten;
use crate::facts::paths::{self, Directories};

pub(super) fn belongs(text: &str, own: &str) -> String {
    match paths::clean(text, Directories::default()) == own || text.len() > 60 {
        true => format!("{own} belongs to the bridge; agents must not touch it."),
        false => {
            format!("{text} reaches {own}, which belongs to the bridge; agents must not touch it.")
        }
    }
}

pub(super) fn may_name(text: &str, own: &str) -> String {
    format!("{} may name {own}, which belongs to the bridge.", shorten(text, 60))
}

pub(super) fn only_known(text: &str) -> String {
    format!(
        "What {} names is only known when it runs; it may belong to the bridge.",
        shorten(text, 60)
    )
}
