//! People sign in to the inbox through their team's identity provider, and nobody else does.

use crate::{
    daemon::{Daemon, shell},
    inbox_visitor::Visitor,
    oidc_provider::{FakeProvider, PUBLIC, SECRET, Spoilt},
    tls,
};
use serde_json::{Value, json};

const TEAM: &str = "[[people]]\nname = \"Ana\"\noidc = \"ana-7\"\n\
                    [[people]]\nname = \"Ben\"\noidc = [\"ben-8\", \"ben-9\"]\n";

/// A daemon behind a proxy with this section and these people.
async fn daemon(oidc: &str, people: &str) -> Daemon {
    daemon_with("", &format!("{oidc}{people}")).await
}

/// The same with more keys of `[daemon]`.
pub async fn daemon_with(keys: &str, config: &str) -> Daemon {
    let mut daemon = started(PUBLIC, keys, config).await;
    daemon.url = daemon.inbox_here().await;
    daemon
}

/// A daemon that people reach at this address.
async fn daemon_at(public: &str, config: &str) -> Daemon {
    started(public, "", config).await
}

async fn started(public: &str, keys: &str, config: &str) -> Daemon {
    let mut daemon = Daemon::prepared("", config, &[]);
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    let mut config =
        config.replace("[daemon]\n", &format!("[daemon]\npublic_url = \"{public}\"\n{keys}"));
    if let Some(here) = public.strip_prefix("http://") {
        config = config.replace("127.0.0.1:0", here);
    }
    std::fs::write(daemon.config(), config).unwrap();
    daemon.run().await;
    daemon
}

impl Daemon {
    /// Where it listens; the printed link names the proxy.
    pub async fn inbox_here(&mut self) -> String {
        self.says("http://127.0.0.1:").await;
        let said = self.said();
        let at = said.split("http://127.0.0.1:").nth(1).unwrap();
        let port: String = at.chars().take_while(char::is_ascii_digit).collect();
        format!("http://127.0.0.1:{port}")
    }
}

/// A browser at the page under its public name.
#[derive(Default)]
pub struct Browser {
    pub cookies: Vec<String>,
    /// What the page keeps in its tab.
    begun: String,
}

impl Browser {
    /// Sends a request as the page does; what the person is told of a refusal.
    pub async fn post(
        &mut self,
        daemon: &Daemon,
        path: &str,
        body: &Value,
    ) -> Result<Value, String> {
        let request = daemon.http.post(format!("{}{path}", daemon.url)).json(body);
        let request = request.header("host", "approve.example").header("origin", PUBLIC);
        let reply = request.header("cookie", self.cookies.join("; ")).send().await.unwrap();
        for cookie in reply.headers().get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            for part in ["HttpOnly", "SameSite=Strict", "Secure"] {
                assert!(cookie.contains(part), "{cookie}");
            }
            self.cookies.push(cookie.split(';').next().unwrap().to_owned());
        }
        let ok = reply.status() == 200;
        let body: Value = reply.json().await.unwrap();
        if ok { Ok(body) } else { Err(body["error"].as_str().unwrap().to_owned()) }
    }

    async fn begin(&mut self, daemon: &Daemon) -> Result<String, String> {
        let begun = self.post(daemon, "/inbox/oidc/begin", &json!({})).await?;
        begun["browser"].as_str().unwrap().clone_into(&mut self.begun);
        Ok(begun["to"].as_str().unwrap().to_owned())
    }

    /// Goes to the provider and back: what it brings.
    async fn at_the_provider(&mut self, daemon: &Daemon, idp: &FakeProvider) -> Value {
        let to = self.begin(daemon).await.unwrap();
        brought(&idp.visit(&to).await)
    }

    /// Begins at a page under this address: where the browser goes.
    async fn begin_at(&mut self, daemon: &Daemon, public: &str) -> String {
        let request =
            daemon.http.post(format!("{public}/inbox/oidc/begin")).header("origin", public);
        let begun: Value = request.send().await.unwrap().json().await.unwrap();
        begun["to"].as_str().unwrap().to_owned()
    }

    async fn finish(&mut self, daemon: &Daemon, brought: &Value) -> Result<Visitor, String> {
        let mut brought = brought.clone();
        brought["browser"] = json!(self.begun);
        let told = self.post(daemon, "/inbox/oidc/finish", &brought).await?;
        Ok(self.entered(daemon, &told))
    }

    /// The visitor that it becomes by what it was told when it was let in.
    pub fn entered(&self, daemon: &Daemon, told: &Value) -> Visitor {
        let entrance = told["entrance"].as_str().unwrap();
        let key = entrance.split_once("#key=").unwrap().1.to_owned();
        let person = self.cookies.iter().rfind(|cookie| cookie.contains("-person="));
        Visitor::with(&daemon.url, person.unwrap(), &key)
    }

    pub async fn sign_in(
        &mut self,
        daemon: &Daemon,
        idp: &FakeProvider,
    ) -> Result<Visitor, String> {
        let brought = self.at_the_provider(daemon, idp).await;
        self.finish(daemon, &brought).await
    }
}

/// What the page takes from the address that it was led back to.
fn brought(address: &str) -> Value {
    let url = reqwest::Url::parse(address).unwrap();
    assert_eq!(url.origin().ascii_serialization() + url.path(), format!("{PUBLIC}/sign-in"));
    url.query_pairs().map(|(name, value)| (name.into_owned(), json!(value))).collect::<Value>()
}

fn open(card: &Value) -> bool {
    card["card"]["tone"] == "open"
}

const INVALID: &str = "The reply of 127.0.0.1 is not valid. Sign in again.";
const AWAY: &str = "127.0.0.1 cannot be asked just now. Try again in a moment.";

#[tokio::test]
async fn a_person_of_the_team_signs_in_answers_under_their_name_and_is_cut_off_by_a_reload() {
    let idp = FakeProvider::start().await;
    let daemon = daemon(&idp.settings(), TEAM).await;
    idp.sign_in(json!({"sub": "ana-7", "name": "Ben"}));
    let ana = Browser::default().sign_in(&daemon, &idp).await.unwrap();
    let waiting = daemon.waiting(shell("git push origin main"));
    let mut board = ana.follow().await;
    let card = board.card(open).await;
    assert_eq!(ana.press_label(&card, "Approve", None).await, "Approved once.");
    assert_eq!(waiting.await.unwrap()["reason"], "approved by Ana");
    let output = daemon.command(&["log", "--kind", "signed_in", "--format", "jsonl"]).output();
    let log = String::from_utf8(output.await.unwrap().stdout).unwrap();
    let row: Value = serde_json::from_str(log.trim()).unwrap();
    let by = json!({"kind": "person", "platform": "inbox", "id": "oidc:ana-7", "name": "Ana"});
    assert_eq!(row["data"]["by"], by);
    // Both ids of one person are that person.
    idp.sign_in(json!({"sub": "ben-9"}));
    let ben = Browser::default().sign_in(&daemon, &idp).await.unwrap();
    assert_eq!(ben.api(reqwest::Method::GET, "/inbox/me").await.1, json!({"name": "Ben"}));
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    std::fs::write(daemon.config(), config.replace("ana-7", "somebody else")).unwrap();
    assert!(daemon.command(&["reload"]).output().await.unwrap().status.success());
    while board.next().await.is_some() {}
    assert!(ana.proof("GET", "/inbox/me", "").await.is_err(), "there is no such sign-in");
    assert_eq!(ben.api(reqwest::Method::GET, "/inbox/me").await.1, json!({"name": "Ben"}));
    // Another provider is one for the next start.
    std::fs::write(daemon.config(), config.replace("[oidc]\n", "[oidc]\nsession = \"1h\"\n"))
        .unwrap();
    let told = daemon.command(&["reload"]).output().await.unwrap().stdout;
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains("Restart the daemon for: oidc."), "{told}");
    assert_eq!(idp.refused(), [""; 0]);
    assert!(!daemon.said().contains("code-"), "no code is logged: {}", daemon.said());
}

#[tokio::test]
async fn no_token_that_is_not_wholly_right_lets_anybody_in() {
    let idp = FakeProvider::start().await;
    let daemon = daemon(&idp.settings(), TEAM).await;
    idp.sign_in(json!({"sub": "ana-7"}));
    for spoilt in [
        Spoilt::Expired,
        Spoilt::OfTheFuture,
        Spoilt::OtherAudience,
        Spoilt::TwoAudiences,
        Spoilt::OtherParty,
        Spoilt::OtherIssuer,
        Spoilt::OtherNonce,
        Spoilt::NoNonce,
        Spoilt::NoAlgorithm,
        Spoilt::SharedSecret,
        Spoilt::OtherKey,
        Spoilt::UnknownKey,
        Spoilt::CriticalExtension,
        Spoilt::ChangedAfterwards,
        Spoilt::Missing,
    ] {
        idp.spoil(spoilt);
        let mut browser = Browser::default();
        let told = browser.sign_in(&daemon, &idp).await.err();
        assert_eq!(told.as_deref(), Some(INVALID), "{spoilt:?}");
        assert!(!browser.cookies.iter().any(|it| it.contains("-person")), "{spoilt:?}");
    }
    idp.spoil(Spoilt::Not);
    assert!(Browser::default().sign_in(&daemon, &idp).await.is_ok());
    let output = daemon.command(&["log", "--kind", "signed_in", "--format", "jsonl"]).output();
    let log = String::from_utf8(output.await.unwrap().stdout).unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
}

#[tokio::test]
async fn a_sign_in_is_finished_once_and_only_by_the_browser_that_began_it() {
    let idp = FakeProvider::start().await;
    let daemon = daemon(&idp.settings(), TEAM).await;
    idp.sign_in(json!({"sub": "ana-7"}));
    let mut ana = Browser::default();
    let brought = ana.at_the_provider(&daemon, &idp).await;
    assert!(ana.finish(&daemon, &brought).await.is_ok());
    // The same once more, and what a stranger has seen of it.
    assert_eq!(ana.finish(&daemon, &brought).await.err().as_deref(), Some(INVALID));
    let refused = Browser::default().finish(&daemon, &brought).await.err();
    assert_eq!(refused.as_deref(), Some(INVALID));
    // Login CSRF: somebody has Ana's browser finish what they began.
    idp.sign_in(json!({"sub": "ben-8"}));
    let theirs = Browser::default().at_the_provider(&daemon, &idp).await;
    let mut victim = Browser::default();
    victim.begin(&daemon).await.unwrap();
    assert_eq!(victim.finish(&daemon, &theirs).await.err().as_deref(), Some(INVALID));
    // A code of another sign-in under one's own state fails at the provider (PKCE).
    let stolen = Browser::default().at_the_provider(&daemon, &idp).await;
    let mut thief = Browser::default();
    let mut own = thief.at_the_provider(&daemon, &idp).await;
    own["code"] = stolen["code"].clone();
    assert_eq!(thief.finish(&daemon, &own).await.err().as_deref(), Some(INVALID));
    assert_eq!(idp.refused(), ["code_verifier"]);
    // Another state, none, and an answer that names another issuer.
    let mut browser = Browser::default();
    for (name, value) in [("state", "x"), ("state", ""), ("iss", "https://evil.example")] {
        let mut brought = browser.at_the_provider(&daemon, &idp).await;
        brought[name] = json!(value);
        assert_eq!(
            browser.finish(&daemon, &brought).await.err().as_deref(),
            Some(INVALID),
            "{name}"
        );
    }
    // No other site begins or finishes one.
    for path in ["/inbox/oidc/begin", "/inbox/oidc/finish"] {
        for origin in ["https://evil.example", "null", "https://x.approve.example"] {
            let request = daemon.http.post(format!("{}{path}", daemon.url)).json(&json!({}));
            let request = request.header("host", "approve.example").header("origin", origin);
            assert_eq!(request.send().await.unwrap().status(), 403, "{path} {origin}");
        }
    }
}

#[tokio::test]
async fn who_is_nobody_here_is_told_their_id_and_not_let_in() {
    let idp = FakeProvider::start().await;
    let daemon = daemon(&idp.settings(), TEAM).await;
    idp.sign_in(json!({"sub": "eve-1", "name": "Ana", "email": "ana-7", "email_verified": true}));
    let told = Browser::default().sign_in(&daemon, &idp).await.err().unwrap();
    let wanted = "127.0.0.1 knows you as eve-1, which is unknown here. Ask the operator to add \
                  `oidc = \"eve-1\"` to your entry of [[people]].";
    assert_eq!(told, wanted);
    for claims in [json!({"sub": ""}), json!({"sub": 7}), json!({}), json!({"sub": "ana-7\n"})] {
        idp.sign_in(claims.clone());
        assert!(Browser::default().sign_in(&daemon, &idp).await.is_err(), "{claims}");
    }
    // Who says no at the provider comes back without a code.
    idp.sign_in(Value::Null);
    let back = Browser::default().at_the_provider(&daemon, &idp).await;
    assert_eq!(back["error"], "access_denied");
}

#[tokio::test]
async fn a_mail_address_names_somebody_only_where_the_provider_has_verified_it() {
    let idp = FakeProvider::start().await;
    let oidc = format!("{}claim = \"email\"\ngroup = \"approvers\"\n", idp.settings());
    let daemon = daemon(&oidc, "[[people]]\nname = \"Ana\"\noidc = \"Ana@Example.org\"\n").await;
    let unverified = "Your mail address is not verified there, so it cannot sign you in.";
    let outside = "Your account is not in the group that may sign in here.";
    let with = |verified: Value, groups: Value| json!({"sub": "1", "email": "ana@example.org", "email_verified": verified, "groups": groups});
    let group = || json!(["x", "approvers"]);
    for (claims, told) in [
        (with(json!(false), group()), unverified),
        (with(Value::Null, group()), unverified),
        (with(json!("true"), group()), unverified),
        (with(json!(true), json!(["x"])), outside),
        (with(json!(true), json!("approvers")), outside),
        (with(json!(true), Value::Null), outside),
    ] {
        idp.sign_in(claims.clone());
        let refused = Browser::default().sign_in(&daemon, &idp).await.err();
        assert_eq!(refused.as_deref(), Some(told), "{claims}");
    }
    idp.sign_in(with(json!(true), group()));
    let ana = Browser::default().sign_in(&daemon, &idp).await.unwrap();
    assert_eq!(ana.api(reqwest::Method::GET, "/inbox/me").await.1, json!({"name": "Ana"}));
}

#[tokio::test]
async fn keys_that_change_count_at_once_and_a_provider_that_is_away_lets_nobody_in() {
    let idp = FakeProvider::start().await;
    let daemon = daemon(&idp.settings(), TEAM).await;
    idp.sign_in(json!({"sub": "ana-7"}));
    idp.down(true);
    assert_eq!(Browser::default().begin(&daemon).await.err().as_deref(), Some(AWAY));
    idp.down(false);
    idp.call_itself("https://evil.example");
    assert_eq!(Browser::default().begin(&daemon).await.err().as_deref(), Some(AWAY));
    idp.call_itself(&idp.issuer);
    assert!(Browser::default().sign_in(&daemon, &idp).await.is_ok());
    let mut browser = Browser::default();
    let brought = browser.at_the_provider(&daemon, &idp).await;
    idp.rotate();
    assert!(browser.finish(&daemon, &brought).await.is_ok(), "the new key");
    let brought = browser.at_the_provider(&daemon, &idp).await;
    idp.down(true);
    assert!(browser.finish(&daemon, &brought).await.is_err());
    idp.down(false);
    assert!(browser.finish(&daemon, &brought).await.is_err(), "it was used up");
}

/// What `doctor` says of the provider: its state and its words.
async fn examined(daemon: &Daemon) -> (String, String) {
    let output = daemon.command(&["doctor", "--json"]).output().await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.contains(SECRET) && !said.contains("s%25cret"), "{said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    let checks = said["checks"].as_array().unwrap();
    let found = checks.iter().find(|it| it["check"] == "oidc").unwrap();
    let text = |name: &str| found[name].as_str().unwrap().to_owned();
    (text("state"), text("says"))
}

#[tokio::test]
async fn doctor_says_whether_the_provider_answers_as_its_issuer_with_keys() {
    let idp = FakeProvider::start().await;
    let daemon = daemon(&idp.settings(), TEAM).await;
    let issuer = &idp.issuer;
    let good = ("ok".to_owned(), format!("{issuer} answers, and signs with 1 key"));
    assert_eq!(examined(&daemon).await, good);
    let bad =
        |why: &str| ("warn".to_owned(), format!("{issuer}: {why}. Nobody signs in through it"));
    idp.call_itself("https://evil.example");
    let other = bad(&format!("it calls itself https://evil.example, the config {issuer}"));
    assert_eq!(examined(&daemon).await, other);
    idp.call_itself(issuer);
    idp.without_keys();
    assert_eq!(examined(&daemon).await, bad("it has no key of a kind that is accepted"));
    idp.down(true);
    let down = bad("asked for its configuration: 503 Service Unavailable ");
    assert_eq!(examined(&daemon).await, down);
}

#[tokio::test]
async fn a_provider_of_a_private_authority_is_believed_with_its_certificate_alone() {
    let mut idp = FakeProvider::start().await;
    let at = idp.issuer.trim_start_matches("http://").split('/').next().unwrap().parse().unwrap();
    let proxy = tls::in_front_of(at).await;
    idp.move_to(&format!("https://{proxy}/realm"));
    idp.sign_in(json!({"sub": "ana-7"}));
    let stranger = daemon(&idp.settings(), TEAM).await;
    assert_eq!(Browser::default().begin(&stranger).await.err().as_deref(), Some(AWAY));
    let (state, says) = examined(&stranger).await;
    assert!(state == "warn" && says.contains("invalid peer certificate: UnknownIssuer"), "{says}");
    let with = |file: &str| format!("{}ca_file = \"{file}\"\n", idp.settings());
    let known = daemon(&with(&tls::authority().display().to_string()), TEAM).await;
    let ana = Browser::default().sign_in(&known, &idp).await.unwrap();
    assert_eq!(ana.api(reqwest::Method::GET, "/inbox/me").await.1, json!({"name": "Ana"}));
    assert_eq!(examined(&known).await.0, "ok");
    // Without the file nobody comes in, and others still do in their ways.
    let mut missing = daemon(&with("missing.pem"), TEAM).await;
    let (state, says) = examined(&missing).await;
    assert!(state == "warn" && says.contains("[oidc] ca_file"), "{says}");
    missing.says("no sign-in by OIDC").await;
    let off = "Nobody signs in through an identity provider here ([oidc] in the config).";
    assert_eq!(Browser::default().begin(&missing).await.err().as_deref(), Some(off));
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_browser_the_door_leads_to_the_provider_and_back_to_the_requests() {
    let Some(browser) = crate::browser::Browser::start().await else { return };
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let public = format!("http://127.0.0.1:{port}");
    let idp = FakeProvider::start_for(&public).await;
    let daemon = daemon_at(&public, &format!("{}{TEAM}", idp.settings())).await;
    let id = daemon.ask(&shell("git push origin main")).await;
    // Who says no there can try again.
    let page = browser.open(&public).await;
    page.until("!document.querySelector('#provider').hidden").await;
    page.click("#provider a").await;
    page.until("document.querySelector('#go') && !document.querySelector('#go').hidden").await;
    page.click("#go").await;
    let refused = "127.0.0.1 did not sign you in (access_denied).";
    page.until(&format!("document.querySelector('#said')?.innerText === '{refused}'")).await;
    assert_eq!(page.eval("location.href").await, format!("{public}/sign-in"));
    idp.sign_in(json!({"sub": "eve"}));
    page.click("#go").await;
    page.until("document.querySelector('#said')?.innerText.includes('knows you as eve')").await;
    idp.sign_in(json!({"sub": "ana-7"}));
    page.until("!document.querySelector('#go').hidden").await;
    page.click("#go").await;
    page.until("document.querySelector('#line')?.dataset.state === 'live'").await;
    page.until("!document.querySelector('#me').hidden").await;
    assert_eq!(page.eval("document.querySelector('#me bdi').innerText").await, "Ana");
    assert_eq!(page.eval("document.cookie").await, "", "no script sees the cookie");
    page.until("document.querySelector('[data-slot=Approve]')").await;
    page.until("!document.querySelector('.settling, [aria-busy=true]')").await;
    page.click("[data-slot=Approve]").await;
    assert_eq!(daemon.closed(&id).await["reason"], "approved by Ana");
    // An address that somebody else made signs nobody in.
    idp.sign_in(json!({"sub": "ben-8"}));
    let mut theirs = Browser::default();
    let to = theirs.begin_at(&daemon, &public).await;
    let planted = idp.visit(&to).await;
    let victim = browser.open(&planted).await;
    victim.until("document.querySelector('#said').innerText.includes('is not valid')").await;
    assert_eq!(idp.refused(), [""; 0]);
}
