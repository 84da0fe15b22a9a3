//! Takes the pictures of the inbox: `INBOX_PICTURES=FOLDER cargo test -p countersign-inbox --test
//! inbox pictures -- --ignored`. `inbox.png` is the one in the README.

use crate::support::{
    Desk,
    browser::Browser,
    cards::{command, question},
};
use countersign_port::{ButtonStyle, Card};
use std::path::PathBuf;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes pictures where INBOX_PICTURES says"]
async fn pictures_of_the_inbox_are_taken() {
    let folder = PathBuf::from(std::env::var_os("INBOX_PICTURES").expect("INBOX_PICTURES is set"));
    let desk = Desk::open().await;
    let browser = Browser::start().await.expect("a Chromium");
    let still = "!document.querySelector('.settling, [aria-busy=true]') && \
                 !document.getAnimations().some((a) => a.transitionProperty !== 'transform')";

    let door = browser.open(&format!("http://localhost:{}/", desk.at.port())).await;
    door.picture(&folder.join("door.png")).await;
    let page = browser.open(&desk.address()).await;
    page.until("document.querySelector('#line').dataset.state === 'live'").await;
    page.picture(&folder.join("empty.png")).await;

    desk.post(&command("past", "cargo test --workspace")).await;
    desk.post(&command("past2", "git push --force origin main")).await;
    let single = question("single-past");
    desk.post(&single).await;
    let visitor = desk.visitor().await;
    visitor.press("past", "past.1.w", None).await;
    visitor.press("past2", "past2.1.d", None).await;
    visitor.press("single-past", "single-past.1.t", Some("Redis")).await;
    page.until("document.querySelectorAll('#closed .was').length === 3").await;
    page.picture(&folder.join("closed.png")).await;

    desk.post(&command("one", "rm -rf build && cmake -S . -B build -G Ninja")).await;
    let mut asked = question("several");
    asked.buttons[1][0].style = ButtonStyle::Chosen;
    desk.post(&asked).await;
    page.until("document.title === '(2) countersign'").await;
    page.size(900, 900).await;
    page.until(still).await;
    page.key("j").await;
    let height = page.eval("document.documentElement.scrollHeight").await.as_u64().unwrap();
    page.size(900, u32::try_from(height).unwrap() - 20).await;
    // The page hears of its new size a frame later.
    page.eval(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))",
    )
    .await;
    page.until(still).await;
    page.picture(&folder.join("inbox.png")).await;
    let size = std::fs::metadata(folder.join("inbox.png")).unwrap().len();
    assert!((10_000..200_000).contains(&size), "the README's picture is {size} bytes");
    page.scheme("dark").await;
    page.until(still).await;
    page.picture(&folder.join("dark.png")).await;

    page.size(375, 812).await;
    page.until(still).await;
    page.picture(&folder.join("phone-dark.png")).await;
    page.scheme("light").await;
    page.until(still).await;
    page.eval("document.querySelector('[data-id=several]').scrollIntoView()").await;
    page.picture(&folder.join("phone-question.png")).await;
    page.size(375, 1900).await;
    page.until(still).await;
    page.picture(&folder.join("phone.png")).await;

    let long = Card {
        id: "long".to_owned(),
        ..command("long", &"for f in *; do echo \"$f\"; done\n".repeat(80))
    };
    desk.post(&long).await;
    page.until("document.querySelector('[data-id=long]')").await;
    page.size(900, 900).await;
    page.until(still).await;
    page.click("[data-id=one] [data-slot=Deny]").await;
    page.until("document.querySelector('[data-id=one] .receipt')?.dataset.outcome === 'applied'")
        .await;
    page.eval("window.scrollTo(0, 0)").await;
    page.picture(&folder.join("answered.png")).await;
    page.eval("document.querySelector('[data-id=long]').scrollIntoView()").await;
    page.until(still).await;
    page.picture(&folder.join("long.png")).await;
    desk.stop().await;
    page.until("document.querySelector('#line').dataset.state === 'lost'").await;
    page.eval("window.scrollTo(0, 0)").await;
    page.picture(&folder.join("lost.png")).await;
}
