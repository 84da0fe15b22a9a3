//! A push service on this machine, and a browser's keys, which read what came.

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    routing,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral},
    hkdf::{HKDF_SHA256, KeyType, Prk, Salt},
    rand::SystemRandom,
};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{net::TcpListener, sync::mpsc};

const PATIENCE: Duration = Duration::from_secs(15);

/// A push service. It takes what comes, or answers with the statuses that a test has set.
pub struct PushService {
    at: SocketAddr,
    shared: Arc<Shared>,
    came: mpsc::UnboundedReceiver<Delivered>,
}

struct Shared {
    came: mpsc::UnboundedSender<Delivered>,
    answers: Mutex<Vec<StatusCode>>,
}

/// A request to it.
pub struct Delivered {
    pub browser: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl PushService {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (sender, came) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared { came: sender, answers: Mutex::default() });
        let router = Router::new().route("/{browser}", routing::post(take));
        let router = router.with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { at, shared, came }
    }

    pub fn origin(&self) -> String {
        format!("http://{}", self.at)
    }

    /// Answers the next requests so, in this order.
    pub fn answer(&self, with: &[StatusCode]) {
        self.shared.answers.lock().unwrap().extend(with);
    }

    pub async fn next(&mut self) -> Delivered {
        let next = tokio::time::timeout(PATIENCE, self.came.recv()).await;
        next.expect("a push message comes").unwrap()
    }

    /// Whether nothing more has come.
    pub fn is_quiet(&mut self) -> bool {
        self.came.try_recv().is_err()
    }
}

async fn take(
    State(shared): State<Arc<Shared>>,
    Path(browser): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    shared.came.send(Delivered { browser, headers, body }).unwrap();
    let mut answers = shared.answers.lock().unwrap();
    if answers.is_empty() { StatusCode::CREATED } else { answers.remove(0) }
}

/// The keys of a browser. They read one message, because ring's keys agree once.
pub struct BrowserKeys {
    private: EphemeralPrivateKey,
    pub public: Vec<u8>,
    pub secret: [u8; 16],
}

impl BrowserKeys {
    pub fn new() -> Self {
        let private = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public = private.compute_public_key().unwrap().as_ref().to_vec();
        Self { private, public, secret: rand::random() }
    }

    /// What the browser's page sends (`PushSubscription.toJSON`).
    pub fn subscription(&self, endpoint: &str) -> Value {
        let [p256dh, auth] =
            [&self.public[..], &self.secret].map(|key| URL_SAFE_NO_PAD.encode(key));
        json!({ "endpoint": endpoint, "expirationTime": null,
                "keys": { "p256dh": p256dh, "auth": auth } })
    }

    /// The message, decrypted as RFC 8291 says.
    pub fn read(self, body: &[u8]) -> Value {
        let (salt, rest) = body.split_at(16);
        let (head, record) = rest.split_at(4 + 1 + 65);
        assert_eq!(head[..5], [0, 0, 16, 0, 65], "the record size and the length of the key");
        let theirs = &head[5..];
        let peer = UnparsedPublicKey::new(&ECDH_P256, theirs);
        let agreed = agree_ephemeral(self.private, &peer, |shared| {
            Salt::new(HKDF_SHA256, &self.secret).extract(shared)
        });
        let info: [&[u8]; 3] = [b"WebPush: info\0", &self.public, theirs];
        let keys = Salt::new(HKDF_SHA256, salt).extract(&expand::<32>(&agreed.unwrap(), &info));
        let key = expand::<16>(&keys, &[b"Content-Encoding: aes128gcm\0"]);
        let nonce = expand::<12>(&keys, &[b"Content-Encoding: nonce\0"]);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
        let mut record = record.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let text = key.open_in_place(nonce, Aad::empty(), &mut record).unwrap();
        let (end, text) = text.split_last().unwrap();
        assert_eq!(*end, 2, "it is the last record");
        serde_json::from_slice(text).unwrap()
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn expand<const N: usize>(key: &Prk, info: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    key.expand(info, Length(N)).unwrap().fill(&mut bytes).unwrap();
    bytes
}
