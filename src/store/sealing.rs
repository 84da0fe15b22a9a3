//! What is done in a transaction that seals the log: rows that a daemon proved join the chain, a
//! checkpoint signs its end, and rows that are old enough are forgotten.
//!
//! Events join the chain after they are committed, in batches, so that no call waits for it. The
//! row `log_end` is locked meanwhile: several daemons make one chain.
//!
//! SECURITY: nothing in the database is believed. The chain goes on from where this daemon sealed
//! it last, or where another daemon's signature continues that. What anybody else put behind it is
//! taken off again; what they changed before it does not fit the next row any more, whoever signs
//! that later.
//!
//! SECURITY: whoever can write to the database could add an event, copy one, or change one before
//! it is sealed. Only rows with our proof join the chain, each once; and one that was committed and
//! is gone is missed.

use super::{
    StoreError,
    engine::{Tx, places},
    log::{self, checkpoint, log_row, lost, origin},
    sealer::{EVENT, KeyChange, LogBreak, LogState},
};
use countersign_domain::log::{
    Checkpoint, LogHead, LogRow, ProvenRow, PublicKey, RowProof, SigningKey,
};
use countersign_tokens::{clock, ids};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Row, any::AnyRow};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;

/// The kind of events that say that the log is broken.
pub(super) const BROKEN: &str = "log_broken";

/// The largest number of events that join in one transaction: other writers wait while it runs.
const BATCH: u32 = 200;

/// The same for rows of other daemons that are followed.
const FOLLOWED: u32 = 2_000;

/// How long a daemon that nobody knows yet may take to sign its first rows, in milliseconds.
const STRANGER_MS: i64 = 600_000;

/// How much of a foreign row is told.
const QUOTED: usize = 200;

/// One transaction that seals: what it begins with and what it comes to.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) key: Arc<SigningKey>,
    pub(super) rows: Arc<LogRows>,
    /// Whether other daemons seal the same log.
    pub(super) shared: bool,
    /// Whether rows of an earlier run of this daemon may still be there.
    pub(super) earlier: bool,
    /// What is known of the log; afterwards, what is known then.
    pub(super) known: LogState,
    /// Whether this daemon sees the log for the first time: what earlier versions left is sealed.
    adopts: bool,
    /// The events up to this id were looked at.
    pub(super) seen: i64,
    /// The rows that were not sealed when this pass over the events began.
    pub(super) unsealed: Option<BTreeSet<i64>>,
    /// Our rows that it sealed.
    pub(super) sealed: Vec<i64>,
    /// Whether there is more to do.
    pub(super) more: bool,
    /// What is wrong, as it was found in this transaction.
    found: Vec<(i64, String)>,
}

/// Where the database says that the log ends and begins.
struct LogEnd {
    head: LogHead,
    forgotten: LogHead,
}

/// What rows say that were followed.
#[derive(Default)]
struct Told {
    forgotten: i64,
    broken: Option<(i64, String)>,
}

/// Proves rows, and knows those that are not sealed yet.
#[derive(Debug)]
pub(super) struct LogRows {
    store: Arc<str>,
    /// The name of this run of the daemon.
    run: String,
    rows: Mutex<Rows>,
    condition: Mutex<LogCondition>,
}

/// How the log is.
#[derive(Debug, Clone, Default)]
pub(super) struct LogCondition {
    /// What is wrong with it, and stays so.
    pub(super) broken: Option<LogBreak>,
    /// Since when nothing can be sealed, and why.
    pub(super) failing: Option<(Instant, String)>,
}

#[derive(Debug)]
struct Rows {
    /// The newest first: rows that were written with an earlier key are ours too.
    keys: Vec<Arc<SigningKey>>,
    last: i64,
    /// The rows that may be in the database, and whether they are: they were committed.
    written: BTreeMap<i64, bool>,
}

/// Whose a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowOrigin {
    /// This run's, with its number.
    Ours(i64),
    /// Of an earlier run of this daemon.
    Earlier,
    /// A daemon with another key proved it, which only that daemon can check.
    Theirs,
    /// Nobody's: it has no proof, or was changed, or is a copy.
    Foreign,
}

/// The largest number of events that are forgotten in one transaction.
const EVENTS: i64 = 500;

/// How old rows of the log have to be to be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forgetting {
    /// For how long rows are kept, in milliseconds.
    pub(super) keep_ms: i64,
    /// Rows from before this are old enough.
    pub(super) before: i64,
    /// Rows behind this one wait, because a destination has not taken them …
    pub(super) taken: i64,
    /// … unless they are from before this.
    pub(super) long_before: i64,
}

/// The number of deleted events of a kind, and the newest of them.
#[derive(Default)]
struct Forgotten {
    events: i64,
    newest: i64,
}

impl Round {
    pub(super) fn new(
        (key, rows): (Arc<SigningKey>, Arc<LogRows>),
        (shared, earlier): (bool, bool),
        known: LogState,
    ) -> Self {
        Self {
            key,
            rows,
            shared,
            earlier,
            adopts: known.head.is_none() && !shared,
            known,
            seen: 0,
            unsealed: None,
            sealed: Vec::new(),
            more: false,
            found: Vec::new(),
        }
    }

    /// Something is wrong with the log at this row.
    pub(super) fn broke(&mut self, row: i64, says: String) {
        tracing::error!(row, says, "the log is broken: somebody else wrote to it");
        if self.known.broken.as_ref().is_none_or(|broken| broken.accepted) {
            let at = clock::now_ms();
            let says = says.clone();
            self.known.broken = Some(LogBreak { row, at, says, accepted: false });
        }
        self.found.push((row, says));
    }

    pub(super) fn trusts(&self, key: &PublicKey) -> bool {
        *key == self.key.public() || self.known.keys.contains(key)
    }

    fn head(&self) -> LogHead {
        let origin = LogHead { count: 0, hash: LogRow::origin(&self.known.store) };
        self.known.head.clone().unwrap_or(origin)
    }
}

/// Seals what was committed, up to a batch of it.
pub(super) async fn seal(tx: &mut Tx, round: &mut Round) -> Result<(), StoreError> {
    (round.more, round.sealed) = (false, Vec::new());
    resume(tx, round).await?;
    if round.more {
        return Ok(());
    }
    let events = next_events(tx, round).await?;
    extend(tx, round, events).await?;
    report(tx, round).await?;
    sign(tx, round).await
}

/// Signs the end of the chain.
pub(super) async fn sign(tx: &mut Tx, round: &mut Round) -> Result<(), StoreError> {
    let head = round.head();
    if head.count == 0 {
        return Ok(());
    }
    let signed = Checkpoint::sign(&round.key, &round.known.store, head, clock::now_ms());
    let Checkpoint { head, at, key, signature } = signed;
    // What was there is not replaced if it fits: another daemon may have signed the same head.
    let note = "INSERT INTO log_checkpoint (seq, at, hash, key, signature) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (seq) DO UPDATE SET at = excluded.at, \
         hash = excluded.hash, key = excluded.key, signature = excluded.signature \
         WHERE log_checkpoint.hash <> excluded.hash";
    let note = sqlx::query(note).bind(head.count).bind(at).bind(head.hash);
    tx.run(note.bind(key).bind(signature)).await.map(drop)
}

/// Goes to the end of the chain, which is what this daemon knows or what continues it.
// INVARIANT: afterwards the chain ends with what is known, or there is more to follow.
pub(super) async fn resume(tx: &mut Tx, round: &mut Round) -> Result<(), StoreError> {
    // An update locks the row, so that of several daemons one extends the chain at a time.
    let end = "UPDATE log_end SET id = 1 WHERE id = 1 \
         RETURNING count, hash, forgotten, forgotten_hash";
    let end = tx.maybe(sqlx::query(end)).await?;
    let end = end.map(|row| log_end(&row, &round.known.store)).transpose()?;
    let Some(known) = round.known.head.clone() else { return adopt(tx, round, end).await };
    let is_known = |end: &LogEnd, round: &Round| end.head == round.head();
    if let Some(end) = &end
        && end.head != known
        && (end.head.count > known.count)
    {
        follow(tx, round, end).await?;
        if round.more {
            return Ok(());
        }
    }
    let begins = end.as_ref().map(|end| end.forgotten.clone());
    let ours = round
        .known
        .forgotten
        .clone()
        .unwrap_or(LogHead { count: 0, hash: LogRow::origin(&round.known.store) });
    let begins_there = begins.as_ref().is_some_and(|begins| {
        // What other daemons forgot is known by its number alone.
        begins.count == ours.count && (begins.hash == ours.hash || ours.hash.is_empty())
    });
    if end.as_ref().is_some_and(|end| is_known(end, round)) && begins_there {
        if ours.hash.is_empty() {
            round.known.forgotten = begins;
        }
        return Ok(());
    }
    let next = round.head().count + 1;
    if end.is_some() && !begins_there {
        let says = "rows at the beginning of the log were deleted before their time";
        round.broke(ours.count + 1, says.to_owned());
    }
    match &end {
        None => round.broke(next, "the end of the log was deleted".to_owned()),
        Some(end) if end.head.count < round.head().count => round.broke(
            end.head.count + 1,
            "the end of the log was cut off, or the database was put back to an earlier state"
                .to_owned(),
        ),
        Some(end) if end.head != round.head() => {
            round.broke(next, "rows were written that no daemon of this log sealed".to_owned());
        }
        Some(_) => {}
    }
    let ours = if ours.hash.is_empty() { begins.unwrap_or(ours) } else { ours };
    take_back(tx, &round.head(), &ours).await
}

/// Takes off what stands behind the known end of the chain. Events among it are judged anew.
async fn take_back(tx: &mut Tx, head: &LogHead, begins: &LogHead) -> Result<(), StoreError> {
    for statement in [
        "UPDATE event SET seq = NULL WHERE seq > $1",
        "DELETE FROM log_hash WHERE seq > $1",
        "DELETE FROM log_checkpoint WHERE seq > $1",
    ] {
        tx.run(sqlx::query(statement).bind(head.count)).await?;
    }
    let end = "INSERT INTO log_end (id, count, hash, forgotten, forgotten_hash) \
         VALUES (1, $1, $2, $3, $4) ON CONFLICT (id) DO UPDATE SET count = excluded.count, \
         hash = excluded.hash, forgotten = excluded.forgotten, \
         forgotten_hash = excluded.forgotten_hash";
    let end = sqlx::query(end).bind(head.count).bind(head.hash.clone());
    tx.run(end.bind(begins.count).bind(begins.hash.clone())).await.map(drop)
}

/// The first time that this daemon sees the log: it knows nothing that it could compare.
async fn adopt(tx: &mut Tx, round: &mut Round, end: Option<LogEnd>) -> Result<(), StoreError> {
    let Some(end) = end else {
        let begin = LogHead { count: 0, hash: LogRow::origin(&round.known.store) };
        round.known.head = Some(begin.clone());
        round.broke(1, "the end of the log was deleted".to_owned());
        return take_back(tx, &begin, &begin).await;
    };
    if end.head.count > 0 {
        let signed = "SELECT seq, at, hash, key, signature FROM log_checkpoint WHERE seq = $1";
        let signed = tx.maybe(sqlx::query(signed).bind(end.head.count)).await?;
        let signed = signed.as_ref().map(checkpoint).transpose()?;
        let signed = signed.filter(|signed| signed.head == end.head);
        match signed.and_then(|signed| signed.signer(&round.known.store)) {
            Some(key) if round.trusts(&key) => {}
            Some(key) => joined(tx, round, key).await?,
            None => round.broke(end.head.count, "its newest row is not signed".to_owned()),
        }
    }
    round.known.head = Some(end.head);
    round.known.forgotten = Some(end.forgotten);
    Ok(())
}

/// Follows what other daemons sealed, or this one before it noted that.
async fn follow(tx: &mut Tx, round: &mut Round, end: &LogEnd) -> Result<(), StoreError> {
    let known = round.head();
    // What is forgotten cannot be followed: a daemon that was away for longer than rows are kept
    // goes on at the first row that is left, if it knows who signed what comes then.
    let away = end.forgotten.count > known.count && round.shared;
    let from = if away { end.forgotten.clone() } else { known };
    let rows = "SELECT event.seq, at, kind, ask, data, hash FROM event \
         JOIN log_hash ON log_hash.seq = event.seq \
         WHERE event.seq > $1 AND event.seq <= $2 ORDER BY event.seq LIMIT $3";
    let rows = sqlx::query(rows).bind(from.count).bind(end.head.count);
    let rows = tx.all(rows.bind(i64::from(FOLLOWED))).await?;
    let signed = "SELECT seq, at, hash, key, signature FROM log_checkpoint \
         WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3";
    let signed = sqlx::query(signed).bind(from.count).bind(end.head.count);
    let signed = tx.all(signed.bind(i64::from(FOLLOWED))).await?;
    let signed = signed.iter().map(checkpoint).collect::<Result<Vec<_>, _>>()?;
    let mut signed = signed.into_iter().peekable();
    let mut last = from.clone();
    let mut bad = None;
    let mut told = Told::default();
    for row in &rows {
        let (seq, hash): (i64, String) = (row.try_get("seq")?, row.try_get("hash")?);
        let whole = log_row(row, seq)?;
        if seq != last.count + 1 || whole.hash(&last.hash) != hash {
            bad = Some(last.count + 1);
            break;
        }
        last = LogHead { count: seq, hash };
        told.note(&whole);
        while let Some(next) = signed.next_if(|signed| signed.head.count <= seq) {
            let signer = next.signer(&round.known.store).filter(|_| next.head == last);
            let Some(key) = signer else { continue };
            if !round.trusts(&key) {
                // On a file there is no other daemon.
                if !round.shared || away {
                    continue;
                }
                joined(tx, round, key).await?;
            }
            reached(round, &last, std::mem::take(&mut told), away.then_some(&end.forgotten));
        }
    }
    if bad.is_none() && rows.len() == FOLLOWED as usize && round.head() != from {
        round.more = true;
        return Ok(());
    }
    if round.head() == end.head {
        return Ok(());
    }
    // Somebody changed what leads there. What a daemon signed behind it still stands.
    let newest = "SELECT c.seq, c.at, c.hash, c.key, c.signature FROM log_checkpoint c \
         JOIN log_hash h ON h.seq = c.seq AND h.hash = c.hash \
         WHERE c.seq > $1 AND c.seq <= $2 ORDER BY c.seq DESC LIMIT 50";
    let newest = sqlx::query(newest).bind(round.head().count).bind(end.head.count);
    for row in &tx.all(newest).await? {
        let signed = checkpoint(row)?;
        if signed.signer(&round.known.store).is_some_and(|key| round.trusts(&key)) {
            let row = bad.unwrap_or(round.head().count + 1);
            round.broke(row, format!("row {row} was changed or deleted"));
            round.known.head = Some(signed.head);
            break;
        }
    }
    Ok(())
}

impl Told {
    fn note(&mut self, row: &LogRow) {
        let data: Value = serde_json::from_str(&row.data).unwrap_or_default();
        match row.kind.as_str() {
            "forgot" => {
                let rows = data.get("rows").and_then(Value::as_i64).unwrap_or_default();
                self.forgotten = self.forgotten.max(rows);
            }
            BROKEN => {
                let says = data.get("says").and_then(Value::as_str).unwrap_or_default();
                self.broken = Some((row.seq, says.to_owned()));
            }
            _ => {}
        }
    }
}

/// The chain is known up to here.
fn reached(round: &mut Round, head: &LogHead, told: Told, begins: Option<&LogHead>) {
    round.known.head = Some(head.clone());
    let before = round.known.forgotten.as_ref().map_or(0, |forgotten| forgotten.count);
    if let Some(begins) = begins {
        round.known.forgotten = Some(begins.clone());
    } else if told.forgotten > before {
        // Its hash is the database's.
        let hash = String::new();
        round.known.forgotten = Some(LogHead { count: told.forgotten, hash });
    }
    if let (Some((row, says)), None) = (told.broken, &round.known.broken) {
        let says = format!("another daemon found: {says}");
        round.known.broken = Some(LogBreak { row, at: clock::now_ms(), says, accepted: false });
    }
}

/// Another daemon signs the log, whose key was not known: our row says so.
async fn joined(tx: &mut Tx, round: &mut Round, key: PublicKey) -> Result<(), StoreError> {
    tracing::warn!(%key, "another daemon signs the log too: pin its key for `log verify`");
    let data = KeyChange::Joined.data(&key, None);
    log::append(tx, clock::now_ms(), EVENT, None, &data).await?;
    round.known.keys.insert(key);
    Ok(())
}

/// The next events that are not in the chain.
async fn next_events(tx: &mut Tx, round: &mut Round) -> Result<Vec<AnyRow>, StoreError> {
    // Before the events are read: one that is committed later is not missed.
    round.unsealed.get_or_insert_with(|| round.rows.unsealed());
    let new = "SELECT id, at, kind, ask, data, proof FROM event \
         WHERE seq IS NULL AND id > $1 ORDER BY id LIMIT $2";
    let new = tx.all(sqlx::query(new).bind(round.seen).bind(i64::from(BATCH))).await?;
    round.more = new.len() == BATCH as usize;
    if let Some(last) = new.last() {
        round.seen = last.try_get("id")?;
    }
    Ok(new)
}

/// Lets those of these events join the chain that a daemon proved, in their order.
// INVARIANT: an event that was committed joins the chain once, by the daemon that wrote it.
async fn extend(tx: &mut Tx, round: &mut Round, new: Vec<AnyRow>) -> Result<(), StoreError> {
    let copied = copies(tx, round, &new).await?;
    let mut last = round.head();
    let mut joined = Vec::with_capacity(new.len());
    for row in &new {
        let (id, seq): (i64, i64) = (row.try_get("id")?, last.count + 1);
        let whole = log_row(row, seq)?;
        let proof: Option<String> = row.try_get("proof")?;
        let proof = proof.unwrap_or_default();
        match judge(round, &whole, &proof, copied.contains(&proof)) {
            RowOrigin::Ours(number) => round.sealed.push(number),
            RowOrigin::Earlier => {}
            RowOrigin::Theirs => continue,
            RowOrigin::Foreign => {
                let quoted: String = whole.data.chars().take(QUOTED).collect();
                let says = format!(
                    "a row was added, copied or changed by something other than a daemon of this \
                     log: event {id}, `{}`, {quoted}",
                    whole.kind
                );
                round.broke(seq, says);
                // Out of the way: it never joins the chain.
                let aside = sqlx::query("UPDATE event SET seq = -id WHERE id = $1").bind(id);
                tx.run(aside).await?;
                continue;
            }
        }
        last = LogHead { count: seq, hash: whole.hash(&last.hash) };
        joined.push((id, last.clone()));
    }
    if !round.more {
        // The next pass begins anew: PostgreSQL may commit a lower id after a higher one.
        round.seen = 0;
        let missed = round.unsealed.take().unwrap_or_default();
        let still = round.rows.unsealed();
        let gone = |number: &&i64| still.contains(number) && !round.sealed.contains(number);
        let gone: Vec<i64> = missed.iter().filter(gone).copied().collect();
        if !gone.is_empty() {
            let says = format!("rows were deleted before they were sealed: {}", gone.len());
            round.broke(last.count + 1, says);
            round.sealed.extend(gone);
        }
    }
    join(tx, &joined).await?;
    round.known.head = Some(last);
    Ok(())
}

/// Whose this row is, as far as that decides whether it joins the chain.
fn judge(round: &Round, row: &LogRow, proof: &str, copied: bool) -> RowOrigin {
    let read: Option<RowProof> = proof.parse().ok();
    let LogRow { at, kind, ask, data, .. } = row;
    let written = ProvenRow { at: *at, kind, ask: ask.as_deref(), data };
    match round.rows.origin(read.as_ref(), &written) {
        RowOrigin::Ours(number) if round.sealed.contains(&number) => RowOrigin::Foreign,
        RowOrigin::Foreign if round.adopts && proof.is_empty() => RowOrigin::Earlier,
        RowOrigin::Earlier if !round.earlier || copied => RowOrigin::Foreign,
        RowOrigin::Theirs => {
            let name = |key: &PublicKey| RowProof::name_of(&key.to_string());
            let known =
                read.is_some_and(|proof| round.known.keys.iter().any(|key| name(key) == proof.key));
            let young = (clock::now_ms() - at).abs() < STRANGER_MS;
            let theirs = round.shared && (known || young);
            if theirs { RowOrigin::Theirs } else { RowOrigin::Foreign }
        }
        other => other,
    }
}

/// Which proofs among these stand in more than one row. Only asked for rows of an earlier run,
/// because of our own we know each.
async fn copies(
    tx: &mut Tx,
    round: &Round,
    new: &[AnyRow],
) -> Result<BTreeSet<String>, StoreError> {
    let mut proofs = Vec::new();
    for row in new.iter().filter(|_| round.earlier) {
        let proof: Option<String> = row.try_get("proof")?;
        let whole = log_row(row, 0)?;
        if let Some(proof) = proof
            && judge(round, &whole, &proof, false) == RowOrigin::Earlier
        {
            proofs.push(proof);
        }
    }
    if proofs.is_empty() {
        return Ok(BTreeSet::new());
    }
    let sql = format!(
        "SELECT proof FROM event WHERE proof IN ({}) GROUP BY proof HAVING count(*) > 1",
        places(1, proofs.len())
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for proof in proofs {
        query = query.bind(proof);
    }
    let found = tx.all(query).await?;
    found.iter().map(|row| Ok(row.try_get("proof")?)).collect()
}

/// Writes the places of these events in the chain.
async fn join(tx: &mut Tx, joined: &[(i64, LogHead)]) -> Result<(), StoreError> {
    let Some((_, last)) = joined.last() else { return Ok(()) };
    let pairs = |casts: [&str; 2]| {
        let pair = |at: usize| {
            let [first, second] = casts;
            format!("(CAST(${} AS {first}), CAST(${} AS {second}))", at * 2 + 1, at * 2 + 2)
        };
        (0..joined.len()).map(pair).collect::<Vec<_>>().join(", ")
    };
    let hashes = format!("INSERT INTO log_hash (seq, hash) VALUES {}", pairs(["BIGINT", "TEXT"]));
    let numbers = format!(
        "UPDATE event SET seq = v.column2 FROM (VALUES {}) AS v WHERE event.id = v.column1",
        pairs(["BIGINT", "BIGINT"])
    );
    let mut hash = sqlx::query(AssertSqlSafe(hashes));
    let mut number = sqlx::query(AssertSqlSafe(numbers));
    for (id, head) in joined {
        hash = hash.bind(head.count).bind(head.hash.clone());
        number = number.bind(*id).bind(head.count);
    }
    tx.run(hash).await?;
    tx.run(number).await?;
    let end = sqlx::query("UPDATE log_end SET count = $1, hash = $2 WHERE id = 1");
    tx.run(end.bind(last.count).bind(last.hash.clone())).await.map(drop)
}

/// Adds rows that say what is wrong. They join the chain with it or in the next round.
pub(super) async fn report(tx: &mut Tx, round: &mut Round) -> Result<(), StoreError> {
    let LogHead { count, hash } = round.head();
    for (row, says) in std::mem::take(&mut round.found) {
        let data = json!({"row": row, "says": says, "count": count, "hash": hash});
        log::append(tx, clock::now_ms(), BROKEN, None, &data).await?;
        round.more = true;
    }
    Ok(())
}

/// A row says what is forgotten, and is sealed with it.
async fn seal_own(
    tx: &mut Tx,
    round: &mut Round,
    kind: &str,
    data: &Value,
) -> Result<(), StoreError> {
    log::append(tx, clock::now_ms(), kind, None, data).await?;
    let own = "SELECT id, at, kind, ask, data, proof FROM event \
         WHERE seq IS NULL AND kind = $1 ORDER BY id DESC LIMIT 1";
    let own = tx.all(sqlx::query(own).bind(kind.to_owned())).await?;
    // What else is not sealed has its own round, in which rows are missed.
    round.more = true;
    extend(tx, round, own).await?;
    sign(tx, round).await
}

fn log_end(row: &AnyRow, store: &str) -> Result<LogEnd, StoreError> {
    let head = |count, hash: String| LogHead { count, hash: origin(store, hash) };
    Ok(LogEnd {
        head: head(row.try_get("count")?, row.try_get("hash")?),
        forgotten: head(row.try_get("forgotten")?, row.try_get("forgotten_hash")?),
    })
}

impl LogRows {
    /// Proves the rows of a store with this key.
    pub(super) fn new(store: Arc<str>, key: SigningKey) -> Self {
        let rows = Rows { keys: vec![Arc::new(key)], last: 0, written: BTreeMap::new() };
        let rows = Mutex::new(rows);
        let condition = Mutex::default();
        Self { store, run: ids::ask_id(), rows, condition }
    }

    /// Proves with this key from now on.
    pub(super) fn prove_with(&self, key: Arc<SigningKey>) {
        self.rows().keys.insert(0, key);
    }

    /// Also rows with the proof of this key are ours.
    pub(super) fn know(&self, key: SigningKey) {
        self.rows().keys.push(Arc::new(key));
    }

    /// The number and the proof of a row that is about to be written.
    pub(super) fn prove(&self, row: &ProvenRow<'_>) -> (i64, String) {
        let (key, number) = {
            let mut rows = self.rows();
            rows.last += 1;
            let number = rows.last;
            // Before it is written, so that whoever seals it knows it.
            rows.written.insert(number, false);
            (rows.keys.first().cloned(), number)
        };
        let proof = key.map(|key| RowProof::of(&key, &self.store, (&self.run, number), row));
        (number, proof.map(|proof| proof.to_string()).unwrap_or_default())
    }

    /// These rows are in the database.
    pub(super) fn committed(&self, numbers: &[i64]) {
        let mut rows = self.rows();
        for number in numbers {
            // One that was sealed at once is not known any more.
            if let Some(committed) = rows.written.get_mut(number) {
                *committed = true;
            }
        }
    }

    /// These rows are in no database, or were sealed.
    pub(super) fn settled(&self, numbers: &[i64]) {
        let mut rows = self.rows();
        for number in numbers {
            rows.written.remove(number);
        }
    }

    /// The rows that are in the database and not sealed.
    pub(super) fn unsealed(&self) -> BTreeSet<i64> {
        let rows = self.rows();
        rows.written
            .iter()
            .filter(|(_, committed)| **committed)
            .map(|(number, _)| *number)
            .collect()
    }

    /// Whose this row is.
    pub(super) fn origin(&self, proof: Option<&RowProof>, row: &ProvenRow<'_>) -> RowOrigin {
        let Some(proof) = proof else { return RowOrigin::Foreign };
        let rows = self.rows();
        let name = |key: &Arc<SigningKey>| RowProof::name_of(&key.public().to_string());
        let mut ours = rows.keys.iter().filter(|key| name(key) == proof.key).peekable();
        if ours.peek().is_none() {
            return RowOrigin::Theirs;
        }
        if !ours.any(|key| proof.proves(key, &self.store, row)) {
            return RowOrigin::Foreign;
        }
        match (proof.run == self.run, rows.written.contains_key(&proof.number)) {
            (true, true) => RowOrigin::Ours(proof.number),
            (true, false) => RowOrigin::Foreign,
            (false, _) => RowOrigin::Earlier,
        }
    }

    /// How the log is.
    pub(super) fn condition(&self) -> MutexGuard<'_, LogCondition> {
        self.condition.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets some rows at the beginning of the log; returns how many.
// INVARIANT: deleted events are counted in the same transaction: no counter falls.
// INVARIANT: only the beginning of the log is forgotten, its last hash is kept, and a row that is
// sealed with it says so: the rest still proves itself.
// SECURITY: only rows that are as they were sealed. A time that somebody changed in the database
// makes no row older.
pub(super) async fn forget_rows(
    tx: &mut Tx,
    round: &mut Round,
    forgetting: Forgetting,
) -> Result<usize, StoreError> {
    resume(tx, round).await?;
    if round.more {
        return Ok(0);
    }
    let Some(begin) = round.known.forgotten.clone() else { return Ok(0) };
    let first = "SELECT event.seq, at, kind, ask, data, hash FROM event \
         JOIN log_hash ON log_hash.seq = event.seq WHERE event.seq > $1 \
         ORDER BY event.seq LIMIT $2";
    let first = tx.all(sqlx::query(first).bind(begin.count).bind(EVENTS)).await?;
    let signed = "SELECT seq, at, hash, key, signature FROM log_checkpoint \
         WHERE seq > $1 ORDER BY seq LIMIT $2";
    let signed = tx.all(sqlx::query(signed).bind(begin.count).bind(EVENTS)).await?;
    let signed = signed.iter().map(checkpoint).collect::<Result<Vec<_>, _>>()?;
    let signed: BTreeMap<_, _> = signed.iter().map(|it| (it.head.count, it)).collect();
    // Up to a checkpoint, because its signature says that the rows are as they were sealed.
    let mut last = begin.clone();
    let mut newest = i64::MIN;
    let mut untaken = 0_i64;
    let mut up_to = None;
    let mut changed = false;
    for row in &first {
        let seq = row.try_get("seq")?;
        let row = log_row(row, seq)?;
        let waits = seq > forgetting.taken && row.at >= forgetting.long_before;
        if row.at >= forgetting.before || waits {
            break;
        }
        untaken += i64::from(seq > forgetting.taken);
        newest = newest.max(row.at);
        last = LogHead { count: seq, hash: row.hash(&last.hash) };
        if let Some(signed) = signed.get(&seq) {
            let signer = signed.signer(&round.known.store).filter(|_| signed.head == last);
            changed = !signer.is_some_and(|key| round.trusts(&key));
            if changed {
                break;
            }
            up_to = Some((last.clone(), newest, untaken));
        }
    }
    let Some((last, newest, untaken)) = up_to else {
        let first = begin.count + 1;
        let seen = round.known.broken.as_ref().is_some_and(|broken| broken.row == first);
        if (changed || last.count - begin.count == EVENTS) && !seen {
            let says = "rows that are to be forgotten are not as they were sealed";
            round.broke(first, says.to_owned());
        }
        return Ok(0);
    };
    let end = "UPDATE log_end SET forgotten = $1, forgotten_hash = $2 WHERE id = 1";
    tx.run(sqlx::query(end).bind(last.count).bind(last.hash.clone())).await?;
    for statement in
        ["DELETE FROM log_hash WHERE seq <= $1", "DELETE FROM log_checkpoint WHERE seq <= $1"]
    {
        tx.run(sqlx::query(statement).bind(last.count)).await?;
    }
    let gone = sqlx::query("DELETE FROM event WHERE seq <= $1 RETURNING id, kind");
    let gone = tx.all(gone.bind(last.count)).await?;
    let rows = last.count;
    round.known.forgotten = Some(last);
    let mut data = json!({"rows": rows, "newest": newest, "keep_ms": forgetting.keep_ms});
    if let (true, Some(data)) = (untaken > 0, data.as_object_mut()) {
        data.insert("undelivered".to_owned(), untaken.into());
    }
    seal_own(tx, round, "forgot", &data).await?;
    lost(tx, rows).await?;
    count_forgotten(tx, &gone).await?;
    Ok(gone.len())
}

/// Counts events that are gone.
async fn count_forgotten(tx: &mut Tx, gone: &[AnyRow]) -> Result<(), StoreError> {
    let mut kinds: BTreeMap<String, Forgotten> = BTreeMap::new();
    for row in gone {
        let kind = kinds.entry(row.try_get("kind")?).or_default();
        kind.events += 1;
        kind.newest = kind.newest.max(row.try_get("id")?);
    }
    for (kind, Forgotten { events, newest }) in kinds {
        let count = sqlx::query(
            "INSERT INTO forgotten (kind, events, newest) VALUES ($1, $2, $3) \
             ON CONFLICT (kind) DO UPDATE SET events = forgotten.events + excluded.events, \
             newest = CASE WHEN excluded.newest > forgotten.newest THEN excluded.newest \
             ELSE forgotten.newest END",
        );
        tx.run(count.bind(kind).bind(events).bind(newest)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
