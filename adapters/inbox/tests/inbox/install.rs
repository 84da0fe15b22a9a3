//! The page as an app: its manifest, and the worker that shows it while countersign is away.

use crate::support::{
    Desk,
    browser::{Browser, Page},
    cards::command,
};
use serde_json::json;

const LIVE: &str = "document.querySelector('#line').dataset.state === 'live'";
/// Where the files of this start are.
const START: &str = "new URL('./', document.querySelector('script[type=module]').src).pathname";
const WORKERS: &str = "navigator.serviceWorker.getRegistrations().then((all) => \
     all.map((each) => new URL((each.active ?? each.waiting ?? each.installing).scriptURL).pathname))";

async fn look(desk: &Desk) -> Option<(Browser, Page)> {
    let browser = Browser::start().await?;
    let page = browser.open(&desk.address()).await;
    page.until(LIVE).await;
    Some((browser, page))
}

async fn reload(page: &Page) {
    page.eval("window.before = true").await;
    page.eval("void setTimeout(() => location.reload())").await;
    page.until("!window.before && document.querySelector('#line')").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_while_countersign_is_away_shows_the_page_which_says_so_and_no_card() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    assert_eq!(page.manifest_errors().await, json!([]));
    desk.post(&command("one", "cat secret-plan")).await;
    page.until("document.querySelector('[data-id=one]')").await;
    page.until("navigator.serviceWorker.controller").await;
    assert_eq!(page.eval(WORKERS).await, json!([format!("{}worker.js", start(&page).await)]));
    // What is kept is the page and its files: no card, no record, no answer of a hello.
    let kept = "caches.keys().then((names) => Promise.all(names.map(async (name) => \
         (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname)))) \
         .then((all) => all.flat())";
    let kept = page.eval(kept).await;
    let (kept, start) = (kept.as_array().unwrap(), start(&page).await);
    assert!(kept.contains(&json!("/")) && kept.contains(&json!(format!("{start}inbox.js"))));
    let own = |path: &str| path == "/" || path.starts_with(&*start);
    assert!(kept.iter().all(|path| own(path.as_str().unwrap())), "{kept:?}");

    desk.stop().await;
    reload(&page).await;
    page.until("document.querySelector('#banner').innerText.startsWith('Not connected')").await;
    assert!(!page.text().await.contains("secret-plan"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_somebody_else_left_is_removed() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    page.until("navigator.serviceWorker.controller").await;
    let own = format!("{}worker.js", start(&page).await);
    page.bypass_policy().await;
    reload(&page).await;
    page.until(LIVE).await;
    page.eval(
        "navigator.serviceWorker.register('/inbox/worker.js', { scope: '/inbox/' }).then(() => 1)",
    )
    .await;
    assert_eq!(page.eval(&format!("{WORKERS}.then((all) => all.length)")).await, 2);
    reload(&page).await;
    page.until(LIVE).await;
    page.until_done(&format!("{WORKERS}.then((all) => all.length === 1)")).await;
    assert_eq!(page.eval(WORKERS).await, json!([own]));
}

async fn start(page: &Page) -> String {
    page.eval(START).await.as_str().unwrap().to_owned()
}
