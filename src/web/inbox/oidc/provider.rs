//! What an identity provider is asked over HTTP.

use crate::inbox::{PublicUrl, oidc::OidcSettings};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use countersign_tokens::secret::Secret;
use reqwest::{Certificate, Client, RequestBuilder, Url, redirect};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;
use std::{error::Error, fs, net::IpAddr, time::Duration};

const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer, in bytes.
const LONGEST: usize = 256 * 1024;

/// One identity provider.
pub(super) struct Provider {
    client: Client,
    pub(super) config: OidcSettings,
    /// Where it sends browsers back to, exactly as it is registered there.
    pub(super) redirect_uri: String,
}

/// Where a provider is asked what (OpenID Connect Discovery 1.0).
#[derive(Clone)]
pub(super) struct Endpoints {
    pub(super) authorization: Url,
    token: Url,
    keys: Url,
    /// The secret goes into the body, because the provider takes it nowhere else.
    secret_in_body: bool,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

/// A sentence for the log.
pub(super) type ProviderTrouble = String;

impl Provider {
    /// Fails if this system has no TLS, or the certificate authority cannot be read.
    pub(super) fn new(config: OidcSettings, public: &PublicUrl) -> Result<Self, ProviderTrouble> {
        // SECURITY: what a provider answers leads to no other address.
        let mut client = Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none());
        if let Some(file) = &config.ca_file {
            let named = |why: &str| format!("[oidc] ca_file {}: {why}", file.display());
            let pem = fs::read(file).map_err(|error| named(&error.to_string()))?;
            let authority =
                Certificate::from_pem(&pem).map_err(|_| named("this is not a PEM certificate"))?;
            client = client.add_root_certificate(authority);
        }
        let client = client.build().map_err(|error| error.to_string())?;
        Ok(Self { client, config, redirect_uri: format!("{}/sign-in", public.origin) })
    }

    /// Reads where what is asked.
    pub(super) async fn discover(&self) -> Result<Endpoints, ProviderTrouble> {
        let issuer = &self.config.issuer;
        let at = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let found = self.answer("its configuration", self.client.get(at)).await?;
        let found = Metadata::deserialize(found)
            .map_err(|error| format!("its configuration is not whole: {error}"))?;
        // SECURITY: section 4.3 there: else another provider could speak for this one.
        if found.issuer != *issuer {
            return Err(format!("it calls itself {}, the config {issuer}", found.issuer));
        }
        let secure = |what, text: &str| {
            let url = Url::parse(text).ok().filter(|url| is_secure(url, issuer));
            url.ok_or_else(|| format!("its {what} is not an https address"))
        };
        let methods = &found.token_endpoint_auth_methods_supported;
        let takes = |method: &str| methods.iter().any(|it| it == method);
        Ok(Endpoints {
            authorization: secure("authorization_endpoint", &found.authorization_endpoint)?,
            token: secure("token_endpoint", &found.token_endpoint)?,
            keys: secure("jwks_uri", &found.jwks_uri)?,
            secret_in_body: takes("client_secret_post") && !takes("client_secret_basic"),
        })
    }

    /// Its keys as they are now. They are read for every sign-in, so a key that was replaced or
    /// withdrawn counts at once.
    pub(super) async fn keys(
        &self,
        endpoints: &Endpoints,
    ) -> Result<ProviderKeys, ProviderTrouble> {
        let set = self.answer("its keys", self.client.get(endpoints.keys.clone())).await?;
        ProviderKeys::read(&set).ok_or_else(|| "its keys are not a key set".to_owned())
    }

    /// The ID token for a code.
    pub(super) async fn exchange(
        &self,
        endpoints: &Endpoints,
        code: &str,
        verifier: &str,
    ) -> Result<String, ProviderTrouble> {
        let OidcSettings { client_id, client_secret, .. } = &self.config;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &*self.redirect_uri),
            ("code_verifier", verifier),
        ];
        let mut request = self.client.post(endpoints.token.clone());
        match client_secret.as_ref().map(Secret::reveal) {
            Some(secret) if endpoints.secret_in_body => {
                form.extend([("client_id", &**client_id), ("client_secret", secret)]);
            }
            // RFC 6749, section 2.3.1: both are form-encoded first.
            Some(secret) => {
                let both = format!("{}:{}", encoded(client_id), encoded(secret));
                let both = format!("Basic {}", STANDARD.encode(both));
                request = request.header("authorization", both);
            }
            None => form.push(("client_id", client_id)),
        }
        let answer = self.answer("a code", request.form(&form)).await?;
        let token = answer.get("id_token").and_then(Value::as_str);
        token.map(str::to_owned).ok_or_else(|| "it gave no ID token".to_owned())
    }

    /// The JSON of an answer.
    // SECURITY: neither an address nor a body is logged; both may hold a code.
    async fn answer(&self, what: &str, request: RequestBuilder) -> Result<Value, ProviderTrouble> {
        let failed = |error: reqwest::Error| format!("asked for {what}: {}", cause(error));
        let request = request.header("accept", "application/json");
        let mut reply = request.send().await.map_err(failed)?;
        let status = reply.status();
        let mut body = Vec::new();
        while let Some(part) = reply.chunk().await.map_err(failed)? {
            body.extend_from_slice(&part);
            if body.len() > LONGEST {
                return Err(format!("asked for {what}: its answer is too long"));
            }
        }
        let body: Option<Value> = serde_json::from_slice(&body).ok();
        if !status.is_success() {
            let code = body.as_ref().and_then(|body| body.get("error")?.as_str());
            let code =
                code.filter(|code| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            return Err(format!("asked for {what}: {status} {}", code.unwrap_or_default()));
        }
        body.ok_or_else(|| format!("asked for {what}: its answer is not valid JSON"))
    }
}

/// Whether nobody on the way can read what is asked there: plain http stays on this machine, and
/// only where the config says so.
fn is_secure(url: &Url, issuer: &str) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let here = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    url.scheme() == "https" || url.scheme() == "http" && here && issuer.starts_with("http:")
}

/// An error with what lies behind it, such as a certificate that nobody here knows.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut all = error.to_string();
    let mut next = error.source();
    while let Some(behind) = next {
        let behind_says = behind.to_string();
        if !all.contains(&behind_says) {
            all = format!("{all}: {behind_says}");
        }
        next = behind.source();
    }
    all
}

fn encoded(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._*".contains(&b);
    let one = |b: u8| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") };
    text.bytes().map(one).collect()
}

// The public keys of an identity provider (RFC 7517), and the signatures that they verify.

/// A way of signing that is taken.
// SECURITY: `none` is not among them, nor is any with a shared secret, where a provider's public
// key could be used as that secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    EdDsa,
}

/// All keys of a provider.
pub(super) struct ProviderKeys(Vec<Jwk>);

/// One key. Members that are not known are allowed, as the RFC says.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Algorithm {
    const ALL: [Self; 4] = [Self::Rs256, Self::Ps256, Self::Es256, Self::EdDsa];

    /// By its name in a token.
    pub(super) fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

impl ProviderKeys {
    /// Reads a provider's set. ProviderKeys of kinds that are not known here are left out.
    pub(super) fn read(set: &Value) -> Option<Self> {
        let keys = set.get("keys")?.as_array()?;
        Some(Self(keys.iter().filter_map(|key| Jwk::deserialize(key).ok()).collect()))
    }

    /// How many of them may sign a token.
    pub(super) fn usable(&self) -> usize {
        self.0.iter().filter(|key| Algorithm::ALL.iter().any(|it| key.is_for(*it))).count()
    }

    /// Whether one of the keys that a token may mean has signed this.
    // FAIL-CLOSED: a token that names its key is verified with that key alone.
    pub(super) fn verify(
        &self,
        (algorithm, kid): (Algorithm, Option<&str>),
        signed: &[u8],
        signature: &[u8],
    ) -> Result<(), &'static str> {
        let mut fitting = self.0.iter().filter(|key| {
            key.is_for(algorithm) && kid.is_none_or(|kid| key.kid.as_deref() == Some(kid))
        });
        let key = fitting.next().ok_or("its provider has no such key")?;
        if fitting.next().is_some() {
            return Err("its provider has several keys that it may mean");
        }
        key.verify(algorithm, signed, signature).ok_or("its signature is wrong")
    }
}

impl Jwk {
    // SECURITY: a key is used for the algorithm of its own kind, whatever a token says.
    fn is_for(&self, algorithm: Algorithm) -> bool {
        let kind = match algorithm {
            Algorithm::Rs256 | Algorithm::Ps256 => self.kty == "RSA",
            Algorithm::Es256 => self.kty == "EC" && self.crv.as_deref() == Some("P-256"),
            Algorithm::EdDsa => self.kty == "OKP" && self.crv.as_deref() == Some("Ed25519"),
        };
        kind && self.usage.as_deref().is_none_or(|usage| usage == "sig")
            && self.alg.as_deref().is_none_or(|alg| alg == algorithm.name())
    }

    fn verify(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> Option<()> {
        match algorithm {
            Algorithm::Rs256 => self.rsa(&RSA_PKCS1_2048_8192_SHA256, signed, signature),
            Algorithm::Ps256 => self.rsa(&RSA_PSS_2048_8192_SHA256, signed, signature),
            Algorithm::Es256 => {
                let point = [vec![4], bytes(&self.x)?, bytes(&self.y)?].concat();
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(signed, signature).ok()
            }
            Algorithm::EdDsa => {
                let key = UnparsedPublicKey::new(&ED25519, bytes(&self.x)?);
                key.verify(signed, signature).ok()
            }
        }
    }

    fn rsa(&self, form: &RsaParameters, signed: &[u8], signature: &[u8]) -> Option<()> {
        let n = bytes(&self.n)?;
        let e = bytes(&self.e)?;
        RsaPublicKeyComponents { n, e }.verify(form, signed, signature).ok()
    }
}

fn bytes(text: &Option<String>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.as_deref()?).ok()
}
