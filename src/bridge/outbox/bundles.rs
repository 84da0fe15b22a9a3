//! Folding: what comes faster than a chat takes messages shares one that is edited in place.

use crate::{
    bundle,
    outbox::{
        OutboxWorker,
        cards::{in_time, late_note},
        failures::backoff_ms,
    },
};
use countersign_domain::{Ask, call::Call, deadline::late_deadline};
use countersign_port::{MessageRef, Pace, SendError, Target};
use countersign_store::{
    Bundle, BundleNews, BundleRow, CardRow, DrawnCard, Due, Member, NewEvent, StoreError,
};
use countersign_tokens::clock;
use serde_json::json;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

impl OutboxWorker {
    /// Draws the bundles that are due. `Some`: nothing more for so long.
    pub(super) async fn show_bundles(
        &mut self,
        news: BundleNews,
    ) -> Result<Option<Duration>, StoreError> {
        if self.adapter.pace(&Target(self.target.clone())).is_none() {
            return Ok(None);
        }
        loop {
            let name = self.adapter.name;
            let now = clock::now_ms();
            let Some(row) = self.store.due_bundle(name, &self.target, now, news).await? else {
                return Ok(None);
            };
            if let Some(left) = self.term.rests_for() {
                return Ok(Some(left));
            }
            if let Some(quiet) = self.show_bundle(&row).await? {
                return Ok(Some(quiet));
            }
        }
    }

    async fn show_bundle(&mut self, row: &BundleRow) -> Result<Option<Duration>, StoreError> {
        let Some(bundle) = self.store.next_revision(&row.nonce, self.term.fence()).await? else {
            self.term.end();
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
        match in_time(sending).await {
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
        // The first revision was never sent before.
        self.put(bundle.row.message.as_deref(), place, &card, bundle.row.revision > 1).await
    }

    /// Notes in the log what a bundle showed of each of its asks.
    async fn log_bundle(&self, bundle: &Bundle, message: &str, drawn: &DrawnCard) {
        let DrawnCard { adapter, target, digest } = drawn;
        let event = |member: &Member| {
            let data = json!({"adapter": adapter, "target": target, "message": message,
                "version": member.ask.version, "digest": digest});
            let kind = "shown".to_owned();
            let ask = Some(member.ask.id.clone());
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
        if !self.store.bundle_shown(bundle, message, muted, until, self.term.fence()).await? {
            self.term.end();
        }
        let adapter = self.adapter.name;
        let asks = bundle.members.len();
        tracing::info!(adapter, asks, revision = bundle.row.revision, "a bundle of cards is shown");
        Ok(None)
    }

    async fn bundle_failed(
        &mut self,
        bundle: &Bundle,
        error: SendError,
    ) -> Result<Option<Duration>, StoreError> {
        let adapter = self.adapter.name;
        let BundleRow { nonce, attempts, .. } = &bundle.row;
        match error {
            SendError::Transient(why) | SendError::Fatal(why) => {
                let rest = self.outage.failed(nonce, *attempts);
                let wait_ms = backoff_ms(*attempts);
                tracing::warn!(adapter, why, wait_ms, ?rest, "a bundle could not be shown yet");
                self.store.bundle_rests(nonce, true, clock::now_ms() + wait_ms).await?;
                Ok(rest)
            }
            SendError::Refused(why) => {
                tracing::error!(adapter, why, "a bundle is given up; its asks get their own cards");
                self.store.unbundle(nonce, &why).await?;
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
    let mut bundle = bundle.clone();
    let now = clock::now_ms();
    for Member { joined, ask, .. } in &mut bundle.members {
        if *joined == bundle.row.revision {
            ask.deadline_at = late_deadline(ask.created_at, ask.deadline_at, now);
        }
    }
    bundle
}

/// How long a bundle is joined by new requests: a change of a message rings nobody's phone.
const JOIN_MS: i64 = 60_000;
/// The largest call that is folded; bytes. A bundle holds all of its calls.
const LARGEST: usize = 8 * 1024;

/// Whether a card that is due may share a message. Critical calls and questions never do, nor does
/// what may have a message already: one that was posted and whose answer was lost would stay there
/// for ever, beside the shared one.
fn may_share(due: &Due) -> bool {
    let Ok(ask) = &due.ask else { return false };
    let body = &ask.body;
    let call = &ask.body.call;
    // A bundle shows no votes, and not that a machine has blocked a call.
    let is_special = !body.requirements.is_empty() || body.is_no_call() || call.appeal.is_some();
    let large = || call.args.to_string().len() > LARGEST;
    let new = due.card.message.is_none() && !due.card.shown && due.card.attempts == 0;
    new && ask.is_open() && !body.critical && !ask.is_question() && !is_special && !large()
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
        let now = clock::now_ms();
        let place = [self.adapter.name, &*self.target, crowd];
        let into = self.store.open_bundle(place, now - JOIN_MS).await?;
        let nonces: Vec<_> = cards.iter().map(|due| due.card.nonce.clone()).collect();
        self.store.bundle(place, &nonces, into.as_deref(), self.term.fence(), now).await?;
        Ok(())
    }

    /// Puts the same call again into the message of the first. The cards that are left.
    async fn join_twins(&mut self, cards: Vec<Due>) -> Result<Vec<Due>, StoreError> {
        let digest = |due: &Due| due.ask.as_ref().map(|ask| ask.digest.clone()).unwrap_or_default();
        let digests: Vec<_> = cards.iter().map(digest).collect();
        let name = self.adapter.name;
        let posted = self.store.twins(name, &self.target, &digests).await?;
        let mut left: Vec<Due> = Vec::new();
        for due in cards {
            let own = digest(&due);
            let place = [name, &*self.target, &*own];
            let nonce = due.card.nonce.clone();
            let mut into = None;
            let cards: Vec<_> = if let Some(twin) = posted.iter().find(|twin| twin.digest == own) {
                into.clone_from(&twin.bundle);
                // It takes the message of the first with it.
                let first = twin.bundle.is_none().then(|| twin.card.clone());
                first.into_iter().chain([nonce]).collect()
            } else if let Some(at) = left.iter().position(|other| digest(other) == own) {
                vec![left.remove(at).card.nonce, nonce]
            } else if self.store.open_bundle(place, clock::now_ms() - JOIN_MS).await?.is_some() {
                vec![nonce]
            } else {
                left.push(due);
                continue;
            };
            if into.is_none() {
                into = self.store.open_bundle(place, 0).await?;
            }
            let fence = self.term.fence();
            self.store.bundle(place, &cards, into.as_deref(), fence, clock::now_ms()).await?;
        }
        Ok(left)
    }
}

/// Requests within this time come at once.
const BURST: Duration = Duration::from_secs(10);
/// How long a target counts as slow after it asked to wait.
const SLOW: Duration = Duration::from_secs(60);
/// What a worker knows of how fast its target is asked to show cards.
#[derive(Debug, Default)]
pub(super) struct Rush {
    /// Cards that were posted on their own, with their crowds and asks.
    posted: VecDeque<(Instant, String, String)>,
    slow_until: Option<Instant>,
}

impl Rush {
    /// The target asked to wait.
    pub(super) fn slowed(&mut self) {
        self.slow_until = Some(Instant::now() + SLOW);
    }

    /// A card was posted on its own.
    pub(super) fn posted(&mut self, ask: &Ask, by_session: bool) {
        let crowd = crowd(&ask.body.call, by_session);
        self.posted.push_back((Instant::now(), crowd, ask.id.clone()));
    }

    fn is_slow(&self) -> bool {
        self.slow_until.is_some_and(|until| Instant::now() < until)
    }

    /// The asks of this crowd whose cards were posted a moment ago.
    fn recent(&mut self, crowd: &str) -> Vec<String> {
        while self.posted.front().is_some_and(|(at, ..)| at.elapsed() > BURST) {
            self.posted.pop_front();
        }
        let of_it = self.posted.iter().filter(|(_, whose, _)| whose == crowd);
        of_it.map(|(.., ask)| ask.clone()).collect()
    }
}

/// Whose requests share a message: those of one agent in one folder of one machine, and of one
/// session where each has a place of its own.
fn crowd(call: &Call, by_session: bool) -> String {
    let Call { agent, host, worker, cwd, session, .. } = call;
    if by_session {
        json!([agent, host, worker, cwd, session]).to_string()
    } else {
        json!([agent, host, worker, cwd]).to_string()
    }
}
