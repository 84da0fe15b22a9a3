//! Who somebody is: pairings show who somebody is in a chat; codes, an identity provider and passkeys
//! let people with names into the inbox.

use super::{
    Gate,
    approvers::{OIDC, Who},
    ask::By,
    choices::{ApproverError, INBOX},
};
use countersign_domain::wire::{PairingProgress, PairingSender, PairingView};
use countersign_port::{Presser, locked};
use countersign_store::{PasskeyStored, PasskeyUse, StoreError, StoredPasskey};
use countersign_tokens::{clock, secret::TokenHash};
use serde_json::json;
use std::{collections::BTreeMap, sync::Mutex, time::Duration};
use tokio::sync::watch;

/// How long a code works.
pub const PAIRING_MS: i64 = 10 * 60 * 1_000;
/// What is told to somebody without a name.
const NAMELESS: &str = "Only people with a name in the config ([[people]]) can sign in.";
/// How long a code works.
pub const SIGN_IN_MS: i64 = 10 * 60 * 1_000;
/// How many codes may be open at once; the oldest makes way.
const MOST: usize = 200;
/// How many passkeys a person may have.
const PASSKEYS: i64 = 20;

/// The latest pairing of each platform. They are not stored: a restart ends them.
// SECURITY: a pairing grants nothing. It says who sent its code, and a person with the approver's
// token decides what to make of it.
#[derive(Debug, Default)]
pub struct PairingCodes {
    pairings: Mutex<BTreeMap<String, OnePairing>>,
    changes: watch::Sender<()>,
}

#[derive(Debug)]
struct OnePairing {
    id: String,
    /// Only the hash is kept: nothing that reads this memory learns the code.
    code: TokenHash,
    until: i64,
    by: Option<PairingSender>,
}

impl PairingCodes {
    /// Begins a pairing on a platform, which ends an earlier one there. Returns until when its code
    /// works (Unix milliseconds).
    pub fn begin(&self, platform: &str, id: &str, code: &str) -> i64 {
        let id = id.to_owned();
        let code = TokenHash::of(code);
        let until = clock::now_ms() + PAIRING_MS;
        locked(&self.pairings)
            .insert(platform.to_owned(), OnePairing { id, code, until, by: None });
        // Those who wait for the previous one learn that it has ended.
        self.changes.send_replace(());
        until
    }

    /// Takes a pairing code that somebody sent on a platform. It grants nothing.
    // INVARIANT: a code is bound to the first who sends it, and to nobody after that. The same
    // person is told the same again, because a platform may deliver a message twice.
    #[must_use]
    pub fn take_code(&self, platform: &str, code: &str, by: PairingSender) -> CodeOutcome {
        let mut pairings = locked(&self.pairings);
        let found = pairings.get_mut(platform).filter(|it| it.code.matches(code));
        let Some(pairing) = found else { return CodeOutcome::Refused };
        match &pairing.by {
            Some(first) if first.id == by.id => CodeOutcome::Bound,
            Some(_) => CodeOutcome::Refused,
            None => {
                // Who waits learns that somebody sent it, or that this was too late.
                self.changes.send_replace(());
                if clock::now_ms() >= pairing.until {
                    return CodeOutcome::Refused;
                }
                pairing.by = Some(by);
                CodeOutcome::Bound
            }
        }
    }

    /// What is known of a pairing, once somebody has sent its code or this time has passed; `None`
    /// where a later one has replaced it.
    pub async fn wait(&self, id: &str, longest: Duration) -> Option<PairingView> {
        let mut changes = self.changes.subscribe();
        let waits = || self.look(id).is_some_and(|it| it.state == PairingProgress::Waiting);
        let changed = async { while waits() && changes.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(longest, changed).await;
        self.look(id)
    }

    fn look(&self, id: &str) -> Option<PairingView> {
        let pairings = locked(&self.pairings);
        let pairing = pairings.values().find(|pairing| pairing.id == id)?;
        let state = match &pairing.by {
            Some(_) => PairingProgress::Knocked,
            None if clock::now_ms() >= pairing.until => PairingProgress::Expired,
            None => PairingProgress::Waiting,
        };
        Some(PairingView { state, by: pairing.by.clone() })
    }
}

/// Whether somebody is the one who sent a pairing's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeOutcome {
    /// They are.
    Bound,
    /// They are not: the code was used, has expired or never existed.
    Refused,
}

/// Why somebody gets no code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSignIn(pub &'static str);

/// What became of signing in with a passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ByPasskey {
    /// This person is let in.
    Done(Presser),
    /// Its counter did not rise.
    CounterRefused,
    /// It was removed, or its person may not answer any more.
    Nobody,
}

impl Gate {
    /// Takes back the codes of people who have left the config: they do not come back with them.
    pub(super) fn forget_sign_ins_of_nobody(&self) {
        locked(&self.sign_ins).keep_people(|id| self.person_in_inbox(id).is_some());
    }

    /// The person who is signed in to the inbox under this id, as the config has them now.
    #[must_use]
    pub fn person_in_inbox(&self, id: &str) -> Option<Presser> {
        let choices = self.choices();
        let name = choices.approvers.people.find("inbox", id)?.name.clone();
        Some(Presser { id: id.to_owned(), name, roles: Vec::new() })
    }

    /// Makes this code let a person with a name into the inbox, once. Returns until when (Unix
    /// milliseconds).
    ///
    /// # Errors
    /// [`NoSignIn`], for somebody without a name.
    pub fn begin_sign_in(&self, who: Who, code: &str) -> Result<i64, NoSignIn> {
        let approver = self.admit(who).map_err(|stranger| NoSignIn(stranger.0))?;
        let name = approver.person().ok_or(NoSignIn(NAMELESS))?;
        let presser = presser(approver.who(), name);
        Ok(locked(&self.sign_ins).begin(presser, code, clock::now_ms()))
    }

    /// The link that brings a sign-in code to the inbox.
    // SECURITY: no server and no preview of links sees what follows the `#`.
    #[must_use]
    pub fn sign_in_link(&self, code: &str) -> String {
        format!("{}/sign-in#{code}", self.choices().settings.inbox)
    }

    /// Whom a sign-in code is for; it stays usable.
    #[must_use]
    pub fn sign_in_offered(&self, code: &str) -> Option<Presser> {
        let offered = locked(&self.sign_ins).offered(code, clock::now_ms()).cloned();
        self.person_in_inbox(&offered?.id)
    }

    /// Uses a sign-in code up, and notes in the log whom it lets in.
    pub async fn sign_in(&self, code: &str) -> Option<Presser> {
        let taken = locked(&self.sign_ins).take(code, clock::now_ms());
        let presser = self.person_in_inbox(&taken?.id)?;
        self.note_sign_in(presser).await
    }

    /// Lets in the person for whom the identity provider vouches by this id, and notes it in the
    /// log.
    pub async fn sign_in_by_provider(&self, id: &str) -> Option<Presser> {
        let presser = self.person_in_inbox(&format!("{OIDC}:{id}"))?;
        self.note_sign_in(presser).await
    }

    // FAIL-CLOSED: nobody is let in of whom the log does not tell.
    async fn note_sign_in(&self, presser: Presser) -> Option<Presser> {
        let Presser { id, name, .. } = presser.clone();
        let by = By::Person { platform: INBOX.to_owned(), id, name };
        let now = clock::now_ms();
        let data = json!({ "by": by });
        let noted = self.store.note(now, "signed_in", None, &data).await;
        let noted = noted.inspect_err(|error| tracing::warn!(%error, "a sign-in was not noted"));
        noted.ok().map(|()| presser)
    }

    /// All passkeys with whom they let in now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn passkeys(&self) -> Result<Vec<(StoredPasskey, Option<Presser>)>, StoreError> {
        let all = self.store.passkeys().await?;
        let with = |passkey: StoredPasskey| {
            let presser = self.lets_in(&passkey);
            (passkey, presser)
        };
        Ok(all.into_iter().map(with).collect())
    }

    /// The passkeys of the person who is signed in under this id, by whatever identity they came.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn passkeys_of(&self, person: &str) -> Result<Vec<StoredPasskey>, StoreError> {
        let Some(Presser { name, .. }) = self.person_in_inbox(person) else {
            return Ok(Vec::new());
        };
        let mut all = self.store.passkeys().await?;
        all.retain(|passkey| self.lets_in(passkey).is_some_and(|it| it.name == name));
        Ok(all)
    }

    /// The passkey with this credential id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn passkey(&self, credential: &str) -> Result<Option<StoredPasskey>, StoreError> {
        self.store.passkey_of(credential).await
    }

    /// Adds a passkey; `None` where its person may not answer any more.
    ///
    /// # Errors
    /// When the store fails; then it is not added.
    pub async fn add_passkey(
        &self,
        new: StoredPasskey,
    ) -> Result<Option<PasskeyStored>, StoreError> {
        let Some(by) = self.lets_in(&new).map(by) else { return Ok(None) };
        let added = self.store.add_passkey(new, PASSKEYS, &by).await?;
        if added == PasskeyStored::Done {
            tracing::info!(%by, "a passkey was added");
        }
        Ok(Some(added))
    }

    /// Lets the person of a passkey in whose signature is right, by the counter that it showed.
    ///
    /// # Errors
    /// When the store fails; then nobody is let in.
    pub async fn sign_in_by_passkey(
        &self,
        passkey: &StoredPasskey,
        counter: u32,
    ) -> Result<ByPasskey, StoreError> {
        let Some(presser) = self.lets_in(passkey) else { return Ok(ByPasskey::Nobody) };
        let now = clock::now_ms();
        let by = by(presser.clone());
        Ok(match self.store.use_passkey(passkey, counter, &by, now).await? {
            PasskeyUse::Done => ByPasskey::Done(presser),
            PasskeyUse::Gone => ByPasskey::Nobody,
            PasskeyUse::CounterRefused => {
                let id = &passkey.id;
                let owner = &passkey.owner;
                tracing::warn!(id, owner, "a passkey's counter did not rise: maybe a copy of it");
                ByPasskey::CounterRefused
            }
        })
    }

    /// Removes one of this person's own; `false` where they have no such passkey.
    ///
    /// # Errors
    /// When the store fails; then it is not removed.
    pub async fn remove_own_passkey(
        &self,
        id: &str,
        presser: &Presser,
    ) -> Result<bool, StoreError> {
        let own = self.passkeys_of(&presser.id).await?;
        if !own.iter().any(|passkey| passkey.id == id) {
            return Ok(false);
        }
        Ok(self.remove_passkey_by(id, &by(presser.clone())).await?.is_some())
    }

    /// Removes anybody's passkey, and signs out who is signed in with it; `None` where there is none.
    ///
    /// # Errors
    /// [`ApproverError`]; then it is not removed.
    pub async fn remove_passkey(
        &self,
        id: &str,
        who: Who,
    ) -> Result<Option<StoredPasskey>, ApproverError> {
        Ok(self.remove_passkey_by(id, &self.person(who)?).await?)
    }

    /// Tells when one was removed here.
    #[must_use]
    pub fn passkey_removals(&self) -> watch::Receiver<u64> {
        self.passkeys_removed.subscribe()
    }

    async fn remove_passkey_by(
        &self,
        id: &str,
        by: &By,
    ) -> Result<Option<StoredPasskey>, StoreError> {
        let removed = self.store.remove_passkey(id, by, clock::now_ms()).await?;
        if let Some(passkey) = &removed {
            tracing::warn!(id = passkey.id, owner = passkey.owner, %by, "a passkey was removed");
            self.passkeys_removed.send_modify(|count| *count += 1);
        }
        Ok(removed)
    }

    /// Whom a passkey lets in, as the config has them now.
    // SECURITY: identities change hands, as a mail address does, and so do names. A passkey opens
    // nothing once either is another's.
    fn lets_in(&self, passkey: &StoredPasskey) -> Option<Presser> {
        self.person_in_inbox(&passkey.person).filter(|presser| presser.name == passkey.owner)
    }
}

/// The codes that nobody has used yet. They are not stored: a restart ends them.
#[derive(Debug, Default)]
pub(super) struct SignInCodes(Vec<OneSignIn>);

#[derive(Debug)]
struct OneSignIn {
    /// Only the hash is kept: nothing that reads this memory learns the code.
    code: TokenHash,
    until: i64,
    /// Whom it is for, as the inbox names them.
    presser: Presser,
}

impl SignInCodes {
    /// Begins a sign-in, which ends an earlier one of the same identity. Returns until when its
    /// code works.
    fn begin(&mut self, presser: Presser, code: &str, now_ms: i64) -> i64 {
        let until = now_ms + SIGN_IN_MS;
        self.0.retain(|it| it.until > now_ms && it.presser.id != presser.id);
        let many = (self.0.len() + 1).saturating_sub(MOST);
        self.0.drain(..many);
        self.0.push(OneSignIn { code: TokenHash::of(code), until, presser });
        until
    }

    /// Whom a code is for. It stays usable: a link preview may have asked.
    fn offered(&self, code: &str, now_ms: i64) -> Option<&Presser> {
        let found = self.0.iter().find(|it| it.code.matches(code) && now_ms < it.until);
        found.map(|it| &it.presser)
    }

    /// Takes back the codes of those who are somebody no more.
    fn keep_people(&mut self, is_somebody: impl Fn(&str) -> bool) {
        self.0.retain(|it| is_somebody(&it.presser.id));
    }

    /// Uses a code up.
    // INVARIANT: a code lets one browser in, once.
    fn take(&mut self, code: &str, now_ms: i64) -> Option<Presser> {
        let at = self.0.iter().position(|it| it.code.matches(code))?;
        let taken = self.0.swap_remove(at);
        (now_ms < taken.until).then_some(taken.presser)
    }
}

/// Somebody as the inbox names them: by the identity with which they showed who they are.
// SECURITY: their session is worth what that identity is worth, and ends when it leaves the config.
fn presser(who: &Who, name: &str) -> Presser {
    let id = format!("{}:{}", who.platform, who.id);
    Presser { id, name: name.to_owned(), roles: Vec::new() }
}

fn by(presser: Presser) -> By {
    By::Person { platform: INBOX.to_owned(), id: presser.id, name: presser.name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ana() -> PairingSender {
        let [id, name, target, place] = ["42", "Ana", "42", "a private chat"].map(str::to_owned);
        PairingSender { id, name, target, place }
    }

    fn claimed(by: PairingSender) -> Option<PairingView> {
        Some(PairingView { state: PairingProgress::Knocked, by: Some(by) })
    }

    fn unclaimed(state: PairingProgress) -> Option<PairingView> {
        Some(PairingView { state, by: None })
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_learns_of_the_code_at_once_and_of_nothing_after_their_time() {
        countersign_store::testkit::engines::follow_tokio();
        let codes = PairingCodes::default();
        let _ = codes.begin("chat", "p1", "pair-a");
        let minute = Duration::from_secs(60);
        assert_eq!(codes.wait("p1", minute).await, unclaimed(PairingProgress::Waiting));
        let sent = async { codes.take_code("chat", "pair-a", ana()) };
        let (state, outcome) = tokio::join!(codes.wait("p1", minute), sent);
        assert_eq!((state, outcome), (claimed(ana()), CodeOutcome::Bound));
        assert_eq!(codes.wait("p2", minute).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_that_nobody_sent_in_ten_minutes_has_expired() {
        let codes = begun();
        after(PAIRING_MS).await;
        assert_eq!(codes.wait("p1", Duration::ZERO).await, unclaimed(PairingProgress::Expired));
        assert_eq!(codes.take_code("chat", "pair-a", ana()), CodeOutcome::Refused);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_learns_at_once_that_the_code_came_too_late() {
        let codes = begun();
        let began = tokio::time::Instant::now();
        let sent = async {
            after(PAIRING_MS).await;
            codes.take_code("chat", "pair-a", ana())
        };
        let longest = Duration::from_secs(3_600);
        let (state, outcome) = tokio::join!(codes.wait("p1", longest), sent);
        assert_eq!((state, outcome), (unclaimed(PairingProgress::Expired), CodeOutcome::Refused));
        assert_eq!(began.elapsed().as_millis(), u128::from(PAIRING_MS.unsigned_abs()));
    }

    fn by(id: &str) -> PairingSender {
        let [id, name, target, place] = [id, "Ana", "42", "a private chat"].map(str::to_owned);
        PairingSender { id, name, target, place }
    }

    fn begun() -> PairingCodes {
        countersign_store::testkit::engines::follow_tokio();
        let codes = PairingCodes::default();
        assert_eq!(codes.begin("chat", "p1", "pair-a"), clock::now_ms() + PAIRING_MS);
        codes
    }

    async fn after(ms: i64) {
        tokio::time::advance(Duration::from_millis(ms.unsigned_abs())).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_is_bound_to_the_first_who_sends_it_and_to_nobody_after_that() {
        let codes = begun();
        after(1_000).await;
        assert_eq!(codes.look("p1"), unclaimed(PairingProgress::Waiting));
        assert_eq!(codes.take_code("chat", "pair-a", by("1")), CodeOutcome::Bound);
        after(1).await;
        assert_eq!(codes.take_code("chat", "pair-a", by("2")), CodeOutcome::Refused);
        after(1).await;
        assert_eq!(codes.take_code("chat", "pair-a", by("1")), CodeOutcome::Bound);
        after(PAIRING_MS * 9).await;
        assert_eq!(codes.look("p1"), claimed(by("1")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_that_is_wrong_expired_replaced_or_of_another_platform_binds_nobody() {
        let codes = begun();
        after(1_000).await;
        assert_eq!(codes.take_code("chat", "pair-b", by("1")), CodeOutcome::Refused);
        assert_eq!(codes.take_code("chat", "", by("1")), CodeOutcome::Refused);
        assert_eq!(codes.take_code("talk", "pair-a", by("1")), CodeOutcome::Refused);
        after(PAIRING_MS - 1_000).await;
        assert_eq!(codes.take_code("chat", "pair-a", by("1")), CodeOutcome::Refused);
        assert_eq!(codes.look("p1"), unclaimed(PairingProgress::Expired));
        codes.begin("chat", "p2", "pair-c");
        assert_eq!(codes.take_code("chat", "pair-a", by("1")), CodeOutcome::Refused);
        assert_eq!(codes.look("p1"), None);
        assert_eq!(codes.take_code("chat", "pair-c", by("1")), CodeOutcome::Bound);
    }

    #[tokio::test(start_paused = true)]
    async fn no_code_is_kept() {
        assert!(!format!("{:?}", begun()).contains("pair-a"));
    }

    fn person(id: &str) -> Presser {
        Presser { id: id.to_owned(), name: "Ana".to_owned(), roles: Vec::new() }
    }

    #[test]
    fn a_code_lets_one_browser_in_once_and_looking_at_it_uses_nothing_up() {
        let mut codes = SignInCodes::default();
        assert_eq!(codes.begin(person("chat:1"), "code", 1_000), 1_000 + SIGN_IN_MS);
        assert_eq!(codes.offered("code", 2_000), Some(&person("chat:1")));
        assert_eq!(codes.offered("code", 2_001), Some(&person("chat:1")));
        assert_eq!(codes.take("code", 2_002), Some(person("chat:1")));
        assert_eq!(codes.take("code", 2_003), None);
        assert_eq!(codes.offered("code", 2_003), None);
    }

    #[test]
    fn a_code_that_is_wrong_expired_or_replaced_lets_nobody_in() {
        let mut codes = SignInCodes::default();
        let end = codes.begin(person("chat:1"), "code", 0);
        for wrong in ["", "Code", "code "] {
            assert_eq!(codes.offered(wrong, 1), None, "{wrong}");
            assert_eq!(codes.take(wrong, 1), None, "{wrong}");
        }
        assert_eq!(codes.offered("code", end), None);
        assert_eq!(codes.take("code", end), None);
        codes.begin(person("chat:1"), "first", 0);
        codes.begin(person("chat:2"), "of another", 0);
        codes.begin(person("chat:1"), "second", 1);
        assert_eq!(codes.take("first", 2), None);
        assert_eq!(codes.take("of another", 2), Some(person("chat:2")));
        assert_eq!(codes.take("second", 2), Some(person("chat:1")));
    }

    #[test]
    fn the_oldest_of_too_many_makes_way_and_no_code_is_kept() {
        let mut codes = SignInCodes::default();
        for at in 0..=MOST {
            codes.begin(person(&format!("chat:{at}")), &format!("code {at}"), 0);
        }
        assert_eq!(codes.0.len(), MOST);
        assert_eq!(codes.offered("code 0", 1), None);
        assert!(codes.offered("code 1", 1).is_some() && !format!("{codes:?}").contains("code 1"));
    }
}
