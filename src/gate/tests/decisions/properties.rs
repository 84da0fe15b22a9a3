//! What holds over the whole table, whatever the golden file says.

use super::{
    dimensions::{Before, Budget, Combination, Granted, Kind, Mode, Rule, Token},
    table::{Cell, End, Row},
};
use std::collections::BTreeMap;

/// Checks every property over every row and says which row breaks which.
pub fn check(rows: &[Row]) {
    let of: BTreeMap<Combination, &Row> = rows.iter().map(|row| (row.at, row)).collect();
    let mut broken: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let broken_here = properties(row, &of).into_iter().filter(|(_, holds)| !holds);
        broken_here.for_each(|(property, _)| broken.entry(property).or_default().push(row));
    }
    let first = |(property, rows): (_, &Vec<&Row>)| format!("{property}: {:?}", rows.first());
    let some: Vec<String> = broken.iter().map(|(property, rows)| first((property, rows))).collect();
    assert!(some.is_empty(), "properties that do not hold, each with a row: {some:#?}");
}

fn properties(row: &Row, of: &BTreeMap<Combination, &Row>) -> [(&'static str, bool); 17] {
    let at = row.at;
    let cells = &row.cells;
    let [free, hold, deny] = cells.as_slice() else { panic!("a cell for each pause") };
    let allowed = cells.iter().any(|cell| cell.end == End::Allow);
    let stopped = |cell: &Cell| cell.end >= End::Deny;
    let is_yolo = matches!(at.mode, Mode::SessionYolo | Mode::ConfiguredYolo);
    let unfit = matches!(
        at.token,
        Token::Taken | Token::OtherProfile | Token::TargetGone | Token::Revoked | Token::Expired
    );
    // What the row would be without one thing; only where the table has that row.
    let without = |other: Combination| of.get(&other).map(|other| &other.cells);
    let granted_nothing = without(Combination { granted: Granted::Nothing, ..at });
    let no_budget = without(Combination { budget: Budget::Nothing, ..at });
    let default_mode = without(Combination { mode: Mode::Default, ..at });
    let no_token = without(Combination { token: Token::Nothing, ..at });
    let is_same = |other: Option<&Vec<Cell>>| other.is_none_or(|other| other == cells);
    let no_looser = |than: Option<&Vec<Cell>>| {
        than.is_none_or(|than| cells.iter().zip(than).all(|(cell, than)| cell.end >= than.end))
    };
    let no_stop_lifted = |than: Option<&Vec<Cell>>| {
        than.is_none_or(|than| {
            than.iter().zip(cells).all(|(than, cell)| !stopped(than) || stopped(cell))
        })
    };
    let void_grant = matches!(
        at.granted,
        Granted::OtherSession
            | Granted::OtherAgent
            | Granted::OtherOwner
            | Granted::Revoked
            | Granted::Undone
            | Granted::TimedOver
            | Granted::SessionEnded
            | Granted::AlwaysRevoked
    );
    let void_budget = matches!(at.budget, Budget::Spent | Budget::Over | Budget::OfAnotherCall);
    [
        (
            "a guardrail denies, whatever else there is",
            at.kind != Kind::Guardrail || cells.iter().all(stopped),
        ),
        ("a rule that denies denies", at.rule != Rule::Deny || cells.iter().all(stopped)),
        (
            "nothing is allowed during a pause, and a pause loosens nothing",
            hold.end != End::Allow
                && deny.end != End::Allow
                && hold.end >= free.end
                && deny.end >= free.end,
        ),
        (
            "a pause that denies denies all but the ask that its caller has already",
            at.before == Before::SameKey || stopped(deny),
        ),
        (
            "an ask is held exactly if it was allowed without the pause",
            at.before == Before::SameKey
                || hold.end != End::Ask
                || hold.held == (free.end == End::Allow && free.why != "approved ahead"),
        ),
        ("a question is never allowed", at.kind != Kind::Question || !allowed),
        (
            "a budget is never allowed, and none with a critical call is asked for",
            !matches!(at.kind, Kind::Ahead | Kind::AheadCritical) || !allowed,
        ),
        (
            "no wildcard, grant or budget allows a critical call; only a person's yolo does",
            at.kind != Kind::Critical || is_yolo || !allowed,
        ),
        (
            "a grant that does not hold here changes nothing",
            !void_grant || is_same(granted_nothing),
        ),
        ("a budget that does not cover it changes nothing", !void_budget || is_same(no_budget)),
        (
            "no grant lifts a denial, but that of a person of a moment ago",
            at.before == Before::Denied || no_stop_lifted(granted_nothing),
        ),
        ("no budget lifts a denial", no_stop_lifted(no_budget)),
        (
            "no mode lifts a denial, but that of a person of a moment ago",
            at.before == Before::Denied || no_stop_lifted(default_mode),
        ),
        (
            "an agent that plans, and a review, allow no more than without",
            (at.mode != Mode::AgentPlans || no_looser(default_mode))
                && (at.granted != Granted::Reviewed || no_looser(granted_nothing)),
        ),
        (
            "an agent that is not who its token says, or is paused, gets nothing",
            (!unfit || cells.iter().all(|cell| cell.end == End::Refused))
                && (at.token != Token::Paused
                    || at.before == Before::SameKey
                    || cells.iter().all(|cell| cell.end == End::Deny))
                && (at.token != Token::OverLimit || cells.iter().all(|cell| cell.end != End::Ask))
                && (at.token == Token::Nothing || no_looser(no_token)),
        ),
        (
            "an ask under an answer rule needs its people, unless it is held",
            at.rule != Rule::Two
                || at.before == Before::SameKey
                || cells.iter().all(|it| it.end != End::Ask || it.held || !it.needs.is_empty()),
        ),
        (
            "a token for a target shows its asks there, and any other token elsewhere",
            cells.iter().all(|it| {
                it.end != End::Ask
                    || (it.at.as_deref() == Some("room")) == (at.token == Token::Target)
            }),
        ),
    ]
}
