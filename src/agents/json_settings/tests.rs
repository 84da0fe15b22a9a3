#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
use super::*;

const COMMAND: &str = "/opt/countersign hook gemini";

const GROUPS: JsonSettings = JsonSettings {
    name: "gemini",
    title: "Gemini CLI",
    comments: Comments::Read,
    nesting: HookNesting::Groups,
};
const FLAT: JsonSettings = JsonSettings { name: "gemini", nesting: HookNesting::Flat, ..GROUPS };
const STRICT: JsonSettings = JsonSettings { comments: Comments::Refused, ..GROUPS };

fn entries() -> Vec<HookEntry> {
    let entry = |event| HookEntry {
        event,
        matcher: Some(".*"),
        handler: json!({"type": "command", "command": COMMAND, "timeout": 5}),
    };
    vec![entry("Before"), entry("After")]
}

/// Connects twice and takes it out again.
fn there_and_back(settings: JsonSettings, theirs: &str) -> String {
    let connected = settings.connect(theirs, &entries()).unwrap();
    assert_eq!(settings.hooks(&connected).unwrap().len(), 2, "{connected}");
    assert_eq!(settings.connect(&connected, &entries()), Ok(connected.clone()));
    assert_eq!(settings.disconnect(&connected), Ok(theirs.to_owned()), "{connected}");
    connected
}

#[test]
fn settings_of_every_form_come_back_to_the_byte() {
    for theirs in [
        "{\n  // mine\n  \"a\": 1, // stays\n  /* and\n this */ \"b\": [1,\n 2,],\n}\n",
        "{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n    \"Before\": [\r\n      {}\r\n    ]\r\n  }\r\n}",
        "\u{feff}{\n  \"a\": 1\n}",
        "\u{feff}{\"a\":1}",
        "{\t\"a\": 1, /* x */ \"hooks\": {\"Other\":[ ]} }",
        "{\n  \"hooks\": {\n    \"Other\": [{\"b\": 1, \"hooks\": [{\"c\": 2}]}]\n  }\n}",
    ] {
        for settings in [GROUPS, FLAT] {
            there_and_back(settings, theirs);
        }
    }
    assert!(there_and_back(GROUPS, "{\r\n  \"a\": 1\r\n}\r\n").contains("hooks\": {\r\n"));
    assert!(there_and_back(STRICT, "\u{feff}{\"a\":1}").starts_with('\u{feff}'));
}

#[test]
fn a_flat_event_holds_the_handler_itself() {
    let connected = FLAT.connect("", &entries()).unwrap();
    let handler = &entries()[0].handler;
    let expected = json!({"hooks": {"Before": [handler], "After": [handler]}});
    assert_eq!(serde_json::from_str::<Value>(&connected).unwrap(), expected);
    let shared =
        r#"{"hooks":{"Before":[{"command":"lint"},{"command":"countersign hook gemini"}]}}"#;
    assert_eq!(FLAT.others(shared, "Before"), ["lint"]);
    let left = r#"{"hooks":{"Before":[{"command":"lint"}]}}"#;
    assert_eq!(FLAT.disconnect(shared), Ok(left.to_owned()));
}

#[test]
fn a_key_that_is_there_twice_is_refused_where_the_agent_reads_the_other_one() {
    for twice in [
        "{\"hooks\": {}, \"hooks\": {\"Before\": []}}",
        "{\n\"hooks\": {},\n\"hooks\": {\"Other\": []}\n}",
        "{\n\"hooks\": {\"Before\": [],\n\"Before\": []}\n}",
    ] {
        let refused = GROUPS.connect(twice, &entries()).unwrap_err();
        assert_eq!(refused, "`hooks`, or an event in it, is there twice; fix it first", "{twice}");
    }
}

#[test]
fn comments_are_refused_where_the_agent_refuses_them() {
    let text = "{ // mine\n}";
    assert_eq!(STRICT.connect(text, &entries()), Err("1:3: key must be a string".to_owned()));
    assert!(GROUPS.connect(text, &entries()).is_ok());
}

#[test]
fn only_a_command_that_runs_our_hook_is_ours() {
    for (command, ours) in [
        ("countersign hook gemini", true),
        ("'/a b/countersign-dev' --config x hook gemini --gate", true),
        ("countersign hook other", false),
        ("echo countersign hook gemini", false),
        ("countersign 'hook gemini'", false),
        ("countersign hook 'gemini", false),
    ] {
        assert_eq!(runs_our_hook(command, "gemini"), ours, "{command}");
    }
}
