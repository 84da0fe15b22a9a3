#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use serde_json::json;

use crate::facts::edited_files::*;
use crate::{Call, Guardrail, Layers, Mode, Rules, Verdict, decide};

const PATCH: &str = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch";
const DIFF: &str = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-x\n+y\n";

/// The decision under rules that allow editing below `src` and deny editing `src/no*`.
fn decision(tool: &str, args: Value) -> crate::Decision {
    let rules = r#"{"*": "ask", "edit_file": {"src/**": "allow", "src/no*": "deny"}}"#;
    let rules = Rules::parse(rules, "rules", Some("/home/u")).unwrap();
    let layers = Layers {
        agent: None,
        rules: &rules,
        grants: &Rules::default(),
        guardrail: &Guardrail::default(),
        now_ms: 0,
    };
    let cwd = Some("/home/u/w".to_owned());
    let home = Some("/home/u".to_owned());
    decide(&Call { cwd, home, ..Call::new(tool, args) }, &layers, Mode::Default)
}

#[test]
fn edits_of_every_agent_name_the_files_that_rules_match() {
    for (tool, args) in [
        ("Edit", json!({"file_path": "src/a.rs", "old_string": "x", "new_string": "y"})),
        ("edit", json!({"filePath": "/home/u/w/src/a.rs", "oldString": "x", "newString": "y"})),
        ("edit", json!({"filepath": "src/a.rs", "diff": DIFF})),
        ("edit", json!({"file_path": "/home/u/w/src/a.rs", "diff": DIFF})),
        ("edit", json!({"fileName": "src/a.rs", "diff": "@@ -1 +1 @@\n-x\n+y\n"})),
        ("replace", json!({"absolute_path": "/home/u/w/src/a.rs", "old_string": "x"})),
        ("apply_patch", json!({"command": PATCH})),
        ("apply_patch", json!({"input": PATCH})),
        ("apply_patch", json!({"patchText": PATCH})),
        ("apply_patch", json!(PATCH)),
        ("patch", json!({"patch": DIFF})),
        (
            "edit_file",
            json!({"changes": [
            {"path": "/home/u/w/src/a.rs", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n"},
            {"path": "src/b.rs", "kind": {"type": "add"}, "diff": "*** Delete File: /etc/x\n"}]}),
        ),
        ("edit_file", json!({"changes": {"src/a.rs": {"add": {"content": "x"}}}})),
        (
            "edit_file",
            json!({"changes": {"src/a.rs": {"update": {"unified_diff": "@@ -1 +1 @@\n-x\n+y\n",
            "move_path": null}}}}),
        ),
        ("edit_file", json!({"changes": [{"path": "src/a.rs", "oldText": "x", "newText": "y"}]})),
    ] {
        let decided = decision(tool, args.clone());
        assert_eq!(decided.verdict, Verdict::Allow, "{tool} {args}: {}", decided.reason);
    }
}

#[test]
fn every_file_counts_and_the_strictest_verdict_wins() {
    let patch = |path: &str| format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch");
    let second = |path: &str| {
        PATCH.replace("*** End Patch", &format!("*** Add File: {path}\n+x\n*** End Patch"))
    };
    let moved = PATCH.replace("\n@@", "\n*** Move to: src/no.rs\n@@");
    for (tool, args, wanted) in [
        ("apply_patch", json!({"command": second("/etc/passwd")}), Verdict::Ask),
        ("apply_patch", json!({"command": second("../x")}), Verdict::Ask),
        ("apply_patch", json!({"command": second("src/no.rs")}), Verdict::Deny),
        ("apply_patch", json!({"command": second("src/../src/no.rs")}), Verdict::Deny),
        ("apply_patch", json!({"command": moved}), Verdict::Deny),
        ("apply_patch", json!({"command": patch("src/no.rs") + "\n junk"}), Verdict::Deny),
        ("apply_patch", json!({"command": PATCH.to_owned() + "\n junk"}), Verdict::Ask),
        ("apply_patch", json!({"command": "rm -rf src"}), Verdict::Ask),
        ("apply_patch", json!({"command": ["x"]}), Verdict::Ask),
        ("apply_patch", json!({}), Verdict::Ask),
        ("apply_patch", json!({"input": PATCH, "patch": PATCH}), Verdict::Ask),
        (
            "edit",
            json!({"file_path": "src/b.rs", "diff": DIFF.replace("src/a", "src/no")}),
            Verdict::Deny,
        ),
        (
            "edit",
            json!({"file_path": "src/b.rs", "diff": DIFF.replace("src/a", "lib/a")}),
            Verdict::Ask,
        ),
        ("edit", json!({"file_path": "src/b.rs", "diff": 5}), Verdict::Ask),
        ("edit", json!({"filePath": "src/b.rs", "path": "src/a.rs"}), Verdict::Ask),
        (
            "edit_file",
            json!({"changes": [{"path": "src/a.rs", "move_path": "src/no.rs"}]}),
            Verdict::Deny,
        ),
        (
            "edit_file",
            json!({"changes": [{"path": "src/a.rs", "kind":
            {"type": "update", "move_path": "src/no.rs"}}]}),
            Verdict::Deny,
        ),
        (
            "edit_file",
            json!({"changes": [{"path": "src/a.rs", "diff": DIFF.replace("src/a", "src/no")}]}),
            Verdict::Deny,
        ),
        (
            "edit_file",
            json!({"changes": {"src/a.rs": {"update": {"unified_diff": "@@ -1 +1 @@\n",
            "move_path": "src/no.rs"}}}}),
            Verdict::Deny,
        ),
        (
            "edit_file",
            json!({"changes": [{"path": "src/a.rs", "renamed_to": "../x"}]}),
            Verdict::Ask,
        ),
        (
            "edit_file",
            json!({"changes": [{"path": "src/a.rs", "kind": {"type": "update", "to": "x"}}]}),
            Verdict::Ask,
        ),
        ("MultiEdit", json!({"file_path": "src/a.rs", "edits": [{"target": "x"}]}), Verdict::Ask),
        (
            "apply_patch",
            json!({"input": "diff --git a/src/a.rs b/src/a.rs\nnew file mode 120000\n\
            --- /dev/null\n+++ b/src/a.rs\n@@ -0,0 +1 @@\n+/etc/passwd\n"}),
            Verdict::Ask,
        ),
        ("edit_file", json!({"changes": ["src/a.rs"]}), Verdict::Ask),
        ("edit_file", json!({"changes": "src/a.rs"}), Verdict::Ask),
    ] {
        let decided = decision(tool, args.clone());
        assert_eq!(decided.verdict, wanted, "{tool} {args}: {}", decided.reason);
    }
}

#[test]
fn the_effects_of_a_patch_are_those_of_its_files_and_its_text_is_no_command() {
    let patch = "*** Begin Patch\n*** Delete File: ../old\n*** Add File: lib/n\n+rm -rf ~/.ssh\n\
                 *** Update File: a\n*** Move to: b\n@@\n x\n*** End Patch";
    let decided = decision("apply_patch", json!({"command": patch}));
    let effects: Vec<String> = decided.effects.iter().map(ToString::to_string).collect();
    let wanted = ["deletes ../old (outside the project)", "writes lib/n", "moves a", "writes b"];
    assert_eq!(effects, wanted);
    assert!(decided.commands.is_empty() && !decided.critical && decided.understood);
    let unsure = decision("apply_patch", json!({"command": "*** Delete File: x\nrm -rf /"}));
    let effects: Vec<String> = unsure.effects.iter().map(ToString::to_string).collect();
    let why = "effects unknown: the call may change more files than can be read from it";
    assert_eq!(effects, [why, "deletes x"]);
    assert!(unsure.always.is_empty() && !unsure.understood);
    let said = "The patch of apply_patch cannot be read exactly; it may change other files.";
    assert!(unsure.reason.contains(said), "{}", unsure.reason);
}
