//! A person at the inbox without a browser: opens the printed URL, reads the stream, presses
//! buttons.

use serde_json::{Value, json};
use std::time::Duration;

/// The timeout for a card to appear or change.
const PATIENCE: Duration = Duration::from_secs(15);

/// A person who has opened the inbox.
pub struct Visitor {
    /// Scheme, host and port.
    pub base: String,
    /// The cookie that a browser would send, `name=value`.
    pub cookie: String,
    /// The key that the page keeps for its own requests.
    pub key: String,
    /// The origin of the page, where that is not `base`: behind a proxy.
    pub origin: Option<String>,
    client: reqwest::Client,
}

#[allow(dead_code, reason = "not every test uses every hand")]
impl Visitor {
    /// Opens the URL that `countersign serve` prints, `http://…/?token=…`.
    pub async fn enter(address: &str) -> Self {
        Self::try_enter(address).await.unwrap()
    }

    /// The same, for a daemon that may be stopped or replaced.
    pub async fn try_enter(address: &str) -> Result<Self, reqwest::Error> {
        // Without redirects, because the key is in the fragment of the `Location` header.
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()?;
        let entered = client.get(address).send().await?.error_for_status()?;
        assert_eq!(entered.status(), 303, "the address lets in");
        let header = |name: &str| entered.headers()[name].to_str().unwrap().to_owned();
        let cookie = header("set-cookie").split(';').next().unwrap().to_owned();
        let key = header("location").split_once("#key=").unwrap().1.to_owned();
        let base = address.split("/?").next().unwrap().trim_end_matches('/').to_owned();
        Ok(Self { base, cookie, key, origin: None, client })
    }

    /// With the cookie and the key of somebody who has signed in.
    pub fn with(base: &str, cookie: &str, key: &str) -> Self {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let [base, cookie, key] = [base, cookie, key].map(str::to_owned);
        Self { base, cookie, key, origin: None, client }
    }

    /// The same at a page with this origin.
    pub fn at(self, origin: &str) -> Self {
        Self { origin: Some(origin.to_owned()), ..self }
    }

    /// Signs in with the link that the bot sent, `http://…/sign-in#CODE`; the sentence of a refusal.
    pub async fn sign_in(link: &str) -> Result<Self, String> {
        let (base, code) = link.split_once("/sign-in#").unwrap();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.post(format!("{base}/inbox/sign-in")).header("origin", base);
        let reply = request.json(&json!({ "code": code })).send().await.unwrap();
        let cookie = reply.headers().get("set-cookie").map(|it| it.to_str().unwrap().to_owned());
        let said: Value = reply.json().await.unwrap();
        let Some(cookie) = cookie else { return Err(said["error"].as_str().unwrap().to_owned()) };
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let key = said["entrance"].as_str().unwrap().split_once("#key=").unwrap().1.to_owned();
        Ok(Self { base: base.to_owned(), cookie, key, origin: None, client })
    }

    /// Sends a hello as the page does, and makes the proof of the next request. A server without
    /// the key fails it.
    pub async fn proof(
        &self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<Proof, reqwest::Error> {
        let nonce = format!("{:032x}", rand::random::<u128>());
        // The key of a sign-in begins with the name of that sign-in.
        let session = self.key.split_once('.').map(|(id, _)| format!("&session={id}"));
        let session = session.unwrap_or_default();
        let hello = self.client.get(format!("{}/inbox/hello?nonce={nonce}{session}", self.base));
        let said: Value = hello.send().await?.error_for_status()?.json().await?;
        let challenge = said["challenge"].as_str().unwrap().to_owned();
        let real = said["proof"] == proof_of(&self.key, &["daemon", &nonce, &challenge]);
        let proof = proof_of(&self.key, &["page", &challenge, method, path, body]);
        Ok(Proof { real, header: format!("{challenge}.{proof}"), challenge })
    }

    /// Follows the board from now on.
    pub async fn follow(&self) -> Feed {
        self.try_follow().await.unwrap()
    }

    /// The same, for a daemon that may be stopped.
    pub async fn try_follow(&self) -> Result<Feed, reqwest::Error> {
        let proof = self.proof("GET", "/inbox/events", "").await?;
        let request = self.client.get(format!("{}/inbox/events", self.base));
        let request = request.header("cookie", &self.cookie);
        let response = request.header("x-countersign-inbox", &proof.header).send().await?;
        let response = response.error_for_status()?;
        assert_eq!(response.status(), 200);
        assert!(proof.real, "the page that shows the board has proved itself");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let (key, challenge) = (self.key.clone(), proof.challenge);
        let (rest, cards) = (vec![], vec![]);
        Ok(Feed { response, rest, cards, partial: false, key, challenge, number: 0 })
    }

    /// Sends a press; returns status and body.
    pub async fn press(&self, card: &str, token: &str, text: Option<&str>) -> (u16, Value) {
        self.try_press(card, token, text).await.unwrap()
    }

    /// The same, for a daemon that may be stopped.
    pub async fn try_press(
        &self,
        card: &str,
        token: &str,
        text: Option<&str>,
    ) -> Result<(u16, Value), reqwest::Error> {
        let mut body = json!({ "card": card, "token": token });
        if let Some(text) = text {
            body["text"] = json!(text);
        }
        let body = body.to_string();
        let response = self.post(&body).await?.send().await?;
        Ok((response.status().as_u16(), response.json().await?))
    }

    /// Presses the button with this label of a card; returns what the person reads.
    pub async fn press_label(&self, card: &Value, label: &str, text: Option<&str>) -> String {
        let rows = card["card"]["buttons"].as_array().unwrap().iter();
        let more = card["card"]["more"].as_array().into_iter().flatten();
        let mut buttons = rows.flat_map(|row| row.as_array().unwrap()).chain(more);
        let button = buttons.find(|button| is_labelled(button["label"].as_str().unwrap(), label));
        let button = button.unwrap_or_else(|| panic!("no button `{label}` on {card}"));
        let (id, token) = (card["card"]["id"].as_str().unwrap(), button["token"].as_str().unwrap());
        let (_, answer) = self.press(id, token, text).await;
        answer["sentence"].as_str().or(answer["error"].as_str()).unwrap().to_owned()
    }

    /// Gives a command, such as `pause`; what the person is told.
    pub async fn command(&self, name: &str) -> String {
        let body = json!({ "name": name }).to_string();
        let request = self.post_to("/inbox/command", &body).await.unwrap();
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        answer["sentence"].as_str().or(answer["error"].as_str()).unwrap().to_owned()
    }

    /// Sends a request of one of the page's own routes; returns status and body.
    pub async fn api(&self, method: reqwest::Method, path: &str) -> (u16, Value) {
        let proof = self.proof(method.as_str(), path, "").await.unwrap();
        self.api_with(method, path, &proof.header).await
    }

    /// The same with this proof.
    pub async fn api_with(&self, method: reqwest::Method, path: &str, proof: &str) -> (u16, Value) {
        let request = self.client.request(method, format!("{}{path}", self.base));
        let request = request.header("cookie", &self.cookie).header("origin", self.origin());
        let response = request.header("x-countersign-inbox", proof).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap_or(Value::Null))
    }

    /// A press as the page sends it.
    pub async fn post(&self, body: &str) -> Result<reqwest::RequestBuilder, reqwest::Error> {
        self.post_to("/inbox/press", body).await
    }

    /// Sends something else to the page's routes; status and body.
    pub async fn send(&self, path: &str, body: &str) -> (u16, Value) {
        let response = self.post_to(path, body).await.unwrap().send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    fn origin(&self) -> &str {
        self.origin.as_deref().unwrap_or(&self.base)
    }

    async fn post_to(
        &self,
        path: &str,
        body: &str,
    ) -> Result<reqwest::RequestBuilder, reqwest::Error> {
        let proof = self.proof("POST", path, body).await?;
        let request = self
            .client
            .post(format!("{}{path}", self.base))
            .header("cookie", &self.cookie)
            .header("x-countersign-inbox", proof.header)
            .header("origin", self.origin())
            .header("content-type", "application/json");
        Ok(request.body(body.to_owned()))
    }
}

/// The proof of the next request.
pub struct Proof {
    /// Whether the daemon proved that it has the key.
    pub real: bool,
    pub header: String,
    challenge: String,
}

/// The proof over some lines, as the page's script computes it.
pub fn proof_of(key: &str, lines: &[&str]) -> String {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    use hmac::{Hmac, Mac};
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(lines.join("\n").as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

/// The stream of one connection, and the board that it has sent.
pub struct Feed {
    response: reqwest::Response,
    rest: Vec<u8>,
    /// `{card, since, closed}` each, in the last state received.
    pub cards: Vec<Value>,
    key: String,
    challenge: String,
    number: u64,
    /// More of the board follows.
    partial: bool,
}

#[allow(dead_code, reason = "not every test uses every hand")]
impl Feed {
    /// Receives the next event's name and data; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.rest.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.rest.drain(..end + 2).collect();
                let event = String::from_utf8(event).unwrap();
                let line = |name| event.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
                let told = line("event:").zip(line("data:"));
                if let Some((name, data)) = told {
                    let number = self.number.to_string();
                    let lines = ["event", &self.challenge, &number, name, data];
                    assert_eq!(line("id:"), Some(&*proof_of(&self.key, &lines)), "it is proved");
                    self.number += 1;
                }
                let told = told.map(|(n, d)| (n.to_owned(), serde_json::from_str(d).unwrap()));
                match told {
                    Some(told) => {
                        self.keep(&told);
                        return Some(told);
                    }
                    None => continue,
                }
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
            let chunk = chunk.expect("the stream says something in time");
            self.rest.extend_from_slice(&chunk.ok()??);
        }
    }

    /// Waits for a card on the board that fits.
    pub async fn card(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            // A large card is sent without its text first, as revision 0.
            let whole = |card: &Value| card["card"]["revision"] != 0;
            if let Some(card) = self.cards.iter().find(|card| whole(card) && wanted(card)) {
                return card.clone();
            }
            assert!(self.next().await.is_some(), "the stream ended; the board: {:?}", self.cards);
        }
    }

    fn keep(&mut self, (name, data): &(String, Value)) {
        if name == "board" {
            // The first part of a board replaces the old one; `more` announces a further part.
            if !std::mem::replace(&mut self.partial, data["more"] == true) {
                self.cards.clear();
            }
            self.cards.extend(data["cards"].as_array().unwrap().iter().cloned());
            return;
        }
        let id = &data["card"]["card"]["id"];
        self.cards.retain(|card| card["card"]["id"] != *id);
        self.cards.push(data["card"].clone());
    }
}

/// Returns whether a button has this label, possibly followed by a colon and the rule that it
/// stores.
fn is_labelled(shown: &str, label: &str) -> bool {
    shown
        .strip_prefix(label)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(": ") || rest == "…")
}
