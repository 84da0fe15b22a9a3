//! Who holds which role now: asked of the platforms before a vote that was cast earlier counts.

use super::{approvers::Approvers, ask::Ask};
use countersign_port::async_trait;
use std::{
    fmt::Debug,
    sync::{Arc, OnceLock},
};

/// Where it is asked who holds which role.
#[async_trait]
pub trait RoleSource: Debug + Send + Sync {
    /// Which of these roles somebody holds now; `None`: those that they held at their vote count.
    ///
    /// # Errors
    /// A sentence where the platform does not say.
    async fn roles_now(
        &self,
        platform: &str,
        person: &str,
        of: &[String],
    ) -> Result<Option<Vec<String>>, String>;
}

/// The source, once the daemon has one.
#[derive(Debug, Default)]
pub(super) struct CurrentRoles(OnceLock<Arc<dyn RoleSource>>);

impl CurrentRoles {
    pub(super) fn ask(&self, source: Arc<dyn RoleSource>) {
        let _ = self.0.set(source);
    }

    /// Gives the earlier votes of an ask the roles that their voters hold now.
    ///
    /// # Errors
    /// A sentence where a platform does not say: nothing may be decided with those votes.
    // SECURITY: a vote counts only while its voter has the role that makes it count.
    // FAIL-CLOSED: a platform that does not say lets nobody in, and drops nobody's vote either.
    pub(super) async fn refresh(&self, ask: &mut Ask, approvers: &Approvers) -> Result<(), String> {
        let Some(source) = self.0.get() else { return Ok(()) };
        for vote in &mut ask.votes {
            let Some((platform, person)) = vote.account() else { continue };
            if vote.roles.is_empty() {
                continue;
            }
            let of = approvers.roles_on(platform);
            if let Some(now) = source.roles_now(platform, person, &of).await? {
                vote.roles = now;
            }
        }
        Ok(())
    }
}
