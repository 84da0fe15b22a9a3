//! Makes the digest of the config when it is due, for every target of its own.

use super::{kinds::DigestScope, lines::lines};
use crate::{
    Gate, SubmitError,
    ask::{Ask, plan::PlannedTarget},
    routes::{Moment, ScheduledDigest},
};
use countersign_port::ReplyPiece;
use countersign_store::NewDigest;
use countersign_tokens::clock;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often it is looked whether one is due.
const LOOK: Duration = Duration::from_secs(1);

impl Gate {
    /// Makes digests when they are due until told to stop; `title` is the first line of a card.
    pub async fn make_digests(&self, title: fn(&Ask) -> String, stop: CancellationToken) {
        let mut made = None;
        while !stop.is_cancelled() {
            let choices = self.in_force.now();
            if let Some(digest) = &choices.routes.digest
                && let Some((due, since)) = digest.time.latest(clock::now_ms())
                && made != Some(due)
            {
                match self.make_digest(digest, since, due, title).await {
                    Ok(()) => made = Some(due),
                    Err(error) => tracing::warn!(%error, "a digest is late"),
                }
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(LOOK)).await;
        }
    }

    // INVARIANT: of all daemons and all restarts one makes the digest of a time. What was due
    // before the first look is not made.
    async fn make_digest(
        &self,
        digest: &ScheduledDigest,
        since: i64,
        until: i64,
        title: fn(&Ask) -> String,
    ) -> Result<(), SubmitError> {
        let (store, choices) = (&self.open.store, self.in_force.now());
        let mut new = Vec::new();
        match store.last_digest().await? {
            Some(last) if last >= until => return Ok(()),
            None => {}
            Some(_) => {
                let absent = store.absent(until).await?;
                let at = Moment { now_ms: until, absent: &absent };
                let routes = &choices.routes;
                for target in routes.digest_targets(&choices.approvers.people, digest, at) {
                    let PlannedTarget { adapter, target: place, .. } = &target;
                    let is_direct =
                        routes.direct.values().flatten().any(|it| it.is(adapter, place));
                    let tells = |ask: &Ask| is_direct || is_shown_at(ask, &target);
                    let scope = DigestScope { since, until, tells: &tells, title };
                    let content = written(&lines(&self.digest(scope).await?));
                    let (adapter, target) = (adapter.clone(), place.clone());
                    new.push(NewDigest { adapter, target, content });
                }
            }
        }
        if store.add_digest(until, new).await? {
            tracing::info!(until = clock::rfc3339(until), "a digest was made");
            self.open.changed();
        }
        Ok(())
    }
}

fn written(lines: &[Vec<ReplyPiece>]) -> String {
    serde_json::json!(lines).to_string()
}

/// Whether the ask was shown at this target.
// SECURITY: a request that a route shows elsewhere is not told in this chat.
fn is_shown_at(ask: &Ask, target: &PlannedTarget) -> bool {
    let plan = ask.body.plan.as_ref();
    plan.is_none_or(|plan| plan.shows_at(&target.adapter, &target.target))
}
