//! People with names: how they get in, as whom they press, and how a session ends.

use crate::support::{Desk, browser::Browser, cards::command, visitor::Visitor};
use reqwest::{Client, Method};
use serde_json::{Value, json};

const NO_CODE: &str = "This link does not work (any more): it works once, for 10 minutes. Send \
                       /login to the bot for a new one.";
const LIVE: &str = "document.querySelector('#line').dataset.state === 'live'";
const STILL: &str = "!document.querySelector('.settling, [aria-busy=true]')";

impl Desk {
    fn link(&self, code: &str) -> String {
        format!("http://{}/sign-in#{code}", self.at)
    }

    async fn ana(&self) -> Visitor {
        self.core.invite("code", "Ana");
        Visitor::sign_in(&self.link("code")).await.unwrap()
    }
}

#[tokio::test]
async fn looking_at_a_link_uses_nothing_up_and_a_code_lets_one_browser_in_once() {
    let desk = Desk::open().await;
    desk.core.invite("code", "Ana");
    let client = Client::new();
    let base = format!("http://{}", desk.at);
    let page = client.get(format!("{base}/sign-in")).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.headers().get("set-cookie").is_none());
    for _ in 0..2 {
        let offer = client.post(format!("{base}/inbox/sign-in/offer")).header("origin", &base);
        let offer = offer.json(&json!({ "code": "code" })).send().await.unwrap();
        assert!(offer.headers().get("set-cookie").is_none());
        assert_eq!(offer.json::<Value>().await.unwrap(), json!({ "name": "Ana" }));
    }
    let ana = Visitor::sign_in(&desk.link("code")).await.unwrap();
    let me = ana.api(Method::GET, "/inbox/me").await;
    assert_eq!(me, (200, json!({ "name": "Ana" })));
    for code in ["code", "another", ""] {
        let refused = Visitor::sign_in(&desk.link(code)).await.err();
        assert_eq!(refused.as_deref(), Some(NO_CODE), "{code}");
    }
    let nobody = desk.visitor().await.api(Method::GET, "/inbox/me").await;
    let ways = json!({ "oidc": null, "passkey": null });
    assert_eq!(nobody, (200, json!({ "name": null, "ways": ways })));
}

#[tokio::test]
async fn another_site_neither_signs_in_nor_learns_whom_a_code_is_for() {
    let desk = Desk::open().await;
    desk.core.invite("code", "Ana");
    let base = format!("http://{}", desk.at);
    for path in ["/inbox/sign-in", "/inbox/sign-in/offer"] {
        for origin in [None, Some("https://evil.example"), Some("null")] {
            let mut request = Client::new().post(format!("{base}{path}"));
            request = request.json(&json!({ "code": "code" }));
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            let refused = request.send().await.unwrap();
            assert_eq!(refused.status(), 403, "{path} {origin:?}");
            assert!(refused.headers().get("set-cookie").is_none());
        }
        let get = Client::new().get(format!("{base}{path}?code=code")).send().await.unwrap();
        assert!(get.status().is_client_error(), "{path}");
    }
    assert!(Visitor::sign_in(&desk.link("code")).await.is_ok(), "nothing was used up");
}

#[tokio::test]
async fn a_press_and_a_command_carry_the_person_who_signed_in() {
    let mut desk = Desk::open().await;
    let ana = desk.ana().await;
    desk.post(&command("one", "ls")).await;
    let card = ana.follow().await.card(|_| true).await;
    assert_eq!(ana.press_label(&card, "Approve", None).await, "Approved once.");
    let pressed = desk.presses.recv().await.unwrap().presser;
    assert_eq!((&*pressed.id, &*pressed.name), ("chat:Ana", "Ana"));
    ana.command("pending").await;
    assert_eq!(desk.presses.recv().await.unwrap().presser.id, "chat:Ana");
    desk.post(&command("two", "ls")).await;
    desk.visitor().await.press("two", "two.1.a", None).await;
    assert_eq!(desk.presses.recv().await.unwrap().presser.id, "local");
}

#[tokio::test]
async fn cookie_and_key_of_different_sessions_open_nothing_together() {
    let mut desk = Desk::open().await;
    desk.post(&command("one", "ls")).await;
    let ana = desk.ana().await;
    desk.core.invite("bens", "Ben");
    let ben = Visitor::sign_in(&desk.link("bens")).await.unwrap();
    let machine = desk.visitor().await;
    for (key, cookie) in [(&ana, &ben), (&ana, &machine), (&machine, &ana), (&ben, &ana)] {
        let proof = key.proof("GET", "/inbox/me", "").await.unwrap();
        assert!(proof.real);
        let (status, _) = cookie.api_with(Method::GET, "/inbox/me", &proof.header).await;
        assert_eq!(status, 401);
    }
    assert!(desk.presses.try_recv().is_err());
}

#[tokio::test]
async fn a_session_ends_when_its_person_leaves_and_does_not_come_back_with_them() {
    let desk = Desk::open().await;
    let ana = desk.ana().await;
    let mut feed = ana.follow().await;
    assert!(feed.next().await.is_some());
    let people = std::mem::take(&mut *desk.core.people.lock().unwrap());
    desk.post(&command("one", "cat secret-plan")).await;
    assert!(feed.next().await.is_none(), "nothing more is shown");
    assert!(ana.proof("GET", "/inbox/api/grants", "").await.is_err(), "there is no such sign-in");
    *desk.core.people.lock().unwrap() = people;
    assert!(ana.try_follow().await.is_err());
    assert!(Visitor::sign_in(&desk.link("code")).await.is_err());
}

#[tokio::test]
async fn a_changed_config_ends_what_a_person_who_left_is_shown_at_once_and_for_good() {
    let desk = Desk::open().await;
    let ana = desk.ana().await;
    desk.core.invite("bens", "Ben");
    let ben = Visitor::sign_in(&desk.link("bens")).await.unwrap();
    let mut anas = ana.follow().await;
    let mut bens = ben.follow().await;
    assert!(anas.next().await.is_some() && bens.next().await.is_some());
    let people = desk.core.people.lock().unwrap().clone();
    desk.core.people.lock().unwrap().retain(|person| person.name != "Ana");
    desk.inbox.people_changed();
    assert!(anas.next().await.is_none(), "nothing had to happen for that");
    // Nothing was asked for in between, and still she has to sign in again.
    *desk.core.people.lock().unwrap() = people;
    desk.inbox.people_changed();
    assert!(ana.try_follow().await.is_err());
    desk.post(&command("one", "ls")).await;
    assert!(bens.next().await.is_some(), "others read on");
}

#[tokio::test]
async fn who_signs_in_where_somebody_was_signed_in_ends_what_that_one_is_shown() {
    let desk = Desk::open().await;
    let ana = desk.ana().await;
    let mut anas = ana.follow().await;
    assert!(anas.next().await.is_some());
    desk.core.invite("bens", "Ben");
    let base = format!("http://{}", desk.at);
    let signs_in = Client::new().post(format!("{base}/inbox/sign-in"));
    let signs_in = signs_in.header("origin", &base).header("cookie", &ana.cookie);
    let reply = signs_in.json(&json!({ "code": "bens" })).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    let cookie = reply.headers()["set-cookie"].to_str().unwrap();
    let name = |cookie: &str| cookie.split('=').next().unwrap().to_owned();
    assert_eq!(name(cookie), name(&ana.cookie), "the browser keeps one of them");
    assert!(anas.next().await.is_none());
    assert!(ana.try_follow().await.is_err());
}

#[tokio::test]
async fn a_code_that_somebody_else_brings_along_changes_nothing_for_who_is_signed_in() {
    let desk = Desk::open().await;
    let ana = desk.ana().await;
    let base = format!("http://{}", desk.at);
    let signs_in = Client::new().post(format!("{base}/inbox/sign-in"));
    let signs_in = signs_in.header("origin", &base).header("cookie", &ana.cookie);
    let reply = signs_in.json(&json!({ "code": "no code" })).send().await.unwrap();
    assert_eq!(reply.status(), 404);
    assert_eq!(ana.api(Method::GET, "/inbox/me").await, (200, json!({ "name": "Ana" })));
}

#[tokio::test]
async fn who_signs_out_is_out_everywhere_in_that_browser_and_no_other_person_is() {
    let desk = Desk::open().await;
    let ana = desk.ana().await;
    desk.core.invite("bens", "Ben");
    let ben = Visitor::sign_in(&desk.link("bens")).await.unwrap();
    let mut feed = ana.follow().await;
    assert!(feed.next().await.is_some());
    assert_eq!(ana.send("/inbox/sign-out", "{}").await.0, 200);
    assert!(feed.next().await.is_none(), "the open page is let go at once");
    assert!(ana.try_follow().await.is_err());
    assert_eq!(ben.api(Method::GET, "/inbox/me").await.0, 200);
    let said = desk.visitor().await.send("/inbox/sign-out", "{}").await;
    assert_eq!(said, (422, json!({ "error": "Nobody is signed in here." })));
}

#[tokio::test]
async fn before_the_core_is_there_nobody_signs_in_and_the_link_still_works() {
    let desk = Desk::closed("127.0.0.1:0").await;
    desk.core.invite("code", "Ana");
    let told = Visitor::sign_in(&desk.link("code")).await.err();
    let wanted = "countersign is not ready. Try again in a moment; the link still works.";
    assert_eq!(told.as_deref(), Some(wanted));
    let desk = desk.start().await;
    assert!(Visitor::sign_in(&desk.link("code")).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_browser_the_link_asks_once_and_the_page_says_who_it_is_until_they_sign_out() {
    let mut desk = Desk::open().await;
    let Some(browser) = Browser::start().await else { return };
    desk.core.invite("code", "Ana <b>of</b> ops");
    let page = browser.open(&desk.link("code")).await;
    page.until("!document.querySelector('#go').hidden").await;
    let text = page.text().await;
    assert!(text.contains("Sign in as Ana <b>of</b> ops?"), "{text}");
    assert_eq!(page.eval("location.hash").await, "", "the address keeps no code");
    // A preview, or the same person on another screen, sees the same offer.
    let other = browser.open(&desk.link("code")).await;
    other.until("!document.querySelector('#go').hidden").await;
    page.click("#go").await;
    page.until(LIVE).await;
    page.until("!document.querySelector('#me').hidden").await;
    assert_eq!(page.eval("document.querySelector('#me bdi').innerText").await, "Ana <b>of</b> ops");
    assert_eq!(page.eval("document.cookie").await, "", "no script sees the cookie");
    other.click("#go").await;
    other.until("document.querySelector('#said').innerText.startsWith('This link does not')").await;
    desk.post(&command("one", "ls")).await;
    page.until("document.querySelector('[data-slot=Approve]')").await;
    page.until(STILL).await;
    page.click("[data-slot=Approve]").await;
    assert_eq!(desk.presses.recv().await.unwrap().presser.id, "chat:Ana <b>of</b> ops");
    // The answer to this must not be lost with the page that gives it.
    page.eval("void (document.body.dataset.old = setTimeout(() => location.reload()))").await;
    page.until(&format!("!document.body.dataset.old && {LIVE}")).await;
    page.until("!document.querySelector('#me').hidden").await;
    page.click("#me").await;
    page.click("#sign-out").await;
    page.until("document.querySelector('.door')").await;
    let text = page.text().await;
    assert!(text.contains("/login"), "{text}");
}
