//! Sign-ins that were sent to the identity provider and have not come back. Pure; time is an
//! argument.

use crate::session::same;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use std::time::{Duration, Instant};

/// How long somebody has at the identity provider.
pub(super) const LIFE: Duration = Duration::from_secs(10 * 60);
/// How many may be open at once; the oldest makes way.
const MOST: usize = 1_000;

/// The sign-ins that are open. They are not stored: a restart ends them.
#[derive(Default)]
pub(super) struct Flows(Vec<Flow>);

/// One sign-in: what goes to the provider, and what comes back has to fit.
#[derive(Clone)]
pub(super) struct Flow {
    /// Comes back beside the code.
    pub(super) state: String,
    /// Comes back inside the ID token.
    pub(super) nonce: String,
    /// Shows the provider that the one who began brings the code (PKCE).
    pub(super) verifier: String,
    /// Known to the page that began, and to no other.
    pub(super) browser: String,
    until: Instant,
}

impl Flows {
    /// Begins a sign-in; `None` without randomness.
    pub(super) fn begin(&mut self, now: Instant) -> Option<Flow> {
        let flow = Flow {
            state: secret()?,
            nonce: secret()?,
            verifier: secret()?,
            browser: secret()?,
            until: now + LIFE,
        };
        self.0.retain(|it| now < it.until);
        let many = (self.0.len() + 1).saturating_sub(MOST);
        self.0.drain(..many);
        self.0.push(flow.clone());
        Some(flow)
    }

    /// Takes the sign-in of this state, if this browser began it. It is used up in any case.
    // SECURITY: without its secret somebody could have a person finish the sign-in that they
    // began, so that the person answers as them.
    // INVARIANT: what comes back from the provider is looked at once.
    pub(super) fn take(&mut self, state: &str, browser: &str, now: Instant) -> Option<Flow> {
        let at = self.0.iter().position(|it| same(&it.state, state))?;
        let flow = self.0.swap_remove(at);
        let began = same(&flow.browser, browser);
        (began && now < flow.until).then_some(flow)
    }
}

/// 256 random bits.
fn secret() -> Option<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn only_the_browser_that_began_finishes_a_sign_in_and_only_once() {
        let (mut flows, now) = (Flows::default(), Instant::now());
        let flow = flows.begin(now).unwrap();
        let taken = flows.take(&flow.state, &flow.browser, now).unwrap();
        assert_eq!((taken.nonce, taken.verifier), (flow.nonce, flow.verifier));
        assert!(flows.take(&flow.state, &flow.browser, now).is_none(), "a second time");
        let (one, other) = (flows.begin(now).unwrap(), flows.begin(now).unwrap());
        assert!(flows.take(&one.state, &other.browser, now).is_none(), "another browser");
        assert!(flows.take(&one.state, &one.browser, now).is_none(), "it is used up");
        assert!(flows.take(&other.state, "", now).is_none(), "no secret");
        assert!(flows.take("", &other.browser, now).is_none(), "no state");
    }

    #[test]
    fn a_sign_in_that_took_too_long_or_was_one_of_too_many_is_over() {
        let (mut flows, now) = (Flows::default(), Instant::now());
        let slow = flows.begin(now).unwrap();
        assert!(flows.take(&slow.state, &slow.browser, now + LIFE).is_none());
        let first = flows.begin(now).unwrap();
        let rest: Vec<_> = (0..MOST).map(|_| flows.begin(now).unwrap()).collect();
        assert_eq!(flows.0.len(), MOST);
        assert!(flows.take(&first.state, &first.browser, now).is_none());
        assert!(rest.iter().all(|it| flows.take(&it.state, &it.browser, now).is_some()));
    }
}
