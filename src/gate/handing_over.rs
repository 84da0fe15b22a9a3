//! What happens to an ask when a target that its route leads to fails for good.

use super::{
    Gate,
    ask::{Ask, plan::PlannedTarget},
    in_force::{INBOX, new_card},
};
use countersign_port::{brief, line};
use countersign_store::{Delivery, NewCard, StoreError};
use tokio_util::sync::CancellationToken;

/// How much of a platform's reason a card shows; characters.
const REASON: usize = 160;

impl Gate {
    /// Shows a routed ask at the next target, because this one fails for good: the first fallback
    /// of its route that has no card yet; every target, where none is left and no other shows it.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    // INVARIANT: a card is added, never an answer: the same people may answer as before.
    pub async fn hand_over(
        &self,
        id: &str,
        adapter: &str,
        target: &str,
        why: &str,
    ) -> Result<(), StoreError> {
        let store = &self.open.store;
        let Some(ask) = store.whole_ask(id).await?.filter(Ask::is_open) else {
            return Ok(());
        };
        let Some(plan) = &ask.body.plan else { return Ok(()) };
        let there = store.deliveries(id).await?;
        let has = |it: &PlannedTarget| there.iter().any(|at| it.is(&at.adapter, &at.target));
        let cards: Vec<NewCard> = match plan.next(has) {
            Some(next) => vec![new_card(&next.adapter, &next.target)],
            None if there.iter().any(|at| reaches(at, adapter, target)) => return Ok(()),
            None => {
                let choices = self.in_force.now();
                let others = choices.audience.iter().filter(|it| it.adapter != INBOX);
                others.map(|it| new_card(&it.adapter, &it.target)).collect()
            }
        };
        let name = plan.name_of(adapter, target).unwrap_or(target);
        let why = brief(&line(why), REASON);
        let instead = format!("Shown here because {name} cannot be reached: {why}");
        if store.hand_over(id, name, &why, &instead, &cards).await? {
            tracing::warn!(ask_id = id, from = name, why, "a card is shown elsewhere instead");
            self.open.changed();
        }
        Ok(())
    }
}

impl Gate {
    /// Reminds of open asks and asks others too, when it is time, until told to stop.
    pub async fn take_steps(&self, stop: CancellationToken) {
        self.steps.run(stop).await;
    }
}

/// Whether another target than this one, besides the inbox, shows the ask or may yet.
fn reaches(at: &Delivery, adapter: &str, target: &str) -> bool {
    let is_it = at.adapter == adapter && at.target == target;
    !is_it && at.adapter != INBOX && at.held.is_none() && at.gone.is_none()
}
