//! Pairings: codes that show who somebody is in a chat. Pure; time and ids are arguments.

use countersign_tokens::secret::TokenHash;
use std::collections::BTreeMap;

/// How long a code works.
pub const PAIRING_MS: i64 = 10 * 60 * 1_000;

/// The latest pairing of each platform.
// SECURITY: a pairing grants nothing. It says who sent its code, and a person with the approver's
// token decides what to make of it.
#[derive(Debug, Default)]
pub(super) struct Pairings(BTreeMap<String, OnePairing>);

#[derive(Debug)]
struct OnePairing {
    id: String,
    /// Only the hash is kept: nothing that reads this memory learns the code.
    code: TokenHash,
    until: i64,
    by: Option<Knocker>,
}

/// Who sent the code of a pairing, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knocker {
    /// The platform's lasting id.
    pub id: String,
    /// For people to read.
    pub name: String,
    /// The target that cards in that place would have.
    pub target: String,
    /// The place for people to read.
    pub place: String,
}

/// What is known of a pairing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairingState {
    /// Nobody has sent its code yet.
    Waiting,
    /// Somebody has.
    Knocked(Knocker),
    /// Nobody did in time.
    Expired,
}

/// Whether somebody is the one who sent a pairing's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnockOutcome {
    /// They are.
    Bound,
    /// They are not: the code was used, has expired or never existed.
    Refused,
}

impl Pairings {
    /// Begins a pairing, which ends an earlier one on the same platform. Returns until when its
    /// code works.
    pub(super) fn begin(&mut self, platform: &str, id: &str, code: &str, now_ms: i64) -> i64 {
        let (id, code, until) = (id.to_owned(), TokenHash::of(code), now_ms + PAIRING_MS);
        self.0.insert(platform.to_owned(), OnePairing { id, code, until, by: None });
        until
    }

    /// Takes a code that somebody sent on a platform.
    // INVARIANT: a code is bound to the first who sends it, and to nobody after that. The same
    // person is told the same again, because a platform may deliver a message twice.
    pub(super) fn knock(
        &mut self,
        platform: &str,
        code: &str,
        by: Knocker,
        now_ms: i64,
    ) -> KnockOutcome {
        let found = self.0.get_mut(platform).filter(|it| it.code.matches(code));
        let Some(pairing) = found else { return KnockOutcome::Refused };
        match &pairing.by {
            Some(first) if first.id == by.id => KnockOutcome::Bound,
            Some(_) => KnockOutcome::Refused,
            None if now_ms >= pairing.until => KnockOutcome::Refused,
            None => {
                pairing.by = Some(by);
                KnockOutcome::Bound
            }
        }
    }

    /// What is known of the pairing with this id; `None` where a later one has replaced it.
    pub(super) fn state(&self, id: &str, now_ms: i64) -> Option<PairingState> {
        let pairing = self.0.values().find(|pairing| pairing.id == id)?;
        Some(match &pairing.by {
            Some(by) => PairingState::Knocked(by.clone()),
            None if now_ms >= pairing.until => PairingState::Expired,
            None => PairingState::Waiting,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(id: &str) -> Knocker {
        let [id, name, target, place] = [id, "Ana", "42", "a private chat"].map(str::to_owned);
        Knocker { id, name, target, place }
    }

    fn begun() -> Pairings {
        let mut pairings = Pairings::default();
        assert_eq!(pairings.begin("chat", "p1", "pair-a", 1_000), 1_000 + PAIRING_MS);
        pairings
    }

    #[test]
    fn a_code_is_bound_to_the_first_who_sends_it_and_to_nobody_after_that() {
        let mut pairings = begun();
        assert_eq!(pairings.state("p1", 2_000), Some(PairingState::Waiting));
        assert_eq!(pairings.knock("chat", "pair-a", by("1"), 2_000), KnockOutcome::Bound);
        assert_eq!(pairings.knock("chat", "pair-a", by("2"), 2_001), KnockOutcome::Refused);
        assert_eq!(pairings.knock("chat", "pair-a", by("1"), 2_002), KnockOutcome::Bound);
        assert_eq!(pairings.state("p1", PAIRING_MS * 9), Some(PairingState::Knocked(by("1"))));
    }

    #[test]
    fn a_code_that_is_wrong_expired_replaced_or_of_another_platform_binds_nobody() {
        let mut pairings = begun();
        let end = 1_000 + PAIRING_MS;
        assert_eq!(pairings.knock("chat", "pair-b", by("1"), 2_000), KnockOutcome::Refused);
        assert_eq!(pairings.knock("chat", "", by("1"), 2_000), KnockOutcome::Refused);
        assert_eq!(pairings.knock("talk", "pair-a", by("1"), 2_000), KnockOutcome::Refused);
        assert_eq!(pairings.knock("chat", "pair-a", by("1"), end), KnockOutcome::Refused);
        assert_eq!(pairings.state("p1", end), Some(PairingState::Expired));
        pairings.begin("chat", "p2", "pair-c", end);
        assert_eq!(pairings.knock("chat", "pair-a", by("1"), end), KnockOutcome::Refused);
        assert_eq!(pairings.state("p1", end), None);
        assert_eq!(pairings.knock("chat", "pair-c", by("1"), end), KnockOutcome::Bound);
    }

    #[test]
    fn no_code_is_kept() {
        assert!(!format!("{:?}", begun()).contains("pair-a"));
    }
}
