//! The profile `wcore`: as wayland-core rules.

use super::Dialect;

/// Reads wayland-core's own configuration.
///
/// # Errors
/// Sentences that name each mistake and its place.
pub fn open(_text: Option<&str>, _name: &str, _compat: bool) -> Result<Box<dyn Dialect>, String> {
    Err("the profile wcore is not built yet".to_owned())
}
