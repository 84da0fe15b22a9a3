//! The code in the project's documents.

use std::path::Path;

const DOCUMENTS: &[&str] = &[
    "README.md",
    "SECURITY.md",
    "docs/acp.md",
    "docs/api.md",
    "docs/commands.md",
    "docs/config.md",
    "docs/mcp.md",
    "docs/phone.md",
    "docs/policy.md",
    "docs/remote.md",
    "docs/slack.md",
    "docs/team.md",
    "docs/profiles/connectonion.md",
    "docs/profiles/molf.md",
    "docs/profiles/ohmypi.md",
    "docs/profiles/wcore.md",
    "docs/profiles/zeptoclaw.md",
];

fn text(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// Every block of code: its document, its language, its text without the document's indentation.
pub fn blocks() -> Vec<(String, String, String)> {
    let mut blocks = Vec::new();
    for file in DOCUMENTS {
        let text = text(file);
        let mut open: Option<(usize, String, String)> = None;
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            match (&mut open, line.trim_start().strip_prefix("```")) {
                (None, Some(language)) => {
                    open = Some((indent, language.trim().to_owned(), String::new()));
                }
                (None, None) => {}
                (Some(_), Some(_)) => {
                    let (_, language, code) = open.take().unwrap();
                    blocks.push(((*file).to_owned(), language, code));
                }
                (Some((indent, _, code)), None) => {
                    code.push_str(line.get(*indent..).unwrap_or(line.trim_start()));
                    code.push('\n');
                }
            }
        }
        assert!(open.is_none(), "{file}: a block of code does not end");
    }
    blocks
}

/// The one block of a document in this language that holds these words.
pub fn block(file: &str, language: &str, words: &str) -> String {
    let mut found = blocks()
        .into_iter()
        .filter(|(of, is, text)| of == file && is == language && text.contains(words))
        .map(|(.., text)| text);
    let block = found.next().unwrap_or_else(|| panic!("{file} has no such block: {words}"));
    assert_eq!(found.next(), None, "{file} has several such blocks: {words}");
    block
}

/// The one line of a shell block that begins so, without its comment.
pub fn line(file: &str, begin: &str) -> String {
    let all =
        blocks().into_iter().filter(|(of, is, _)| of == file && (is == "sh" || is == "console"));
    let text: String = all.map(|(.., text)| text).collect();
    let mut lines = text.lines().filter(|line| line.starts_with(begin));
    let line = lines.next().unwrap_or_else(|| panic!("{file} has no line: {begin}"));
    assert_eq!(lines.next(), None, "{file} has several such lines: {begin}");
    line.split("  #").next().unwrap().trim().to_owned()
}
