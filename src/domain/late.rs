//! When the time of an ask starts: with the first card that people can see. Pure.

/// An ask that is shown within this time after it was opened keeps the deadline that it was opened
/// with; milliseconds.
pub const LATE_MS: i64 = 5_000;

/// The deadline of an ask that nobody has seen before `now`: people have as long from now on as
/// they would have had from the start. The deadline stays as it is where there is none, where the
/// ask is not late, and where its time is over: then its caller is told that nobody could be
/// reached. All times are Unix milliseconds.
///
/// So an ask waits to be shown for at most its own time, and to be answered for at most that again.
///
/// ```
/// use countersign_domain::late::deadline;
/// let minutes = |n: i64| n * 60_000;
/// assert_eq!(deadline(0, Some(minutes(5)), minutes(3)), Some(minutes(8)));
/// assert_eq!(deadline(0, Some(minutes(5)), 900), Some(minutes(5)));
/// assert_eq!(deadline(0, Some(minutes(5)), minutes(5)), Some(minutes(5)));
/// assert_eq!(deadline(0, None, minutes(3)), None);
/// ```
#[must_use]
pub fn deadline(created_at: i64, deadline_at: Option<i64>, now: i64) -> Option<i64> {
    let late = now.saturating_sub(created_at);
    deadline_at.map(|at| if late > LATE_MS && at > now { at.saturating_add(late) } else { at })
}
