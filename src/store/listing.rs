//! Lists of asks, in pages: those of a state, and closed ones for readers who look for some of them.
//! A row that cannot be read is skipped.

use super::{
    Store, StoreError,
    asks::{columns, whole},
    engine::places,
};
use countersign_domain::Ask;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

/// Open asks, oldest first.
const OPEN: &str = concat!(
    "SELECT created_at AS place, ",
    columns!(),
    " FROM ask WHERE state = 'open' AND created_at >= $1 AND (created_at > $1 OR id > $2) \
     ORDER BY created_at, id LIMIT $3"
);
/// Asks of another state, most recently closed first.
const CLOSED: &str = concat!(
    "SELECT closed_at AS place, ",
    columns!(),
    " FROM ask WHERE closed_at <= $1 AND (closed_at < $1 OR id < $2) AND state = $4 \
     ORDER BY closed_at DESC, id DESC LIMIT $3"
);

/// The sizes of a page's asks, read before the asks themselves.
const OPEN_SIZES: &str = "SELECT id, bytes FROM ask WHERE state = 'open' AND created_at >= $1 \
     AND (created_at > $1 OR id > $2) ORDER BY created_at, id LIMIT $3";
const CLOSED_SIZES: &str = "SELECT id, bytes FROM ask WHERE closed_at <= $1 \
     AND (closed_at < $1 OR id < $2) AND state = $4 ORDER BY closed_at DESC, id DESC LIMIT $3";

/// How many rows are looked through at once, without their bodies.
const BATCH: i64 = 500;
/// How many bodies are read at once.
const BODIES: usize = 50;

/// A page of asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The asks that could be read.
    pub asks: Vec<Ask>,
    /// The start of the next page; `None` on the last one.
    pub next: Option<ListCursor>,
}

/// Which closed asks are looked for, as far as columns tell, and where the page begins.
#[derive(Debug, Clone, Default)]
pub struct HistoryRange {
    /// Asks of this agent only.
    pub agent: Option<String>,
    /// Asks of this session only.
    pub session: Option<String>,
    /// Asks in this state only.
    pub state: Option<&'static str>,
    /// Asks that were closed at this time or later; Unix milliseconds.
    pub since: Option<i64>,
    /// Asks that were closed at this time or earlier; Unix milliseconds.
    pub until: Option<i64>,
    /// Asks behind this position.
    pub behind: Option<ListCursor>,
}

/// A page of what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<T> {
    /// What was found, latest first.
    pub found: Vec<T>,
    /// How many rows were looked through.
    pub scanned: usize,
    /// The start of the next page; `None` on the last one.
    pub next: Option<ListCursor>,
}

/// A row without its body.
struct Light {
    place: ListCursor,
    agent: String,
    session: String,
    state: String,
    bytes: i64,
}

/// A position in a list of asks: behind one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCursor {
    pub(super) at: i64,
    pub(super) id: String,
}

impl ListCursor {
    /// The position behind this ask in the list of this state. An ask that was open when it was
    /// listed may be closed by now.
    #[must_use]
    pub fn behind(ask: &Ask, state: &str) -> Self {
        let at = match ask.answer() {
            Some(answer) if state != "open" => answer.at,
            _ => ask.created_at,
        };
        Self { at, id: ask.id.clone() }
    }

    /// The id of the ask before the position.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The position as text, for a reader to hand back.
    #[must_use]
    pub fn written(&self) -> String {
        format!("{}-{}", self.at, self.id)
    }

    /// Reads a position that [`Self::written`] wrote.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (at, id) = text.split_once('-')?;
        let plain = (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric());
        let at = at.parse().ok().filter(|at: &i64| *at >= 0)?;
        plain.then(|| Self { at, id: id.to_owned() })
    }
}

impl Store {
    /// The largest number of asks on a page.
    pub const PAGE: usize = 500;
    /// The largest number of bytes of asks on a page, unless a single ask has more.
    pub const PAGE_BYTES: i64 = 1 << 20;

    /// A page of the asks in this state, from the start or from a position. Open asks are listed
    /// oldest first, others newest first.
    // INVARIANT: a page has a bounded size in memory, however large its asks are.
    pub async fn asks_in(
        &self,
        state: &str,
        from: Option<&ListCursor>,
    ) -> Result<Listed, StoreError> {
        let open = state == "open";
        let first = || ListCursor { at: if open { 0 } else { i64::MAX }, id: String::new() };
        let from = from.cloned().unwrap_or_else(first);
        let page = |all, sizes, most: usize| {
            let query =
                sqlx::query(if sizes { if open { OPEN_SIZES } else { CLOSED_SIZES } } else { all });
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let query = query.bind(from.at).bind(from.id.clone()).bind(most);
            if open { query } else { query.bind(state.to_owned()) }
        };
        let all = if open { OPEN } else { CLOSED };
        let found = self.all(page(all, true, Self::PAGE)).await?;
        let sizes =
            found.iter().map(|row| row.try_get("bytes")).collect::<Result<Vec<i64>, _>>()?;
        let fit = fitting(&sizes, Self::PAGE_BYTES);
        let rows = self.all(page(all, false, fit)).await?;
        // An ask that was closed between the two queries comes first in the second one, and pushes
        // the last of the first one out of it. Then there is a further page, though the sizes did
        // not show one.
        let expected = fit.checked_sub(1).and_then(|at| found.get(at));
        let last = rows.last();
        let moved = match (expected, last) {
            (Some(expected), Some(last)) => {
                expected.try_get::<String, _>("id")? != last.try_get::<String, _>("id")?
            }
            (None, Some(_)) => true,
            (_, None) => false,
        };
        // The filter on readable rows comes last: `next` depends on the rows, or a page that holds
        // only damaged asks would end the list.
        let more = moved || fit < sizes.len() || sizes.len() == Self::PAGE;
        let next = rows.last().filter(|_| more).map(cursor).transpose()?;
        Ok(Listed { asks: rows.iter().filter_map(whole).collect(), next })
    }

    /// The ids of a page of open asks, oldest first, and the start of the next page.
    pub async fn open_ids(
        &self,
        from: Option<&ListCursor>,
    ) -> Result<(Vec<String>, Option<ListCursor>), StoreError> {
        let query = sqlx::query(
            "SELECT id, created_at AS place FROM ask WHERE state = 'open' AND created_at >= $1 \
             AND (created_at > $1 OR id > $2) ORDER BY created_at, id LIMIT $3",
        );
        let query = query.bind(from.map_or(0, |place| place.at));
        let query = query.bind(from.map_or("", |place| &place.id));
        let rows = self.all(query.bind(i64::try_from(Self::PAGE).unwrap_or(i64::MAX))).await?;
        let ids = rows.iter().map(|row| row.try_get("id")).collect::<Result<Vec<_>, _>>()?;
        let next = rows.last().filter(|_| rows.len() == Self::PAGE).map(cursor).transpose()?;
        Ok((ids, next))
    }

    /// Calls `look` for every ask in this state, in the order of the list.
    pub async fn each_ask_in(
        &self,
        state: &str,
        mut look: impl FnMut(&Ask) + Send,
    ) -> Result<(), StoreError> {
        let mut from = None;
        loop {
            let Listed { asks, next } = self.asks_in(state, from.as_ref()).await?;
            asks.iter().for_each(&mut look);
            from = next;
            if from.is_none() {
                return Ok(());
            }
        }
    }

    /// The number of open asks.
    pub async fn count_open(&self) -> Result<i64, StoreError> {
        let open = "SELECT count(*) AS n FROM ask WHERE state = 'open'";
        Ok(self.one(sqlx::query(open)).await?.try_get("n")?)
    }

    /// The ids of the open asks of one session, oldest first.
    pub async fn open_in_session(
        &self,
        agent: &str,
        session: &str,
    ) -> Result<Vec<String>, StoreError> {
        let open = sqlx::query(
            "SELECT id FROM ask WHERE state = 'open' AND agent = $1 AND session = $2 \
             ORDER BY created_at, id",
        );
        self.texts(open.bind(agent).bind(session)).await
    }

    /// The ids of the open asks for exactly the calls of these two digests, oldest first.
    pub async fn open_for(&self, digests: [&str; 2]) -> Result<Vec<String>, StoreError> {
        let open = "SELECT id FROM ask WHERE state = 'open' AND digest IN ($1, $2) \
                    ORDER BY created_at, id";
        self.texts(sqlx::query(open).bind(digests[0]).bind(digests[1])).await
    }

    /// The ids of the open asks of agents with this name.
    pub async fn open_of_agent(&self, name: &str) -> Result<Vec<String>, StoreError> {
        let open = "SELECT id FROM ask WHERE state = 'open' AND agent = $1 ORDER BY created_at, id";
        self.texts(sqlx::query(open).bind(name)).await
    }

    /// Ids that start with `prefix`; at most 20, of which a reader may know fewer.
    pub async fn ids_like(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        // Programs give a whole id, which needs no look at all of them.
        let whole = sqlx::query("SELECT id FROM ask WHERE id = $1").bind(prefix);
        if !self.all(whole).await?.is_empty() {
            return Ok(vec![prefix.to_owned()]);
        }
        // `substr` instead of `LIKE`, in which a `%` or `_` of the prefix would be a wildcard.
        let like = sqlx::query("SELECT id FROM ask WHERE substr(id, 1, length($1)) = $1 LIMIT 20");
        self.texts(like.bind(prefix)).await
    }

    /// The largest number of rows that one page looks through.
    pub const SCANNED: usize = 2_000;
    /// The largest number of bytes of asks that one page reads, and those of one ask more.
    const READ: i64 = 16 << 20;

    /// A page of at most `most` closed asks, latest first, each as `look` has it; it passes over an
    /// ask with `None`. A page may hold fewer and still have a next one.
    // INVARIANT: a page reads a bounded number of rows and bytes, and holds few of them at a time,
    // however rare what is looked for is.
    pub async fn history<T: Send>(
        &self,
        range: &HistoryRange,
        most: usize,
        mut look: impl FnMut(&Ask) -> Option<T> + Send,
    ) -> Result<Found<T>, StoreError> {
        let mut page = Found { found: Vec::new(), scanned: 0, next: range.behind.clone() };
        let mut left = Self::READ;
        loop {
            let rows = self.light(range, page.next.as_ref()).await?;
            let last = i64::try_from(rows.len()).is_ok_and(|rows| rows < BATCH);
            let mut rows = rows.as_slice();
            while !rows.is_empty() {
                let (chunk, rest) = rows.split_at(chunk(rows, range).min(rows.len()));
                let wanted: Vec<&Light> = chunk.iter().filter(|row| row.fits(range)).collect();
                left -= wanted.iter().map(|row| row.bytes).sum::<i64>();
                let asks = self.bodies(&wanted).await?;
                for row in chunk {
                    page.scanned += 1;
                    page.next = Some(row.place.clone());
                    let ask = asks.iter().find(|ask| ask.id == row.place.id);
                    page.found.extend(ask.and_then(&mut look));
                    if page.found.len() >= most {
                        let more = !last || page.next != rows.last().map(|row| row.place.clone());
                        page.next = page.next.filter(|_| more);
                        return Ok(page);
                    }
                }
                rows = rest;
                if left <= 0 && !(last && rows.is_empty()) {
                    return Ok(page);
                }
            }
            if last {
                return Ok(Found { next: None, ..page });
            }
            if page.scanned >= Self::SCANNED {
                return Ok(page);
            }
        }
    }

    /// The next rows of the range of time, whosever they are.
    // Columns other than the index's are compared here and not in SQL: a filter there would look
    // through any number of rows before the limit ends it.
    async fn light(
        &self,
        range: &HistoryRange,
        behind: Option<&ListCursor>,
    ) -> Result<Vec<Light>, StoreError> {
        let query = sqlx::query(
            "SELECT id, closed_at, agent, session, state, bytes FROM ask \
             WHERE closed_at <= $1 AND (closed_at < $1 OR id < $2) AND closed_at >= $3 \
             ORDER BY closed_at DESC, id DESC LIMIT $4",
        );
        // No id is less than an empty one, so nothing of that very millisecond is listed.
        let until = range.until.unwrap_or(i64::MAX).saturating_add(1);
        let first = ListCursor { at: until, id: String::new() };
        let from = behind.filter(|behind| behind.at < until).unwrap_or(&first);
        let query = query.bind(from.at).bind(from.id.clone());
        let rows = self.all(query.bind(range.since.unwrap_or(i64::MIN)).bind(BATCH)).await?;
        rows.iter().map(light).collect()
    }

    /// The asks of these rows that can be read.
    async fn bodies(&self, rows: &[&Light]) -> Result<Vec<Ask>, StoreError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            concat!("SELECT ", columns!(), " FROM ask WHERE id IN ({})"),
            places(1, rows.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for row in rows {
            query = query.bind(row.place.id.clone());
        }
        Ok(self.all(query).await?.iter().filter_map(whole).collect())
    }
}

/// The number of asks that fit into `most` bytes; at least one, so that the list always advances.
pub(super) fn fitting(sizes: &[i64], most: i64) -> usize {
    let mut left = most;
    let fits = |size: &&i64| {
        left = left.saturating_sub(**size);
        left >= 0
    };
    sizes.iter().take_while(fits).count().max(1)
}

impl Light {
    fn fits(&self, range: &HistoryRange) -> bool {
        let is = |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|it| it == has);
        is(&range.agent, &self.agent)
            && is(&range.session, &self.session)
            && range.state.is_none_or(|state| state == self.state)
    }
}

/// How many of the rows are read together: so many that fit, by number and size.
fn chunk(rows: &[Light], range: &HistoryRange) -> usize {
    let mut bodies = 0;
    let sizes = rows.iter().map_while(|row| {
        bodies += usize::from(row.fits(range));
        (bodies <= BODIES).then(|| if row.fits(range) { row.bytes } else { 0 })
    });
    fitting(&sizes.collect::<Vec<_>>(), Store::PAGE_BYTES)
}

fn cursor(row: &AnyRow) -> Result<ListCursor, StoreError> {
    Ok(ListCursor { at: row.try_get("place")?, id: row.try_get("id")? })
}

fn light(row: &AnyRow) -> Result<Light, StoreError> {
    Ok(Light {
        place: ListCursor { at: row.try_get("closed_at")?, id: row.try_get("id")? },
        agent: row.try_get("agent")?,
        session: row.try_get("session")?,
        state: row.try_get("state")?,
        bytes: row.try_get("bytes")?,
    })
}

#[cfg(test)]
mod tests;
