//! Folding: what comes faster than a chat takes messages shares one that is edited in place.

use super::{
    OutboxWorker,
    one_card::{LONGEST_SEND, late_note},
};
use crate::{bundle, outage::backoff_ms};
use countersign_domain::late;
use countersign_port::{MessageRef, Posting, SendError, Target};
use countersign_store::{
    Bundle, BundleNews, BundleRow, CardRow, DrawnCard, Member, NewEvent, StoreError,
};
use countersign_tokens::clock;
use serde_json::json;
use std::time::Duration;

impl OutboxWorker {
    /// Draws the bundles that are due. `Some`: nothing more for so long.
    pub(super) async fn show_bundles(
        &mut self,
        news: BundleNews,
    ) -> Result<Option<Duration>, StoreError> {
        let store = self.store.clone();
        if self.adapter.pace(&Target(self.target.clone())).is_none() {
            return Ok(None);
        }
        loop {
            let (name, now) = (self.adapter.name, clock::now_ms());
            let Some(row) = store.due_bundle(name, &self.target, now, news).await? else {
                return Ok(None);
            };
            if !self.term.holds() {
                return Ok(Some(Duration::from_secs(1)));
            }
            if let Some(left) = self.term.rests_for() {
                return Ok(Some(left));
            }
            if let Some(quiet) = self.show_bundle(&row).await? {
                return Ok(Some(quiet));
            }
        }
    }

    async fn show_bundle(&mut self, row: &BundleRow) -> Result<Option<Duration>, StoreError> {
        let (store, term) = (self.store.clone(), self.term.clone());
        let Some(bundle) = store.next_revision(&row.nonce, term.fence()).await? else {
            term.end();
            return Ok(Some(Duration::from_secs(1)));
        };
        let open = bundle.members.iter().any(|member| member.ask.is_open());
        let is_posted = row.message.is_some() || row.revision > 0;
        if !open && !is_posted {
            // Nobody saw it open; nobody needs to see it closed.
            return self.note_bundle(&bundle, None, false).await;
        }
        let muted = open && self.receiving.mutes();
        let first = bundle.members.first().map(|member| member.ask.clone());
        let place = match (&row.message, &first) {
            (None, Some(ask)) => self.place_of(ask).await?,
            _ => Ok(Target(self.target.clone())),
        };
        let place = match place {
            Ok(place) => place,
            Err(error) => return self.bundle_failed(&bundle, error).await,
        };
        let sending = self.send_bundle(&bundle, &place, muted);
        let sent = tokio::time::timeout(LONGEST_SEND, sending).await;
        match sent.unwrap_or_else(|_| Err(SendError::Transient("no answer".into()))) {
            Ok((message, drawn)) => {
                let noted = self.note_bundle(&bundle, Some(&message.0), muted).await?;
                self.log_bundle(&bundle, &message.0, &drawn).await;
                self.store.cards_due(self.outage.is_over()).await?;
                Ok(noted)
            }
            Err(SendError::ThreadGone(why)) => {
                let thread = match &first {
                    Some(ask) => self.thread_of(ask).await?,
                    None => None,
                };
                let Some(thread) = thread else {
                    return self.bundle_failed(&bundle, SendError::ThreadGone(why)).await;
                };
                self.thread_gone(&thread, &why).await?;
                if !open {
                    return self.note_bundle(&bundle, None, muted).await;
                }
                Ok(None)
            }
            Err(error) => self.bundle_failed(&bundle, error).await,
        }
    }

    async fn send_bundle(
        &self,
        bundle: &Bundle,
        place: &Target,
        muted: bool,
    ) -> Result<(MessageRef, DrawnCard), SendError> {
        let mut card = bundle::draw(&started(bundle), self.store.id());
        if muted {
            card = self.receiving.mute(card, &self.gate);
        }
        let oldest = bundle.members.iter().find(|member| member.ask.is_open());
        if bundle.row.message.is_none() {
            let note = |member: &Member| late_note(&member.ask, clock::now_ms());
            card.blocks.extend(oldest.and_then(note));
        }
        let drawn = self.drawn(&card);
        if let Some(message) = &bundle.row.message {
            let message = MessageRef(message.clone());
            return self.adapter.update(&message, &card).await.map(|()| (message, drawn));
        }
        // The first revision was never sent before.
        let may_stand = bundle.row.revision > 1;
        let posting = if may_stand { Posting::MayRepeat } else { Posting::First };
        let message = self.adapter.post(place, &card, posting).await?;
        if may_stand {
            self.adapter.update(&message, &card).await?;
        }
        Ok((message, drawn))
    }

    /// Notes in the log what a bundle showed of each of its asks.
    async fn log_bundle(&self, bundle: &Bundle, message: &str, drawn: &DrawnCard) {
        let DrawnCard { adapter, target, digest } = drawn;
        let event = |member: &Member| {
            let data = json!({"adapter": adapter, "target": target, "message": message,
                "version": member.ask.version, "digest": digest});
            let (kind, ask) = ("shown".to_owned(), Some(member.ask.id.clone()));
            NewEvent { at: clock::now_ms(), kind, ask, data }
        };
        let noted = self.store.note_all(bundle.members.iter().map(event).collect()).await;
        if let Err(error) = noted {
            tracing::warn!(%error, "the log does not tell what a bundle showed");
        }
    }

    async fn note_bundle(
        &mut self,
        bundle: &Bundle,
        message: Option<&str>,
        muted: bool,
    ) -> Result<Option<Duration>, StoreError> {
        let pace = self.adapter.pace(&Target(self.target.clone()));
        let rest = pace.map_or(Duration::ZERO, |pace| pace.between_edits());
        let until = clock::now_ms() + i64::try_from(rest.as_millis()).unwrap_or_default();
        let (store, fence) = (self.store.clone(), self.term.fence().clone());
        if !store.bundle_shown(bundle, message, muted, until, &fence).await? {
            self.term.end();
        }
        let (adapter, asks) = (self.adapter.name, bundle.members.len());
        tracing::info!(adapter, asks, revision = bundle.row.revision, "a bundle of cards is shown");
        Ok(None)
    }

    async fn bundle_failed(
        &mut self,
        bundle: &Bundle,
        error: SendError,
    ) -> Result<Option<Duration>, StoreError> {
        let (store, adapter) = (self.store.clone(), self.adapter.name);
        let BundleRow { nonce, attempts, .. } = &bundle.row;
        match error {
            SendError::Transient(why) | SendError::Fatal(why) => {
                let rest = self.outage.failed(nonce, *attempts);
                let wait_ms = backoff_ms(*attempts);
                tracing::warn!(adapter, why, wait_ms, ?rest, "a bundle could not be shown yet");
                store.bundle_rests(nonce, true, clock::now_ms() + wait_ms).await?;
                Ok(rest)
            }
            SendError::Refused(why) => {
                tracing::error!(adapter, why, "a bundle is given up; its asks get their own cards");
                store.unbundle(nonce, &why).await?;
                Ok(None)
            }
            other => {
                let first = bundle.members.first();
                let row = CardRow {
                    nonce: nonce.clone(),
                    ask: first.map(|member| member.ask.id.clone()).unwrap_or_default(),
                    adapter: adapter.to_owned(),
                    target: self.target.clone(),
                    message: bundle.row.message.clone(),
                    attempts: *attempts,
                    shown: false,
                    instead: None,
                    seen: false,
                };
                self.failed(&row, other).await
            }
        }
    }
}

/// The bundle with the deadlines that its asks have once it is shown.
fn started(bundle: &Bundle) -> Bundle {
    let (mut bundle, now) = (bundle.clone(), clock::now_ms());
    for Member { joined, ask, .. } in &mut bundle.members {
        if *joined == bundle.row.revision {
            ask.deadline_at = late::deadline(ask.created_at, ask.deadline_at, now);
        }
    }
    bundle
}
