//! A fake identity provider (OpenID Connect): discovery, keys, the page for signing in and the
//! endpoint for codes. It refuses what a strict one refuses, and its tokens can be spoilt.
//!
//! `let idp = FakeProvider::start().await;`, `idp.settings()` for the config,
//! `idp.sign_in(json!({"sub": "ana"}))` for who sits at it, and `idp.visit(address)` for what the
//! browser is led to.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a stand-in fails by panicking, and no test uses all of it"
)]

use axum::{
    Form, Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
    routing,
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    hmac,
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{KeyPair, RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

pub const CLIENT: &str = "countersign inbox";
/// Characters that have to be encoded before they go into a header.
pub const SECRET: &str = "s%cret: of+the client";
/// Where the inbox under test is reached by people.
pub const PUBLIC: &str = "https://approve.example";

/// How the next token differs from a good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spoilt {
    #[default]
    Not,
    Expired,
    OfTheFuture,
    OtherAudience,
    TwoAudiences,
    OtherParty,
    OtherIssuer,
    OtherNonce,
    NoNonce,
    NoAlgorithm,
    /// HS256 with the public key as the secret.
    SharedSecret,
    OtherKey,
    UnknownKey,
    CriticalExtension,
    ChangedAfterwards,
    Missing,
}

struct World {
    person: Value,
    spoilt: Spoilt,
    down: bool,
    keys: Vec<Key>,
    /// What each code is for, and whether it was used.
    codes: HashMap<String, (HashMap<String, String>, bool)>,
    /// Requests that a strict provider refuses.
    refused: Vec<String>,
    issuer: String,
    said_issuer: String,
    public: String,
}

struct Key {
    id: String,
    pair: Arc<RsaKeyPair>,
}

/// A running fake. It ends with the test's runtime.
#[derive(Clone)]
pub struct FakeProvider {
    state: Arc<Mutex<World>>,
    pub issuer: String,
}

impl FakeProvider {
    pub async fn start() -> Self {
        Self::start_for(PUBLIC).await
    }

    /// For an inbox at this address.
    pub async fn start_for(public: &str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}/realm", listener.local_addr().unwrap());
        let first = Key { id: "first".to_owned(), pair: pair(include_str!("oidc/rsa.txt")) };
        let state = World {
            person: Value::Null,
            spoilt: Spoilt::Not,
            down: false,
            keys: vec![first],
            codes: HashMap::new(),
            refused: Vec::new(),
            issuer: issuer.clone(),
            said_issuer: issuer.clone(),
            public: public.to_owned(),
        };
        let fake = Self { state: Arc::new(Mutex::new(state)), issuer };
        let app = Router::new()
            .route("/realm/.well-known/openid-configuration", routing::get(configuration))
            .route("/realm/keys", routing::get(keys))
            .route("/realm/authorize", routing::get(authorize))
            .route("/realm/token", routing::post(token))
            .with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        fake
    }

    /// The section of the config.
    pub fn settings(&self) -> String {
        let issuer = &self.issuer;
        format!(
            "[oidc]\nissuer = \"{issuer}\"\nclient_id = \"{CLIENT}\"\nclient_secret = \"{SECRET}\"\n"
        )
    }

    /// Who sits at the provider's page from now on, as claims.
    pub fn sign_in(&self, claims: Value) {
        self.lock().person = claims;
    }

    /// How tokens differ from good ones from now on.
    pub fn spoil(&self, how: Spoilt) {
        self.lock().spoilt = how;
    }

    /// Whether it answers at all.
    pub fn down(&self, down: bool) {
        self.lock().down = down;
    }

    /// What it calls itself.
    pub fn call_itself(&self, issuer: &str) {
        issuer.clone_into(&mut self.lock().said_issuer);
    }

    /// Replaces its key by another.
    pub fn rotate(&self) {
        let second = Key { id: "second".to_owned(), pair: pair(include_str!("oidc/rsa2.txt")) };
        self.lock().keys = vec![second];
    }

    /// Is reached at this address from now on, through a proxy.
    pub fn move_to(&mut self, issuer: &str) {
        let mut state = self.state.lock().unwrap();
        issuer.clone_into(&mut state.issuer);
        issuer.clone_into(&mut state.said_issuer);
        issuer.clone_into(&mut self.issuer);
    }

    /// Publishes no key.
    pub fn without_keys(&self) {
        self.lock().keys.clear();
    }

    /// What it refused so far.
    pub fn refused(&self) -> Vec<String> {
        self.lock().refused.clone()
    }

    /// Follows the address that a page leads to: where the browser is sent back to.
    pub async fn visit(&self, address: &str) -> String {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        // Whose certificate that is, is for the daemon to say.
        let client = client.no_proxy().danger_accept_invalid_certs(true).build().unwrap();
        let reply = client.get(address).send().await.unwrap();
        assert_eq!(reply.status(), 303, "{:?}", self.refused());
        reply.headers()["location"].to_str().unwrap().to_owned()
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        self.state.lock().unwrap()
    }

    fn refuse(&self, why: &str) -> Response {
        self.lock().refused.push(why.to_owned());
        (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" }))).into_response()
    }
}

fn pair(text: &str) -> Arc<RsaKeyPair> {
    let der = STANDARD.decode(text.lines().collect::<String>()).unwrap();
    Arc::new(RsaKeyPair::from_der(&der).unwrap())
}

fn down() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "down").into_response()
}

async fn configuration(State(fake): State<FakeProvider>) -> Response {
    let state = fake.lock();
    if state.down {
        return down();
    }
    let at = &state.issuer;
    Json(json!({
        "issuer": state.said_issuer,
        "authorization_endpoint": format!("{at}/authorize"),
        "token_endpoint": format!("{at}/token"),
        "jwks_uri": format!("{at}/keys"),
        "response_types_supported": ["code"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }))
    .into_response()
}

async fn keys(State(fake): State<FakeProvider>) -> Response {
    let state = fake.lock();
    if state.down {
        return down();
    }
    let keys: Vec<Value> = state.keys.iter().map(jwk).collect();
    Json(json!({ "keys": keys })).into_response()
}

fn jwk(key: &Key) -> Value {
    let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let public: PublicKeyComponents<Vec<u8>> = key.pair.public().into();
    let (modulus, exponent) = (encoded(&public.n), encoded(&public.e));
    json!({ "kty": "RSA", "kid": key.id, "use": "sig", "alg": "RS256", "n": modulus,
        "e": exponent })
}

async fn authorize(
    State(fake): State<FakeProvider>,
    Query(asked): Query<HashMap<String, String>>,
) -> Response {
    let said = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
    // Never back to an address that is not registered.
    let back = format!("{}/sign-in", fake.lock().public);
    if said("redirect_uri") != back {
        return fake.refuse("redirect_uri");
    }
    for (name, wanted) in
        [("response_type", "code"), ("client_id", CLIENT), ("code_challenge_method", "S256")]
    {
        if said(name) != wanted {
            return fake.refuse(name);
        }
    }
    if said("code_challenge").len() != 43 || said("state").len() < 22 || said("nonce").len() < 22 {
        return fake.refuse("code_challenge, state or nonce");
    }
    if !said("scope").split(' ').any(|scope| scope == "openid") {
        return fake.refuse("scope");
    }
    let state = said("state").to_owned();
    if fake.lock().person.is_null() {
        let back = format!("{back}?error=access_denied&state={state}");
        return Redirect::to(&back).into_response();
    }
    let code = format!("code-{:032x}", rand::random::<u128>());
    fake.lock().codes.insert(code.clone(), (asked, false));
    Redirect::to(&format!("{back}?code={code}&state={state}")).into_response()
}

async fn token(
    State(fake): State<FakeProvider>,
    headers: HeaderMap,
    Form(asked): Form<HashMap<String, String>>,
) -> Response {
    let said = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
    if fake.lock().down {
        return down();
    }
    // RFC 6749, section 2.3.1: both are encoded before they are joined.
    let both = STANDARD.encode("countersign%20inbox:s%25cret%3A%20of%2Bthe%20client");
    let given = headers.get("authorization").map(|it| it.to_str().unwrap().to_owned());
    if given != Some(format!("Basic {both}")) {
        return fake.refuse("client secret");
    }
    if said("grant_type") != "authorization_code" {
        return fake.refuse("grant_type");
    }
    let found = fake.lock().codes.get(said("code")).cloned();
    let Some((begun, used)) = found else { return fake.refuse("unknown code") };
    if used {
        return fake.refuse("code used again");
    }
    fake.lock().codes.get_mut(said("code")).unwrap().1 = true;
    if begun["redirect_uri"] != said("redirect_uri") {
        return fake.refuse("redirect_uri of the code");
    }
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(said("code_verifier")));
    if said("code_verifier").len() < 43 || challenge != begun["code_challenge"] {
        return fake.refuse("code_verifier");
    }
    let state = fake.lock();
    match id_token(&state, &begun["nonce"]) {
        Some(token) => {
            Json(json!({ "access_token": "a", "token_type": "Bearer", "id_token": token }))
        }
        None => Json(json!({ "access_token": "a", "token_type": "Bearer" })),
    }
    .into_response()
}

fn id_token(state: &World, nonce: &str) -> Option<String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_secs()).unwrap();
    let key = state.keys.last().unwrap();
    let mut header = json!({ "alg": "RS256", "kid": key.id, "typ": "JWT" });
    let mut claims = json!({
        "iss": state.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce,
    });
    for (name, value) in state.person.as_object().unwrap() {
        claims[name] = value.clone();
    }
    match state.spoilt {
        Spoilt::Expired => claims["exp"] = json!(now - 120),
        Spoilt::OfTheFuture => claims["iat"] = json!(now + 600),
        Spoilt::OtherAudience => claims["aud"] = json!("another client"),
        Spoilt::TwoAudiences => claims["aud"] = json!([CLIENT, "another client"]),
        Spoilt::OtherParty => claims["azp"] = json!("another client"),
        Spoilt::OtherIssuer => claims["iss"] = json!("https://evil.example"),
        Spoilt::OtherNonce => claims["nonce"] = json!("another"),
        Spoilt::NoNonce => claims["nonce"] = Value::Null,
        Spoilt::NoAlgorithm => header["alg"] = json!("none"),
        Spoilt::SharedSecret => header["alg"] = json!("HS256"),
        Spoilt::UnknownKey => header["kid"] = json!("another"),
        Spoilt::CriticalExtension => header["crit"] = json!(["x"]),
        Spoilt::Missing => return None,
        Spoilt::Not | Spoilt::OtherKey | Spoilt::ChangedAfterwards => {}
    }
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let other = pair(include_str!("oidc/rsa2.txt"));
    let rsa = |pair: &RsaKeyPair| {
        let mut signature = vec![0; pair.public().modulus_len()];
        let random = SystemRandom::new();
        pair.sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature).unwrap();
        signature
    };
    let signature = match state.spoilt {
        Spoilt::NoAlgorithm => Vec::new(),
        Spoilt::SharedSecret => {
            let secret = hmac::Key::new(hmac::HMAC_SHA256, key.pair.public_key().as_ref());
            hmac::sign(&secret, signed.as_bytes()).as_ref().to_vec()
        }
        Spoilt::OtherKey => rsa(&other),
        _ => rsa(&key.pair),
    };
    let signed = match state.spoilt {
        Spoilt::ChangedAfterwards => {
            claims["sub"] = json!("ben");
            format!("{}.{}", part(&header), part(&claims))
        }
        _ => signed,
    };
    Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}
