//! Takes the pictures of the inbox: `INBOX_PICTURES=FOLDER cargo test --workspace --test inbox
//! pictures -- --ignored`, to be looked at.

use crate::support::{
    Desk,
    browser::{Browser, Page},
    cards::{command, question},
};
use countersign_port::{ButtonStyle, Card, Tone};
use countersign_port_testkit::sample_edit;
use std::path::{Path, PathBuf};

const STILL: &str = "!document.querySelector('.settling, [aria-busy=true]') && \
                     !document.getAnimations().some((a) => a.transitionProperty !== 'transform')";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes pictures where INBOX_PICTURES says"]
async fn pictures_of_the_inbox_are_taken() {
    let folder = PathBuf::from(std::env::var_os("INBOX_PICTURES").expect("INBOX_PICTURES is set"));
    let desk = Desk::open().await;
    let browser = Browser::start().await.expect("a Chromium");
    let door = browser.open(&format!("http://localhost:{}/", desk.at.port())).await;
    take(&door, &folder, "door", "true").await;
    let team = Desk::with_provider("https://login.example.org").await;
    let door = browser.open(&format!("http://{}/", team.at)).await;
    take(&door, &folder, "door-team", "!document.querySelector('#provider').hidden").await;
    door.go(&format!("http://{}/sign-in", team.at)).await;
    take(&door, &folder, "sign-in-team", "!document.querySelector('#go').hidden").await;
    desk.core.invite("code", "Ana");
    let link = browser.open(&format!("http://{}/sign-in#code", desk.at)).await;
    take(&link, &folder, "sign-in", "!document.querySelector('#go').hidden").await;
    link.size(1280, 800).await;
    link.click("#go").await;
    link.until("document.querySelector('#me:not([hidden])')").await;
    link.click("#me").await;
    take(&link, &folder, "person", "document.querySelector('#person[open]')").await;
    let page = browser.open(&desk.address()).await;
    page.until("document.querySelector('#line').dataset.state === 'live'").await;
    take(&page, &folder, "empty", "true").await;
    let shown = |id: &str| format!("document.querySelector('[data-id={id}]')");

    for card in cards() {
        desk.post(&card).await;
    }
    let visitor = desk.visitor().await;
    visitor.press("past", "past.1.w", None).await;
    visitor.press("past2", "past2.1.d", None).await;
    page.until("document.querySelectorAll('#closed .item').length === 2").await;
    for id in ["build", "edit", "several", "long", "danger", "past"] {
        page.eval(&format!("location.hash = '#/ask/{id}'")).await;
        page.until(&shown(id)).await;
        take(&page, &folder, id, &shown(id)).await;
    }
    page.eval("location.hash = '#/ask/build'").await;
    page.until(&shown("build")).await;
    page.eval("document.querySelector('.answerers').open = true").await;
    page.until("document.querySelector('.answerers li')").await;
    take(&page, &folder, "who", "document.querySelector('.answerers li')").await;
    page.eval("location.hash = '#/'").await;
    take(&page, &folder, "list", "true").await;
    page.size(1280, 800).await;
    page.scheme("light").await;
    page.eval("location.hash = '#/ask/build'").await;
    page.until(&shown("build")).await;
    page.eval("document.activeElement.blur()").await;
    page.until(STILL).await;
    for name in ["history", "grants", "sessions", "rules", "status"] {
        page.eval(&format!("location.hash = '#/{name}'")).await;
        take(&page, &folder, name, &format!("document.querySelector('#{name} h2')")).await;
    }
    page.eval("location.hash = '#/rules'").await;
    page.until("document.querySelector('#rules form')").await;
    crate::axe::fill(&page, "cargo build *").await;
    take(&page, &folder, "rules-tried", "true").await;
    crate::axe::who(&page).await;
    page.eval("document.querySelector('[data-form=answerers]').scrollIntoView()").await;
    take(&page, &folder, "rules-who", "true").await;
    page.click("[data-save] button").await;
    take(&page, &folder, "rules-saved", "document.querySelector('[data-save] .calm')").await;
    page.eval("location.hash = '#/history/k3f0'").await;
    take(&page, &folder, "record", "document.querySelector('.record')").await;
    desk.stop().await;
    page.eval("location.hash = '#/'").await;
    take(&page, &folder, "lost", "document.querySelector('#line').dataset.state === 'lost'").await;
}

/// Takes one scene on a desk and on a phone, by day and by night.
async fn take(page: &Page, folder: &Path, name: &str, drawn: &str) {
    for (width, height) in [(1280, 800), (375, 720)] {
        page.size(width, height).await;
        for scheme in ["light", "dark"] {
            page.scheme(scheme).await;
            page.until(drawn).await;
            page.until(STILL).await;
            page.picture(&folder.join(format!("{name}-{width}-{scheme}.png"))).await;
        }
    }
}

fn cards() -> Vec<Card> {
    let titled = |id: &str, title: &str| Card { title: title.to_owned(), ..command(id, title) };
    let mut asked = question("several");
    asked.title = "Which stores should the new service use?".to_owned();
    asked.buttons[1][0].style = ButtonStyle::Chosen;
    let mut edit = Card { id: "edit".to_owned(), deadline: asked.deadline, ..sample_edit() };
    edit.origin = "codex · site on atlas".to_owned();
    let mut danger = titled("danger", "sudo rm -rf --no-preserve-root /");
    (danger.tone, danger.origin) = (Tone::Critical, "codex · api on atlas".to_owned());
    danger.buttons[0].remove(0);
    let long = command("long", &"for f in *; do echo \"$f\"; done\n".repeat(80));
    let mut all = vec![
        titled("past", "cargo test --workspace"),
        titled("past2", "git push --force origin main"),
        danger,
        asked,
        edit,
        Card { whole: true, ..titled("build", "rm -rf build && cmake -S . -B build -G Ninja") },
        Card { whole: true, ..titled("short", "git push") },
        Card { title: "for f in *; do echo \"$f\"; done… (+2280)".to_owned(), ..long },
    ];
    for (at, card) in all.iter_mut().enumerate() {
        card.deadline = card.deadline.map(|by| by + 47_000 * i64::try_from(at).unwrap());
    }
    all
}
