//! Sign-ins that were sent to the identity provider and have not come back. Pure; time is an
//! argument.

use crate::{
    begun::{Begun, random},
    session::same,
};
use std::time::{Duration, Instant};

/// How long somebody has at the identity provider.
pub(super) const LIFE: Duration = Duration::from_secs(10 * 60);
/// The sign-ins that are open.
pub(super) struct Flows(Begun<Flow>);

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
}

impl Default for Flows {
    fn default() -> Self {
        Self(Begun::new(LIFE))
    }
}

impl Flows {
    /// Begins a sign-in; `None` without randomness.
    pub(super) fn begin(&mut self, now: Instant) -> Option<Flow> {
        let (state, nonce, verifier, browser) = (random()?, random()?, random()?, random()?);
        Some(self.0.begin(Flow { state, nonce, verifier, browser }, now))
    }

    /// Takes the sign-in of this state, if this browser began it. It is used up in any case.
    // SECURITY: without its secret somebody could have a person finish the sign-in that they
    // began, so that the person answers as them.
    pub(super) fn take(&mut self, state: &str, browser: &str, now: Instant) -> Option<Flow> {
        let flow = self.0.take(|it| same(&it.state, state), now)?;
        same(&flow.browser, browser).then_some(flow)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::begun::MOST;

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
