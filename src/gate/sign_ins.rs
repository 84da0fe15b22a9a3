//! One-time codes that let a named person into the inbox. Pure; time and codes are arguments.

use super::approvers::Who;
use countersign_port::Presser;
use countersign_tokens::secret::TokenHash;

/// How long a code works.
pub const SIGN_IN_MS: i64 = 10 * 60 * 1_000;
/// How many codes may be open at once; the oldest makes way.
const MOST: usize = 200;

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
    pub(super) fn begin(&mut self, presser: Presser, code: &str, now_ms: i64) -> i64 {
        let until = now_ms + SIGN_IN_MS;
        self.0.retain(|it| it.until > now_ms && it.presser.id != presser.id);
        let many = (self.0.len() + 1).saturating_sub(MOST);
        self.0.drain(..many);
        self.0.push(OneSignIn { code: TokenHash::of(code), until, presser });
        until
    }

    /// Whom a code is for. It stays usable: a link preview may have asked.
    pub(super) fn offered(&self, code: &str, now_ms: i64) -> Option<&Presser> {
        let found = self.0.iter().find(|it| it.code.matches(code) && now_ms < it.until);
        found.map(|it| &it.presser)
    }

    /// Takes back the codes of those who are somebody no more.
    pub(super) fn keep_people(&mut self, is_somebody: impl Fn(&str) -> bool) {
        self.0.retain(|it| is_somebody(&it.presser.id));
    }

    /// Uses a code up.
    // INVARIANT: a code lets one browser in, once.
    pub(super) fn take(&mut self, code: &str, now_ms: i64) -> Option<Presser> {
        let at = self.0.iter().position(|it| it.code.matches(code))?;
        let taken = self.0.swap_remove(at);
        (now_ms < taken.until).then_some(taken.presser)
    }
}

/// Somebody as the inbox names them: by the identity with which they showed who they are.
// SECURITY: their session is worth what that identity is worth, and ends when it leaves the config.
pub(super) fn presser(who: &Who, name: &str) -> Presser {
    let id = format!("{}:{}", who.platform, who.id);
    Presser { id, name: name.to_owned(), roles: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

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
