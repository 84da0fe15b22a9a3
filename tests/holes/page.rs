//! Row 4: somebody takes the daemon's port while it is away, and the open page goes on talking.

use crate::{
    browser::Browser,
    daemon::{Daemon, shell},
    impostor::{Heard, Impostor},
    inbox_visitor::Visitor,
    process::run,
};
use axum::{
    Json,
    response::{Html, IntoResponse, Response},
};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const LIVE: &str = "document.querySelector('#line').dataset.state === 'live'";
const STILL: &str = "!document.querySelector('.settling, [aria-busy=true]')";
const OVER: &str = "document.querySelector('#banner').textContent.includes('`countersign open`')";

/// A daemon that comes back to the same port.
async fn on_a_port_of_its_own() -> (Daemon, u16) {
    let mut daemon = Daemon::start("").await;
    let port: u16 = daemon.url.rsplit(':').next().unwrap().parse().unwrap();
    daemon.stop().await;
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    let config = config.replace("127.0.0.1:0", &format!("127.0.0.1:{port}"));
    std::fs::write(daemon.config(), config).unwrap();
    daemon.run().await;
    (daemon, port)
}

/// What somebody says who has read the source and does not hold the key.
fn as_the_daemon(heard: &Heard) -> Response {
    match heard.target.split('?').next() {
        Some("/inbox/hello") => {
            let challenge = "AAAAAAAAAAAAAAAAAAAAAA.1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
            Json(json!({"challenge": challenge, "proof": "A".repeat(43)})).into_response()
        }
        Some("/inbox/press") => {
            Json(json!({"outcome": "applied", "sentence": "x"})).into_response()
        }
        _ => Html("<title>mine</title>").into_response(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn row_4_an_open_page_sends_nothing_of_use_to_who_took_the_port() {
    let (mut daemon, port) = on_a_port_of_its_own().await;
    let Some(browser) = Browser::start().await else { return };
    let before = daemon.inbox.clone();
    let page = browser.open(&before).await;
    page.until(LIVE).await;
    let id = daemon.ask(&shell("git push")).await;
    page.until("document.querySelector('[data-slot=Approve]')").await;
    page.until(STILL).await;
    daemon.kill().await;

    let mut impostor = Impostor::on_port(port, as_the_daemon).await;
    page.until(OVER).await;
    page.eval("document.querySelector('[data-slot=Approve]').click()").await;
    impostor.hears(4).await;
    for heard in impostor.heard() {
        assert!(heard.target.starts_with("/inbox/hello?nonce="), "{heard:?}");
        let told = ["cookie", "x-countersign-inbox", "authorization"];
        assert!(told.iter().all(|name| heard.header(name).is_none()), "{heard:?}");
    }
    // The person reloads, and the browser hands the cookie to the server that is there.
    page.eval("void setTimeout(() => location.reload())").await;
    page.until("document.title === 'mine'").await;
    page.eval("fetch('/inbox/events').then(() => 1)").await;
    let stolen = impostor.leave().await;
    assert!(stolen.iter().any(|heard| heard.header("cookie").is_some()), "{stolen:?}");

    daemon.run().await;
    let (_, token) = before.split_once("?token=").unwrap();
    assert!(!daemon.inbox.contains(token), "the address is a new one");
    replayed(&daemon, &stolen).await;
    let late = daemon.http.get(&before).send().await.unwrap();
    assert_eq!(late.status(), 401, "the earlier address opens nothing");
    assert_eq!(daemon.read(&id).await["state"], "open");
}

/// Everything that was stolen, tried at the daemon that is there now.
async fn replayed(daemon: &Daemon, stolen: &[Heard]) {
    for heard in stolen {
        for (method, target) in [
            ("GET", "/"),
            ("GET", "/inbox/events"),
            ("POST", "/inbox/press"),
            ("GET", &*heard.target),
        ] {
            let url = format!("{}{target}", daemon.url);
            let mut request = daemon.http.request(method.parse().unwrap(), url);
            for (name, value) in &heard.headers {
                if name != "host" && name != "content-length" {
                    request = request.header(name, value);
                }
            }
            let answer = request.header("origin", &daemon.url).send().await.unwrap();
            let file = target.starts_with("/inbox/hello") || target.ends_with(".svg");
            assert!(file || answer.status() == 401, "{method} {target}: {}", answer.status());
        }
    }
}

#[tokio::test]
async fn row_4_what_one_start_let_in_is_out_at_the_next() {
    let (mut daemon, _) = on_a_port_of_its_own().await;
    let id = daemon.ask(&shell("git push")).await;
    let old = Visitor::enter(&daemon.inbox).await;
    let card = old.follow().await.card(|_| true).await;
    let token = card["card"]["buttons"][0][0]["token"].as_str().unwrap().to_owned();
    let name = card["card"]["id"].as_str().unwrap().to_owned();
    let body = json!({"card": name, "token": token}).to_string();
    let seen = old.proof("POST", "/inbox/press", &body).await.unwrap();
    assert!(seen.real, "it proves itself to whom it let in");
    let file = daemon.dir.path().join("state/inbox.token");
    let first = std::fs::read_to_string(&file).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    daemon.stop().await;
    daemon.run().await;

    assert!(!old.proof("GET", "/inbox/events", "").await.unwrap().real, "it is another one now");
    assert_eq!(old.press(&name, &token, None).await.0, 401);
    let mut mixed = Visitor::enter(&daemon.inbox).await;
    let (cookie, key) = (mixed.cookie.clone(), mixed.key.clone());
    mixed.key = old.key.clone();
    assert_eq!(mixed.press(&name, &token, None).await.0, 401, "the new cookie, the old key");
    (mixed.key, mixed.cookie) = (key, old.cookie.clone());
    assert_eq!(mixed.press(&name, &token, None).await.0, 401, "the new key, the old cookie");
    let again = daemon.http.post(format!("{}/inbox/press", daemon.url));
    let again = again.header("cookie", cookie).header("x-countersign-inbox", seen.header);
    assert_eq!(again.header("origin", &daemon.url).send().await.unwrap().status(), 401);
    assert_eq!(daemon.read(&id).await["state"], "open");

    let second = std::fs::read_to_string(&file).unwrap();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_ne!(first, second);
    assert_eq!((mode, daemon.inbox.ends_with(second.trim())), (0o600, true));
}

#[tokio::test]
async fn row_4_a_command_prints_the_address_of_now_and_agents_may_not_run_it() {
    let (mut daemon, _) = on_a_port_of_its_own().await;
    for _ in 0..2 {
        let printed = run(&daemon, &["inbox"]).await;
        assert_eq!(printed.short(), (Some(0), &*format!("{}\n", daemon.inbox)), "{printed:?}");
        daemon.stop().await;
        daemon.run().await;
    }
    let (_, body) = daemon.call(&shell("countersign inbox")).await;
    assert_eq!(body["verdict"], "deny", "{body}");
    daemon.stop().await;
    let away = run(&daemon, &["inbox"]).await;
    assert_eq!((away.code, &*away.stdout), (Some(1), ""));
    assert!(away.stderr.contains("start one with `countersign serve`"), "{away:?}");
}

/// Hands everything on to the daemon, and changes what the page is shown.
async fn relay(daemon: &Daemon) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let to = daemon.url.strip_prefix("http://").unwrap().to_owned();
    tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            let to = to.clone();
            tokio::spawn(async move {
                let mut there = TcpStream::connect(to).await.unwrap();
                let (mut hears, mut says) = there.split();
                let (mut asks, mut answers) = from.split();
                let up = tokio::io::copy(&mut asks, &mut says);
                let down = async {
                    let mut bytes = vec![0; 1 << 16];
                    while let Ok(count @ 1..) = hears.read(&mut bytes).await {
                        let (was, is) = (b"rm -rf ~/a", b"ls -la ~/a");
                        for at in 0..count {
                            if bytes[at..count].starts_with(was) {
                                bytes[at..at + is.len()].copy_from_slice(is);
                            }
                        }
                        if answers.write_all(&bytes[..count]).await.is_err() {
                            return;
                        }
                    }
                };
                tokio::join!(down, up)
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn row_4_nobody_in_between_shows_the_page_another_card() {
    let daemon = Daemon::start("").await;
    let Some(browser) = Browser::start().await else { return };
    let port = relay(&daemon).await;
    let (_, token) = daemon.inbox.split_once("?token=").unwrap();
    let page = browser.open(&format!("http://127.0.0.1:{port}/?token={token}")).await;
    page.until(LIVE).await;
    daemon.ask(&shell("git push")).await;
    page.until("document.body.innerText.includes('git push')").await;
    daemon.ask(&shell("rm -rf ~/a")).await;
    page.until(OVER).await;
    assert!(!page.text().await.contains("ls -la"), "what was changed is not shown");
    let dead =
        "[...document.querySelectorAll('.row button')].every((b) => b.ariaDisabled === 'true')";
    assert_eq!(page.eval(dead).await, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn row_4_a_page_without_its_key_says_how_to_come_in() {
    let daemon = Daemon::start("").await;
    let Some(browser) = Browser::start().await else { return };
    let page = browser.open(&daemon.inbox).await;
    page.until(LIVE).await;
    page.eval("void setTimeout(() => location.reload())").await;
    page.until(LIVE).await;
    let other = browser.open(&format!("{}/", daemon.url)).await;
    other.until(OVER).await;
    let seen = "JSON.stringify([localStorage['countersign-key'] ?? null, document.cookie])";
    assert_eq!(other.eval(seen).await, json!("[null,\"\"]"), "no other tab can read the key");
    assert_eq!(other.eval("document.querySelectorAll('.card').length").await, Value::from(0));
}
