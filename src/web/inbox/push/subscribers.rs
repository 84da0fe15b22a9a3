//! The browsers that want to be told while no page is open, in a file that outlives the daemon.

use crate::inbox::{
    push::message::{BrowserKeys, PUBLIC_LEN, SECRET_LEN, SenderKey},
    session::write,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use countersign_port::locked;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Mutex,
};

/// How many browsers are kept; the oldest makes way.
const MOST: usize = 50;
/// The longest address of a browser, in bytes.
const LONGEST: usize = 2048;

/// A browser as it describes itself when it subscribes (`PushSubscription.toJSON`).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subscription {
    /// The address at the browser's push service. SECURITY: anyone who has it can write there, so
    /// it is never logged.
    pub(super) endpoint: String,
    keys: SubscriptionKeys,
    /// The person who was signed in there. SECURITY: never as the browser says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) person: Option<String>,
    /// The passkey with which they had signed in. SECURITY: as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) passkey: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SubscriptionKeys {
    p256dh: String,
    auth: String,
}

impl Subscription {
    /// Its address and keys.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub(super) fn parts(&self) -> Result<(Url, BrowserKeys), &'static str> {
        let address = Url::parse(&self.endpoint).ok().filter(|_| self.endpoint.len() <= LONGEST);
        let address = address
            .filter(is_push_service)
            .ok_or("This browser's push service has no https address, so it cannot be notified.")?;
        let SubscriptionKeys { p256dh, auth } = &self.keys;
        let keys = decoded::<PUBLIC_LEN>(p256dh).zip(decoded::<SECRET_LEN>(auth));
        let (public, secret) = keys.ok_or("This browser's keys cannot be read.")?;
        Ok((address, BrowserKeys { public, secret }))
    }
}

/// The subscribers and the key of this daemon.
pub(super) struct Subscribers {
    file: PathBuf,
    pub(super) key: SenderKey,
    all: Mutex<PushFile>,
}

/// What the file holds.
#[derive(Clone, Serialize, Deserialize)]
struct PushFile {
    /// The signing key, PKCS #8.
    key: String,
    subscribers: Vec<Subscription>,
}

impl Subscribers {
    /// Reads the file, or begins one with a new key.
    ///
    /// # Errors
    /// If it cannot be read or written. A file that is there is never replaced by an empty one: its
    /// subscribers know only its key.
    pub(super) fn open(file: &Path) -> io::Result<Self> {
        let begun = match fs::read(file) {
            Ok(bytes) => serde_json::from_slice::<PushFile>(&bytes).map_err(io::Error::other)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => begin(file)?,
            Err(error) => return Err(error),
        };
        let key = URL_SAFE_NO_PAD.decode(&begun.key).ok();
        let key = key.and_then(|key| SenderKey::read(&key));
        let key = key.ok_or_else(|| io::Error::other("its `key` is not valid"))?;
        Ok(Self { file: file.to_owned(), key, all: Mutex::new(begun) })
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Subscription> {
        locked(&self.all).subscribers.clone()
    }

    /// Adds a browser, or replaces what is known of it.
    ///
    /// # Errors
    /// If the file cannot be written; then nothing has changed.
    pub(super) fn add(&self, new: Subscription) -> io::Result<()> {
        self.change(|all| {
            all.retain(|old| old.endpoint != new.endpoint);
            all.push(new);
            let many = all.len().saturating_sub(MOST);
            all.drain(..many);
        })
    }

    /// Removes a browser.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(super) fn remove(&self, endpoint: &str) -> io::Result<()> {
        self.change(|all| all.retain(|old| old.endpoint != endpoint))
    }

    /// Removes the browsers of people who are gone.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(super) fn keep_people(&self, stays: impl Fn(&str) -> bool) -> io::Result<()> {
        self.change(|all| all.retain(|one| one.person.as_deref().is_none_or(&stays)))
    }

    /// The passkeys with which people had signed in who subscribed.
    pub(super) fn passkeys(&self) -> Vec<String> {
        locked(&self.all).subscribers.iter().filter_map(|one| one.passkey.clone()).collect()
    }

    /// Removes the browsers that came by these passkeys.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(super) fn end_passkeys(&self, gone: &[String]) -> io::Result<()> {
        let leaves = |passkey: &String| gone.contains(passkey);
        self.change(|all| all.retain(|one| !one.passkey.as_ref().is_some_and(leaves)))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Subscription>)) -> io::Result<()> {
        let mut all = locked(&self.all);
        let mut changed = all.clone();
        change(&mut changed.subscribers);
        if changed.subscribers != all.subscribers {
            write(&self.file, &changed)?;
            *all = changed;
        }
        Ok(())
    }
}

fn begin(file: &Path) -> io::Result<PushFile> {
    let key = SenderKey::generate().map_err(|_| io::Error::other("no randomness"))?;
    let begun = PushFile { key: URL_SAFE_NO_PAD.encode(key), subscribers: Vec::new() };
    write(file, &begun)?;
    Ok(begun)
}

/// https, or a push service on this machine.
fn is_push_service(address: &Url) -> bool {
    let host = address.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let open = address.username().is_empty() && address.password().is_none();
    open && (address.scheme() == "https" || address.scheme() == "http" && is_loopback())
}

fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    fn browser(endpoint: &str) -> Subscription {
        let keys = SubscriptionKeys {
            p256dh: URL_SAFE_NO_PAD.encode([4; PUBLIC_LEN]),
            auth: URL_SAFE_NO_PAD.encode([7; SECRET_LEN]),
        };
        Subscription { endpoint: endpoint.to_owned(), keys, person: None, passkey: None }
    }

    fn endpoints(subscribers: &Subscribers) -> Vec<String> {
        subscribers.all().into_iter().map(|one| one.endpoint).collect()
    }

    #[test]
    fn subscribers_and_key_outlive_the_daemon_and_a_browser_is_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("push.json");
        let first = Subscribers::open(&file).unwrap();
        first.add(browser("https://push.example/a")).unwrap();
        first.add(browser("https://push.example/b")).unwrap();
        first.add(browser("https://push.example/a")).unwrap();
        let again = Subscribers::open(&file).unwrap();
        assert_eq!(again.key.public(), first.key.public());
        assert_eq!(endpoints(&again), ["https://push.example/b", "https://push.example/a"]);
        again.remove("https://push.example/b").unwrap();
        assert_eq!(endpoints(&Subscribers::open(&file).unwrap()), ["https://push.example/a"]);
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn who_is_gone_is_told_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        let subscribers = Subscribers::open(&folder.path().join("push.json")).unwrap();
        for (name, person) in [("a", Some("chat:1")), ("b", Some("chat:2")), ("c", None)] {
            let person = person.map(str::to_owned);
            let one = browser(&format!("https://push.example/{name}"));
            subscribers.add(Subscription { person, ..one }).unwrap();
        }
        subscribers.keep_people(|person| person == "chat:2").unwrap();
        assert_eq!(endpoints(&subscribers), ["https://push.example/b", "https://push.example/c"]);
    }

    #[test]
    fn a_browser_that_came_by_a_passkey_is_told_nothing_once_that_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let subscribers = Subscribers::open(&folder.path().join("push.json")).unwrap();
        for (name, passkey) in [("a", Some("one")), ("b", Some("two")), ("c", None)] {
            let passkey = passkey.map(str::to_owned);
            let one = browser(&format!("https://push.example/{name}"));
            subscribers.add(Subscription { passkey, ..one }).unwrap();
        }
        assert_eq!(subscribers.passkeys(), ["one", "two"]);
        subscribers.end_passkeys(&["one".to_owned()]).unwrap();
        assert_eq!(endpoints(&subscribers), ["https://push.example/b", "https://push.example/c"]);
    }

    #[test]
    fn the_oldest_of_too_many_makes_way() {
        let folder = tempfile::tempdir().unwrap();
        let subscribers = Subscribers::open(&folder.path().join("push.json")).unwrap();
        for number in 0..=MOST {
            subscribers.add(browser(&format!("https://push.example/{number}"))).unwrap();
        }
        assert_eq!(subscribers.all().len(), MOST);
        assert_eq!(endpoints(&subscribers)[0], "https://push.example/1");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("push.json");
        for broken in ["", "{", r#"{"key":"","subscribers":[]}"#] {
            fs::write(&file, broken).unwrap();
            assert!(Subscribers::open(&file).is_err(), "{broken}");
            assert_eq!(fs::read_to_string(&file).unwrap(), broken);
        }
    }

    #[test]
    fn only_a_push_service_over_https_or_on_this_machine_is_told() {
        let wanted = |endpoint: &str| browser(endpoint).parts().is_ok();
        for right in ["https://push.example/a", "http://127.0.0.1:9/a", "http://[::1]:9/a"] {
            assert!(wanted(right), "{right}");
        }
        let long = format!("https://push.example/{}", "a".repeat(LONGEST));
        for wrong in [
            "",
            "push.example",
            "http://push.example/a",
            "http://localhost/a",
            "file:///etc/passwd",
            "https://ana:secret@push.example/",
            &long,
        ] {
            assert!(!wanted(wrong), "{wrong}");
        }
        let mut short = browser("https://push.example/a");
        short.keys.auth = "c2hvcnQ".to_owned();
        assert_eq!(short.parts().err(), Some("This browser's keys cannot be read."));
    }
}
