//! The inbox's pages in a real browser, with the real daemon behind them.

use crate::{
    browser::Browser,
    daemon::{APPROVER, Daemon, shell},
};
use serde_json::json;

const LIVE: &str = "document.querySelector('#line').dataset.state === 'live'";
const STILL: &str = "!document.querySelector('.settling, [aria-busy=true]')";

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_the_page_is_in_its_history_and_its_grant_is_revoked_there() {
    let daemon = Daemon::start("").await;
    let Some(browser) = Browser::start().await else { return };
    let page = browser.open(&daemon.inbox).await;
    page.until(LIVE).await;
    let id = daemon.ask(&shell("cargo test --workspace")).await;
    page.until("document.querySelector('[data-slot^=Always]')").await;
    page.until(STILL).await;
    page.click("[data-slot^=Always]").await;
    page.until("document.querySelector('[data-slot=Undo]')").await;
    daemon.ask_reaches(&id, "answered").await;
    let waits = daemon.ask(&shell("git push")).await;

    page.eval("location.hash = '#/history'").await;
    page.until(&format!("document.querySelector('.records [data-ask=\"{id}\"]')")).await;
    let hint = "document.querySelector('.records .hint').innerText";
    let stored = "Allowed · the local inbox · stored shell: cargo test *";
    assert_eq!(page.eval(hint).await, stored);
    page.click(".records a").await;
    page.until("document.querySelector('.record')").await;
    let text = page.text().await;
    for shown in ["cargo test --workspace", "Through\ninbox", "By\nthe local inbox", "delivered"] {
        assert!(text.contains(shown), "`{shown}` is on the page: {text}");
    }

    page.eval("location.hash = '#/sessions'").await;
    page.until("document.querySelector('.waits-for a')").await;
    let link = "document.querySelector('.waits-for a').innerText";
    assert_eq!(page.eval(link).await, "git push");

    page.eval("location.hash = '#/grants'").await;
    page.until("document.querySelector('.tile .quiet')").await;
    page.click(".tile .quiet").await;
    page.click(".tile .danger").await;
    page.until("document.querySelector('#grants .said').innerText.startsWith('Revoked')").await;
    let (_, left) = daemon.get("/v1/grants", APPROVER).await;
    assert_eq!(left["grants"], json!([]));

    page.eval("location.hash = '#/status'").await;
    page.until("document.querySelector('.verdict')").await;
    assert_eq!(
        page.eval("document.querySelector('.verdict').innerText").await,
        "Everything works."
    );
    assert_eq!(page.complaints(), Vec::<String>::new());
    assert_eq!(daemon.read(&waits).await["state"], "open");
}
