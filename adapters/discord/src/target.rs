//! Discord's channels as targets.

use countersign_port::Target;

/// The channel's id of a target.
pub(crate) fn channel(target: &Target) -> Result<&str, String> {
    let id = target.0.as_str();
    if !id.is_empty() && id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(id);
    }
    Err(format!(
        "`{id}` is not a Discord channel: in `[discord] targets` give the number that Discord's \
         Copy Channel ID gives"
    ))
}
