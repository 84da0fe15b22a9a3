//! How many sign-ins may begin: anybody can begin one, and each is kept for a while.

use crate::session::AccessResult;
use axum::http::{HeaderMap, Request};
use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The time in which they are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// How many may begin in that time.
const ALL: usize = 60;
/// How many of them at one address.
const EACH: usize = 10;

/// What is told beyond that.
pub(crate) const TOO_MANY: &str = "Too many sign-ins have begun just now. Try again in a minute, \
                                   or write /login to the bot.";

/// The address of the other end of a request's connection, among its extensions. All of a range
/// from which one peer can choose are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

/// The sign-ins that began lately. It never holds more than may begin.
#[derive(Default)]
pub(crate) struct BeginLimit(Mutex<VecDeque<(Instant, Option<IpAddr>)>>);

impl BeginLimit {
    /// Whether another may begin at this address; it is counted then. One that is not known counts
    /// in all only.
    pub(crate) fn admit(&self, at: Option<IpAddr>, now: Instant) -> AccessResult {
        let mut begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while begun.front().is_some_and(|(then, _)| now.saturating_duration_since(*then) >= WINDOW)
        {
            begun.pop_front();
        }
        let is_here = |address: &Option<IpAddr>| at.is_some() && *address == at;
        let here = begun.iter().filter(|(_, address)| is_here(address)).count();
        if begun.len() >= ALL || here >= EACH {
            return AccessResult::Refused;
        }
        begun.push_back((now, at));
        AccessResult::Granted
    }
}

/// The address of who sent a request. A proxy on this machine says for whom it asks; `None` where
/// it does not.
// SECURITY: other programs of this machine can write that header too, and then count as many. What
// may begin in all limits them, and the header admits nobody.
pub(crate) fn sender<B>(request: &Request<B>) -> Option<IpAddr> {
    let PeerAddress(peer) = request.extensions().get().copied()?;
    match peer.is_loopback() {
        true => forwarded_for(request.headers()).map(network),
        false => Some(peer),
    }
}

/// The last address of `X-Forwarded-For`: the proxy itself has added it.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    last.rsplit(',').next()?.trim().trim_matches(['[', ']']).parse().ok()
}

/// A single IPv6 host owns a whole /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::from((u128::from(address) >> 64 << 64).to_be_bytes()),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    fn at(n: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, n]))
    }

    #[test]
    fn an_address_begins_so_many_in_a_minute_and_all_together_so_many_more() {
        let (limit, now) = (BeginLimit::default(), Instant::now());
        let granted = |at, now| limit.admit(at, now) == AccessResult::Granted;
        assert!((0..EACH).all(|_| granted(at(1), now)));
        assert!(!granted(at(1), now) && granted(at(2), now));
        let later = now + WINDOW;
        assert!(granted(at(1), later), "a minute later");
        let begun = (0..=255).filter(|n| granted(at(*n), later)).count();
        assert_eq!(begun, ALL - 1);
        assert_eq!(limit.0.lock().unwrap().len(), ALL);
        assert!(!granted(at(77), later) && granted(at(77), later + WINDOW));
        let begun = (0..=255).filter(|_| granted(None, later + WINDOW * 2)).count();
        assert_eq!(begun, ALL, "of unknown addresses");
    }

    #[test]
    fn a_proxy_of_this_machine_says_for_whom_it_asks_and_nobody_else_does() {
        let from = |peer: [u8; 4], forwarded: &str| {
            let mut request = Request::new(());
            request.extensions_mut().insert(PeerAddress(IpAddr::from(peer)));
            request.headers_mut().insert("x-forwarded-for", forwarded.parse().unwrap());
            sender(&request)
        };
        let here = [127, 0, 0, 1];
        assert_eq!(from(here, "10.0.0.1, 192.0.2.7"), at(7));
        assert_eq!(from(here, "nobody"), None);
        assert_eq!(from([192, 0, 2, 9], "192.0.2.7"), at(9));
        assert_eq!(from(here, "2001:db8::1"), from(here, "2001:db8::2"));
        assert_eq!(sender(&Request::new(())), None);
    }
}
