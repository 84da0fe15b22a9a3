//! What an identity provider is asked over HTTP.

use super::{config::OidcConfig, keys::ProviderKeys};
use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::{Certificate, Client, RequestBuilder, Url, redirect};
use serde::Deserialize;
use serde_json::Value;
use std::{error::Error, fs, net::IpAddr, time::Duration};

const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer, in bytes.
const LONGEST: usize = 256 * 1024;

/// One identity provider.
pub(super) struct Provider {
    client: Client,
    config: OidcConfig,
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
    pub(super) fn new(config: OidcConfig) -> Result<Self, ProviderTrouble> {
        // SECURITY: what a provider answers leads to no other address.
        let mut client = Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none());
        if let Some(file) = &config.ca_file {
            let named = |why: &str| format!("[oidc] ca_file {}: {why}", file.display());
            let pem = fs::read(file).map_err(|error| named(&error.to_string()))?;
            let authority = Certificate::from_pem(&pem)
                .map_err(|_| named("this is no certificate in PEM form"))?;
            client = client.add_root_certificate(authority);
        }
        let client = client.build().map_err(|error| error.to_string())?;
        Ok(Self { client, config })
    }

    pub(super) fn config(&self) -> &OidcConfig {
        &self.config
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
            url.ok_or_else(|| format!("its {what} is no https address"))
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
        ProviderKeys::read(&set).ok_or_else(|| "its keys are no key set".to_owned())
    }

    /// The ID token for a code.
    pub(super) async fn exchange(
        &self,
        endpoints: &Endpoints,
        code: &str,
        verifier: &str,
    ) -> Result<String, ProviderTrouble> {
        let OidcConfig { client_id, client_secret, redirect_uri, .. } = &self.config;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
        ];
        let mut request = self.client.post(endpoints.token.clone());
        match client_secret {
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
        body.ok_or_else(|| format!("asked for {what}: its answer is no JSON"))
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
