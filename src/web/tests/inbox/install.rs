//! The page as an app: its manifest, its few files, and no service worker.

use crate::support::{
    Desk,
    browser::{Browser, Page},
};
use serde_json::json;

const LIVE: &str = "document.querySelector('#line').dataset.state === 'live'";
const WORKERS: &str = "navigator.serviceWorker.getRegistrations().then((all) => all.length)";

#[tokio::test(flavor = "multi_thread")]
async fn the_page_can_be_installed_and_a_worker_that_somebody_left_is_removed() {
    let desk = Desk::open().await;
    let Some(browser) = Browser::start().await else { return };
    let page = browser.open(&desk.address()).await;
    page.until(LIVE).await;
    assert_eq!(page.manifest_errors().await, json!([]));
    assert_eq!(page.eval(WORKERS).await, 0, "it leaves none itself");
    page.bypass_policy().await;
    reload(&page).await;
    // Any script may be one, wherever it is.
    let left = "navigator.serviceWorker.register('/push/worker.js', { scope: '/push/x/' })\
                .then(() => 1)";
    page.eval(left).await;
    assert_eq!(page.eval(WORKERS).await, 1);
    reload(&page).await;
    page.until_done(&format!("{WORKERS}.then((count) => count === 0)")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_asks_for_few_files_and_only_once() {
    let desk = Desk::open().await;
    let Some(browser) = Browser::start().await else { return };
    let page = browser.open(&desk.address()).await;
    page.until(LIVE).await;
    // The page's files that came over the wire.
    let files = "performance.getEntriesByType('resource').filter(({ transferSize }) => transferSize > 0)\
                 .map(({ name }) => name.split('/').at(-1)).filter((name) => /[.](js|css|svg|png)$/.test(name)).sort()";
    assert_eq!(page.eval(files).await, json!(["icon.svg", "inbox.css", "inbox.js"]));
    let wire = "performance.getEntriesByType('resource').reduce((sum, { transferSize }) => sum + transferSize, \
                performance.getEntriesByType('navigation')[0].transferSize)";
    let bytes = page.eval(wire).await.as_f64().unwrap();
    assert!((20_000.0..50_000.0).contains(&bytes), "{bytes} bytes");
    reload(&page).await;
    assert_eq!(page.eval(files).await, json!([]));
}

async fn reload(page: &Page) {
    page.eval("window.before = true").await;
    page.eval("void setTimeout(() => location.reload())").await;
    page.until(&format!("!window.before && document.querySelector('#line') && {LIVE}")).await;
}
