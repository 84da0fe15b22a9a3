//! Cards: one row per ask and target, and what people owe at them.

use super::{Store, StoreError, asks, engine::Tx, log};
use countersign_domain::{Ask, wire::DeliveryView};
use countersign_tokens::{clock, ids};
use serde_json::json;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

/// A card to be posted.
#[derive(Debug, Clone)]
pub struct NewCard {
    /// The first part of its button tokens.
    pub nonce: String,
    /// Which adapter.
    pub adapter: String,
    /// Where, in the adapter's spelling.
    pub target: String,
}

/// A card as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardRow {
    /// The first part of its button tokens.
    pub nonce: String,
    /// Whose card it is.
    pub ask: String,
    /// Which adapter.
    pub adapter: String,
    /// Where.
    pub target: String,
    /// The posted message, once known.
    pub message: Option<String>,
    /// How often showing it was tried in a row and is not known to have worked.
    pub attempts: i64,
    /// Whether it has been shown, as far as is noted.
    pub shown: bool,
    /// Which target it replaces, and why, in a sentence; `None` for most.
    pub instead: Option<String>,
    /// Whether any card of its ask has been where people look.
    pub seen: bool,
}

/// The turn that a new card of this ask has at its target: behind the last card of its session, or
/// where its agent has come to. `$new` names the row with adapter and target, `$of` that with
/// agent, session and whether it is critical.
macro_rules! turn {
    ($new:literal, $of:literal) => {
        concat!(
            "coalesce((SELECT max(turn) + 1 FROM card AS own WHERE own.adapter = ",
            $new,
            ".adapter AND own.target = ",
            $new,
            ".target AND own.agent = ",
            $of,
            ".agent AND own.session = ",
            $of,
            ".session AND own.critical = ",
            $of,
            ".critical AND own.gone IS NULL AND own.shown = 0 AND own.bundle IS NULL), \
             (SELECT min(turn) FROM card AS other WHERE other.adapter = ",
            $new,
            ".adapter AND other.target = ",
            $new,
            ".target AND other.agent = ",
            $of,
            ".agent AND other.critical = ",
            $of,
            ".critical AND other.gone IS NULL AND other.shown = 0 AND other.bundle IS NULL), 0)"
        )
    };
}

/// A text that a person was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwedText {
    /// The adapter's name.
    pub adapter: String,
    /// The message with the pressed button.
    pub message: String,
    /// The person, by the platform's id.
    pub presser: String,
    /// The button's token.
    pub token: String,
    /// The ask's id.
    pub ask: String,
}

/// The open asks of which a target has to have a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belongs {
    /// All of them.
    Everything,
    /// Those that no route leads elsewhere.
    Unrouted,
    /// None: routes alone lead there.
    Nothing,
}

/// Retries cards that were given up, as new ones: the adapter keeps no messages over a restart.
const TRY_ANEW: &str = "UPDATE card SET shown = 0, message = NULL, attempts = 0, gone = NULL \
     WHERE adapter = $1 AND target = $2 AND gone IS NOT NULL \
     AND ask IN (SELECT id FROM ask WHERE state = 'open')";

/// Retries cards that were given up: the target may accept them now.
const TAKE_UP: &str = "UPDATE card SET gone = NULL \
     WHERE adapter = $1 AND target = $2 AND gone IS NOT NULL \
     AND ask IN (SELECT id FROM ask WHERE state = 'open')";

/// Makes cards of open asks due if they show an older version. A card in doubt keeps
/// `attempts = 1`; see [`DOUBT`].
const REFRESH: &str = "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = card.ask), \
     due_at = (SELECT created_at FROM ask WHERE id = card.ask), \
     attempts = CASE WHEN message IS NULL AND attempts > 0 THEN 1 ELSE 0 END \
     WHERE adapter = $1 AND target = $2 AND ask IN (SELECT id FROM ask WHERE state = 'open') \
     AND (attempts > 0 OR wanted < (SELECT version FROM ask WHERE id = card.ask))";

/// The span, in turns and in time, in which a younger card of an agent may have been sent before an
/// older one: both are counted before their commit, and commits overtake each other.
const OVERTAKEN: i64 = 4;

const OVERTAKEN_MS: i64 = 10_000;

/// Marks cards whose message may exist without our knowing. The card whose turn it was may have
/// been sent when the last process ended; its row then has no message id. It was the first of its
/// agent at that time, but others may have been committed since, so all near the first are marked.
// With `attempts = 1` the outbox posts the card as one that may be a repeat.
const DOUBT: &str = "UPDATE card SET attempts = 1 FROM (SELECT agent AS who, critical AS kind, \
     min(turn) AS first, min(due_at) AS oldest FROM card \
     WHERE adapter = $1 AND target = $2 AND gone IS NULL AND shown = 0 \
     AND message IS NULL AND attempts = 0 AND bundle IS NULL GROUP BY agent, critical) AS line \
     WHERE adapter = $1 AND target = $2 AND gone IS NULL AND shown = 0 AND message IS NULL \
     AND attempts = 0 AND bundle IS NULL AND agent = who AND critical = kind \
     AND turn <= first + $3 AND due_at <= oldest + $4";

impl Store {
    /// The ask of the card with this nonce at this adapter, unless the message that the card is
    /// said to be in holds another.
    pub async fn ask_of_card(
        &self,
        nonce: &str,
        adapter: &str,
        message: Option<&str>,
    ) -> Result<Option<Ask>, StoreError> {
        let query = sqlx::query(asks::select!(
            "WHERE id = (SELECT ask FROM card WHERE nonce = $1 AND adapter = $2 AND NOT EXISTS \
             (SELECT 1 FROM card AS other WHERE other.adapter = $2 AND other.message = $3 \
             AND other.nonce <> $1) AND NOT EXISTS (SELECT 1 FROM bundle \
             WHERE bundle.adapter = $2 AND bundle.message = $3 \
             AND bundle.nonce <> coalesce(card.bundle, '')))"
        ));
        let row = self.maybe(query.bind(nonce).bind(adapter).bind(message)).await?;
        row.as_ref().map(asks::ask).transpose()
    }

    /// The card in this message, by the first part of its tokens, and its ask.
    pub async fn ask_at(
        &self,
        adapter: &str,
        message: &str,
    ) -> Result<Option<(String, Ask)>, StoreError> {
        let card = "SELECT nonce, ask FROM card WHERE adapter = $1 AND message = $2";
        let row = self.maybe(sqlx::query(card).bind(adapter).bind(message)).await?;
        let Some(row) = row else { return Ok(None) };
        let ask = self.ask(row.try_get("ask")?).await?;
        let nonce: String = row.try_get("nonce")?;
        Ok(ask.map(|ask| (nonce, ask)))
    }

    /// The cards of an ask that are somewhere.
    pub async fn cards_of(&self, ask: &str) -> Result<Vec<CardRow>, StoreError> {
        let query = "SELECT nonce, ask, adapter, target, message, attempts, shown, instead, seen \
                     FROM card \
                     WHERE ask = $1";
        let rows = self.all(sqlx::query(query).bind(ask)).await?;
        rows.iter().map(card).collect()
    }

    /// Where an ask is shown, or should be.
    pub async fn deliveries(&self, ask: &str) -> Result<Vec<DeliveryView>, StoreError> {
        let query = sqlx::query(
            "SELECT adapter, target, shown, seen, held, gone FROM card WHERE ask = $1 \
             ORDER BY adapter, target",
        );
        self.all(query.bind(ask)).await?.iter().map(delivery).collect()
    }

    /// Why cards of an ask were given up or are not delivered yet, each reason once.
    pub async fn why_gone(&self, ask: &str) -> Result<Vec<String>, StoreError> {
        let why = sqlx::query(
            "SELECT DISTINCT adapter || ': ' || coalesce(gone, held) AS why FROM card \
             WHERE ask = $1 AND coalesce(gone, held) IS NOT NULL",
        );
        self.texts(why.bind(ask)).await
    }

    /// Makes cards at this target for those of the asks that are open and have none there.
    pub async fn add_cards(
        &self,
        adapter: &str,
        target: &str,
        asks: Vec<String>,
    ) -> Result<(), StoreError> {
        if asks.is_empty() {
            return Ok(());
        }
        let adapter = adapter.to_owned();
        let target = target.to_owned();
        self.write(move |tx| {
            Box::pin(async move {
                for ask in asks {
                    let nonce = ids::nonce();
                    let adapter = adapter.clone();
                    let target = target.clone();
                    insert(tx, &ask, &[NewCard { nonce, adapter, target }]).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Adds these cards to an open ask, each with the sentence that says what it replaces;
    /// whether any was new.
    pub async fn hand_over(
        &self,
        ask: &str,
        from: &str,
        why: &str,
        instead: &str,
        new: &[NewCard],
    ) -> Result<bool, StoreError> {
        let [ask, from, why, instead] = [ask, from, why, instead].map(str::to_owned);
        let new = new.to_vec();
        self.change(move |tx| {
            Box::pin(async move {
                insert(tx, &ask, &new).await?;
                let mut to = Vec::new();
                for card in &new {
                    let said = sqlx::query("UPDATE card SET instead = $2 WHERE nonce = $1");
                    let said = said.bind(card.nonce.clone()).bind(instead.clone());
                    if tx.run(said).await? > 0 {
                        to.push(format!("{}/{}", card.adapter, card.target));
                    }
                }
                if to.is_empty() {
                    return Ok(false);
                }
                let data = json!({"from": from, "why": why, "to": to});
                log::append(tx, clock::now_ms(), "handed_over", Some(&ask), &data).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Records that a person was asked for a text. It replaces what they owed at this message
    /// before.
    pub async fn owe_text(&self, owed: &OwedText) -> Result<(), StoreError> {
        let OwedText { adapter, message, presser, token, ask } = owed.clone();
        let statement = sqlx::query(
            "INSERT INTO owed_text (adapter, message, presser, token, ask) \
             VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (adapter, message, presser) DO UPDATE SET token = $4, ask = $5",
        );
        let statement = statement.bind(adapter).bind(message).bind(presser);
        self.execute(statement.bind(token).bind(ask)).await.map(drop)
    }

    /// The token of the button whose text this person owes at this message.
    pub async fn owed_text(
        &self,
        adapter: &str,
        message: &str,
        presser: &str,
    ) -> Result<Option<String>, StoreError> {
        let query = sqlx::query(
            "SELECT token FROM owed_text WHERE adapter = $1 AND message = $2 AND presser = $3",
        );
        self.value(query.bind(adapter).bind(message).bind(presser)).await
    }

    /// Removes the text that this button asked for: what the person writes next is no answer. The
    /// token must match, so that a late reply to an earlier button leaves the newer one owed.
    pub async fn text_given(
        &self,
        adapter: &str,
        message: &str,
        presser: &str,
        token: &str,
    ) -> Result<(), StoreError> {
        let statement = sqlx::query(
            "DELETE FROM owed_text \
             WHERE adapter = $1 AND message = $2 AND presser = $3 AND token = $4",
        );
        let statement = statement.bind(adapter.to_owned()).bind(message.to_owned());
        let statement = statement.bind(presser.to_owned()).bind(token.to_owned());
        self.execute(statement).await.map(drop)
    }

    /// Makes cards due that are older than their ask, and creates a card for every open ask that
    /// belongs to this target and has none there. Runs at every start.
    pub async fn reconcile(
        &self,
        adapter: &str,
        target: &str,
        keeps_messages: bool,
        belongs: Belongs,
    ) -> Result<(), StoreError> {
        let adapter = adapter.to_owned();
        let target = target.to_owned();
        self.write(move |tx| {
            Box::pin(async move {
                let here =
                    |sql: &'static str| sqlx::query(sql).bind(adapter.clone()).bind(target.clone());
                if keeps_messages {
                    tx.run(here(TAKE_UP)).await?;
                    let doubt = here(DOUBT).bind(OVERTAKEN).bind(OVERTAKEN_MS);
                    tx.run(doubt).await?;
                } else {
                    tx.run(here(TRY_ANEW)).await?;
                }
                fill_up(tx, &adapter, &target, belongs).await?;
                tx.run(here(REFRESH)).await.map(drop)
            })
        })
        .await
    }
}

/// Puts cards of a stored ask in; its age is their place among those of its session, and its size
/// is theirs.
pub(super) async fn insert(tx: &mut Tx, ask: &str, new: &[NewCard]) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    let row = |at: usize| format!("(${at}, ${}, ${})", at + 1, at + 2);
    let rows: Vec<_> = (0..new.len()).map(|n| row(2 + n * 3)).collect();
    let sql = format!(
        "INSERT INTO card (nonce, ask, adapter, target, shown, wanted, attempts, due_at, bytes, \
         agent, session, critical, turn) \
         SELECT new.nonce, id, new.adapter, new.target, 0, version, 0, created_at, bytes, \
         agent, session, critical, {} FROM ask, (SELECT column1 AS nonce, column2 AS adapter, \
         column3 AS target FROM (VALUES {}) AS v) AS new WHERE id = $1 AND state = 'open' \
         ON CONFLICT DO NOTHING",
        turn!("new", "ask"),
        rows.join(", ")
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(ask.to_owned());
    let query = new.iter().fold(query, |query, card| {
        query.bind(card.nonce.clone()).bind(card.adapter.clone()).bind(card.target.clone())
    });
    tx.run(query).await.map(drop)
}

/// What [`want`] does to a card.
macro_rules! want {
    () => {
        "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = card.ask), \
         due_at = (SELECT created_at FROM ask WHERE id = card.ask), \
         attempts = CASE WHEN message IS NULL AND attempts > 0 THEN 1 ELSE 0 END, \
         held = coalesce(gone, held), gone = NULL"
    };
}

/// All cards of the ask have to show its newest version, and may be tried at once, those too that
/// were given up: what the platform refused was an earlier version. One whose posting was tried
/// stays known as such: there may be a message that nobody knows.
pub(super) async fn want(tx: &mut Tx, ask: &str) -> Result<(), StoreError> {
    tx.run(sqlx::query(concat!(want!(), " WHERE ask = $1")).bind(ask)).await.map(drop)
}

/// They have to show it, but are tried when they are due.
pub(super) async fn behind(tx: &mut Tx, ask: &str) -> Result<(), StoreError> {
    let behind = "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = $1) WHERE ask = $1";
    tx.run(sqlx::query(behind).bind(ask)).await.map(drop)
}

/// The same as [`want`] for the cards of all open asks.
pub(super) async fn want_open(tx: &mut Tx) -> Result<(), StoreError> {
    let open = concat!(want!(), " WHERE ask IN (SELECT id FROM ask WHERE state = 'open')");
    tx.run(sqlx::query(open)).await.map(drop)
}

pub(super) fn card(row: &AnyRow) -> Result<CardRow, StoreError> {
    Ok(CardRow {
        nonce: row.try_get("nonce")?,
        ask: row.try_get("ask")?,
        adapter: row.try_get("adapter")?,
        target: row.try_get("target")?,
        message: row.try_get("message")?,
        attempts: row.try_get("attempts")?,
        shown: row.try_get::<i64, _>("shown")? > 0,
        instead: row.try_get("instead")?,
        seen: row.try_get::<i64, _>("seen")? > 0,
    })
}

fn delivery(row: &AnyRow) -> Result<DeliveryView, StoreError> {
    let (shown, seen): (i64, i64) = (row.try_get("shown")?, row.try_get("seen")?);
    Ok(DeliveryView {
        adapter: row.try_get("adapter")?,
        target: row.try_get("target")?,
        // A card that was posted again after a crash is not shown yet, and has been seen.
        shown: shown > 0 || seen != 0,
        held: row.try_get("held")?,
        gone: row.try_get("gone")?,
    })
}

/// Creates a card at this target for every open ask that belongs there and has none.
async fn fill_up(
    tx: &mut Tx,
    adapter: &str,
    target: &str,
    belongs: Belongs,
) -> Result<(), StoreError> {
    let most_routed = match belongs {
        Belongs::Nothing => return Ok(()),
        Belongs::Unrouted => 0,
        Belongs::Everything => 1,
    };
    let bare = sqlx::query(
        "SELECT a.id FROM ask a WHERE a.state = 'open' AND a.routed <= $3 AND NOT EXISTS \
         (SELECT 1 FROM card c WHERE c.ask = a.id AND c.adapter = $1 AND c.target = $2) \
         ORDER BY a.created_at, a.id",
    );
    for row in tx.all(bare.bind(adapter).bind(target).bind(most_routed)).await? {
        let nonce = ids::nonce();
        let card = NewCard { nonce, adapter: adapter.to_owned(), target: target.to_owned() };
        insert(tx, &row.try_get::<String, _>("id")?, &[card]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::testkit::engines::on_both;

    fn owed(presser: &str, token: &str) -> OwedText {
        OwedText {
            adapter: "chat".to_owned(),
            message: "7".to_owned(),
            presser: presser.to_owned(),
            token: token.to_owned(),
            ask: "a7f3".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_text_is_owed_by_the_one_who_was_asked_for_what_they_pressed_last_until_they_give_it()
    {
        on_both(async |store| {
            for owed in [owed("ana", "one"), owed("ben", "other"), owed("ana", "two")] {
                store.owe_text(&owed).await.unwrap();
            }
            let of = async |presser| store.owed_text("chat", "7", presser).await.unwrap();
            assert_eq!(of("ana").await.as_deref(), Some("two"));
            assert_eq!(of("cid").await, None);
            assert_eq!(store.owed_text("chat", "8", "ana").await.unwrap(), None);
            assert_eq!(store.owed_text("other", "7", "ana").await.unwrap(), None);
            // The text of an earlier button leaves the later one owed.
            store.text_given("chat", "7", "ana", "one").await.unwrap();
            assert_eq!(of("ana").await.as_deref(), Some("two"));
            store.text_given("chat", "7", "ana", "two").await.unwrap();
            assert_eq!((of("ana").await, of("ben").await.as_deref()), (None, Some("other")));
        })
        .await;
    }
}
