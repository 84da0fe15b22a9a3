//! Where asks are shown, and so may be spoken of.

use super::run::CommandRun;
use countersign_domain::Ask;
use countersign_port::{CommandCall, Target};
use countersign_store::StoreError;

impl CommandRun<'_> {
    /// Whether asks are shown at one of these targets, or in a session's thread below one.
    pub(super) async fn is_shown_at(&self, targets: &[Target]) -> Result<bool, StoreError> {
        let platform = self.who.platform;
        for Target(at) in targets {
            let above = match self.gate.shows_at(platform, at) {
                true => return Ok(true),
                false => self.store.target_of_thread(platform, at).await?,
            };
            if above.is_some_and(|above| self.gate.shows_at(platform, &above)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether those who see the answer may be told of the ask: its presser alone, or a chat that its
/// route leads to.
pub(super) fn is_shown(ask: &Ask, platform: &str, call: &CommandCall) -> bool {
    let Some(plan) = ask.body.plan.as_ref().filter(|_| !call.targets.is_empty()) else {
        return true;
    };
    call.targets.iter().any(|it| plan.shows_at(platform, &it.0))
}
