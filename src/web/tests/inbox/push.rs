//! Web Push: what a browser is told while no page is open.

use crate::support::{
    Desk,
    browser::Browser,
    cards::command,
    push_service::{BrowserKeys, PushService},
};
use axum::http::StatusCode;
use countersign_port::{Adapter, Card, Posting, Target, Tone};
use countersign_web::{PushConfig, PushShows};
use serde_json::{Value, json};
use tempfile::TempDir;

const LIVE: &str = "document.querySelector('#line').dataset.state === 'live'";

fn config(folder: &TempDir, shows: PushShows) -> PushConfig {
    let contact = "https://approve.example".to_owned();
    PushConfig { file: folder.path().join("push.json"), shows, contact, ntfy: None }
}

async fn desk(folder: &TempDir) -> Desk {
    Desk::with_push(config(folder, PushShows::Line)).await
}

/// Subscribes a browser; returns its keys.
async fn subscribed(desk: &Desk, service: &PushService, name: &str) -> BrowserKeys {
    let keys = BrowserKeys::new();
    let endpoint = format!("{}/{name}", service.origin());
    let body = keys.subscription(&endpoint).to_string();
    assert_eq!(desk.visitor().await.send("/inbox/push", &body).await, (200, json!({})));
    keys
}

#[tokio::test]
async fn a_new_request_reaches_a_browser_that_nobody_on_the_way_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = PushService::start().await;
    let desk = desk(&folder).await;
    let keys = subscribed(&desk, &service, "phone").await;
    let card = command("first", "git push origin main");
    desk.post(&card).await;
    let came = service.next().await;
    let header = |name: &str| came.headers[name].to_str().unwrap().to_owned();
    assert_eq!((&*came.browser, header("content-encoding")), ("phone", "aes128gcm".to_owned()));
    assert_eq!(header("urgency"), "high");
    assert!(header("authorization").starts_with("vapid t="));
    let mut told = keys.read(&came.body);
    let answers = told.as_object_mut().unwrap().remove("answers").unwrap();
    assert_eq!(told, json!({ "title": card.title, "body": card.origin, "card": "first" }));
    assert_eq!(answers["all"][0]["label"], "Deny");
}

/// Sends an answer as the worker does.
async fn answer(desk: &Desk, told: &Value, act: &str, changed: &[(&str, &str)]) -> (u16, Value) {
    let answers = &told["answers"];
    let chosen = answers["all"].as_array().unwrap().iter().find(|it| it["act"] == act);
    let mut body = json!({ "card": told["card"], "act": act, "browser": answers["browser"],
        "proof": chosen.map_or(&Value::Null, |it| &it["proof"]) });
    for (key, value) in changed {
        body[key] = json!(value);
    }
    let request = reqwest::Client::new().post(format!("http://{}/inbox/push/answer", desk.at));
    let request = request.header("origin", format!("http://{}", desk.at)).json(&body);
    let reply = request.send().await.unwrap();
    (reply.status().as_u16(), reply.json().await.unwrap())
}

#[tokio::test]
async fn a_notification_denies_what_it_told_of_and_its_proof_opens_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = PushService::start().await;
    let mut desk = desk(&folder).await;
    let keys = subscribed(&desk, &service, "phone").await;
    let card = Card { whole: true, ..command("alone", "git push origin main") };
    desk.post(&card).await;
    let told = keys.read(&service.next().await.body);
    let acts: Vec<_> =
        told["answers"]["all"].as_array().unwrap().iter().map(|it| &it["act"]).collect();
    assert_eq!(acts, ["deny"], "somebody else may have had the port");
    let proof = told["answers"]["all"][0]["proof"].as_str().unwrap();
    for changed in [
        ("card", "first"),
        ("act", "approve"),
        ("browser", "other"),
        ("proof", &format!("{proof}A")),
        ("proof", ""),
    ] {
        assert_eq!(answer(&desk, &told, "deny", &[changed]).await.0, 403, "{changed:?}");
    }
    let redrawn = Card { revision: 2, title: "git push --force".to_owned(), ..card.clone() };
    desk.update(&redrawn).await;
    assert_eq!(answer(&desk, &told, "deny", &[]).await.0, 403, "it shows something else");
    desk.core.cards.lock().await[0].revision = 3;
    desk.update(&Card { revision: 3, ..card.clone() }).await;
    let foreign = reqwest::Client::new().post(format!("http://{}/inbox/push/answer", desk.at));
    let foreign = foreign.header("origin", "https://evil.example").json(&json!({}));
    assert_eq!(foreign.send().await.unwrap().status(), 403);
    assert!(desk.presses.try_recv().is_err(), "nothing reached the core");

    let (status, said) = answer(&desk, &told, "deny", &[]).await;
    assert_eq!((status, &said["outcome"]), (200, &json!("applied")), "{said}");
    let press = desk.presses.recv().await.unwrap();
    assert_eq!((press.token.as_str(), press.presser.id.as_str()), ("alone.1.d", "local"));
    assert_eq!(answer(&desk, &told, "deny", &[]).await.0, 403, "it is over");
}

#[tokio::test]
async fn where_the_port_is_held_a_notification_approves_what_its_line_says_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = PushService::start().await;
    let push = config(&folder, PushShows::Line);
    let mut desk = Desk::on_held_port(push, folder.path().join("sign-ins")).await;
    let keys = subscribed(&desk, &service, "phone").await;
    desk.post(&Card { whole: true, ..command("first", "git push") }).await;
    let told = keys.read(&service.next().await.body);
    assert_eq!(answer(&desk, &told, "approve", &[]).await.0, 200);
    assert_eq!(desk.presses.recv().await.unwrap().token, "first.1.a");
}

#[tokio::test]
async fn a_burst_is_one_message_and_what_was_posted_before_is_not_told_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = PushService::start().await;
    let desk = desk(&folder).await;
    let keys = subscribed(&desk, &service, "phone").await;
    let again = command("again", "git push origin main");
    desk.inbox.post(&Target("inbox".to_owned()), &again, Posting::MayRepeat).await.unwrap();
    for name in ["one", "two", "three"] {
        let mut card = command(name, "git push origin main");
        card.tone = if name == "two" { Tone::Critical } else { Tone::Open };
        desk.post(&card).await;
    }
    let told = json!({ "title": "3 requests wait", "body": "1 critical", "card": null });
    assert_eq!(keys.read(&service.next().await.body), told);
    assert!(service.is_quiet());
}

#[tokio::test]
async fn a_busy_push_service_gets_the_message_later_and_a_browser_that_left_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = PushService::start().await;
    let desk = desk(&folder).await;
    let _keys = subscribed(&desk, &service, "phone").await;
    service.answer(&[StatusCode::SERVICE_UNAVAILABLE, StatusCode::CREATED, StatusCode::GONE]);
    desk.post(&command("first", "git push origin main")).await;
    assert_eq!(service.next().await.browser, "phone");
    assert_eq!(service.next().await.browser, "phone", "it is tried again");
    desk.post(&command("second", "git push origin main")).await;
    service.next().await;
    let file = folder.path().join("push.json");
    let left = tokio::time::timeout(std::time::Duration::from_secs(15), async {
        loop {
            let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            if kept["subscribers"] == json!([]) {
                return;
            }
            tokio::task::yield_now().await;
        }
    });
    left.await.expect("a browser that is gone is forgotten");
}

#[tokio::test]
async fn a_browser_is_told_after_a_restart_and_not_once_it_has_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = PushService::start().await;
    let first = desk(&folder).await;
    let keys = subscribed(&first, &service, "phone").await;
    first.stop().await;
    let desk = Desk::with_push(config(&folder, PushShows::Count)).await;
    desk.post(&command("first", "git push origin main")).await;
    let told = json!({ "title": "1 request waits", "body": "", "card": "first" });
    assert_eq!(keys.read(&service.next().await.body), told);
    let other = subscribed(&desk, &service, "desk").await;
    let stop = json!({ "endpoint": format!("{}/phone", service.origin()) }).to_string();
    assert_eq!(desk.visitor().await.send("/inbox/push/stop", &stop).await, (200, json!({})));
    desk.post(&command("second", "git push origin main")).await;
    let came = service.next().await;
    assert_eq!(came.browser, "desk");
    assert_eq!(other.read(&came.body)["card"], "second");
    assert!(service.is_quiet());
}

#[tokio::test]
async fn what_is_no_subscription_is_refused_and_where_push_is_off_the_page_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let desk = desk(&folder).await;
    let visitor = desk.visitor().await;
    let keys = BrowserKeys::new();
    let plain = keys.subscription("http://push.example/a").to_string();
    let mut short = keys.subscription("https://push.example/a");
    short["keys"]["auth"] = json!("c2hvcnQ");
    let no_https = "This browser's push service has no https address, so it cannot be notified.";
    for (body, sentence) in [
        ("{}".to_owned(), "This is not a valid push subscription."),
        (plain, no_https),
        (short.to_string(), "This browser's keys cannot be read."),
    ] {
        let refused = visitor.send("/inbox/push", &body).await;
        assert_eq!(refused, (422, json!({ "error": sentence })), "{body}");
    }
    let url = format!("http://{}/inbox/push", desk.at);
    let bare = reqwest::Client::new().post(url).header("cookie", &visitor.cookie);
    assert_eq!(bare.body("{}").send().await.unwrap().status(), 401, "without a proof");
    let off = Desk::open().await;
    let sentence = "Push is off here ([daemon] push, or see the daemon's log).";
    let body = keys.subscription("https://push.example/a").to_string();
    let refused = off.visitor().await.send("/inbox/push", &body).await;
    assert_eq!(refused, (404, json!({ "error": sentence })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_switches_push_on_in_the_page_and_the_worker_shows_what_comes() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = PushService::start().await;
    let desk = desk(&folder).await;
    let Some(browser) = Browser::start().await else { return };
    let page = browser.open(&desk.address()).await;
    let origin = format!("http://{}", desk.at);
    page.allow_notifications(&origin).await;
    page.until(LIVE).await;
    // This browser has no push service behind it; the rest is its own.
    let keys = BrowserKeys::new();
    let subscription = keys.subscription(&format!("{}/phone", service.origin()));
    page.eval(&format!(
        "void (PushManager.prototype.subscribe = async (options) => {{ window.asked = options; \
         return {{ toJSON: () => ({subscription}) }} }})"
    ))
    .await;
    page.click("#bell").await;
    page.click("#ring-push").await;
    page.until("!document.querySelector('#ring-push').disabled && window.asked").await;
    assert_eq!(page.eval("document.querySelector('#bells-said').textContent").await, "");
    assert_eq!(page.eval("document.querySelector('#ring-push').checked").await, true);
    assert_eq!(page.eval("window.asked.userVisibleOnly").await, true);
    if let Some(folder) = std::env::var_os("INBOX_PICTURES") {
        page.picture(&std::path::Path::new(&folder).join("bells.png")).await;
    }
    desk.post(&command("first", "git push origin main")).await;
    let told = keys.read(&service.next().await.body);
    assert_eq!(told["card"], "first");
    assert_eq!(page.complaints(), Vec::<String>::new());
    // Nobody looks at the page: it makes way for a file.
    page.go(&format!("{origin}/inbox/icon.svg")).await;
    page.deliver_push(&origin, &format!("{origin}/push/"), &told.to_string()).await;
    let shown = "navigator.serviceWorker.getRegistration('/push/')\
                 .then((worker) => worker.getNotifications())\
                 .then((all) => all.map(({ title, body, data: { card }, actions }) => \
                   ({ title, body, card, actions: actions.map(({ action }) => action) })))";
    page.until_done(&format!("{shown}.then((all) => all.length === 1)")).await;
    let note = json!([{ "title": told["title"], "body": told["body"], "card": "first",
        "actions": ["deny", "open"] }]);
    assert_eq!(page.eval(shown).await, note);
}
