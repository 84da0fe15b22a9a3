//! The picture in docs/slack.md: the blocks that the daemon sends, rendered by a browser. It is not
//! Slack's own window. `COUNTERSIGN_PICTURES=1` writes it anew.

use super::{ana, card, closed, start};
use crate::{browser::Browser, daemon::shell, slack_server::FakeSlack};
use serde_json::Value;
use std::path::Path;

const STYLE: &str = "
    body { margin: 0; padding: 16px 20px; font: 15px/1.46 Lato, 'Noto Sans', sans-serif;
        color: #1d1c1d; background: #fff; width: 680px }
    p { margin: 0; white-space: pre-wrap } b { font-weight: 700 }
    pre { margin: 4px 0; padding: 8px; font: 12px/1.5 monospace; background: #f8f8f8;
        border: 1px solid #ddd; border-radius: 4px; white-space: pre-wrap }
    blockquote { margin: 4px 0; padding-left: 12px; border-left: 4px solid #ddd;
        white-space: pre-wrap }
    button { margin: 8px 8px 0 0; padding: 5px 12px; font: bold 13px sans-serif; color: #1d1c1d;
        background: #fff; border: 1px solid #bbb; border-radius: 4px }
    .primary { color: #fff; background: #007a5a } .danger { color: #fff; background: #e01e5a }
    article { margin-bottom: 20px } h1 { margin: 0 0 2px; font-size: 15px }
    small { font-weight: 400; color: #616061 }";

fn escaped(text: &Value) -> String {
    let text = text.as_str().expect("a text");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Words, times and their looks; nothing else is ever sent.
fn inline(element: &Value) -> String {
    let text = match element["type"].as_str() {
        Some("text") => escaped(&element["text"]),
        Some("date") => escaped(&element["fallback"]),
        other => panic!("what is {other:?}?"),
    };
    match (&element["style"]["bold"], &element["style"]["italic"]) {
        (Value::Bool(true), _) => format!("<b>{text}</b>"),
        (_, Value::Bool(true)) => format!("<i>{text}</i>"),
        _ => text,
    }
}

fn block(block: &Value) -> String {
    let elements = || block["elements"].as_array().expect("elements").iter();
    match block["type"].as_str() {
        Some("rich_text") => elements().map(self::block).collect(),
        Some("rich_text_section") => {
            format!("<p>{}</p>", elements().map(inline).collect::<String>())
        }
        Some("rich_text_preformatted") => {
            format!("<pre>{}</pre>", elements().map(inline).collect::<String>())
        }
        Some("rich_text_quote") => {
            format!("<blockquote>{}</blockquote>", elements().map(inline).collect::<String>())
        }
        Some("actions") => {
            format!("<div>{}</div>", elements().map(self::block).collect::<String>())
        }
        Some("button") => {
            let look = block["style"].as_str().unwrap_or_default();
            format!("<button class=\"{look}\">{}</button>", escaped(&block["text"]["text"]))
        }
        Some("overflow") => "<button>⋯</button>".to_owned(),
        Some("static_select") => {
            format!("<button>{} ▾</button>", escaped(&block["placeholder"]["text"]))
        }
        other => panic!("what is {other:?}?"),
    }
}

fn article(slack: &FakeSlack, reference: &str, time: &str) -> String {
    let blocks = slack.blocks(reference);
    let shown: String = blocks.as_array().expect("blocks").iter().map(block).collect();
    format!("<article><h1>countersign <small>APP {time}</small></h1>{shown}</article>")
}

#[tokio::test]
async fn every_block_of_a_card_is_one_that_the_picture_in_the_documentation_shows() {
    let (slack, daemon) = start().await;
    let mut call = shell("cargo build --release");
    call["description"] = "Build the release".into();
    daemon.ask(&call).await;
    let message = card(&slack).await;
    let open = article(&slack, &message.reference, "14:02");
    assert!(open.contains("<b>") && open.contains("cargo build --release"), "{open}");
    slack.press(&message.reference, "Always", &ana()).await;
    closed(&slack, &message.reference).await;
    let over = article(&slack, &message.reference, "14:02");
    assert!(over.contains("Undo") && !over.contains("Deny"), "{over}");
    let html = format!("<!doctype html><meta charset=\"utf-8\"><style>{STYLE}</style>{open}{over}");
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("card.html");
    std::fs::write(&page, html).unwrap();
    let Some(browser) = Browser::start().await else { return };
    let page = browser.open(&format!("file://{}", page.display())).await;
    let height = page.eval("document.body.scrollHeight").await.as_u64().unwrap();
    page.size(720, u32::try_from(height).unwrap()).await;
    let picture = match std::env::var_os("COUNTERSIGN_PICTURES") {
        Some(_) => Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/slack-card.png"),
        None => folder.path().join("card.png"),
    };
    page.picture(&picture).await;
    assert!(std::fs::metadata(&picture).unwrap().len() > 5_000);
}
