//! Signing in with a one-time code, who is signed in, and signing out.
//
// SECURITY: a link brings its code behind a `#`, so neither a server nor the preview of a link gets
// it; and only a press of a person on the page uses it up.

use crate::{
    connections::{PeerNetwork, network},
    error::ApiError,
    inbox::{
        InboxState, Shared,
        guard::{Visitor, is_public_https, same_origin},
        oidc::ways_of,
        session::{AccessResult, LONGEST},
    },
    request::{JsonReply, Reply, Sent, sent},
};
use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, Method, Request, StatusCode, header},
    response::IntoResponse,
    routing,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use countersign_gate::Gate;
use countersign_port::{Presser, async_trait, locked};
use ring::rand::{SecureRandom, SystemRandom};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::{Arc, Mutex, Weak},
    time::{Duration, Instant},
};

const NO_CODE: &str = "This link does not work (any more): it works once, for 10 minutes. Send \
                       /login to the bot for a new one.";
pub(crate) const AWAY: &str =
    "countersign is not ready. Try again in a moment; the link still works.";
const FOREIGN: &str = "This came from another site, so nobody was signed in. Open the link itself.";

/// The people who sign in to the inbox.
#[async_trait]
pub trait People: Send + Sync {
    /// Whom a one-time sign-in code lets in. It stays usable: the request may come from the
    /// preview of a link.
    fn sign_in_offered(&self, code: &str) -> Option<Presser>;

    /// Uses a one-time sign-in code up: whom it lets in.
    async fn sign_in(&self, code: &str) -> Option<Presser>;

    /// Lets in the person for whom the identity provider vouches by this id, and notes it; `None`
    /// for nobody who may answer.
    async fn sign_in_by_provider(&self, id: &str) -> Option<Presser>;

    /// The person with this id who was let in once, as they are now; `None` where they may not
    /// answer any more.
    fn person(&self, id: &str) -> Option<Presser>;
}

/// The people of a gate, which holds the inbox as one of its adapters: so it is not held here.
pub(super) struct PeopleOf(pub(super) Weak<Gate>);

// FAIL-CLOSED: where the gate is gone, nobody is somebody.
#[async_trait]
impl People for PeopleOf {
    fn sign_in_offered(&self, code: &str) -> Option<Presser> {
        self.0.upgrade()?.sign_in_offered(code)
    }

    async fn sign_in(&self, code: &str) -> Option<Presser> {
        self.0.upgrade()?.sign_in(code).await
    }

    async fn sign_in_by_provider(&self, id: &str) -> Option<Presser> {
        self.0.upgrade()?.sign_in_by_provider(id).await
    }

    fn person(&self, id: &str) -> Option<Presser> {
        self.0.upgrade()?.person_in_inbox(id)
    }
}

/// For browsers that are not signed in yet.
pub(crate) fn routes() -> Router<Arc<InboxState>> {
    Router::new()
        .route("/inbox/sign-in", routing::post(sign_in))
        .route("/inbox/sign-in/offer", routing::post(offer))
}

/// To be put behind the guard of the page.
pub(crate) fn own_routes() -> Router<Arc<InboxState>> {
    Router::new()
        .route("/inbox/me", routing::get(me))
        .route("/inbox/sign-out", routing::post(sign_out))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BroughtCode {
    code: String,
}

/// Whom the code is for. It stays usable.
async fn offer(
    State(inbox): Shared,
    headers: HeaderMap,
    body: Sent<BroughtCode>,
) -> JsonReply<Value> {
    let (people, code) = brought(&inbox, &headers, body)?;
    let presser = people.sign_in_offered(&code).ok_or_else(|| ApiError::not_found(NO_CODE))?;
    Ok(Json(json!({ "name": presser.name })))
}

/// Uses the code up, and lets the browser in as its person.
async fn sign_in(State(inbox): Shared, headers: HeaderMap, body: Sent<BroughtCode>) -> Reply {
    let (people, code) = brought(&inbox, &headers, body)?;
    let Some(presser) = people.sign_in(&code).await else {
        if let Some(count) = inbox.wrong_codes.count(Instant::now()) {
            tracing::warn!(adapter = "inbox", count, "sign-in links that do not work (any more)");
        }
        return Err(ApiError::not_found(NO_CODE));
    };
    let_in(&inbox, &headers, presser, SignInReach { longest: LONGEST, passkey: None })
}

/// How far a sign-in reaches.
pub(crate) struct SignInReach {
    /// How long it lasts at most.
    pub(crate) longest: Duration,
    /// The passkey that it ends with.
    pub(crate) passkey: Option<String>,
}

/// Lets a browser in as somebody whom the core has let in.
pub(crate) fn let_in(
    inbox: &InboxState,
    headers: &HeaderMap,
    presser: Presser,
    reach: SignInReach,
) -> Reply {
    tracing::info!(adapter = "inbox", person = presser.name, "somebody has signed in");
    let before = inbox.sign_ins.by_cookie(headers);
    let begun = inbox.sign_ins.begin(&inbox.session, presser.id, (reach.longest, reach.passkey));
    let begun = begun.ok_or_else(no_randomness)?;
    // SECURITY: one person a browser. Pages of the one before stop showing requests.
    if let Some(before) = before {
        inbox.sign_ins.end(&before);
    }
    let mut response = Json(json!({ "entrance": begun.session.entrance() })).into_response();
    let only_https = is_public_https(headers, inbox.public_origin.as_deref());
    let cookie = begun.session.set_cookie(if only_https { "; Secure" } else { "" });
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

/// The people and the code, of a request that a page of ours sent.
fn brought<'a>(
    inbox: &'a InboxState,
    headers: &HeaderMap,
    body: Sent<BroughtCode>,
) -> Result<(&'a dyn People, String), ApiError> {
    from_our_page(inbox, headers)?;
    let BroughtCode { code } = sent(body, "This is not a valid sign-in code.")?;
    let people = inbox.people().ok_or_else(|| ApiError::unavailable(AWAY))?;
    Ok((people, code))
}

/// Refuses what another site sent.
// SECURITY: no other site signs somebody in, least of all as somebody else.
pub(crate) fn from_our_page(inbox: &InboxState, headers: &HeaderMap) -> Result<(), ApiError> {
    if same_origin(&Method::POST, headers, inbox.public_origin.as_deref()) {
        Ok(())
    } else {
        Err(ApiError::forbidden(FOREIGN))
    }
}

/// Nothing secret can be made.
pub(crate) fn no_randomness() -> ApiError {
    ApiError::failed("This system has no randomness.")
}

/// Who is signed in; where nobody is, how somebody can.
async fn me(State(inbox): Shared, visitor: Visitor) -> Json<Value> {
    Json(match &visitor {
        Visitor::Nameless => json!({ "name": null, "ways": ways_of(&inbox) }),
        Visitor::Person(_, presser) => json!({ "name": presser.name }),
    })
}

async fn sign_out(State(inbox): Shared, visitor: Visitor) -> Reply {
    let Visitor::Person(signed_in, presser) = visitor else {
        return Err(ApiError::unprocessable("Nobody is signed in here."));
    };
    inbox.sign_ins.end(&signed_in);
    tracing::info!(adapter = "inbox", person = presser.name, "somebody has signed out");
    let mut response = Json(json!({})).into_response();
    let cookie = signed_in.session.clear_cookie();
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

// How many sign-ins may begin: anybody can begin one, and each is kept for a while.

/// The time in which they are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// How many may begin in that time.
const ALL: usize = 60;
/// How many of them at one address.
const EACH: usize = 10;

/// What is told beyond that.
const TOO_MANY: &str = "Too many sign-ins have begun just now. Try again in a minute, \
                        or send /login to the bot.";

/// The sign-ins that began lately. It never holds more than may begin.
#[derive(Default)]
pub(crate) struct BeginLimit(Mutex<VecDeque<(Instant, Option<IpAddr>)>>);

impl BeginLimit {
    /// Whether another may begin at this address; it is counted then. One that is not known counts
    /// in all only.
    pub(crate) fn admit(&self, at: Option<IpAddr>, now: Instant) -> AccessResult {
        let mut begun = locked(&self.0);
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

/// Refuses a sign-in that begins where too many have begun just now.
pub(crate) fn may_begin<B>(inbox: &InboxState, request: &Request<B>) -> Result<(), ApiError> {
    match inbox.begin_limit.admit(sender(request), Instant::now()) {
        AccessResult::Granted => Ok(()),
        AccessResult::Refused => Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, TOO_MANY)),
    }
}

/// The address of who sent a request. A proxy on this machine says for whom it asks; `None` where
/// it does not.
// SECURITY: other programs of this machine can write that header too, and then count as many. What
// may begin in all limits them, and the header admits nobody.
fn sender<B>(request: &Request<B>) -> Option<IpAddr> {
    let PeerNetwork(peer) = request.extensions().get().copied()?;
    if peer.is_loopback() { forwarded_for(request.headers()).map(network) } else { Some(peer) }
}

/// The last address of `X-Forwarded-For`: the proxy itself has added it.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    last.rsplit(',').next()?.trim().trim_matches(['[', ']']).parse().ok()
}

// What has begun and is not finished: sign-ins at the identity provider, and what somebody does at
// their authenticator. Pure but for randomness; time is an argument.

/// How many may be open at once; the oldest makes way.
pub(crate) const MOST: usize = 1_000;

/// What is open. It is not stored: a restart ends it.
pub(crate) struct Begun<T> {
    life: Duration,
    open: Vec<(Instant, T)>,
}

impl<T: Clone> Begun<T> {
    /// Nothing yet; what begins has this long to be finished.
    pub(crate) fn new(life: Duration) -> Self {
        Self { life, open: Vec::new() }
    }

    /// Notes what has just begun.
    pub(crate) fn begin(&mut self, begun: T, now: Instant) -> T {
        self.open.retain(|(until, _)| now < *until);
        let many = (self.open.len() + 1).saturating_sub(MOST);
        self.open.drain(..many);
        self.open.push((now + self.life, begun.clone()));
        begun
    }

    /// Ends all but these.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(&T) -> bool) {
        self.open.retain(|(_, begun)| is_kept(begun));
    }

    /// Takes this one, unless its time is over. It is used up in any case.
    // INVARIANT: what comes back is looked at once.
    pub(crate) fn take(&mut self, is_this: impl Fn(&T) -> bool, now: Instant) -> Option<T> {
        let at = self.open.iter().position(|(_, begun)| is_this(begun))?;
        let (until, taken) = self.open.swap_remove(at);
        (now < until).then_some(taken)
    }

    /// How many are open.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }
}

/// 256 random bits; `None` without randomness.
pub(crate) fn random() -> Option<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

// Things that anybody can make happen, logged now and then.

/// The pause between two lines of the log.
const PAUSE: Duration = Duration::from_secs(60);

/// Counts what happens between two lines of the log.
#[derive(Default)]
pub(crate) struct LogNowAndThen(Mutex<(usize, Option<Instant>)>);

impl LogNowAndThen {
    /// Counts one more. Returns how many to log, where it is time to: the first at once.
    pub(crate) fn count(&self, now: Instant) -> Option<usize> {
        let mut counted = locked(&self.0);
        let (count, last) = &mut *counted;
        *count += 1;
        let waits = last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE);
        (!waits).then(|| {
            *last = Some(now);
            std::mem::take(count)
        })
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
        let limit = BeginLimit::default();
        let now = Instant::now();
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
            request.extensions_mut().insert(PeerNetwork(IpAddr::from(peer)));
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

    #[test]
    fn the_first_is_logged_at_once_and_the_rest_together() {
        let counted = LogNowAndThen::default();
        let now = Instant::now();
        assert_eq!(counted.count(now), Some(1));
        assert_eq!((1..100).find_map(|_| counted.count(now)), None);
        assert_eq!(counted.count(now + PAUSE), Some(100));
        assert_eq!(counted.count(now + PAUSE), None);
    }
}
