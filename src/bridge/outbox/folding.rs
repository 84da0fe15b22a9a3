//! Folding: which cards share a message.

use super::{OutboxWorker, rush::crowd};
use countersign_port::{Pace, Target};
use countersign_store::{Due, StoreError};
use countersign_tokens::clock;
use std::collections::{BTreeMap, HashMap};

/// How long a bundle is joined by new requests: a change of a message rings nobody's phone.
const JOIN_MS: i64 = 60_000;
/// The largest call that is folded; bytes. A bundle holds all of its calls.
const LARGEST: usize = 8 * 1024;

/// Whether a card that is due may share a message. Critical calls and questions never do, nor does
/// what may have a message already: one that was posted and whose answer was lost would stay there
/// for ever, beside the shared one.
fn may_share(due: &Due) -> bool {
    let Ok(ask) = &due.ask else { return false };
    let call = &ask.body.call;
    // A bundle shows no votes.
    let needs_people = !ask.body.requirements.is_empty() || ask.body.is_no_call();
    let large = || call.args.to_string().len() > LARGEST;
    let new = due.card.message.is_none() && !due.card.shown && due.card.attempts == 0;
    new && ask.is_open() && !ask.body.critical && !ask.is_question() && !needs_people && !large()
}

impl OutboxWorker {
    /// Puts first turns that come too fast into bundles, and the same call again into that of the
    /// first. The cards that stay on their own.
    pub(super) async fn fold(&mut self, mut due: Vec<Due>) -> Result<Vec<Due>, StoreError> {
        let Some(pace) = self.adapter.pace(&Target(self.target.clone())) else { return Ok(due) };
        let mut left = Vec::with_capacity(due.len());
        let turns: HashMap<_, _> =
            due.iter().enumerate().map(|(turn, due)| (due.card.nonce.clone(), turn)).collect();
        let (sharing, others) = due.drain(..).partition::<Vec<_>, _>(may_share);
        let sharing = self.join_twins(sharing).await?;
        let by_session = self.gate.thread_idle_ms(self.adapter.name, &self.target).is_some();
        let mut crowds = BTreeMap::<String, Vec<Due>>::new();
        for due in sharing {
            let crowd = due.ask.as_ref().map(|ask| crowd(&ask.body.call, by_session));
            let crowd = crowd.unwrap_or_default();
            crowds.entry(crowd).or_default().push(due);
        }
        for (crowd, cards) in crowds {
            if self.is_rush(&crowd, cards.len(), pace).await? {
                self.put_together(&crowd, &cards).await?;
            } else {
                left.extend(cards);
            }
        }
        left.extend(others);
        left.sort_by_key(|due| turns.get(&due.card.nonce).copied());
        Ok(left)
    }

    /// Whether a crowd has more cards to show than its target takes at once.
    async fn is_rush(
        &mut self,
        crowd: &str,
        waiting: usize,
        pace: Pace,
    ) -> Result<bool, StoreError> {
        let most = if self.rush.is_slow() { 1 } else { pace.at_once };
        if waiting > most {
            return Ok(true);
        }
        let recent = self.rush.recent(crowd);
        if waiting + recent.len() <= most {
            return Ok(false);
        }
        // What was answered at once leaves room for more.
        Ok(waiting + self.store.count_open_of(&recent).await? > most)
    }

    async fn put_together(&mut self, crowd: &str, cards: &[Due]) -> Result<(), StoreError> {
        let (store, now) = (self.store.clone(), clock::now_ms());
        let target = self.target.clone();
        let place = [self.adapter.name, &*target, crowd];
        let into = store.open_bundle(place, now - JOIN_MS).await?;
        let nonces: Vec<_> = cards.iter().map(|due| due.card.nonce.clone()).collect();
        store.bundle(place, &nonces, into.as_deref(), self.term.fence(), now).await?;
        Ok(())
    }

    /// Puts the same call again into the message of the first. The cards that are left.
    async fn join_twins(&mut self, cards: Vec<Due>) -> Result<Vec<Due>, StoreError> {
        let digest = |due: &Due| due.ask.as_ref().map(|ask| ask.digest.clone()).unwrap_or_default();
        let digests: Vec<_> = cards.iter().map(digest).collect();
        let (store, name, target) = (self.store.clone(), self.adapter.name, self.target.clone());
        let posted = store.twins(name, &target, &digests).await?;
        let mut left: Vec<Due> = Vec::new();
        for due in cards {
            let own = digest(&due);
            let place = [name, &*target, &*own];
            let nonce = due.card.nonce.clone();
            if let Some(twin) = posted.iter().find(|twin| twin.digest == own) {
                let cards = match &twin.bundle {
                    Some(_) => vec![nonce],
                    // It takes the message of the first with it.
                    None => vec![twin.card.clone(), nonce],
                };
                let into = match &twin.bundle {
                    Some(bundle) => Some(bundle.clone()),
                    None => store.open_bundle(place, 0).await?,
                };
                let fence = self.term.fence();
                store.bundle(place, &cards, into.as_deref(), fence, clock::now_ms()).await?;
            } else if let Some(first) = left.iter().find(|other| digest(other) == own) {
                let cards = [first.card.nonce.clone(), nonce];
                let into = store.open_bundle(place, 0).await?;
                let fence = self.term.fence();
                store.bundle(place, &cards, into.as_deref(), fence, clock::now_ms()).await?;
                left.retain(|other| digest(other) != own);
            } else if store.open_bundle(place, clock::now_ms() - JOIN_MS).await?.is_some() {
                let into = store.open_bundle(place, 0).await?;
                let fence = self.term.fence();
                store.bundle(place, &[nonce], into.as_deref(), fence, clock::now_ms()).await?;
            } else {
                left.push(due);
            }
        }
        Ok(left)
    }
}
