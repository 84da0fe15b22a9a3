//! Signing in through an identity provider (OpenID Connect): the authorization code flow with PKCE.
//
// SECURITY: the provider says who somebody is, and nothing else: whether they may answer is ruled
// by the core, by their entry in the config.

mod id_token;
mod provider;

use crate::{
    error::ApiError,
    inbox::{
        InboxState, PublicUrl, Shared,
        oidc::{
            id_token::TokenRefusal,
            provider::{Endpoints, Provider, ProviderTrouble},
        },
        passkeys::Passkeys,
        session::same,
        sign_in::{
            AWAY, Begun, LogNowAndThen, SignInReach, from_our_page, let_in, may_begin, random,
        },
    },
    request::{JsonReply, Reply, Sent},
};
use axum::{
    Json, Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    routing,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use countersign_port::locked;
use countersign_tokens::clock;
use countersign_tokens::secret::Secret;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// How long the addresses of a provider are remembered; its keys are not.
const REMEMBERED: Duration = Duration::from_secs(5 * 60);

/// Signing in through one provider.
pub(crate) struct Oidc {
    provider: Provider,
    flows: Mutex<Flows>,
    endpoints: Mutex<Option<(Endpoints, Instant)>>,
    failed: LogNowAndThen,
}

/// Why somebody does not get in.
enum NotSignedIn {
    /// The provider is away or broken.
    Away(ProviderTrouble),
    /// What came back is not what was asked for.
    Invalid(ProviderTrouble),
    /// It is, and lets nobody in; for the person.
    Person(&'static str),
}

/// Asks a provider what every sign-in needs of it; returns how many keys it signs with.
///
/// # Errors
/// A sentence that says what is wrong.
pub async fn try_provider(
    oidc: &OidcSettings,
    public: &PublicUrl,
) -> Result<usize, ProviderTrouble> {
    let provider = Provider::new(oidc.clone(), public)?;
    let endpoints = provider.discover().await?;
    match provider.keys(&endpoints).await?.usable() {
        0 => Err("it has no key of a kind that is accepted".to_owned()),
        usable => Ok(usable),
    }
}

impl Oidc {
    /// `None` where its provider cannot be asked at all, which is logged.
    pub(crate) fn new((config, public): (OidcSettings, &PublicUrl)) -> Option<Self> {
        let provider = Provider::new(config, public);
        let provider = provider.map_err(|why| tracing::error!(why, "no sign-in by OIDC")).ok()?;
        let (flows, endpoints, failed) = Default::default();
        Some(Self { provider, flows, endpoints, failed })
    }

    /// The provider's name for people: its host.
    pub(crate) fn host(&self) -> String {
        let url = reqwest::Url::parse(&self.provider.config.issuer).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Begins a sign-in: where the browser goes, and the secret that shows that it began.
    async fn begin(&self) -> Result<(String, String), NotSignedIn> {
        let endpoints = self.endpoints().await.map_err(NotSignedIn::Away)?;
        let flow = locked(&self.flows).begin(Instant::now());
        let flow = flow.ok_or_else(|| NotSignedIn::Away("no randomness".to_owned()))?;
        Ok((self.address(&endpoints, &flow), flow.browser))
    }

    /// Finishes a sign-in with what the provider sent back: the id of the person there.
    async fn finish(
        &self,
        (code, state, issuer): (&str, &str, Option<&str>),
        browser: &str,
    ) -> Result<String, NotSignedIn> {
        let invalid = |why: &str| NotSignedIn::Invalid(why.to_owned());
        let flow = locked(&self.flows).take(state, browser, Instant::now());
        let flow = flow.ok_or_else(|| invalid("no sign-in of this browser waits for it"))?;
        let config = &self.provider.config;
        // RFC 9207: the answer of another provider is not for this one.
        if issuer.is_some_and(|issuer| issuer != config.issuer) {
            return Err(invalid("the answer is of another issuer"));
        }
        let endpoints = self.endpoints().await.map_err(NotSignedIn::Away)?;
        let exchanged = self.provider.exchange(&endpoints, code, &flow.verifier).await;
        let token = exchanged.map_err(NotSignedIn::Invalid)?;
        let keys = self.provider.keys(&endpoints).await.map_err(NotSignedIn::Away)?;
        let now = clock::machine_ms() / 1_000;
        id_token::person(config, &keys, &token, (&flow.nonce, now)).map_err(|refusal| match refusal
        {
            TokenRefusal::Invalid(why) => {
                NotSignedIn::Invalid(format!("the ID token is refused: {why}"))
            }
            TokenRefusal::Person(sentence) => NotSignedIn::Person(sentence),
        })
    }

    fn address(&self, endpoints: &Endpoints, flow: &Flow) -> String {
        let config = &self.provider.config;
        let email = (config.claim == OidcClaim::VerifiedEmail).then_some("email");
        let more = config.scopes.iter().map(String::as_str);
        let scopes: Vec<&str> = ["openid"].into_iter().chain(email).chain(more).collect();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&flow.verifier));
        let mut url = endpoints.authorization.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &config.client_id)
            .append_pair("redirect_uri", &self.provider.redirect_uri)
            .append_pair("scope", &scopes.join(" "))
            .append_pair("state", &flow.state)
            .append_pair("nonce", &flow.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        url.into()
    }

    async fn endpoints(&self) -> Result<Endpoints, ProviderTrouble> {
        let remembered = locked(&self.endpoints).clone();
        if let Some((endpoints, since)) = remembered
            && since.elapsed() < REMEMBERED
        {
            return Ok(endpoints);
        }
        let found = self.provider.discover().await?;
        *locked(&self.endpoints) = Some((found.clone(), Instant::now()));
        Ok(found)
    }
}

// What the identity provider is and what is taken from its ID tokens.

/// An identity provider that people sign in with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcSettings {
    /// Its issuer, exactly as its tokens name it.
    pub issuer: String,
    /// Under which it knows this inbox.
    pub client_id: String,
    /// The secret of that client; `None` for a public client.
    pub client_secret: Option<Secret>,
    /// What names a person.
    pub claim: OidcClaim,
    /// The group that people have to be in, by the claim `groups`.
    pub group: Option<String>,
    /// What is asked for besides `openid`, and `email` where that claim is used.
    pub scopes: Vec<String>,
    /// How long a sign-in lasts.
    pub session: Duration,
    /// PEM file with one more certificate authority for its address.
    pub ca_file: Option<PathBuf>,
}

/// The claim that names a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OidcClaim {
    /// The provider's own lasting id of the person.
    #[default]
    Subject,
    /// Their mail address, if the provider has verified it.
    VerifiedEmail,
}

// How a browser signs in: it asks where to go, and brings back what the provider sent along.
//
// SECURITY: the provider leads the browser to the sign-in page. The page's own script then brings
// code and state here, with the secret of this sign-in. The page keeps that in the tab's own
// storage and not in a cookie, which programs at other ports of the host, or at a sibling's name,
// could read or plant.

const OFF: &str = "Nobody signs in through an identity provider here ([oidc] in the config).";
const UNNOTED: &str = "countersign cannot note a sign-in just now, so nobody was signed in. Try \
                       again in a moment.";
/// The longest parameter, in bytes.
const LONGEST: usize = 4_096;

/// For browsers that are not signed in yet.
pub(crate) fn routes() -> Router<Arc<InboxState>> {
    Router::new()
        .route("/inbox/sign-in/ways", routing::get(ways))
        .route("/inbox/oidc/begin", routing::post(begin))
        .route("/inbox/oidc/finish", routing::post(finish))
}

/// What the provider sent along with the browser.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Brought {
    code: String,
    state: String,
    iss: Option<String>,
    browser: String,
}

async fn ways(State(inbox): Shared) -> Json<Value> {
    Json(ways_of(&inbox))
}

/// How somebody can sign in here.
pub(crate) fn ways_of(inbox: &InboxState) -> Value {
    let oidc = inbox.oidc.as_ref().map(Oidc::host);
    let passkey = inbox.passkeys.as_ref().map(Passkeys::origin);
    json!({ "oidc": oidc, "passkey": passkey })
}

async fn begin(State(inbox): Shared, request: Request) -> JsonReply<Value> {
    let oidc = ours(&inbox, request.headers())?;
    may_begin(&inbox, &request)?;
    let (to, browser) = oidc.begin().await.map_err(|why| refused(oidc, why))?;
    Ok(Json(json!({ "to": to, "browser": browser })))
}

async fn finish(State(inbox): Shared, headers: HeaderMap, body: Sent<Brought>) -> Reply {
    let oidc = ours(&inbox, &headers)?;
    let fits = |it: &Brought| it.code.len() <= LONGEST && it.state.len() <= LONGEST;
    let Some(Brought { code, state, iss, browser }) = body.ok().map(|Json(it)| it).filter(fits)
    else {
        return Err(ApiError::unprocessable("This is not a reply of a sign-in."));
    };
    let people = inbox.people().ok_or_else(|| ApiError::unavailable(AWAY))?;
    let finished = oidc.finish((&code, &state, iss.as_deref()), &browser).await;
    let id = finished.map_err(|why| refused(oidc, why))?;
    if people.person(&format!("oidc:{id}")).is_none() {
        tracing::warn!(
            adapter = "inbox",
            id,
            "somebody without an entry in [[people]] came by OIDC"
        );
        let host = oidc.host();
        return Err(ApiError::forbidden(format!(
            "{host} knows you as {id}, which is unknown here. Ask the operator to add `oidc = \
             \"{id}\"` to your entry of [[people]]."
        )));
    }
    // FAIL-CLOSED: nobody is let in of whom the log does not tell.
    let presser = people.sign_in_by_provider(&id).await;
    let presser = presser.ok_or_else(|| ApiError::unavailable(UNNOTED))?;
    let_in(
        &inbox,
        &headers,
        presser,
        SignInReach { longest: oidc.provider.config.session, passkey: None },
    )
}

/// The provider, for a request that a page of ours sent.
fn ours<'a>(inbox: &'a InboxState, headers: &HeaderMap) -> Result<&'a Oidc, ApiError> {
    from_our_page(inbox, headers)?;
    inbox.oidc.as_ref().ok_or_else(|| ApiError::not_found(OFF))
}

fn refused(oidc: &Oidc, why: NotSignedIn) -> ApiError {
    let host = oidc.host();
    let (why, status, sentence) = match why {
        NotSignedIn::Person(sentence) => return ApiError::forbidden(sentence),
        NotSignedIn::Away(why) => {
            let sentence = format!("{host} cannot be asked just now. Try again in a moment.");
            (why, StatusCode::BAD_GATEWAY, sentence)
        }
        NotSignedIn::Invalid(why) => {
            let sentence = format!("The reply of {host} is not valid. Sign in again.");
            (why, StatusCode::FORBIDDEN, sentence)
        }
    };
    if let Some(count) = oidc.failed.count(Instant::now()) {
        tracing::warn!(adapter = "inbox", host, why, count, "a sign-in by OIDC failed");
    }
    ApiError::new(status, sentence)
}

// Sign-ins that were sent to the identity provider and have not come back. Pure; time is an
// argument.

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
        let state = random()?;
        let nonce = random()?;
        let verifier = random()?;
        let browser = random()?;
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
    use crate::inbox::sign_in::MOST;

    #[test]
    fn only_the_browser_that_began_finishes_a_sign_in_and_only_once() {
        let mut flows = Flows::default();
        let now = Instant::now();
        let flow = flows.begin(now).unwrap();
        let taken = flows.take(&flow.state, &flow.browser, now).unwrap();
        assert_eq!((taken.nonce, taken.verifier), (flow.nonce, flow.verifier));
        assert!(flows.take(&flow.state, &flow.browser, now).is_none(), "a second time");
        let one = flows.begin(now).unwrap();
        let other = flows.begin(now).unwrap();
        assert!(flows.take(&one.state, &other.browser, now).is_none(), "another browser");
        assert!(flows.take(&one.state, &one.browser, now).is_none(), "it is used up");
        assert!(flows.take(&other.state, "", now).is_none(), "no secret");
        assert!(flows.take("", &other.browser, now).is_none(), "no state");
    }

    #[test]
    fn a_sign_in_that_took_too_long_or_was_one_of_too_many_is_over() {
        let mut flows = Flows::default();
        let now = Instant::now();
        let slow = flows.begin(now).unwrap();
        assert!(flows.take(&slow.state, &slow.browser, now + LIFE).is_none());
        let first = flows.begin(now).unwrap();
        let rest: Vec<_> = (0..MOST).map(|_| flows.begin(now).unwrap()).collect();
        assert_eq!(flows.0.len(), MOST);
        assert!(flows.take(&first.state, &first.browser, now).is_none());
        assert!(rest.iter().all(|it| flows.take(&it.state, &it.browser, now).is_some()));
    }
}
