//! The file in which Claude Code keeps a session: what a person said in it last.
//!
//! SECURITY: an agent can write this file. So these are words of the agent's side, for people to
//! read, and nothing is decided by them.

use rustix::fs::OFlags;
use serde_json::Value;
use std::{
    fs::OpenOptions,
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// How much of its end is read, in bytes.
const MOST: u64 = 1 << 20;

/// The longest words that are told, in characters.
const LONGEST: usize = 200;

/// Where a prompt comes from that a person, or the program that started Claude Code, has given.
const GIVEN: [&str; 4] = ["typed", "queued", "suggestion_accepted", "sdk"];

/// How a text begins that Claude Code puts around commands and its own notes.
const WRAPPED: [&str; 4] = ["<command-", "<local-command-", "<bash-", "<system-reminder>"];

/// What a person said last in the session of this file; `None` where its end does not tell, or
/// cannot be read.
pub(super) fn person_said(file: &Path) -> Option<String> {
    let end = end(file).ok()?;
    let words = end.split(|byte| *byte == b'\n').rev().find_map(said)?;
    let words = words.split_whitespace().map(masked).collect::<Vec<_>>().join(" ");
    Some(match words.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", words.get(..at)?),
        None => words,
    })
}

/// The end of the file.
fn end(file: &Path) -> io::Result<Vec<u8>> {
    // A link may lead elsewhere, and a pipe would be waited for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let flags = i32::try_from(flags).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(file)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    file.seek(SeekFrom::Start(about.len().saturating_sub(MOST)))?;
    let mut end = Vec::new();
    file.take(MOST).read_to_end(&mut end)?;
    Ok(end)
}

/// What a person says with this line, if one does: alone, or while Claude was at work (the shapes of
/// 2.1.268 to 2.1.330).
fn said(line: &[u8]) -> Option<String> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let is = |value: &Value, name: &str| value.get(name) == Some(&true.into());
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let (message, words) = match text(&line, "type")?.as_str() {
        "user" if GIVEN.contains(&&*text(&line, "promptSource")?) => {
            (&line, line.get("message")?.get("content")?)
        }
        "attachment" => {
            let queued = line.get("attachment")?;
            let is_prompt = text(queued, "type")? == "queued_command"
                && text(queued, "commandMode")? == "prompt"
                && queued.get("origin").is_some();
            (queued, queued.get("prompt").filter(|_| is_prompt)?)
        }
        _ => return None,
    };
    let by_person = match message.get("origin") {
        Some(origin) => text(origin, "kind")? == "human",
        None => true,
    };
    let of_itself = is(&line, "isSidechain") || is(&line, "isMeta") || is(message, "isMeta");
    plain(words).filter(|_| by_person && !of_itself)
}

/// The words themselves, without what Claude Code wraps or adds.
fn plain(words: &Value) -> Option<String> {
    let is_plain = |text: &&str| !WRAPPED.iter().any(|wrap| text.trim_start().starts_with(wrap));
    let texts: Vec<&str> = match words {
        Value::String(text) => vec![text],
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect()
        }
        _ => return None,
    };
    let plain = texts.into_iter().filter(is_plain).collect::<Vec<_>>().join(" ");
    Some(plain).filter(|text| !text.trim().is_empty())
}

/// A word as a card may show it: `…` in the place of what looks like a key.
// SECURITY: a person may have pasted one.
fn masked(word: &str) -> String {
    let is_joined = |it: char| it.is_ascii_alphanumeric() || "_-+=~".contains(it);
    let mask = |part: &str| {
        let joined = part.trim_end_matches(|it| !is_joined(it));
        let end = part.strip_prefix(joined).unwrap_or_default();
        let mut pieces = joined.split(|it: char| !it.is_ascii_alphanumeric());
        if pieces.any(is_key) { format!("…{end}") } else { part.to_owned() }
    };
    word.split_inclusive(|it| !is_joined(it)).map(mask).collect()
}

/// Whether letters and digits alternate as in keys: `pa55w0rd` and `9f3a77c1`, not `terminal2`.
fn is_key(piece: &str) -> bool {
    let digits = || piece.bytes().map(|byte| byte.is_ascii_digit());
    let changes = digits().zip(digits().skip(1)).filter(|(one, next)| one != next);
    piece.len() >= 8 && changes.count() >= 2
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;
    use std::{fs, os::unix::fs::symlink, path::PathBuf};

    fn recorded() -> String {
        let file = "../../tests/golden/claude-code/transcript.jsonl";
        fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
    }

    fn after(text: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.jsonl");
        fs::write(&file, text).unwrap();
        person_said(&file)
    }

    fn prompt(words: Value) -> String {
        let message = json!({"role": "user", "content": words});
        json!({"type": "user", "promptSource": "typed", "message": message}).to_string()
    }

    // 2.1.330: prompts, a command of one's own, `!`, /compact, a prompt while Claude is at work, and
    // the prompt of a subagent.
    #[test]
    fn only_what_a_person_said_is_told_and_the_last_of_it() {
        let mut heard = Vec::new();
        let mut so_far = String::new();
        for line in recorded().lines() {
            so_far = format!("{so_far}{line}\n");
            let said = after(&so_far).unwrap();
            if heard.last() != Some(&said) {
                heard.push(said);
            }
        }
        let all = ["please fix the tests", "again now", "please fix the tests"];
        let all = all.into_iter().chain(["and then the docs", "spawn it"]);
        assert_eq!(heard, all.collect::<Vec<_>>());
    }

    #[test]
    fn what_is_from_elsewhere_is_not_told() {
        let told = prompt(json!("fix it"));
        for (name, value) in [
            ("isSidechain", json!(true)),
            ("isMeta", json!(true)),
            ("promptSource", json!("system")),
            ("promptSource", Value::Null),
            ("origin", json!({"kind": "task-notification"})),
            ("origin", json!("human")),
            ("type", json!("assistant")),
            ("message", json!({"content": [{"type": "tool_result", "content": "ok"}]})),
            ("message", json!({"content": "<command-name>/compact</command-name>"})),
            ("message", json!({"content": " \n "})),
        ] {
            let mut other: Value = serde_json::from_str(&prompt(json!("other"))).unwrap();
            other.as_object_mut().unwrap().insert(name.to_owned(), value);
            assert_eq!(after(&format!("{told}\n{other}\n")).unwrap(), "fix it", "{other}");
        }
        let with_note = json!([{"type": "text", "text": "<system-reminder>x</system-reminder>"},
            {"type": "text", "text": "fix\nit"}]);
        assert_eq!(after(&prompt(with_note)).unwrap(), "fix it");
    }

    #[test]
    fn a_file_that_cannot_be_read_or_is_none_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("real"), prompt(json!("fix it"))).unwrap();
        symlink(at("real"), at("link")).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), mode).unwrap();
        for name in ["link", "pipe", ".", "missing"] {
            assert_eq!(person_said(&at(name)), None, "{name}");
        }
        for text in ["", "\n\n", "{\"type\":\"user\"", "\u{0}"] {
            assert_eq!(after(text), None, "{text:?}");
        }
        let before = " ".repeat(usize::try_from(MOST).unwrap());
        assert_eq!(after(&format!("{}\n{before}", prompt(json!("too early")))), None);
        assert_eq!(person_said(&at("real")).unwrap(), "fix it");
    }

    #[test]
    fn what_looks_like_a_key_is_left_out_and_names_stay() {
        for (said, told) in [
            ("use ghp_16C7e42F292c6912E7710c838347Ae178B4a, please", "use …, please"),
            ("--token=sk-ant-api03-Zk3b9x7Qp1 go", "… go"),
            ("https://ana:pa55w0rd@x.example/a", "https://ana:…@x.example/a"),
            ("revert 9f3a77c1d2", "revert …"),
            (
                "tests/cli/claude_terminal2.rs of v2.1.330",
                "tests/cli/claude_terminal2.rs of v2.1.330",
            ),
            ("k8s-prod-2 on 2026-11-28", "k8s-prod-2 on 2026-11-28"),
        ] {
            assert_eq!(after(&prompt(json!(said))).unwrap(), told);
        }
        let long = after(&prompt(json!("word ".repeat(900)))).unwrap();
        assert_eq!((long.chars().count(), long.ends_with('…')), (LONGEST + 1, true));
    }
}
