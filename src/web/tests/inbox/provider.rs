//! The pages from which a team signs in through its identity provider. `tests/e2e/oidc.rs` goes to
//! one and back.

use crate::{
    axe::{AXE, clean},
    support::{Desk, browser::Browser},
};
use reqwest::Client;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn door_and_sign_in_name_the_provider_and_are_axe_clean_while_it_is_away() {
    // Nothing listens there.
    let desk = Desk::with_provider("http://127.0.0.1:1/realm").await;
    let Some(browser) = Browser::start().await else { return };
    let page = browser.open(&format!("http://{}/", desk.at)).await;
    page.eval(AXE).await;
    clean(&page, "the door", "!document.querySelector('#provider').hidden").await;
    page.click("#provider a").await;
    page.until("document.querySelector('#go') && !document.querySelector('#go').hidden").await;
    assert!(page.text().await.contains("Sign in with 127.0.0.1"));
    page.eval(AXE).await;
    clean(&page, "the sign-in", "true").await;
    page.click("#go").await;
    page.until("document.querySelector('#said').innerText.includes('cannot be asked')").await;
    page.until("!document.querySelector('#go').disabled").await;
    clean(&page, "a provider that is away", "true").await;
    // Who has come by the printed link reads, and finds the way to a name.
    let nameless = browser.open(&desk.address()).await;
    nameless.until("!document.querySelector('#go-in').hidden").await;
    nameless.eval(AXE).await;
    clean(&nameless, "a page without a name", "true").await;
    nameless.click("#go-in").await;
    nameless.until("document.querySelector('#go') && !document.querySelector('#go').hidden").await;
    page.go(&format!("http://{}/sign-in?code=x&state=y", desk.at)).await;
    page.until("document.querySelector('#said')?.innerText.includes('is not valid')").await;
    assert_eq!(page.eval("location.search").await, "", "the address keeps no code");
    page.go(&format!("http://{}/sign-in?state=y&error=<b>no</b>", desk.at)).await;
    let sentence =
        "document.querySelector('#said')?.innerText === '127.0.0.1 did not sign you in.'";
    page.until(sentence).await;
}

#[tokio::test]
async fn without_a_provider_there_is_none_to_sign_in_with() {
    let desk = Desk::open().await;
    let base = format!("http://{}", desk.at);
    let ways = Client::new().get(format!("{base}/inbox/sign-in/ways")).send().await.unwrap();
    assert_eq!(ways.json::<Value>().await.unwrap(), json!({ "oidc": null, "passkey": null }));
    for (path, body) in [
        ("/inbox/oidc/begin", json!({})),
        ("/inbox/oidc/finish", json!({"code": "a", "state": "b", "browser": "c"})),
    ] {
        let post = Client::new().post(format!("{base}{path}")).header("origin", &base);
        let refused = post.json(&body).send().await.unwrap();
        assert_eq!(refused.status(), 404, "{path}");
        assert!(refused.headers().get("set-cookie").is_none(), "{path}");
        let get = Client::new().get(format!("{base}{path}")).send().await.unwrap();
        assert!(get.status().is_client_error(), "{path}");
    }
}
