//! The sentences for denies and asks of the guardrail.

use crate::facts::paths::{self, Directories};
use crate::facts::shorten;

pub(super) fn belongs(text: &str, own: &str) -> String {
    match paths::clean(text, Directories::default()) == own || text.len() > 60 {
        true => format!("Protected countersign file: {own}. Agents may not use it."),
        false => {
            format!("Protected countersign file: {own}, reached by {text}. Agents may not use it.")
        }
    }
}

pub(super) fn may_name(text: &str, own: &str) -> String {
    format!("{} may be a protected countersign file ({own}).", shorten(text, 60))
}

pub(super) fn only_known(text: &str) -> String {
    format!(
        "What {} names is only known when it runs; it may be a protected countersign file.",
        shorten(text, 60)
    )
}
