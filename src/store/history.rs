//! Closed asks, latest first, a page at a time, for readers who look for some of them.

use super::{
    ListCursor, Store, StoreError,
    listing::fitting,
    rows::{columns, whole},
};
use countersign_domain::Ask;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

/// How many rows are looked through at once, without their bodies.
const BATCH: i64 = 500;
/// How many bodies are read at once.
const BODIES: usize = 50;

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

impl Store {
    /// The largest number of rows that one page looks through.
    pub const SCANNED: usize = 2_000;
    /// The largest number of bytes of asks that one page reads, and those of one ask more.
    const READ: i64 = 16 << 20;

    /// A page of at most `most` closed asks, latest first, each as `look` has it; it passes over an
    /// ask with `None`. A page may hold fewer and still have a next one.
    ///
    /// # Errors
    /// When the store fails.
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
        let places: Vec<String> = (1..=rows.len()).map(|n| format!("${n}")).collect();
        let sql = format!(
            concat!("SELECT ", columns!(), " FROM ask WHERE id IN ({})"),
            places.join(", ")
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for row in rows {
            query = query.bind(row.place.id.clone());
        }
        Ok(self.all(query).await?.iter().filter_map(whole).collect())
    }
}

impl Light {
    fn fits(&self, range: &HistoryRange) -> bool {
        let is = |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|it| it == has);
        is(&range.agent, &self.agent)
            && is(&range.session, &self.session)
            && range.state.is_none_or(|state| state == self.state)
    }
}

impl ListCursor {
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

/// How many of the rows are read together: so many that fit, by number and size.
fn chunk(rows: &[Light], range: &HistoryRange) -> usize {
    let mut bodies = 0;
    let sizes = rows.iter().map_while(|row| {
        bodies += usize::from(row.fits(range));
        (bodies <= BODIES).then(|| if row.fits(range) { row.bytes } else { 0 })
    });
    fitting(&sizes.collect::<Vec<_>>(), Store::PAGE_BYTES)
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
