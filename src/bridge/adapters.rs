//! The adapters of a daemon: who holds which role on them, and whether their presses are received,
//! and so what their cards offer.
//!
//! INVARIANT: a card offers buttons only where they are received; while they are not, for longer
//! than a moment, it says so and where to answer instead. A moment is not worth an edit of every
//! card.

use countersign_gate::{Gate, RoleSource, pause_sentence};
use countersign_port::{Block, Card, NamedAdapter, Receiving, async_trait};
use countersign_store::{LateCards, SHOWN_WITHIN_MS, Store};
use countersign_tokens::clock;
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// How long a platform may be deaf before its cards say so: reconnecting takes a second or two.
const MOMENT: Duration = Duration::from_secs(5);

/// The adapters of a daemon as they are now; a reload may replace some.
pub type Adapters = watch::Receiver<Arc<[NamedAdapter]>>;

/// Since when (Unix milliseconds) and why presses are not received, where that lasts longer than a
/// moment.
#[must_use]
pub fn lasting(receiving: &Receiving, now_ms: i64) -> Option<(i64, &str)> {
    match receiving {
        Receiving::Deaf { since, why } if now_ms - since >= moment_ms() => Some((*since, why)),
        _ => None,
    }
}

/// What people have to know: every chat whose presses are not received, and why.
#[must_use]
pub fn notices(adapters: &[NamedAdapter]) -> Vec<String> {
    let now_ms = clock::now_ms();
    let notice = |adapter: &NamedAdapter| {
        let receiving = adapter.signals().receiving();
        let (since, why) = lasting(&receiving, now_ms)?;
        let name = called(adapter.name);
        let since = clock::short(since);
        Some(format!("{name}: presses are not received since {since}: {why}"))
    };
    adapters.iter().filter_map(notice).collect()
}

/// Keeps every adapter told of [`notices`], and of a pause; never ends.
pub async fn tell_notices(mut adapters: Adapters, gate: Arc<Gate>, store: Store) {
    let mut changes = gate.changes();
    loop {
        let now = adapters.borrow_and_update().clone();
        let mut follows: Vec<_> =
            now.iter().map(|adapter| adapter.signals().follow_receiving()).collect();
        let mut sentences = notices(&now);
        // What cannot be read is read again in a moment.
        if let Ok(Some(pause)) = store.pause().await {
            let since = pause_sentence(&pause);
            sentences.insert(0, format!("{since}: nothing is allowed until somebody resumes."));
        }
        if let Some(alarm) = store.log_alarm() {
            sentences.insert(0, format!("Alarm: {alarm}."));
        }
        let late = store.late_cards(clock::now_ms() - SHOWN_WITHIN_MS).await.unwrap_or_default();
        sentences.extend(late.iter().map(late_sentence));
        now.iter().for_each(|adapter| adapter.notice(&sentences));
        let follows = follows.iter_mut().map(|follow| Box::pin(follow.changed()));
        let news = futures::future::select_all(follows);
        // A deafness that has just begun becomes one that lasts without any further news.
        tokio::select! {
            _ = tokio::time::timeout(MOMENT, news) => {}
            _ = changes.changed() => {}
            Ok(()) = adapters.changed() => {}
        }
    }
}

/// The sentence for a target at which cards are late.
fn late_sentence(late: &LateCards) -> String {
    let LateCards { adapter, cards, since, .. } = late;
    let name = called(adapter);
    let since = clock::short(*since);
    match cards {
        1 => format!("{name}: a card is late: its request has waited to be shown since {since}"),
        many => format!("{name}: {many} cards are late: the oldest has waited since {since}"),
    }
}

/// An adapter's name in a sentence.
fn called(adapter: &str) -> String {
    let mut letters = adapter.chars();
    match letters.next() {
        Some(_) if adapter == "inbox" => "the inbox".to_owned(),
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

fn moment_ms() -> i64 {
    i64::try_from(MOMENT.as_millis()).unwrap_or(i64::MAX)
}

/// One adapter's receiving, as its cards follow it.
pub(super) struct ReceivingState {
    adapter: NamedAdapter,
    adapters: Adapters,
    follow: watch::Receiver<Receiving>,
    deaf_from: Option<Instant>,
    /// How all shown cards are known to be drawn: muted or not.
    drawn: Option<bool>,
}

impl ReceivingState {
    pub(super) fn new(adapter: NamedAdapter, adapters: Adapters) -> Self {
        let follow = adapter.signals().follow_receiving();
        Self { adapter, adapters, follow, deaf_from: None, drawn: None }
    }

    /// Whether what is drawn now is to be muted.
    pub(super) fn mutes(&mut self) -> bool {
        self.settled() == Some(true)
    }

    /// How the shown cards are to be drawn anew, where some may be drawn otherwise.
    pub(super) fn redraws(&mut self) -> Option<bool> {
        let settled = self.settled().filter(|_| self.adapter.keeps_messages())?;
        (self.drawn != Some(settled)).then_some(settled)
    }

    /// All shown cards are drawn so.
    pub(super) fn all_drawn(&mut self, muted: bool) {
        self.drawn = Some(muted);
    }

    /// One card was drawn so.
    pub(super) fn one_drawn(&mut self, muted: bool) {
        self.drawn = self.drawn.filter(|all| *all == muted);
    }

    /// Waits for news, which a deafness that begins to last is too.
    pub(super) async fn changed(&mut self) {
        let left = self.deaf_from.map(|from| (from + MOMENT).duration_since(Instant::now()));
        let lasts = async {
            match left.filter(|left| !left.is_zero()) {
                Some(left) => tokio::time::sleep(left).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.follow.changed() => {}
            () = lasts => {}
        }
    }

    /// Whether the platform is deaf; `None` while that is not settled.
    fn settled(&mut self) -> Option<bool> {
        let deaf = match *self.follow.borrow_and_update() {
            Receiving::Starting => None,
            Receiving::Listening => Some(false),
            Receiving::Deaf { .. } => Some(true),
        };
        match deaf {
            Some(true) => {
                let from = *self.deaf_from.get_or_insert_with(Instant::now);
                (from.elapsed() >= MOMENT).then_some(true)
            }
            other => {
                self.deaf_from = None;
                other
            }
        }
    }

    /// The card without buttons, and with a sentence that says why and where to answer instead.
    pub(super) fn mute(&self, mut card: Card, gate: &Gate) -> Card {
        card.buttons.clear();
        card.more.clear();
        let text = format!(
            "Presses are not received here at the moment, so there are no buttons; they come back \
             by \
             themselves. {}",
            self.instead(gate, &card.ask)
        );
        card.blocks.push(Block::Note { text });
        card
    }

    /// Where to answer instead.
    fn instead(&self, gate: &Gate, ask: &str) -> String {
        let receives = |adapter: &&NamedAdapter| {
            adapter.name != self.adapter.name
                && gate.choices().approvers.may_answer_on(adapter.name)
                && adapter.signals().receiving() == Receiving::Listening
        };
        let adapters = self.adapters.borrow().clone();
        let mut ways: Vec<String> =
            adapters.iter().filter(receives).map(|it| format!("in {}", called(it.name))).collect();
        if gate.choices().approvers.answers_nameless() {
            ways.push(format!("with `countersign approve {ask}` or `countersign deny {ask}`"));
        }
        if ways.is_empty() {
            "`countersign doctor` says why.".to_owned()
        } else {
            format!("Answer {}; `countersign doctor` says why.", ways.join(", or "))
        }
    }
}

/// The adapters, asked for roles.
#[derive(Debug)]
pub struct AdapterRoles(pub Adapters);

#[async_trait]
impl RoleSource for AdapterRoles {
    async fn roles_now(
        &self,
        platform: &str,
        person: &str,
        of: &[String],
    ) -> Result<Option<Vec<String>>, String> {
        let adapters = self.0.borrow().clone();
        match adapters.iter().find(|adapter| adapter.name == platform) {
            Some(adapter) => adapter.roles_now(person, of).await,
            // The account was taken out of the config: nobody holds a role there any more.
            None => Ok(Some(Vec::new())),
        }
    }
}
