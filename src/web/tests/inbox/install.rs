//! The page as an app: its manifest, and no service worker.

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
    // Any script may be one; this one does nothing by itself.
    let left = "navigator.serviceWorker.register('/inbox/time.js', { scope: '/inbox/', \
                type: 'module' }).then(() => 1)";
    page.eval(left).await;
    assert_eq!(page.eval(WORKERS).await, 1);
    reload(&page).await;
    page.until_done(&format!("{WORKERS}.then((count) => count === 0)")).await;
}

async fn reload(page: &Page) {
    page.eval("window.before = true").await;
    page.eval("void setTimeout(() => location.reload())").await;
    page.until(&format!("!window.before && document.querySelector('#line') && {LIVE}")).await;
}
