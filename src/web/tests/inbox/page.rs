//! The inbox in a real browser.

use crate::support::{
    Desk,
    browser::{Browser, Page},
    cards::{command, question},
};
use serde_json::json;

const LIVE: &str = "document.querySelector('#line').dataset.state === 'live'";
const WIDTHS: &str = "[document.documentElement.scrollWidth, innerWidth]";
const STILL: &str = "!document.querySelector('.settling, [aria-busy=true]')";

/// A browser with the inbox open; `None` when there is no browser.
async fn look(desk: &Desk) -> Option<(Browser, Page)> {
    let browser = Browser::start().await?;
    let page = browser.open(&desk.address()).await;
    page.until(LIVE).await;
    Some((browser, page))
}

/// Opens a request of the list.
async fn open(page: &Page, id: &str) {
    page.click(&format!(".item[data-ask={id}] a")).await;
    page.until(&format!("document.querySelector('[data-id={id}]')")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_on_approve_answers_and_the_card_says_so() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    assert_eq!(page.eval("document.title").await, "countersign");
    assert!(page.text().await.contains("Nothing waits for you."));
    desk.post(&command("one", "rm -rf build && echo '<b>done</b>'")).await;
    page.until("document.title === '(1) countersign'").await;
    page.until(STILL).await;
    let text = page.text().await;
    for shown in
        ["rm -rf build && echo '<b>done</b>'", "Always stores: Bash(rm -rf build:*)", " left"]
    {
        assert!(text.contains(shown), "`{shown}` is on the page: {text}");
    }
    // Whatever the receipt says is kept, however soon the card is filed away.
    page.eval(
        "void new MutationObserver(() => { \
           window.receipt = document.querySelector('.receipt')?.textContent || window.receipt; \
         }).observe(document.querySelector('#detail'), { subtree: true, childList: true })",
    )
    .await;
    page.click("[data-slot=Approve]").await;
    page.until("document.querySelector('.outcome')").await;
    page.until("window.receipt === 'Approved once.'").await;
    let press = desk.presses.recv().await.unwrap();
    assert_eq!((press.token.as_str(), press.presser.id.as_str()), ("one.1.a", "local"));
    assert_eq!(page.eval("document.querySelectorAll('.buttons').length").await, 0);
    assert!(page.text().await.contains("Approved once by the local inbox at 12:03"));
    assert_eq!(page.eval("document.title").await, "countersign");
    page.until("document.querySelector('#closed [data-ask=one]')").await;
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_of_the_bridge_stands_on_the_page_until_it_is_over() {
    use countersign_port::Adapter;
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    assert_eq!(page.eval("document.querySelector('#notice').hidden").await, true);
    desk.inbox.notice(&["Telegram does not hear <b>presses</b>.".to_owned()]);
    page.until("!document.querySelector('#notice').hidden").await;
    assert!(page.text().await.contains("Telegram does not hear <b>presses</b>."));
    desk.inbox.notice(&[]);
    page.until("document.querySelector('#notice').hidden").await;
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_somebody_types_beside_a_field_press_nothing() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&command("one", "first")).await;
    page.until("document.title === '(1) countersign'").await;
    page.until(STILL).await;
    page.key("j").await;
    page.until("document.activeElement.dataset.id === 'one'").await;
    // In one task of the page, as fast as somebody types.
    let typed = "[...'what now, always'].every((key) => { document.activeElement.dispatchEvent(
        new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })); return true; })";
    page.until(typed).await;
    page.until("performance.now() > (window.after ??= performance.now() + 700)").await;
    assert!(desk.presses.try_recv().is_err(), "words pressed a button");
    page.key("v").await;
    assert_eq!(desk.presses.recv().await.unwrap().token, "one.1.s", "a key alone still does");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_act_on_the_focused_card_alone() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&command("one", "first")).await;
    desk.post(&command("two", "second")).await;
    page.until("document.title === '(2) countersign'").await;
    page.until(STILL).await;
    page.key("a").await;
    page.key("j").await;
    page.key("j").await;
    page.until("document.activeElement.dataset.id === 'two'").await;
    page.key("d").await;
    page.until("document.title === '(1) countersign'").await;
    assert_eq!(desk.presses.recv().await.unwrap().token, "two.1.d");
    page.key("k").await;
    page.until("document.activeElement.dataset.id === 'one'").await;
    page.until(STILL).await;
    // First what says who can answer, then the buttons.
    page.key("Tab").await;
    page.until("document.activeElement.innerText === 'Who can answer'").await;
    page.key("Tab").await;
    page.until("document.activeElement.dataset.slot === 'Approve'").await;
    page.key("Enter").await;
    page.until("document.title === 'countersign'").await;
    assert_eq!(desk.presses.recv().await.unwrap().token, "one.1.a");
    assert!(desk.presses.try_recv().is_err(), "nothing else was pressed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_has_just_come_takes_no_press() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    // Presses in the very moment in which the card comes: by mouse, and by its key.
    page.eval(
        "void new MutationObserver((_, observer) => { \
           const button = document.querySelector('[data-slot=Approve]'); \
           if (!button) return; \
           observer.disconnect(); \
           button.focus(); \
           button.click(); \
           button.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true })); \
         }).observe(document.querySelector('#detail'), { childList: true })",
    )
    .await;
    desk.post(&command("one", "ls")).await;
    page.until("document.querySelector('.receipt')?.textContent.includes('nothing was pressed')")
        .await;
    page.until(STILL).await;
    assert_eq!(page.eval("document.activeElement.dataset.slot").await, "Approve");
    assert!(desk.presses.try_recv().is_err(), "neither the click nor the key pressed");
    page.key("Enter").await;
    assert_eq!(
        desk.presses.recv().await.unwrap().token,
        "one.1.a",
        "Enter counts once it is still"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_slides_under_the_cursor_takes_no_press() {
    use countersign_port::Adapter;
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&command("one", "first")).await;
    page.until("document.querySelector('[data-id=one]')").await;
    page.until(STILL).await;
    // A notice comes above the card, so that it moves; it is pressed in that very moment.
    page.eval(
        "const one = document.querySelector('[data-id=one]'); \
         window.was = one.getBoundingClientRect().top; \
         void new MutationObserver((_, observer) => { \
           if (!one.classList.contains('settling')) return; \
           observer.disconnect(); \
           window.moved = one.getBoundingClientRect().top - was; \
           one.querySelector('[data-slot=Approve]').click(); \
         }).observe(one, { attributes: true })",
    )
    .await;
    desk.inbox.notice(&["Telegram does not hear presses.".to_owned()]);
    page.until("document.querySelector('[data-id=one] .receipt').textContent.includes('moved')")
        .await;
    assert!(page.eval("window.moved").await.as_f64().unwrap() > 20.0, "the card moved");
    assert!(desk.presses.try_recv().is_err(), "the moved card was not pressed");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_are_toggled_and_submitted() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&question("several")).await;
    page.until("document.querySelector('[data-slot=Submit]')").await;
    page.until(STILL).await;
    page.click("[data-slot=PostgreSQL]").await;
    page.until("document.querySelector('[data-slot=PostgreSQL]').ariaPressed === 'true'").await;
    page.until(STILL).await;
    page.key("2").await;
    page.until("document.querySelector('[data-slot=SQLite]').ariaPressed === 'true'").await;
    assert_eq!(page.eval("document.activeElement.dataset.slot").await, "PostgreSQL");
    page.click("[data-slot=Submit]").await;
    page.until("document.querySelector('.outcome')").await;
    let mut tokens = vec![];
    for _ in 0..3 {
        tokens.push(desk.presses.recv().await.unwrap().token);
    }
    assert_eq!(tokens, ["several.1.c0", "several.1.c1", "several.1.s"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn free_text_is_typed_on_the_card_and_kept_when_it_is_redrawn() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    let card = question("single");
    desk.post(&card).await;
    page.until("document.querySelector('textarea')").await;
    page.until(STILL).await;
    page.click("textarea").await;
    page.write("Redis, <b>a").await;
    let mut redrawn = card.clone();
    redrawn.revision = 2;
    redrawn.blocks.push(crate::support::cards::note("Now with a note."));
    desk.update(&redrawn).await;
    page.until("document.body.innerText.includes('Now with a note.')").await;
    page.until(STILL).await;
    page.write("d").await;
    assert!(desk.presses.try_recv().is_err(), "the letters a and d are words here, not keys");
    page.key("Enter").await;
    page.until("document.body.innerText.includes('Answered “Redis, <b>ad”')").await;
    let press = desk.presses.recv().await.unwrap();
    assert_eq!((press.token.as_str(), press.text.as_deref()), ("single.1.t", Some("Redis, <b>ad")));
}

#[tokio::test(flavor = "multi_thread")]
async fn words_for_one_question_are_not_carried_into_the_next() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    let mut card = question("single");
    desk.post(&card).await;
    page.until("document.querySelector('textarea')").await;
    page.click("textarea").await;
    page.write("Redis").await;
    card.revision = 2;
    card.title = "claude-code asks question 2 of 2".to_owned();
    for button in card.buttons.iter_mut().flatten() {
        button.token = button.token.replace(".1.", ".2.");
    }
    desk.update(&card).await;
    page.until("document.body.innerText.includes('question 2 of 2')").await;
    assert_eq!(page.eval("document.querySelector('textarea').value").await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_button_asks_for_words_with_the_cores_own_sentence() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    let mut card = command("one", "ls");
    let style = countersign_port::ButtonStyle::Text;
    let token = "one.1.t".to_owned();
    let label = "Deny, and say why…".to_owned();
    card.buttons[0].push(countersign_port::Button { token, label, style });
    desk.post(&card).await;
    page.until("document.querySelector('.card')").await;
    page.until(STILL).await;
    assert_eq!(page.eval("document.querySelector('form.words').hidden").await, true);
    page.click("[data-slot^='Deny, and']").await;
    page.until("document.activeElement.tagName === 'TEXTAREA'").await;
    assert!(page.text().await.contains("What should it be instead?"));
    page.until(STILL).await;
    page.write("use trash-put").await;
    page.key("Enter").await;
    page.until("document.querySelector('.outcome')").await;
    let mut heard = vec![];
    for _ in 0..2 {
        let press = desk.presses.recv().await.unwrap();
        heard.push((press.token, press.text));
    }
    let words = Some("use trash-put".to_owned());
    assert_eq!(heard, [("one.1.t".to_owned(), None), ("one.1.t".to_owned(), words)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_on_one_page_closes_the_card_on_the_other() {
    let desk = Desk::open().await;
    let Some((browser, here)) = look(&desk).await else { return };
    let there = browser.open(&desk.address()).await;
    there.until(LIVE).await;
    desk.post(&command("one", "ls")).await;
    for page in [&here, &there] {
        page.until("document.querySelector('[data-slot=Approve]')").await;
    }
    let visitor = desk.visitor().await;
    assert_eq!(visitor.press("one", "one.1.d", None).await.1["sentence"], "Denied.");
    for page in [&here, &there] {
        page.until("document.querySelector('.outcome')?.textContent.startsWith('Denied by')").await;
        assert_eq!(page.eval("document.querySelectorAll('.card button').length").await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_shows_everything_without_sideways_scrolling_light_and_dark() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    page.size(375, 700).await;
    desk.post(&command("one", &format!("echo {}", "x".repeat(400)))).await;
    desk.post(&question("several")).await;
    let mut long = command("long", &"printf '%s\\n' \"$line\"\n".repeat(300));
    long.title = format!("{} wants to use {}", "agent".repeat(20), "tool".repeat(20));
    desk.post(&long).await;
    page.until("document.title === '(3) countersign'").await;
    let small = "[...document.querySelectorAll('.row button, .menu summary')].filter((b) => { \
                 const r = b.getBoundingClientRect(); return r.height < 44 || r.left < 0 || \
                 r.right > 375 || r.bottom > innerHeight }).length";
    for id in ["one", "several", "long"] {
        open(&page, id).await;
        page.until(STILL).await;
        assert_eq!(page.eval(WIDTHS).await, json!([375, 375]), "{id}");
        assert_eq!(page.eval(small).await, 0, "all buttons of {id} are in reach of a thumb");
        if id == "long" {
            break;
        }
        page.click("#back").await;
        page.until("document.body.dataset.view === 'list'").await;
        assert_eq!(page.eval(WIDTHS).await, json!([375, 375]));
    }
    let whole = "document.querySelector('[data-id=long] pre').textContent.length";
    assert_eq!(page.eval(whole).await, "printf '%s\\n' \"$line\"\n".len() * 300);
    assert!(page.text().await.contains("characters. Show all"));
    page.click("[data-id=long] .more").await;
    let cut = "(() => { const p = document.querySelector('[data-id=long] pre'); return \
     p.scrollHeight - p.clientHeight })()";
    assert_eq!(page.eval(cut).await, 0);
    let ground = "getComputedStyle(document.body).backgroundColor";
    page.scheme("light").await;
    let light = page.eval(ground).await;
    page.scheme("dark").await;
    let dark = page.eval(ground).await;
    assert_eq!((light, dark), (json!("rgb(245, 244, 240)"), json!("rgb(18, 18, 17)")));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_command_shows_head_and_tail_and_padding_pushes_nothing_out_of_sight() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    let many: Vec<String> = (1..=200).map(|n| format!("echo {n}")).collect();
    desk.post(&command("long", &format!("{}\nrm -rf ~/Documents\n", many.join("\n")))).await;
    let padded = format!("ls{}rm -rf ~", "\n".repeat(300));
    desk.post(&command("padded", &padded)).await;
    page.until("document.title === '(2) countersign'").await;
    open(&page, "long").await;
    let text = page.text().await;
    for shown in
        ["201 lines, ", "The end:", "echo 197\necho 198\necho 199\necho 200\nrm -rf ~/Docu"]
    {
        assert!(text.contains(shown), "`{shown}` is on the page: {text}");
    }
    let in_sight = |selector: &str, words: &str| {
        format!(
            "(() => {{ const e = document.querySelector('{selector}'); \
             return e.textContent.includes('{words}') && e.scrollHeight - e.clientHeight < 5 }})()"
        )
    };
    assert_eq!(page.eval(&in_sight("[data-id=long] .end-of", "rm -rf ~/Documents")).await, true);
    open(&page, "padded").await;
    let text = page.text().await;
    assert_eq!(page.eval(&in_sight("[data-id=padded] pre", "rm -rf ~")).await, true);
    assert!(text.contains("⋮ 299 empty lines") && text.contains("blanks are counted"), "{text}");
    page.click("[data-id=padded] .more").await;
    let exact = page.eval("document.querySelector('[data-id=padded] pre').textContent").await;
    assert_eq!(exact, json!(padded));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_approved_only_after_its_end_was_in_sight() {
    let mut desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    page.size(1000, 420).await;
    desk.post(&command("one", &"echo step\n".repeat(60))).await;
    page.until("document.querySelector('[data-id=one]')").await;
    page.until(STILL).await;
    let top = "document.querySelector('#detail').scrollTop";
    assert_eq!(page.eval(top).await, 0);
    page.eval("document.querySelector('[data-slot=Approve]').click()").await;
    page.until("document.querySelector('.receipt').innerText.includes('not in sight')").await;
    assert!(page.eval(top).await.as_f64().unwrap() > 0.0, "the end is shown");
    assert!(desk.presses.try_recv().is_err(), "nothing was pressed");
    page.until(STILL).await;
    page.click("[data-slot=Approve]").await;
    assert_eq!(desk.presses.recv().await.unwrap().token, "one.1.a");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_lives_through_a_restart_and_says_when_it_is_not_connected() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    desk.post(&command("kept", "ls")).await;
    desk.post(&command("gone", "ls -l")).await;
    page.until("document.title === '(2) countersign'").await;
    let at = desk.at.to_string();
    desk.stop().await;
    page.until("document.body.innerText.includes('Not connected to countersign.')").await;
    page.until(
        "[...document.querySelectorAll('.row button')].every((b) => b.ariaDisabled === 'true')",
    )
    .await;
    page.eval("document.querySelector('[data-slot=Approve]').click()").await;
    page.until("document.querySelector('.receipt').textContent.includes('nothing was pressed')")
        .await;

    let mut desk = Desk::closed(&at).await.start().await;
    desk.post(&command("kept", "ls")).await;
    page.until(LIVE).await;
    page.until(
        "document.querySelector('[data-id=kept] [data-slot=Approve]').ariaDisabled === 'false'",
    )
    .await;
    page.until("document.querySelector('#closed [data-ask=gone]')").await;
    assert_eq!(page.eval("document.title").await, "(1) countersign");
    page.until(STILL).await;
    page.click("[data-id=kept] [data-slot=Deny]").await;
    page.until("document.title === 'countersign'").await;
    assert_eq!(desk.presses.recv().await.unwrap().token, "kept.1.d");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_is_shown_literally() {
    let desk = Desk::open().await;
    let Some((_browser, page)) = look(&desk).await else { return };
    let evil = "</pre><script>document.title='owned'</script><img src=x \
     onerror=\"document.title='owned'\"> \u{202e}gpj\u{0}";
    let mut card = command("one", evil);
    card.title = format!("{evil} asks");
    desk.post(&card).await;
    page.until("document.querySelector('.card')").await;
    let shown = page.eval("document.querySelector('.card pre').textContent").await;
    assert_eq!(shown.as_str().unwrap(), countersign_port::visible(evil));
    assert_eq!(page.eval("document.querySelectorAll('.card img, .card script').length").await, 0);
    assert_eq!(page.eval("document.title").await, "(1) countersign");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_from_another_site_lets_in_and_the_door_is_closed_without_one() {
    let desk = Desk::open().await;
    let Some(browser) = Browser::start().await else { return };
    // `localhost` is another site than `127.0.0.1`; its door is closed.
    let page = browser.open(&format!("http://localhost:{}/", desk.at.port())).await;
    assert!(page.text().await.contains("Open the link printed by countersign open"));
    page.eval(&format!("void setTimeout(() => location.assign({:?}))", desk.address())).await;
    page.until(
        "location.hostname === '127.0.0.1' && \
     document.querySelector('#line')?.dataset.state === 'live'",
    )
    .await;
    assert_eq!(page.eval("location.pathname + location.search + location.hash").await, "/");
}
