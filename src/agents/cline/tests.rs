#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;

const COMMAND: &str = "'/opt/my bin/countersign' hook cline";

#[test]
fn the_program_runs_our_hook_and_is_removed_only_if_it_is_ours() {
    let text = Cline.connect("", COMMAND, HookMode::EveryCall).unwrap();
    assert!(text.starts_with("#!/bin/sh\n"), "{text}");
    assert!(text.lines().any(|line| line == format!("exec {COMMAND}")), "{text}");
    assert_eq!(Cline.disconnect(&text), Ok(String::new()));
    let theirs = "#!/bin/sh\nexec countersign hook cline\n";
    assert!(Cline.connect(theirs, COMMAND, HookMode::EveryCall).is_err());
    assert_eq!(Cline.disconnect(theirs), Ok(theirs.to_owned()));
}

#[test]
fn a_call_is_cancelled_with_the_reason_and_without_a_decision() {
    let event = json!({"hookName": "PreToolUse", "taskId": "t", "workspaceRoots": ["/w"],
        "preToolUse": {"toolName": "execute_command", "parameters": {"command": "ls"}}});
    let Ok(HookEvent::Wants(request)) = read(event.to_string().as_bytes()) else { panic!() };
    let call = request.call("k".into(), None).unwrap();
    let said = (call.session.as_str(), call.tool.as_str(), call.cwd.as_deref());
    assert_eq!(said, ("t", "execute_command", Some("/w")));
    let deny = ToolDecision::Deny { message: "Denied by Ana".into(), stop: false };
    let cancelled = json!({"cancel": true, "errorMessage": "Denied by Ana"});
    assert_eq!(encode(&deny), HookReply::Print(cancelled));
    assert_eq!(encode(&ToolDecision::Allow), HookReply::Print(json!({"cancel": false})));
    let HookReply::Print(undecided) = Cline.undecided("no daemon", HookMode::EveryCall) else {
        panic!()
    };
    assert_eq!(undecided.get("cancel"), Some(&json!(true)));
    assert!(read(b"{}").is_err());
}

fn call(name: &str, input: &Value) -> Result<(String, Value), String> {
    let event = json!({"hookName": "tool_call", "taskId": "t", "workspaceRoots": ["/w"],
        "tool_call": {"id": "call_1", "name": name, "input": input},
        "preToolUse": {"toolName": "run_commands", "parameters": {"commands": "[\"ls\"]"}}});
    match read(event.to_string().as_bytes())? {
        HookEvent::Wants(request) => {
            let call = request.call("k".into(), None).unwrap();
            Ok((call.tool, call.args))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_are_read_as_the_model_gave_them_and_as_rules_know_them() {
    let shell = |args: Value| Ok(("execute_command".to_owned(), args));
    let given = json!({"commands": ["cd a", "rm -rf b"], "timeout": 5});
    assert_eq!(
        call("run_commands", &given),
        shell(json!({"command": "cd a\nrm -rf b", "timeout": 5}))
    );
    // What is no list of texts stays as it is, and is asked about.
    for odd in [
        json!({"commands": "ls"}),
        json!({"commands": ["ls", 7]}),
        json!({"commands": []}),
        json!({"commands": ["rm"], "command": "ls"}),
        json!(["ls"]),
    ] {
        assert_eq!(call("run_commands", &odd), Ok(("run_commands".to_owned(), odd)));
    }
    let two = "Cline names two tools for one call";
    assert_eq!(call("read_files", &json!({})), Err(two.to_owned()));
}

#[test]
fn a_question_stays_in_the_terminal_and_only_where_both_names_say_that_it_is_one() {
    let event = |tool: &str, name: &str| {
        let event = json!({"hookName": "tool_call", "taskId": "t",
            "tool_call": {"id": "call_1", "name": name, "input": {"question": "Which?"}},
            "preToolUse": {"toolName": tool, "parameters": {"question": "Which?"}}});
        read(event.to_string().as_bytes())
    };
    assert!(matches!(event(QUESTION, QUESTION), Ok(HookEvent::Notice)));
    assert_eq!(Cline.noticed(), HookReply::Print(json!({"cancel": false})));
    let two = "Cline names two tools for one call";
    for (tool, name) in [(QUESTION, "run_commands"), ("run_commands", QUESTION)] {
        assert_eq!(event(tool, name).map(|_| ()), Err(two.to_owned()));
    }
    assert!(matches!(event("srv__ask_question", "srv__ask_question"), Ok(HookEvent::Wants(_))));
}
