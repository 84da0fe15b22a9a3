//! Signing in through an identity provider (OpenID Connect): the authorization code flow with PKCE.
//
// SECURITY: the provider says who somebody is, and nothing else: whether they may answer is ruled
// by the core, by their entry in the config.

mod config;
mod flows;
mod id_token;
mod keys;
mod provider;
mod routes;

pub use config::{OidcClaim, OidcConfig};
pub(crate) use routes::routes;

use crate::counted::LogNowAndThen;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use flows::{Flow, Flows};
use id_token::TokenRefusal;
use provider::{Endpoints, Provider, ProviderTrouble};
use sha2::{Digest, Sha256};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
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
pub async fn try_provider(config: OidcConfig) -> Result<usize, ProviderTrouble> {
    let provider = Provider::new(config)?;
    let endpoints = provider.discover().await?;
    match provider.keys(&endpoints).await?.usable() {
        0 => Err("it has no key of a kind that is accepted".to_owned()),
        usable => Ok(usable),
    }
}

impl Oidc {
    /// `None` where its provider cannot be asked at all, which is logged.
    pub(crate) fn new(config: OidcConfig) -> Option<Self> {
        let provider = Provider::new(config);
        let provider = provider.map_err(|why| tracing::error!(why, "no sign-in by OIDC")).ok()?;
        let (flows, endpoints, failed) = Default::default();
        Some(Self { provider, flows, endpoints, failed })
    }

    /// The provider's name for people: its host.
    pub(crate) fn host(&self) -> String {
        let url = reqwest::Url::parse(&self.provider.config().issuer).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Begins a sign-in: where the browser goes, and the secret that shows that it began.
    async fn begin(&self) -> Result<(String, String), NotSignedIn> {
        let endpoints = self.endpoints().await.map_err(NotSignedIn::Away)?;
        let flow = self.flows().begin(Instant::now());
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
        let flow = self.flows().take(state, browser, Instant::now());
        let flow = flow.ok_or_else(|| invalid("no sign-in of this browser waits for it"))?;
        let config = self.provider.config();
        // RFC 9207: the answer of another provider is not for this one.
        if issuer.is_some_and(|issuer| issuer != config.issuer) {
            return Err(invalid("the answer is of another issuer"));
        }
        let endpoints = self.endpoints().await.map_err(NotSignedIn::Away)?;
        let exchanged = self.provider.exchange(&endpoints, code, &flow.verifier).await;
        let token = exchanged.map_err(NotSignedIn::Invalid)?;
        let keys = self.provider.keys(&endpoints).await.map_err(NotSignedIn::Away)?;
        let now = crate::board::now() / 1_000;
        id_token::person(config, &keys, &token, (&flow.nonce, now)).map_err(|refusal| match refusal
        {
            TokenRefusal::Invalid(why) => {
                NotSignedIn::Invalid(format!("the ID token is refused: {why}"))
            }
            TokenRefusal::Person(sentence) => NotSignedIn::Person(sentence),
        })
    }

    /// How long a sign-in lasts.
    fn session(&self) -> Duration {
        self.provider.config().session
    }

    fn address(&self, endpoints: &Endpoints, flow: &Flow) -> String {
        let config = self.provider.config();
        let email = (config.claim == OidcClaim::VerifiedEmail).then_some("email");
        let more = config.scopes.iter().map(String::as_str);
        let scopes: Vec<&str> = ["openid"].into_iter().chain(email).chain(more).collect();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&flow.verifier));
        let mut url = endpoints.authorization.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &config.client_id)
            .append_pair("redirect_uri", &config.redirect_uri)
            .append_pair("scope", &scopes.join(" "))
            .append_pair("state", &flow.state)
            .append_pair("nonce", &flow.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        url.into()
    }

    async fn endpoints(&self) -> Result<Endpoints, ProviderTrouble> {
        let remembered = self.remembered().clone();
        if let Some((endpoints, since)) = remembered
            && since.elapsed() < REMEMBERED
        {
            return Ok(endpoints);
        }
        let found = self.provider.discover().await?;
        *self.remembered() = Some((found.clone(), Instant::now()));
        Ok(found)
    }

    fn flows(&self) -> MutexGuard<'_, Flows> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remembered(&self) -> MutexGuard<'_, Option<(Endpoints, Instant)>> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
