//! Cards as Slack shows them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::*;
use countersign_port::{Block, Tone};
use countersign_port_testkit::{
    closed, golden_bytes, golden_cards, golden_rows, sample_card, sample_edit,
};
use proptest::prelude::*;

/// What a person sees: the text, each box with its own margin, and the labels.
fn picture(card: &Card) -> String {
    let drawn = draw(card);
    let mut out = format!("({})\n", drawn.text.replace('\n', " ⏎ "));
    for block in &drawn.blocks {
        for part in block["elements"].as_array().unwrap() {
            let margin = match part["type"].as_str().unwrap() {
                "rich_text_section" => "",
                "rich_text_preformatted" => "┃ ",
                "rich_text_quote" => "> ",
                kind => {
                    let label = part["text"]["text"].as_str().map(str::to_owned);
                    let options = part["options"].as_array().into_iter().flatten();
                    let options: Vec<_> =
                        options.map(|it| it["text"]["text"].as_str().unwrap()).collect();
                    let style = part["style"].as_str().map(|it| format!(" {it}"));
                    let label = label.unwrap_or_else(|| format!("{kind}: {}", options.join(" | ")));
                    out.push_str(&format!("[ {label}{} ]\n", style.unwrap_or_default()));
                    continue;
                }
            };
            let texts = part["elements"].as_array().unwrap().iter();
            let text: String =
                texts.map(|it| it["text"].as_str().or(it["fallback"].as_str()).unwrap()).collect();
            text.lines().for_each(|line| out.push_str(&format!("{margin}{line}\n")));
        }
    }
    drawn.files.iter().for_each(|file| out.push_str(&format!("📎 {}\n", file.name)));
    out
}

#[test]
fn every_kind_of_card_before_and_after_the_press() {
    insta::assert_snapshot!(golden_cards(picture));
}

#[test]
fn every_card_is_sent_as_before_byte_for_byte() {
    golden_bytes("slack", |card| {
        let SlackMessage { text, blocks, files } = draw(card);
        let files: Vec<_> = files.iter().map(|file| json!([file.name, file.text])).collect();
        json!({"text": text, "blocks": blocks, "files": files})
    });
}

#[test]
fn every_card_is_short() {
    insta::assert_snapshot!(golden_rows(|card| {
        let picture = picture(card);
        let text = picture.lines().skip(1);
        let lines = text.filter(|line| !line.starts_with(['[', '📎']));
        let lines = lines.map(|line| line.trim_start_matches("┃ ").trim_start_matches("> "));
        lines.collect::<Vec<_>>().join("\n")
    }));
}

#[test]
fn a_card_has_its_text_its_buttons_and_its_menu() {
    let drawn = draw(&sample_edit());
    let blocks = serde_json::to_string_pretty(&drawn.blocks).unwrap();
    insta::assert_snapshot!(blocks);
}

#[test]
fn an_open_card_a_critical_one_and_a_closed_one_begin_with_what_they_are() {
    let open = sample_card("ls");
    let first = |card: &Card| picture(card).lines().nth(1).unwrap().to_owned();
    assert_eq!(first(&open), "🔔 rm -rf build/*");
    let critical = Card { tone: Tone::Critical, ..open.clone() };
    assert_eq!(first(&critical), "🛑 CRITICAL rm -rf build/*");
    assert_eq!(first(&closed(&open)), "✅ rm -rf build/* · Ana, 12:03 · stored: rm build/*");
}

#[test]
fn a_menu_of_more_than_five_is_a_select() {
    let mut card = sample_edit();
    card.more = vec![card.more[0].clone(); 6];
    let last = draw(&card).blocks.last().unwrap()["elements"].as_array().unwrap().clone();
    assert_eq!(last.last().unwrap()["type"], "static_select");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_a_card_holds_it_fits_and_is_whole_beside_it(
        text in "([a-z<>&*_` @\u{202e}\u{e9}\u{1f6d1}\n]{0,40}|x{900}|\n{50}){0,20}",
        blocks in 0..20_usize
    ) {
        let mut card = sample_card(&text);
        card.title.clone_from(&text);
        card.blocks.extend((0..blocks).map(|_| Block::Note { text: text.clone() }));
        let drawn = draw(&card);
        let mut characters = 0;
        for part in drawn.blocks[0]["elements"].as_array().unwrap() {
            for element in part["elements"].as_array().unwrap() {
                let shown = element["text"].as_str().unwrap_or_default();
                prop_assert!(element["type"] == "date" || !shown.is_empty());
                characters += shown.chars().count();
            }
        }
        prop_assert!(characters <= 3_000, "{characters}");
        prop_assert!(!drawn.text.contains(['<', '>']));
        let page = drawn.blocks[0].to_string();
        for file in &drawn.files {
            prop_assert!(page.contains(&file.name), "{} is named", file.name);
        }
    }
}
