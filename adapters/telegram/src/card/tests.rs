#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::*;
use countersign_port::{Block, DiffLine, DiffSide, Field, Tone};
use countersign_port_testkit::{
    closed, golden_bytes, golden_cards, golden_rows, sample_card, sample_edit,
};
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

fn now() -> Timestamp {
    // Five minutes before the sample card's deadline.
    Timestamp::from_millisecond(1_795_221_291_475 - 300_000).unwrap()
}

fn draw(card: &Card) -> Rendered {
    render(card, Menu::Main, now())
}

/// What Telegram's HTML mode makes of a text that holds only our tags.
fn unescaped(html: &str) -> String {
    let mut text = html.to_owned();
    for tag in ["b", "code", "pre", "blockquote"] {
        text = text.replace(&format!("<{tag}>"), "").replace(&format!("</{tag}>"), "");
    }
    for tag in ["<blockquote expandable>", "<code class=\"language-diff\">"] {
        text = text.replace(tag, "");
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The message with its buttons.
fn picture(card: &Card) -> String {
    picture_at(card, now())
}

fn picture_at(card: &Card, now: Timestamp) -> String {
    let drawn = render(card, Menu::Main, now);
    let mut out = drawn.page.html();
    let keyboard = serde_json::to_value(&drawn.keyboard).unwrap();
    for row in keyboard["inline_keyboard"].as_array().into_iter().flatten() {
        let keys = row.as_array().unwrap().iter().map(|key| format!("[{}]", key["text"]));
        out.push_str(&format!("\n{}", keys.collect::<Vec<_>>().join(" ")));
    }
    for file in &drawn.files {
        out.push_str(&format!("\n({}: {} characters)", file.name, file.text.chars().count()));
    }
    out
}

#[test]
fn an_open_card_shows_all_of_it() {
    let card = sample_card("rm -rf build/* && echo \"<done> & `dusted`\" </code></pre> @everyone");
    insta::assert_snapshot!(picture(&card));
}

#[test]
fn every_kind_of_card_before_and_after_the_press() {
    insta::assert_snapshot!(golden_cards(|card| picture_at(card, Timestamp::UNIX_EPOCH)));
}

#[test]
fn every_card_is_sent_as_before_byte_for_byte() {
    golden_bytes("telegram", |card| {
        let drawn = render(card, Menu::Main, Timestamp::UNIX_EPOCH);
        let more = render(card, Menu::More, Timestamp::UNIX_EPOCH).keyboard;
        let files: Vec<_> = drawn.files.iter().map(|file| json!([file.name, file.text])).collect();
        json!({"html": drawn.page.html(), "text": drawn.page.text(),
            "entities": drawn.page.entities(), "keyboard": drawn.keyboard, "more": more,
            "files": files})
    });
}

#[test]
fn every_card_is_short() {
    insta::assert_snapshot!(golden_rows(|card| {
        let html = render(card, Menu::Main, Timestamp::UNIX_EPOCH).page.html();
        // A fold shows three rows until somebody opens it.
        let (before, fold) = html.split_once("<blockquote expandable>").unwrap_or((&html, ""));
        let fold: Vec<&str> = fold.lines().take(3).collect();
        format!(
            "{}\n{}",
            unescaped(before.trim_end()),
            fold.iter().map(|_| "x\n").collect::<String>()
        )
    }));
}

#[test]
fn a_critical_card_says_so_first() {
    insta::assert_snapshot!(picture(&Card { tone: Tone::Critical, ..sample_card("ls") }));
}

#[test]
fn a_change_is_shown_line_by_line() {
    insta::assert_snapshot!(picture(&sample_edit()));
}

#[test]
fn padding_pushes_nothing_out_of_sight_and_all_of_it_is_attached() {
    let padded = format!("ls{}{}; rm -rf ~", "\n".repeat(60), " ".repeat(900));
    let drawn = draw(&sample_card(&padded));
    let text = drawn.page.text();
    assert!(text.contains("ls\n⋮ 59 empty lines\n ⋯900 blanks⋯ ; rm -rf ~\n"), "{text}");
    assert_eq!(drawn.files[0].text, padded);
}

#[test]
fn a_closed_card_is_one_line_and_a_fold() {
    let drawn = draw(&closed(&sample_card("ls")));
    assert_eq!(drawn.keyboard, None);
    insta::assert_snapshot!(drawn.page.html());
}

#[test]
fn a_long_command_shows_head_and_tail_says_what_is_missing_and_comes_as_a_file() {
    let long = format!("echo start; {} rm -rf tail-end", "printf '%s' x; ".repeat(2_000));
    let drawn = draw(&sample_card(&long));
    let text = drawn.page.text();
    assert_eq!(drawn.files, [TextFile { name: "a7f3-command.txt".into(), text: long.clone() }]);
    assert!(text.contains("echo start; printf") && text.contains("rm -rf tail-end"), "{text}");
    let shown: usize = text.matches("printf '%s' x; ").map(str::len).sum();
    let said = text.split_once("✂️ ").unwrap().1.split_once(' ').unwrap().0;
    let hidden: usize = said.parse().unwrap();
    let rest = long.len() - hidden;
    assert!(rest >= shown && rest - shown < 100, "{hidden} hidden, at least {shown} shown");
}

#[test]
fn invisible_characters_are_shown_and_the_exact_text_is_attached() {
    let hostile = "cp a\u{202e}txt.exe\u{0}b\u{200b}\r\n</code>";
    let drawn = draw(&sample_card(hostile));
    let text = drawn.page.text();
    assert!(text.contains("cp a\\u{202e}txt.exe\\u{0}b\\u{200b}\\u{d}\n</code>"), "{text}");
    assert!(text.contains("Invisible characters are spelled out"), "{text}");
    assert!(text.contains("To the letter in a7f3-command.txt"), "{text}");
    assert_eq!(drawn.files, [TextFile { name: "a7f3-command.txt".into(), text: hostile.into() }]);
}

#[test]
fn a_closed_card_promises_no_file_and_has_none() {
    let mut card = closed(&sample_card(&"x".repeat(5_000)));
    card.blocks.push(Block::Note { text: "n".repeat(5_000) });
    card.blocks.push(Block::Outcome { text: "o".repeat(5_000) });
    let drawn = draw(&card);
    assert_eq!(drawn.files, []);
    let text = drawn.page.text();
    assert!(text.contains(" more characters not shown\n"), "{text}");
    assert!(!text.contains("attached"), "{text}");
}

#[test]
fn a_short_command_leaves_room_for_long_notes_and_fields() {
    let mut card = sample_card("ls");
    let note = format!("Always stores: {}", "shell: rm build/*, ".repeat(11));
    let value = "long ".repeat(24);
    let field = Field { name: "1".into(), value: value.clone() };
    card.blocks = vec![
        card.blocks[0].clone(),
        Block::Fields { fields: vec![field] },
        Block::Note { text: note.clone() },
    ];
    let drawn = draw(&card);
    assert!(drawn.page.text().contains(&note) && drawn.page.text().contains(&value));
    assert_eq!(drawn.files, []);
}

#[test]
fn notes_and_fields_that_are_cut_are_attached_whole() {
    let mut card = sample_card(&"x".repeat(5_000));
    let note = format!("Always stores: {}", "shell: rm build/*, ".repeat(50));
    let fields = (0..9).map(|n| Field { name: n.to_string(), value: "v".repeat(200) }).collect();
    card.blocks =
        vec![card.blocks[0].clone(), Block::Fields { fields }, Block::Note { text: note.clone() }];
    let drawn = draw(&card);
    let details = drawn.files.last().unwrap();
    assert_eq!(details.name, "a7f3-card.txt");
    assert!(details.text.ends_with(&format!("{note}\n")), "{}", details.text);
}

#[test]
fn parts_that_find_no_room_are_counted_and_attached() {
    let mut card = sample_card("ls");
    let code =
        |n: usize| Block::Code { label: format!("file {n}"), text: "y".repeat(900), whole: false };
    card.blocks = (0..60).map(code).collect();
    let drawn = draw(&card);
    let text = drawn.page.text();
    assert!(text.contains(" more parts in a7f3-card.txt\n"), "{text}");
    let whole = drawn.files.last().unwrap();
    assert!(whole.text.contains("file 59:\nyyy"), "{}", whole.text);
}

#[test]
fn the_deadline_is_a_time_and_a_length() {
    let at = |seconds: i64| until(now() + SignedDuration::from_secs(seconds), now());
    assert_eq!(at(90), "⏳ until 00:31 UTC, 90 s left");
    assert_eq!(at(300), "⏳ until 00:34 UTC, 5 min left");
    assert_eq!(at(3 * 86_400), "⏳ until 24 Nov 00:29 UTC, 3 days left");
    assert_eq!(at(-5), "⏳ until 00:29 UTC, 0 s left");
}

fn button(label: &str, style: ButtonStyle) -> Button {
    Button { token: "k.1.a".into(), label: label.into(), style }
}

#[test]
fn rows_labels_tokens_and_looks_are_kept() {
    let buttons = vec![
        vec![button("Approve", ButtonStyle::Approve), button("Deny", ButtonStyle::Deny)],
        vec![],
        vec![button("two\nlines", ButtonStyle::Chosen), button(" ", ButtonStyle::Choice)],
    ];
    let expected = json!({"inline_keyboard": [
        [
            {"text": "Approve", "callback_data": "k.1.a", "style": "success"},
            {"text": "Deny", "callback_data": "k.1.a", "style": "danger"},
        ],
        [
            {"text": "☑ two lines", "callback_data": "k.1.a"},
            {"text": "…", "callback_data": "k.1.a"},
        ],
    ]});
    let card = Card { buttons, more: vec![], ..sample_card("ls") };
    let keyboard = keyboard(&card, Menu::Main).unwrap();
    assert_eq!(serde_json::to_value(keyboard).unwrap(), expected);
}

#[test]
fn more_is_a_second_keyboard_that_leads_back() {
    let more = ["Session: cargo build *", "10 min", "24 h", "Skip"];
    let more = more.map(|label| button(label, ButtonStyle::Always)).to_vec();
    let buttons = vec![vec![button("Deny", ButtonStyle::Deny)]];
    let card = Card { id: "k".into(), buttons, more, ..sample_card("ls") };
    let labels = |menu| {
        let rows = keyboard(&card, menu).unwrap().inline_keyboard;
        let row =
            |row: Vec<KeyboardButton>| row.into_iter().map(|key| key.text).collect::<Vec<_>>();
        rows.into_iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(labels(Menu::Main), [["Deny"], ["More…"]]);
    let rows =
        [vec!["Session: cargo build *"], vec!["10 min", "24 h"], vec!["Skip"], vec!["‹ Back"]];
    assert_eq!(labels(Menu::More), rows);
    assert_eq!(Menu::opened("k:more"), Some(("k", Menu::More)));
    assert_eq!(Menu::opened("k:back"), Some(("k", Menu::Main)));
    assert_eq!(Menu::opened("k.1.a"), None);
}

#[test]
fn nothing_to_press_is_no_keyboard() {
    let card = Card { buttons: vec![vec![], vec![]], more: vec![], ..sample_card("ls") };
    assert_eq!(keyboard(&card, Menu::Main), None);
}

fn any_block() -> impl Strategy<Value = Block> {
    let inner = prop::collection::vec(any_plain_block(), 0..4);
    prop_oneof![
        8 => any_plain_block(),
        1 => inner.prop_map(|blocks| Block::Details { blocks }),
    ]
}

fn any_plain_block() -> impl Strategy<Value = Block> {
    let text = || prop_oneof![any::<String>(), "[<>&\"\u{0}\u{202e}👍🏽\n a]{0,3000}", ".{0,200}"];
    prop_oneof![
        (text(), text()).prop_map(|(label, text)| Block::Code { label, text, whole: false }),
        (text(), text()).prop_map(|(label, text)| Block::Quote { label, text }),
        (text(), prop::collection::vec(text(), 0..5)).prop_map(|(path, texts)| Block::Diff {
            path,
            added: texts.len(),
            removed: 0,
            lines: texts.into_iter().map(|text| DiffLine { side: DiffSide::Added, text }).collect(),
        }),
        text().prop_map(|text| Block::Note { text }),
        text().prop_map(|text| Block::Outcome { text }),
        prop::collection::vec((text(), text()), 0..12).prop_map(|list| Block::Fields {
            fields: list.into_iter().map(|(name, value)| Field { name, value }).collect()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn any_card_fits_and_its_html_says_its_text_and_nothing_else(
        title in any::<String>(),
        ask in any::<String>(),
        blocks in prop::collection::vec(any_block(), 0..10),
    ) {
        let mut card = Card { origin: ask.clone(), ask, blocks, ..sample_edit() };
        card.buttons[0][0].label = title.clone();
        card.more[0].label = title.clone();
        card.title = title;
        for menu in [Menu::Main, Menu::More] {
            let keyboard = serde_json::to_value(render(&card, menu, now()).keyboard).unwrap();
            let rows = keyboard["inline_keyboard"].as_array().unwrap().iter();
            for key in rows.flat_map(|row| row.as_array().unwrap()) {
                prop_assert!(!key["text"].as_str().unwrap().trim().is_empty());
                prop_assert!((1..=64).contains(&key["callback_data"].as_str().unwrap().len()));
            }
        }
        let drawn = draw(&card);
        let text = drawn.page.text();
        prop_assert!(text.encode_utf16().count() <= 4_096, "{}", text.encode_utf16().count());
        prop_assert!(drawn.page.html().len() <= 32_768);
        prop_assert_eq!(unescaped(&drawn.page.html()), text);
    }

    #[test]
    fn any_agent_text_is_shown_whole_or_attached_exactly(text in "[ -~\n\u{202e}é👍]{0,4000}") {
        let drawn = draw(&sample_card(&text));
        let attached = drawn.files.iter().any(|file| file.text == text);
        prop_assert!(attached || drawn.page.text().contains(&text));
    }
}
