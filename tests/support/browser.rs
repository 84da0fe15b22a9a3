//! Drives a real Chromium over its debugging pipe, without a port or a driver. It ends with the
//! test.

use super::seats::{self, Seat};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    env,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::oneshot,
};

/// The timeout for a page to reach the state that a test waits for.
const PATIENCE: Duration = Duration::from_secs(15);
/// What is told of an evaluation whose page went meanwhile.
const GONE: &str = "Inspected target navigated or closed";

/// A running browser with its own profile.
pub struct Browser {
    wire: Arc<Wire>,
    child: Child,
    _profile: tempfile::TempDir,
    _seat: Seat,
}

impl Drop for Browser {
    /// Ends all its processes, which would put into the profile again what is removed of it.
    fn drop(&mut self) {
        let Some(group) = self.child.id() else { return };
        let all = format!("-{group}");
        let _ = std::process::Command::new("kill").args(["-KILL", "--", &all]).status();
        while matches!(self.child.try_wait(), Ok(None)) {
            std::thread::yield_now();
        }
    }
}

/// A tab.
pub struct Page {
    wire: Arc<Wire>,
    session: String,
}

impl Browser {
    /// Starts Chromium; prints a note and returns `None` if there is none.
    pub async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    /// The same with further arguments.
    pub async fn start_with(more: &[&str]) -> Option<Self> {
        let Some(chromium) = find() else {
            eprintln!(
                "SKIPPED: no Chromium (set CHROMIUM, or put chromium, chromium-browser or google-chrome on PATH)"
            );
            return None;
        };
        let seat = seats::BROWSER.take().await;
        let profile = tempfile::tempdir().unwrap();
        // The debugging pipe uses the descriptors 3 and 4, which only a shell can set up without
        // `unsafe`.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#])
            .arg(chromium)
            // `--no-sandbox`: with its sandbox Chromium does not start as root.
            .args(["--remote-debugging-pipe", "--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-quic", "--no-first-run", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"])
            // Scrollbars differ between systems, and so would the pictures.
            .arg("--hide-scrollbars")
            .args(more)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("TMPDIR", profile.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let wire = Arc::new(Wire {
            out: tokio::sync::Mutex::new(child.stdin.take().unwrap()),
            next: AtomicU64::new(1),
            waiting: Mutex::default(),
            complaints: Mutex::default(),
            workers: Mutex::default(),
        });
        tokio::spawn(read(child.stdout.take().unwrap(), wire.clone()));
        Some(Self { wire, child, _profile: profile, _seat: seat })
    }

    /// Opens a tab at an address with 1000 × 800 pixels, and waits until it is loaded.
    pub async fn open(&self, url: &str) -> Page {
        let made =
            self.wire.call(None, "Target.createTarget", json!({ "url": "about:blank" })).await;
        let target = json!({ "targetId": made["targetId"], "flatten": true });
        let attached = self.wire.call(None, "Target.attachToTarget", target).await;
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        let page = Page { wire: self.wire.clone(), session };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            page.call(domain, json!({})).await;
        }
        page.size(1000, 800).await;
        page.go(url).await;
        page
    }
}

#[allow(dead_code, reason = "not every test uses every hand")]
impl Page {
    /// Goes to another address, and waits until it is loaded.
    pub async fn go(&self, url: &str) {
        self.call("Page.navigate", json!({ "url": url })).await;
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'").await;
    }

    /// Evaluates an expression; a promise is awaited.
    pub async fn eval(&self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let done = self.call("Runtime.evaluate", params).await;
        assert!(done.get("exceptionDetails").is_none(), "`{expression}` failed: {done}");
        done["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub async fn until(&self, expression: &str) {
        let waited = tokio::time::timeout(PATIENCE, async {
            // A navigation ends a running expression, so each attempt is an evaluation of its own.
            loop {
                let params = json!({ "expression": format!("Boolean({expression})"), "returnByValue": true });
                if self.call("Runtime.evaluate", params).await["result"]["value"] == json!(true) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        if waited.await.is_err() {
            let text = self.eval("document.body.innerText").await;
            panic!("`{expression}` did not come true; the page says: {text}");
        }
    }

    /// Waits until a promise brings true.
    pub async fn until_done(&self, promise: &str) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while self.eval(promise).await != json!(true) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        assert!(waited.await.is_ok(), "`{promise}` did not come true");
    }

    /// Takes the page's Content-Security-Policy away, as of the next load: an attacker has none.
    pub async fn bypass_policy(&self) {
        self.call("Page.setBypassCSP", json!({ "enabled": true })).await;
    }

    /// Allows the page of this origin to notify.
    pub async fn allow_notifications(&self, origin: &str) {
        let params = json!({ "origin": origin, "permissions": ["notifications"] });
        self.wire.call(None, "Browser.grantPermissions", params).await;
    }

    /// Hands a push message to the worker of this scope, as the browser's push service would.
    pub async fn deliver_push(&self, origin: &str, scope: &str, data: &str) {
        self.call("ServiceWorker.enable", json!({})).await;
        let known = || {
            let workers = self.wire.workers.lock().unwrap();
            workers.iter().find(|worker| worker["scopeURL"] == *scope).cloned()
        };
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                match known() {
                    Some(worker) => return worker,
                    None => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        });
        let worker = found.await.unwrap_or_else(|_| panic!("there is no worker for {scope}"));
        let id = &worker["registrationId"];
        let params = json!({ "origin": origin, "registrationId": id, "data": data });
        self.call("ServiceWorker.deliverPushMessage", params).await;
    }

    /// Gives the tab an authenticator of its own, as a phone with a finger on it; its id.
    pub async fn authenticator(&self) -> String {
        self.call("WebAuthn.enable", json!({})).await;
        let options = json!({
            "protocol": "ctap2", "ctap2Version": "ctap2_1", "transport": "internal",
            "hasResidentKey": true, "hasUserVerification": true, "isUserVerified": true,
            "automaticPresenceSimulation": true,
        });
        let added =
            self.call("WebAuthn.addVirtualAuthenticator", json!({ "options": options })).await;
        added["authenticatorId"].as_str().unwrap().to_owned()
    }

    /// Whether its person shows that they are themselves from now on.
    pub async fn verifies(&self, authenticator: &str, verified: bool) {
        let params = json!({ "authenticatorId": authenticator, "isUserVerified": verified });
        self.call("WebAuthn.setUserVerified", params).await;
    }

    /// The passkeys of an authenticator.
    pub async fn passkeys(&self, authenticator: &str) -> Vec<Value> {
        let params = json!({ "authenticatorId": authenticator });
        let all = self.call("WebAuthn.getCredentials", params).await;
        all["credentials"].as_array().unwrap().clone()
    }

    /// What the browser finds wrong with the page's manifest.
    pub async fn manifest_errors(&self) -> Value {
        self.call("Page.getAppManifest", json!({})).await["errors"].clone()
    }

    /// The text of the page.
    pub async fn text(&self) -> String {
        self.eval("document.body.innerText").await.as_str().unwrap().to_owned()
    }

    /// Scrolls an element into view and clicks its middle with the mouse.
    pub async fn click(&self, selector: &str) {
        let selector = json!(selector);
        let spot = self
            .eval(&format!(
                "(() => {{ const e = document.querySelector({selector}); if (!e) return null; \
                 e.scrollIntoView({{ block: 'center' }}); const r = e.getBoundingClientRect(); \
                 return {{ x: r.x + r.width / 2, y: r.y + r.height / 2 }} }})()"
            ))
            .await;
        assert!(!spot.is_null(), "there is no {selector} to click");
        self.click_at(&spot).await;
    }

    /// Clicks a spot `{x, y}` of the window.
    pub async fn click_at(&self, spot: &Value) {
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let params = json!({
                "type": kind, "x": spot["x"], "y": spot["y"], "button": "left",
                "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", params).await;
        }
    }

    /// Presses and releases a key: a letter, a digit, or `Enter`, `Tab`, `Escape`.
    pub async fn key(&self, key: &str) {
        let (text, code) = match key {
            "Enter" => ("\r", 13),
            "Tab" => ("", 9),
            "Escape" => ("", 27),
            " " => (" ", 32),
            letter => (letter, i32::from(letter.to_ascii_uppercase().as_bytes()[0])),
        };
        // `keyDown` also produces the character; a key without one needs `rawKeyDown`.
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for kind in [kind, "keyUp"] {
            let mut params = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" {
                params["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", params).await;
        }
    }

    /// Types into the element that has the focus.
    pub async fn write(&self, text: &str) {
        self.call("Input.insertText", json!({ "text": text })).await;
    }

    /// Resizes the window, in CSS pixels.
    pub async fn size(&self, width: u32, height: u32) {
        let params = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", params).await;
        let touch = json!({ "enabled": width < 600 });
        self.call("Emulation.setTouchEmulationEnabled", touch).await;
    }

    /// Sets the preferred colour scheme: `light` or `dark`.
    pub async fn scheme(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Saves a PNG screenshot of the window.
    pub async fn picture(&self, file: &Path) {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" })).await;
        std::fs::write(file, STANDARD.decode(shot["data"].as_str().unwrap()).unwrap()).unwrap();
    }

    /// The errors that the browser has reported: exceptions, refused content, failed loads.
    pub fn complaints(&self) -> Vec<String> {
        self.wire.complaints.lock().unwrap().clone()
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        self.wire.call(Some(&self.session), method, params).await
    }
}

/// Messages in both directions, each ended by a NUL byte.
struct Wire {
    out: tokio::sync::Mutex<ChildStdin>,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    complaints: Mutex<Vec<String>>,
    /// Registrations of service workers.
    workers: Mutex<Vec<Value>>,
}

impl Wire {
    async fn call(&self, session: Option<&str>, method: &str, params: Value) -> Value {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().unwrap().insert(id, answer);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut line = message.to_string().into_bytes();
        line.push(0);
        self.out.lock().await.write_all(&line).await.unwrap();
        let answer = tokio::time::timeout(PATIENCE * 2, answered).await;
        let answer = answer.unwrap_or_else(|_| panic!("the browser does not answer {method}"));
        let answer = answer.unwrap_or_else(|_| panic!("the browser ended during {method}"));
        // A page that goes ends what is evaluated on it; `until` evaluates it on the next.
        if method == "Runtime.evaluate" && answer["error"]["message"] == GONE {
            return Value::Null;
        }
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }
}

async fn read(from: ChildStdout, wire: Arc<Wire>) {
    let mut messages = BufReader::new(from).split(0);
    while let Ok(Some(message)) = messages.next_segment().await {
        let message: Value = serde_json::from_slice(&message).unwrap();
        if let Some(id) = message["id"].as_u64() {
            if let Some(answer) = wire.waiting.lock().unwrap().remove(&id) {
                let _ = answer.send(message);
            }
            continue;
        }
        let params = &message["params"];
        if message["method"] == "ServiceWorker.workerRegistrationUpdated" {
            let news = params["registrations"].as_array().unwrap().clone();
            wire.workers.lock().unwrap().extend(news);
            continue;
        }
        let complaint = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => Some(&params["exceptionDetails"]),
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => Some(&params["entry"]),
            _ => None,
        };
        wire.complaints.lock().unwrap().extend(complaint.map(Value::to_string));
    }
    // Drops the senders, so that pending calls fail at once instead of at their timeout.
    wire.waiting.lock().unwrap().clear();
}

fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders: Vec<_> = env::split_paths(&env::var_os("PATH")?).collect();
    let places = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}
