//! An argument under any of its names.

use serde_json::Value;

/// The first of the names that holds a text.
pub(super) fn first<'a>(
    args: &'a Value,
    names: &[&'static str],
) -> Option<(&'static str, &'a str)> {
    names.iter().find_map(|name| Some((*name, args.get(name)?.as_str()?)))
}
