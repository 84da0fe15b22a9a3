//! axe-core on every page, on a desk and on a phone, by day and by night.

use crate::support::{
    Desk,
    browser::{Browser, Page},
    cards::{command, question},
};
use serde_json::json;

pub const AXE: &str = include_str!("../../../../tests/support/assets/axe.min.js");
const LIVE: &str = "document.querySelector('#line').dataset.state === 'live'";
const STILL: &str = "!document.querySelector('.settling, [aria-busy=true]')";
/// Opens the fold that says who can answer, once.
const WHO: &str = "(() => { const fold = document.querySelector('[data-id=long] .answerers'); \
     if (fold) fold.open = true; return fold?.querySelector('li') })()";
/// The bar of the time that is left moves all the time.
const AT_REST: &str = "document.getAnimations().every(({ transitionProperty, playState }) => \
     transitionProperty === 'transform' || playState !== 'running')";

/// What axe finds; `only`: the rules that it tries.
fn run(only: &str) -> String {
    format!(
        "axe.run(document, {only}).then(({{ violations }}) => violations.flatMap(\
         ({{ id, nodes }}) => nodes.map(({{ target, failureSummary }}) => \
         `${{id}} ${{target}}: ${{failureSummary}}`)))"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_axe_clean_wide_and_narrow_light_and_dark() {
    let desk = Desk::open().await;
    let Some(browser) = Browser::start().await else { return };
    let door = browser.open(&format!("http://localhost:{}/", desk.at.port())).await;
    door.eval(AXE).await;
    assert_eq!(door.eval(&run("{}")).await, json!([]), "the door");
    desk.core.invite("code", "Ana");
    let link = browser.open(&format!("http://{}/sign-in#code", desk.at)).await;
    link.until("!document.querySelector('#go').hidden").await;
    link.eval(AXE).await;
    for scheme in ["light", "dark"] {
        link.scheme(scheme).await;
        assert_eq!(link.eval(&run("{}")).await, json!([]), "the sign-in, {scheme}");
    }
    let page = link;
    page.click("#go").await;
    page.until(LIVE).await;
    page.until("!document.querySelector('#me').hidden").await;
    page.eval(AXE).await;
    clean(&page, "no request", "true").await;
    desk.post(&command("long", &"echo a long command\n".repeat(80))).await;
    desk.post(&question("several")).await;
    desk.post(&command("past", "ls")).await;
    desk.visitor().await.press("past", "past.1.w", None).await;
    page.until("document.title === '(2) countersign' && document.querySelector('#closed .item')")
        .await;
    for (hash, drawn) in [
        ("#/", "document.querySelector('#open .item')"),
        ("#/ask/long", "document.querySelector('[data-id=long]')"),
        ("#/ask/long", WHO),
        ("#/ask/several", "document.querySelector('[data-id=several]')"),
        ("#/ask/past", "document.querySelector('[data-id=past] .outcome')"),
        ("#/history", "document.querySelector('.records .item')"),
        ("#/history/k3f0", "document.querySelector('.record')"),
        ("#/grants", "document.querySelector('.tile')"),
        ("#/sessions", "document.querySelector('.tile')"),
        ("#/rules", "document.querySelector('#rules form')"),
        ("#/status", "document.querySelector('.verdict')"),
    ] {
        page.eval(&format!("location.hash = '{hash}'")).await;
        clean(&page, hash, drawn).await;
    }
    page.eval("location.hash = '#/rules'").await;
    page.until("document.querySelector('#rules form')").await;
    fill(&page, "cargo build *").await;
    clean(&page, "what rules say", "document.querySelector('#rules .parts .tile')").await;
    who(&page).await;
    clean(&page, "who could answer", "document.querySelector('.answerer-list li')").await;
    page.click("[data-save] button").await;
    clean(&page, "a saved rule", "document.querySelector('[data-save] .calm')").await;
    fill(&page, "cargo *").await;
    page.click("[data-save] button").await;
    clean(&page, "a rule that is not saved", "document.querySelector('[data-save] .wrong')").await;
    for dialog in ["bells", "keys", "person"] {
        page.eval(&format!("document.getElementById('{dialog}').showModal()")).await;
        clean(&page, dialog, "document.querySelector('dialog[open]')").await;
        page.eval(&format!("document.getElementById('{dialog}').close()")).await;
    }
}

/// Holds what is shown to axe's rules, in both sizes and both schemes.
pub async fn clean(page: &Page, name: &str, drawn: &str) {
    for width in [1280, 375] {
        page.size(width, 800).await;
        // The schemes differ in colours alone.
        for (scheme, only) in [("light", "{}"), ("dark", "{ runOnly: ['color-contrast'] }")] {
            page.scheme(scheme).await;
            page.until(drawn).await;
            // Together: what settles begins to move in the same moment.
            page.until(&format!("{STILL} && {AT_REST}")).await;
            assert_eq!(page.eval(&run(only)).await, json!([]), "{name} at {width}, {scheme}");
        }
    }
}

/// Explains a command and tries a rule with this pattern.
pub async fn fill(page: &Page, pattern: &str) {
    for (form, field, text) in
        [("explain", "command", "git add -A && git push origin main"), ("try", "pattern", pattern)]
    {
        let form = format!("document.querySelector('[data-form={form}]')");
        page.eval(&format!("{form}.elements.{field}.value = '{text}'")).await;
        page.eval(&format!("{form}.requestSubmit()")).await;
        page.until(&format!("{form}.parentElement.querySelector('.said:not([aria-busy]) > *')"))
            .await;
    }
    page.until("document.querySelector('[data-save] button').innerText.startsWith('Save')").await;
}

/// Asks who could answer a command.
pub async fn who(page: &Page) {
    let form = "document.querySelector('[data-form=answerers]')";
    page.eval(&format!("{form}.elements.command.value = 'make deploy'; {form}.requestSubmit()"))
        .await;
    page.until(&format!("{form}.parentElement.querySelector('.said:not([aria-busy]) li')")).await;
}
