//! The log: events in order, the stream of them at `/v1/events`, and the chain of hashes over them
//! with its signed checkpoints, as an export and the destinations of the log have it.

use super::{
    Store, StoreError, Trouble,
    engine::{Tx, from_json, to_json},
    sealer::LogBreak,
};
use countersign_domain::log::{
    Checkpoint, LogHead, LogHeader, LogLine, LogRow, ProvenRow, PublicKey,
};
use countersign_tokens::clock;
use serde_json::Value;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};
use std::time::Duration;
use tokio::time::Instant;

/// Kinds of events that only the log shows: no reader of the live stream waits for them.
const QUIET: [&str; 5] = ["allowed", "shown", "config", "rules", "forgot"];

/// The largest number of events in one statement.
// sqlx leaves Nagle's algorithm on: beyond some 16 kB PostgreSQL's acknowledgement takes 40 ms, in
// which the rows that the transaction changed stay locked.
const TOGETHER: usize = 20;

/// One entry of the event log.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Event {
    /// Ascending number.
    pub id: i64,
    /// Unix milliseconds.
    pub at: i64,
    /// The kind: `asked`, `answered`, `expired`, `postponed`, `cancelled`, `ruled`, `refused`,
    /// `revoked` …
    pub kind: String,
    /// The id of the ask, if the event is about one.
    pub ask: Option<String>,
    /// Data of this kind of event.
    pub data: Value,
}

/// An event to append.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// Unix milliseconds.
    pub at: i64,
    /// Its kind.
    pub kind: String,
    /// The id of the ask, if it is about one.
    pub ask: Option<String>,
    /// Data of this kind of event.
    pub data: Value,
}

/// Longer than a transaction may hang before the server ends it
/// (`idle_in_transaction_session_timeout` and `statement_timeout` of our connections).
const LONGEST_GAP: Duration = Duration::from_secs(30);

/// The number of events read at once.
const PAGE: u32 = 500;

/// A position in the event log.
#[derive(Debug)]
pub struct Tail {
    last: i64,
    /// Gaps below `last` whose ids have not appeared, in ascending order.
    gaps: Vec<Gap>,
    /// No event up to this id appears any more.
    forgotten: i64,
}

/// A range of ids that have not appeared, and until when they may. One entry per range, because
/// thousands of events in a row may have been deleted.
#[derive(Debug, Clone, Copy)]
struct Gap {
    first: i64,
    last: i64,
    until: Instant,
}

/// The position of a reader that resumes.
#[derive(Debug)]
#[must_use]
pub enum Resumed {
    /// Every event after it is still stored.
    There(Tail),
    /// Some events after it were deleted; the stored ones follow.
    Forgotten(Tail),
}

/// The largest number of rows in one page of an export.
const EXPORTED: i64 = 500;

/// A page of the log as an export has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// The header of an export up to the newest checkpoint.
    pub header: LogHeader,
    /// The lines of this page.
    pub lines: Vec<LogLine>,
    /// The number of the last row of this page, if there are more.
    pub next: Option<i64>,
}

/// A destination that no daemon has tried for so long is wanted no more, in milliseconds.
const WANTED_MS: i64 = 86_400_000;

/// A destination of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDestinationState {
    /// Its name; no secret is in it.
    pub name: String,
    /// How many signed rows it has not taken.
    pub waiting: i64,
    /// Since when it has taken none, in Unix milliseconds.
    pub since: Option<i64>,
    /// Why it took none.
    pub why: Option<String>,
    /// How many rows were deleted before it took them.
    pub lost: i64,
}

/// How long sealing may fail before somebody has to know.
const FAILING: Duration = Duration::from_secs(60);

/// How long a destination may take nothing before somebody has to know, in milliseconds.
const LATE_MS: i64 = 300_000;

impl Store {
    /// Appends an event.
    pub async fn note(
        &self,
        at: i64,
        kind: &str,
        ask: Option<&str>,
        data: &Value,
    ) -> Result<(), StoreError> {
        let kind = kind.to_owned();
        let ask = ask.map(str::to_owned);
        let data = data.clone();
        self.write(move |tx| {
            Box::pin(async move { append(tx, at, &kind, ask.as_deref(), &data).await })
        })
        .await
    }

    /// Appends events, all or none.
    pub async fn note_all(&self, events: Vec<NewEvent>) -> Result<(), StoreError> {
        self.write(move |tx| Box::pin(async move { append_all(tx, &events).await })).await
    }

    /// The events after this id, oldest first, at most `most`.
    pub async fn events_after(&self, id: i64, most: u32) -> Result<Vec<Event>, StoreError> {
        let query = sqlx::query(
            "SELECT id, at, kind, ask, data FROM event WHERE id > $1 ORDER BY id LIMIT $2",
        );
        self.all(query.bind(id).bind(i64::from(most))).await?.iter().map(event).collect()
    }

    /// The events from id `first` to id `last`, both included.
    async fn events_between(&self, first: i64, last: i64) -> Result<Vec<Event>, StoreError> {
        let query = sqlx::query(
            "SELECT id, at, kind, ask, data FROM event WHERE id >= $1 AND id <= $2 ORDER BY id",
        );
        self.all(query.bind(first).bind(last)).await?.iter().map(event).collect()
    }

    /// The id of the newest event before this time; 0 if there is none.
    async fn last_event_before(&self, at: i64) -> Result<i64, StoreError> {
        // The `+` keeps both engines from using the index on `at`: nearly all events are older, and
        // walking back from the newest id finds one at once.
        let last = sqlx::query("SELECT id FROM event WHERE +at < $1 ORDER BY id DESC LIMIT 1");
        Ok(self.value(last.bind(at)).await?.unwrap_or(0))
    }

    /// The id of the event before the latest `latest` ones; 0 if there are no more. Those that only
    /// the log shows count where `quiet` is true.
    async fn event_before_last(&self, latest: u32, quiet: bool) -> Result<i64, StoreError> {
        let kinds = QUIET.map(|kind| format!("'{kind}'")).join(", ");
        let only = if quiet { String::new() } else { format!("WHERE kind NOT IN ({kinds}) ") };
        let before = format!("SELECT id FROM event {only}ORDER BY id DESC LIMIT 1 OFFSET $1");
        let before = sqlx::query(AssertSqlSafe(before));
        Ok(self.value(before.bind(i64::from(latest))).await?.unwrap_or(0))
    }

    /// The number of events of each kind, including those that were pruned.
    pub async fn event_counts(&self) -> Result<Vec<(String, i64)>, StoreError> {
        // PostgreSQL's sum of `BIGINT` is `NUMERIC`, which sqlx's Any driver cannot decode.
        let counts = "SELECT kind, CAST(sum(n) AS BIGINT) AS n FROM \
             (SELECT kind, count(*) AS n FROM event GROUP BY kind \
             UNION ALL SELECT kind, events FROM forgotten) AS counted \
             GROUP BY kind ORDER BY kind";
        let rows = self.all(sqlx::query(counts)).await?;
        rows.iter().map(|row| Ok((row.try_get("kind")?, row.try_get("n")?))).collect()
    }

    /// The id of the newest event that was deleted; 0 if none was.
    pub(super) async fn newest_forgotten(&self) -> Result<i64, StoreError> {
        let newest = sqlx::query("SELECT coalesce(max(newest), 0) AS newest FROM forgotten");
        Ok(self.value(newest).await?.unwrap_or(0))
    }

    /// The log behind row `after`, up to row `until` or the newest checkpoint; `None` while there
    /// is no checkpoint.
    pub async fn log_page(
        &self,
        after: i64,
        until: Option<i64>,
    ) -> Result<Option<LogPage>, StoreError> {
        let newest = "SELECT seq, at, hash, key, signature FROM log_checkpoint \
             WHERE seq <= $1 ORDER BY seq DESC LIMIT 1";
        let newest = sqlx::query(newest).bind(until.unwrap_or(i64::MAX));
        let Some(newest) = self.maybe(newest).await? else { return Ok(None) };
        let last = checkpoint(&newest)?.head;
        let begin = "SELECT forgotten, forgotten_hash FROM log_end WHERE id = 1";
        let begin = self.one(sqlx::query(begin)).await?;
        let begin = LogHead {
            count: begin.try_get("forgotten")?,
            hash: origin(self.id(), begin.try_get("forgotten_hash")?),
        };
        let after = after.max(begin.count);
        let end = last.count.min(after.saturating_add(EXPORTED));
        let rows = "SELECT event.id, event.seq, at, kind, ask, data, hash FROM event \
             JOIN log_hash ON log_hash.seq = event.seq \
             WHERE event.seq > $1 AND event.seq <= $2 ORDER BY event.seq";
        let rows = self.all(sqlx::query(rows).bind(after).bind(end)).await?;
        let signed = "SELECT seq, at, hash, key, signature FROM log_checkpoint \
             WHERE seq > $1 AND seq <= $2 ORDER BY seq";
        let signed = self.all(sqlx::query(signed).bind(after).bind(end)).await?;
        let mut signed = signed.iter().map(checkpoint).collect::<Result<Vec<_>, _>>()?;
        let mut lines = Vec::with_capacity(rows.len() + signed.len());
        for row in &rows {
            let seq = row.try_get("seq")?;
            let hash = row.try_get("hash")?;
            lines.push(LogLine::Row(log_row(row, seq)?, hash));
            let covers = signed.iter().position(|signed| signed.head.count == seq);
            lines.extend(covers.map(|at| LogLine::Checkpoint(signed.remove(at))));
        }
        let header = LogHeader::new(self.id(), begin, last.clone());
        Ok(Some(LogPage { header, lines, next: (end < last.count).then_some(end) }))
    }

    /// Where the log ends and begins, and who signed that; `None` if nobody did.
    pub(super) async fn signed_end(
        &self,
    ) -> Result<Option<(LogHead, LogHead, PublicKey)>, StoreError> {
        let end = "SELECT forgotten, forgotten_hash, seq, at, c.hash, key, signature \
             FROM log_end JOIN log_checkpoint c ON c.seq = count AND c.hash = log_end.hash \
             WHERE id = 1";
        let Some(row) = self.maybe(sqlx::query(end)).await? else { return Ok(None) };
        let signed = checkpoint(&row)?;
        let hash = origin(self.id(), row.try_get("forgotten_hash")?);
        let begin = LogHead { count: row.try_get("forgotten")?, hash };
        Ok(signed.signer(self.id()).map(|key| (signed.head, begin, key)))
    }

    /// The last row of the log that this destination has taken; 0 before the first.
    pub async fn log_sent(&self, destination: &str) -> Result<i64, StoreError> {
        let sent = sqlx::query("SELECT seq FROM log_sent WHERE destination = $1");
        Ok(self.value(sent.bind(destination)).await?.unwrap_or(0))
    }

    /// Notes that this destination has taken the rows up to this one.
    ///
    /// # Errors
    /// When the store fails; then they are sent again.
    pub async fn note_log_sent(&self, destination: &str, seq: i64) -> Result<(), StoreError> {
        let note = "INSERT INTO log_sent (destination, seq, tried_at) VALUES ($1, $2, $3) \
             ON CONFLICT (destination) DO UPDATE SET seq = excluded.seq, \
             tried_at = excluded.tried_at, since = NULL, why = NULL";
        let note = sqlx::query(note).bind(destination.to_owned()).bind(seq);
        self.execute(note.bind(clock::now_ms())).await.map(drop)
    }

    /// Notes that this destination is wanted, and why it takes nothing, if it was tried.
    pub async fn note_log_tried(
        &self,
        destination: &str,
        why: Option<&str>,
    ) -> Result<(), StoreError> {
        let note = "INSERT INTO log_sent (destination, seq, tried_at, since, why) \
             SELECT CAST($1 AS TEXT), forgotten, CAST($2 AS BIGINT), \
             CASE WHEN CAST($3 AS TEXT) IS NULL THEN NULL ELSE CAST($2 AS BIGINT) END, \
             CAST($3 AS TEXT) FROM log_end WHERE id = 1 \
             ON CONFLICT (destination) DO UPDATE SET tried_at = excluded.tried_at, \
             since = coalesce(log_sent.since, excluded.since), \
             why = coalesce(excluded.why, log_sent.why)";
        let note = sqlx::query(note).bind(destination.to_owned()).bind(clock::now_ms());
        self.execute(note.bind(why.map(str::to_owned))).await.map(drop)
    }

    /// The destinations that daemons send the log to.
    pub async fn log_destinations(&self) -> Result<Vec<LogDestinationState>, StoreError> {
        let all = "SELECT destination, since, why, lost, \
             (SELECT coalesce(max(seq), 0) FROM log_checkpoint) - CASE WHEN seq > forgotten \
             THEN seq ELSE forgotten END AS waiting \
             FROM log_sent JOIN log_end ON id = 1 WHERE tried_at > $1 ORDER BY destination";
        let all = self.all(sqlx::query(all).bind(clock::now_ms() - WANTED_MS)).await?;
        let state = |row: &AnyRow| {
            Ok(LogDestinationState {
                name: row.try_get("destination")?,
                waiting: row.try_get::<i64, _>("waiting")?.max(0),
                since: row.try_get("since")?,
                why: row.try_get("why")?,
                lost: row.try_get("lost")?,
            })
        };
        all.iter().map(state).collect()
    }

    /// The last row that every destination has taken.
    pub(super) async fn log_taken(&self) -> Result<i64, StoreError> {
        let taken = "SELECT min(seq) AS seq FROM log_sent WHERE tried_at > $1";
        let taken = self.one(sqlx::query(taken).bind(clock::now_ms() - WANTED_MS)).await?;
        Ok(taken.try_get::<Option<i64>, _>("seq")?.unwrap_or(i64::MAX))
    }

    /// What is wrong with the log, and how to fix it: it is broken, is not sealed, or does not
    /// reach its destinations.
    pub async fn log_troubles(&self) -> Vec<Trouble> {
        let condition = self.engine.rows.condition().clone();
        let mut troubles: Vec<_> = self.log_broken().iter().map(broken).collect();
        if let Some((_, why)) = condition.failing.filter(|(since, _)| since.elapsed() > FAILING) {
            troubles.push(Trouble {
                says: format!("the log cannot be sealed: {why}"),
                fix: "look at the daemon's output, and at the store".to_owned(),
            });
        }
        let now = clock::now_ms();
        let destinations = self.log_destinations().await.unwrap_or_default();
        troubles.extend(destinations.iter().filter_map(|it| late(it, now)));
        troubles.extend(destinations.iter().filter_map(lost_rows));
        troubles
    }

    /// How the log is broken, unless an approver has accepted that.
    #[must_use]
    pub fn log_broken(&self) -> Option<LogBreak> {
        self.engine.rows.condition().broken.clone().filter(|broken| !broken.accepted)
    }

    /// The same as a sentence for people.
    #[must_use]
    pub fn log_alarm(&self) -> Option<String> {
        self.log_broken().map(|it| broken(&it).says)
    }
}

impl Event {
    /// Whether only the log shows it.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        QUIET.contains(&self.kind.as_str())
    }
}

fn event(row: &AnyRow) -> Result<Event, StoreError> {
    Ok(Event {
        id: row.try_get("id")?,
        at: row.try_get("at")?,
        kind: row.try_get("kind")?,
        ask: row.try_get("ask")?,
        data: from_json(row, "data")?,
    })
}

pub(super) async fn append(
    tx: &mut Tx,
    at: i64,
    kind: &str,
    ask: Option<&str>,
    data: &Value,
) -> Result<(), StoreError> {
    let data = to_json("data", data)?;
    let proof = tx.prove(&ProvenRow { at, kind, ask, data: &data });
    let insert = "INSERT INTO event (at, kind, ask, data, proof) VALUES ($1, $2, $3, $4, $5)";
    let insert = sqlx::query(insert).bind(at).bind(kind).bind(ask).bind(data).bind(proof);
    tx.run(insert).await.map(drop)
}

pub(super) async fn append_all(tx: &mut Tx, events: &[NewEvent]) -> Result<(), StoreError> {
    for events in events.chunks(TOGETHER) {
        let row = |at: usize| {
            let [at, kind, ask, data, proof] = [1, 2, 3, 4, 5].map(|field| at * 5 + field);
            format!("(${at}, ${kind}, ${ask}, ${data}, ${proof})")
        };
        let rows: Vec<_> = (0..events.len()).map(row).collect();
        let sql =
            format!("INSERT INTO event (at, kind, ask, data, proof) VALUES {}", rows.join(", "));
        let mut insert = sqlx::query(AssertSqlSafe(sql));
        for NewEvent { at, kind, ask, data } in events {
            let data = to_json("data", data)?;
            let proof = tx.prove(&ProvenRow { at: *at, kind, ask: ask.as_deref(), data: &data });
            insert = insert.bind(*at).bind(kind.clone()).bind(ask.clone()).bind(data).bind(proof);
        }
        tx.run(insert).await?;
    }
    Ok(())
}

impl Tail {
    /// Follows the log after the event with this id.
    #[must_use]
    pub fn after(id: i64) -> Self {
        Self { last: id, gaps: Vec::new(), forgotten: 0 }
    }

    /// As [`after`](Self::after), for a reader that has been disconnected.
    pub async fn resume_after(store: &Store, id: i64) -> Result<Resumed, StoreError> {
        let forgotten = store.newest_forgotten().await?;
        let tail = Self { forgotten, ..Self::after(id) };
        Ok(if id < forgotten { Resumed::Forgotten(tail) } else { Resumed::There(tail) })
    }

    /// Follows the log from before its latest `latest` events on; those that only the log shows
    /// count where `quiet` is true.
    pub async fn of_last(store: &Store, latest: u32, quiet: bool) -> Result<Self, StoreError> {
        let id = store.event_before_last(latest, quiet).await?;
        Ok(match Self::resume_after(store, id).await? {
            Resumed::There(tail) | Resumed::Forgotten(tail) => tail,
        })
    }

    /// Follows the log from now on. An event that is being committed now is returned later, even if
    /// newer ones are already stored.
    pub async fn of_now(store: &Store) -> Result<Self, StoreError> {
        let longest = i64::try_from(LONGEST_GAP.as_millis()).unwrap_or(i64::MAX);
        // Twice: an event's time is taken a while before its id, and the clocks of daemons differ.
        let old = store.last_event_before(clock::now_ms() - 2 * longest).await?;
        let mut tail = Self::after(old);
        // Reads up to the end and drops the result, which leaves `last` and the open gaps.
        while tail.next(store).await?.len() >= PAGE as usize {}
        Ok(tail)
    }

    /// The id to resume after, for a reader that has read the result of [`Tail::next`] up to the
    /// event `read`: before the first event that may still appear.
    // INVARIANT: a reader that resumes there misses nothing.
    #[must_use]
    pub fn resume(&self, read: i64) -> i64 {
        self.gaps.first().map_or(read, |gap| read.min(gap.first - 1))
    }

    /// The new events, oldest first as far as is known; empty if there are none.
    ///
    /// # Errors
    /// When the store fails; then the next call returns the same events.
    pub async fn next(&mut self, store: &Store) -> Result<Vec<Event>, StoreError> {
        let now = Instant::now();
        self.gaps.retain(|gap| gap.until > now);
        // One query spans all gaps. The events between two gaps come along; they were returned
        // before, and `fill` drops them.
        let mut found = match (self.gaps.first(), self.gaps.last()) {
            (Some(first), Some(last)) => store.events_between(first.first, last.last).await?,
            _ => Vec::new(),
        };
        let new = store.events_after(self.last, PAGE).await?;
        found.retain(|event| self.fill(event.id));
        for event in &new {
            // Ids up to `forgotten` were deleted, so a gap among them is not waited for.
            let first = self.last.max(self.forgotten) + 1;
            if first < event.id {
                let last = event.id - 1;
                let until = now + LONGEST_GAP;
                self.gaps.push(Gap { first, last, until });
            }
            self.last = event.id;
        }
        found.extend(new);
        Ok(found)
    }

    /// Removes this id from its gap; returns `false` if it is in none, so was returned before.
    fn fill(&mut self, id: i64) -> bool {
        let of = |gap: &Gap| (gap.first..=gap.last).contains(&id);
        let Some(at) = self.gaps.iter().position(of) else { return false };
        let gap = self.gaps.remove(at);
        let rest = [Gap { last: id - 1, ..gap }, Gap { first: id + 1, ..gap }];
        self.gaps.splice(at..at, rest.into_iter().filter(|gap| gap.first <= gap.last));
        true
    }
}

/// The hash before the first row, where none is stored.
pub(super) fn origin(store: &str, hash: String) -> String {
    if hash.is_empty() { LogRow::origin(store) } else { hash }
}

pub(super) fn log_row(row: &AnyRow, seq: i64) -> Result<LogRow, StoreError> {
    Ok(LogRow {
        seq,
        at: row.try_get("at")?,
        kind: row.try_get("kind")?,
        ask: row.try_get("ask")?,
        data: row.try_get("data")?,
    })
}

pub(super) fn checkpoint(row: &AnyRow) -> Result<Checkpoint, StoreError> {
    Ok(Checkpoint {
        head: LogHead { count: row.try_get("seq")?, hash: row.try_get("hash")? },
        at: row.try_get("at")?,
        key: row.try_get("key")?,
        signature: row.try_get("signature")?,
    })
}

/// The rows up to this one are deleted: those that a destination has not taken are lost to it.
pub(super) async fn lost(tx: &mut Tx, last: i64) -> Result<(), StoreError> {
    let lost = "UPDATE log_sent SET lost = lost + $1 - seq, seq = $1 \
         WHERE seq < $1 AND tried_at > $2";
    let lost = sqlx::query(lost).bind(last).bind(clock::now_ms() - WANTED_MS);
    tx.run(lost).await.map(drop)
}

fn broken(LogBreak { row, at, says, .. }: &LogBreak) -> Trouble {
    Trouble {
        says: format!("the log is broken at row {row}, found {}: {says}", clock::local(*at)),
        fix: "somebody wrote to the database: find out who, see docs/log.md on a broken log, and \
              then: countersign log key --accept"
            .to_owned(),
    }
}

fn late(it: &LogDestinationState, now: i64) -> Option<Trouble> {
    let since = it.since.filter(|since| it.waiting > 0 && now - since > LATE_MS)?;
    let why = it.why.as_deref().unwrap_or("it takes none");
    let name = &it.name;
    let waiting = it.waiting;
    let since = clock::local(since);
    Some(Trouble {
        says: format!("{name}: {waiting} rows of the log wait since {since}: {why}"),
        fix: "repair the destination, or take it out of [log]; its rows are kept for 7 days more \
              than [store] keep, and then deleted"
            .to_owned(),
    })
}

fn lost_rows(it: &LogDestinationState) -> Option<Trouble> {
    let name = &it.name;
    let lost = it.lost;
    (lost > 0).then(|| Trouble {
        says: format!("{name}: {lost} rows of the log were deleted before it took them"),
        fix: "they are in backups of the store, if anywhere; this stays while [log] names it"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests;
