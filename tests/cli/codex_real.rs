//! The real Codex against a scripted model: `host codex`, and the app-server that its terminals
//! share with a scripted terminal. It is not shipped with this repository: set
//! `COUNTERSIGN_TEST_CODEX` to its binary (from npm).

use crate::{
    daemon::{Daemon, LONG},
    process::{Process, run},
    responses_model::ResponsesModel,
    socket_client::SocketClient,
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, process::Stdio};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
    time::{Duration, Instant, sleep},
};

/// A Codex with its settings in the daemon's folder.
struct Codex {
    program: String,
    daemon: Daemon,
    model: ResponsesModel,
    work: PathBuf,
}

impl Codex {
    /// Sets it up for a model that makes these calls; `None`, and a word about it, where it is not
    /// here.
    async fn new(config: &str, calls: Vec<(&'static str, Value)>) -> Option<Self> {
        let Ok(program) = std::env::var("COUNTERSIGN_TEST_CODEX") else {
            eprintln!("SKIPPED: set COUNTERSIGN_TEST_CODEX to try the real Codex");
            return None;
        };
        let daemon = Daemon::start(config).await;
        let model = ResponsesModel::calling(calls).await;
        let (home, work) = (daemon.dir.path().join(".codex"), daemon.dir.path().join("work"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir(&work).unwrap();
        assert!(Command::new("git").args(["init", "-q"]).current_dir(&work).status().await.is_ok());
        let settings = format!(
            "model = \"gpt-5.1-codex\"\nmodel_provider = \"fake\"\napproval_policy = \"on-request\"\n\
             sandbox_mode = \"workspace-write\"\ncheck_for_update_on_startup = false\n\
             [features]\ndefault_mode_request_user_input = true\n[analytics]\nenabled = false\n\
             [model_providers.fake]\nname = \"fake\"\nbase_url = \"{}\"\nwire_api = \"responses\"\n\
             request_max_retries = 0\nstream_max_retries = 0\n\
             [projects.\"{}\"]\ntrust_level = \"trusted\"\n",
            model.url,
            work.display()
        );
        fs::write(home.join("config.toml"), settings).unwrap();
        Some(Self { program, daemon, model, work })
    }

    /// Sets it up so that its own reviewer, who denies everything, answers in a person's place.
    async fn reviewed(calls: Vec<(&'static str, Value)>) -> Option<Self> {
        let codex = Self::new(WATCHED, calls).await?;
        let settings = codex.daemon.dir.path().join(".codex/config.toml");
        let text = fs::read_to_string(&settings).unwrap();
        fs::write(&settings, format!("approvals_reviewer = \"auto_review\"\n{text}")).unwrap();
        Some(codex)
    }

    /// The one open ask with this tool.
    async fn ask_of(&self, tool: &str) -> Value {
        let is_it = |ask: &Value| ask["call"]["tool"] == tool;
        let of =
            |page: &Value| page["asks"].as_array().unwrap().iter().find(|it| is_it(it)).cloned();
        let page = self.daemon.until("/v1/asks?state=open", |page| of(page).is_some()).await;
        of(&page).unwrap()
    }

    /// Waits until Codex is told to ask people.
    async fn is_released(&self) {
        let kept = self.daemon.dir.path().join("state/codex-reviews.json");
        let until = Instant::now() + LONG;
        while !fs::read_to_string(&kept).unwrap_or_default().contains("\"released\":true") {
            assert!(Instant::now() < until, "Codex still reviews");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Answers the question that holds its turn.
    async fn goes_on(&self) {
        let question = self.ask_of("request_user_input").await;
        self.says(&["answer", question["id"].as_str().unwrap(), "SQLite"]).await;
    }

    /// Runs one prompt of it as its host.
    fn hosted(&self, options: &[&str]) -> Process {
        let words = ["host", "codex", "--prompt", "do it", "--", &self.program];
        let words: Vec<&str> = words.iter().chain(options).copied().collect();
        let mut command = self.daemon.command(&words);
        command.current_dir(&self.work).env("NO_PROXY", "127.0.0.1");
        Process::start(command)
    }

    /// Starts the app-server that terminals share, and a terminal with one prompt.
    async fn shared(&self) -> (Child, SocketClient) {
        let mut server = Command::new(&self.program);
        server.args(["app-server", "--listen", "unix://"]).current_dir(&self.work);
        server.env("HOME", self.daemon.dir.path()).env("NO_PROXY", "127.0.0.1");
        server.env_remove("CODEX_HOME").stdin(Stdio::null());
        server.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let server = server.spawn().unwrap();
        let socket =
            self.daemon.dir.path().join(".codex/app-server-control/app-server-control.sock");
        let mut terminal = SocketClient::connect(&socket).await;
        let client = json!({"name": "terminal", "title": "terminal", "version": "1"});
        let hello = json!({"clientInfo": client, "capabilities": {"experimentalApi": true}});
        terminal.request("initialize", hello).await;
        terminal.send(&json!({"method": "initialized"})).await;
        let thread = terminal.request("thread/start", json!({"cwd": self.work})).await;
        let thread = thread["thread"]["id"].clone();
        let input = json!([{"type": "text", "text": "do it"}]);
        terminal.request("turn/start", json!({"threadId": thread, "input": input})).await;
        (server, terminal)
    }

    /// The id of the one open ask.
    async fn ask(&self) -> String {
        let asks = self.daemon.until("/v1/asks?state=open", |page| page["asks"] != json!([])).await;
        assert_eq!(asks["asks"][0]["call"]["agent"], "codex", "{asks}");
        asks["asks"][0]["id"].as_str().unwrap().to_owned()
    }

    async fn says(&self, words: &[&str]) {
        let ended = run(&self.daemon, words).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }

    fn made(&self, file: &str) -> bool {
        self.work.join(file).exists()
    }

    /// The rules that Codex would follow without us.
    fn own_rules(&self) -> PathBuf {
        self.daemon.dir.path().join(".codex/rules/default.rules")
    }
}

/// A command for which Codex asks.
fn touch(file: &str) -> (&'static str, Value) {
    let command = json!({"cmd": format!("touch {file}"), "justification": "Create a file?",
        "sandbox_permissions": "require_escalated", "prefix_rule": ["touch"]});
    ("exec_command", command)
}

fn question() -> (&'static str, Value) {
    let options = json!([{"label": "SQLite", "description": "One file"},
        {"label": "Postgres", "description": "A server"}]);
    let question = json!({"id": "db", "header": "Database", "question": "Which database?",
        "options": options});
    ("request_user_input", json!({"questions": [question]}))
}

const WATCHED: &str = "[agents]\ncodex = \".codex\"\n";

#[tokio::test]
async fn a_hosted_real_codex_is_approved_denied_and_asked() {
    let calls = vec![touch("one.txt"), touch("two.txt"), question()];
    let Some(mut codex) = Codex::new("", calls).await else { return };
    let hosted = codex.hosted(&[]);
    codex.says(&["approve", &codex.ask().await]).await;
    codex.model.is_told("call_0").await;
    assert!(codex.made("one.txt"));
    codex.says(&["deny", &codex.ask().await, "--reason", "make no second file"]).await;
    codex.model.is_told("make no second file").await;
    assert!(!codex.made("two.txt"));
    codex.says(&["answer", &codex.ask().await, "Postgres"]).await;
    codex.model.is_told("Postgres").await;
    let ended = hosted.ends().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "All done.\n"), "{ended:?}");
}

#[tokio::test]
async fn a_hosted_real_codex_shows_the_diff_of_a_patch_and_ends_with_deny_and_stop() {
    let patch = "apply_patch <<'EOP'\n*** Begin Patch\n*** Add File: hello.txt\n+hello\n\
                 *** End Patch\nEOP\n";
    let Some(codex) = Codex::new("", vec![("exec_command", json!({"cmd": patch}))]).await else {
        return;
    };
    let hosted = codex.hosted(&["-c", "sandbox_mode=read-only"]);
    let ask = codex.ask().await;
    let call = codex.daemon.read(&ask).await["call"].clone();
    assert_eq!(call["tool"], "apply_patch", "{call}");
    assert!(call["args"]["changes"].to_string().contains("hello"), "{call}");
    codex.says(&["deny", &ask, "--stop"]).await;
    let ended = hosted.ends().await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("ended as interrupted"), "{ended:?}");
    assert!(!codex.made("hello.txt"));
}

#[tokio::test]
async fn always_and_session_hold_in_a_real_codex_until_they_are_revoked() {
    for scope in ["always", "session"] {
        let calls = vec![touch("same.txt"), touch("same.txt"), question(), touch("same.txt")];
        let Some(mut codex) = Codex::new("", calls).await else { return };
        let hosted = codex.hosted(&[]);
        let granted = codex.ask().await;
        codex.says(&["approve", &granted, "--scope", scope]).await;
        // The second call is answered by the grant; the next ask is the question.
        codex.model.is_told("call_1").await;
        let asked = codex.ask().await;
        assert_eq!(codex.daemon.read(&asked).await["call"]["tool"], "request_user_input");
        codex.says(&["undo", &granted]).await;
        codex.says(&["answer", &asked, "SQLite"]).await;
        codex.model.is_told("call_2").await;
        let again = codex.ask().await;
        assert_eq!(codex.daemon.read(&again).await["call"]["args"]["command"], "touch same.txt");
        assert!(!codex.own_rules().exists(), "{scope}: Codex has a rule of its own");
        codex.says(&["deny", &again]).await;
        assert_eq!(hosted.ends().await.code, Some(0));
    }
}

#[tokio::test]
async fn a_hosted_real_codex_outlives_a_killed_daemon_and_its_own_death_closes_its_card() {
    let Some(mut codex) = Codex::new("", vec![touch("one.txt")]).await else { return };
    let hosted = codex.hosted(&[]);
    let ask = codex.ask().await;
    codex.daemon.kill().await;
    codex.daemon.run().await;
    codex.says(&["approve", &ask]).await;
    assert_eq!(hosted.ends().await.code, Some(0));
    assert!(codex.made("one.txt"));
    let hosted = codex.hosted(&[]);
    let ask = codex.ask().await;
    hosted.signal("TERM");
    codex.daemon.ask_reaches(&ask, "cancelled").await;
    assert_eq!(hosted.ends().await.code, Some(130));
}

#[tokio::test]
async fn the_first_answer_to_a_real_codex_counts_whether_the_phone_or_the_terminal_gives_it() {
    let calls = vec![touch("phone.txt"), touch("terminal.txt"), question()];
    let Some(mut codex) = Codex::new(WATCHED, calls).await else { return };
    let (_server, mut terminal) = codex.shared().await;
    let asked = terminal.asked().await;
    codex.says(&["approve", &codex.ask().await, "--scope", "once"]).await;
    terminal.told("serverRequest/resolved").await;
    // The terminal is too late.
    terminal.send(&json!({"id": asked["id"], "result": {"decision": "cancel"}})).await;
    codex.model.is_told("call_0").await;
    assert!(codex.made("phone.txt"));
    let (asked, ask) = (terminal.asked().await, codex.ask().await);
    terminal.send(&json!({"id": asked["id"], "result": {"decision": "accept"}})).await;
    let closed = codex.daemon.ask_reaches(&ask, "cancelled").await;
    assert_eq!(closed["reason"], "cancelled: it was answered elsewhere");
    let (_, late) = codex.daemon.answer(&ask, &json!({"decision": "deny"})).await;
    assert_eq!(late["applied"], false, "{late}");
    codex.model.is_told("call_1").await;
    assert!(codex.made("terminal.txt"));
    codex.says(&["answer", &codex.ask().await, "Postgres"]).await;
    codex.model.is_told("Postgres").await;
    terminal.told("turn/completed").await;
}

#[tokio::test]
async fn a_shared_real_codex_is_granted_denied_with_the_reason_and_stopped() {
    let folder = json!({"cmd": "mkdir three", "justification": "Create a folder?",
        "sandbox_permissions": "require_escalated"});
    let again = ("exec_command", folder);
    let calls = vec![touch("one.txt"), touch("two.txt"), touch("two.txt"), again];
    let Some(mut codex) = Codex::new(WATCHED, calls).await else { return };
    let (_server, mut terminal) = codex.shared().await;
    codex.says(&["deny", &codex.ask().await, "--reason", "make no first file"]).await;
    codex.model.is_told("make no first file").await;
    codex.says(&["approve", &codex.ask().await, "--scope", "always"]).await;
    // The grant answers the third call; the next ask is the fourth.
    codex.model.is_told("call_2").await;
    let last = codex.ask().await;
    assert_eq!(codex.daemon.read(&last).await["call"]["args"]["command"], "mkdir three");
    codex.says(&["deny", &last, "--stop"]).await;
    let turn = terminal.told("turn/completed").await["params"]["turn"].clone();
    assert_eq!(turn["status"], "interrupted", "{turn}");
    assert!(!codex.own_rules().exists(), "Codex has a rule of its own");
    let made = ["one.txt", "two.txt", "three"].map(|file| codex.made(file));
    assert_eq!(made, [false, true, false]);
}

/// `codex exec` with the gate connected and trusted, as a person does it with `/hooks`.
async fn gated(codex: &Codex) -> Child {
    codex.says(&["connect", "codex", "--gate", "--yes"]).await;
    let exec = |words: &[&str]| {
        let mut command = Command::new(&codex.program);
        command.args(words).current_dir(&codex.work).kill_on_drop(true);
        command.env("HOME", codex.daemon.dir.path()).env("NO_PROXY", "127.0.0.1");
        command.env_remove("CODEX_HOME").stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut server = exec(&["app-server"]);
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut result = Value::Null;
    let client = json!({"clientInfo": {"name": "hooks", "version": "1"}});
    for (method, params) in [
        ("initialize", client),
        ("hooks/list", json!({"cwds": [codex.work]})),
        ("trust", json!({})),
    ] {
        let request = match method {
            "trust" => trust(&result),
            _ => json!({"id": method, "method": method, "params": params}),
        };
        stdin.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        result = loop {
            let line = lines.next_line().await.unwrap().expect("the app-server ends");
            let reply: Value = serde_json::from_str(&line).unwrap();
            if reply["id"] == request["id"] {
                assert_eq!(reply["error"], Value::Null, "{reply}");
                break reply["result"].clone();
            }
        };
        if method == "initialize" {
            stdin.write_all(b"{\"method\":\"initialized\"}\n").await.unwrap();
        }
    }
    drop(stdin);
    server.wait().await.unwrap();
    exec(&["exec", "do it"]).stdin(Stdio::null()).spawn().unwrap()
}

/// The request that marks the listed hooks as trusted.
fn trust(listed: &Value) -> Value {
    let hooks = listed["data"].as_array().unwrap().iter();
    let hooks = hooks.flat_map(|folder| folder["hooks"].as_array().unwrap());
    let state = hooks.map(|hook| {
        let mark = json!({"trusted_hash": hook["currentHash"], "enabled": true});
        (hook["key"].as_str().unwrap().to_owned(), mark)
    });
    let state: serde_json::Map<String, Value> = state.collect();
    assert!(!state.is_empty(), "Codex knows no hook: {listed}");
    let edit = json!({"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": state});
    json!({"id": "trust", "method": "config/batchWrite",
        "params": {"edits": [edit], "reloadUserConfig": true}})
}

#[tokio::test]
async fn the_gate_of_a_real_codex_exec_approves_denies_remembers_and_blocks_without_a_daemon() {
    let calls = ["touch one.txt", "touch two.txt", "touch two.txt", "mkdir three"];
    let calls = calls.map(|command| ("exec_command", json!({"cmd": command}))).into();
    let Some(mut codex) = Codex::new("", calls).await else { return };
    let mut exec = gated(&codex).await;
    codex.says(&["deny", &codex.ask().await, "--stop", "--reason", "make no first file"]).await;
    codex.model.is_told("make no first file").await;
    codex.says(&["approve", &codex.ask().await, "--scope", "always"]).await;
    codex.model.is_told("call_2").await;
    let last = codex.ask().await;
    codex.daemon.kill().await;
    codex.daemon.run().await;
    codex.says(&["approve", &last]).await;
    assert!(exec.wait().await.unwrap().success());
    let made = ["one.txt", "two.txt", "three"].map(|file| codex.made(file));
    assert_eq!(made, [false, true, true]);

    let mut killed = gated(&codex).await;
    let ask = codex.ask().await;
    killed.kill().await.unwrap();
    codex.daemon.ask_reaches(&ask, "cancelled").await;

    // The grant let the first call of that run through.
    fs::remove_file(codex.work.join("one.txt")).unwrap();
    codex.daemon.stop().await;
    let mut alone = gated(&codex).await;
    codex.model.is_told("so it is blocked").await;
    alone.wait().await.unwrap();
    assert!(!codex.made("one.txt"));
}

#[tokio::test]
async fn a_shared_real_codex_outlives_a_killed_daemon_and_its_own_death_closes_its_card() {
    let Some(mut codex) = Codex::new(WATCHED, vec![touch("one.txt"), touch("two.txt")]).await
    else {
        return;
    };
    let (mut server, mut terminal) = codex.shared().await;
    terminal.asked().await;
    let ask = codex.ask().await;
    codex.daemon.kill().await;
    codex.daemon.run().await;
    assert_eq!(codex.ask().await, ask, "the same request is the same ask");
    codex.says(&["approve", &ask]).await;
    codex.model.is_told("call_0").await;
    assert!(codex.made("one.txt"));
    let ask = codex.ask().await;
    server.kill().await.unwrap();
    codex.daemon.ask_reaches(&ask, "cancelled").await;
}

#[tokio::test]
async fn row_19_the_card_of_a_shared_real_codex_closes_with_its_last_terminal() {
    let Some(codex) = Codex::new(WATCHED, vec![touch("one.txt")]).await else { return };
    let (_server, mut terminal) = codex.shared().await;
    terminal.asked().await;
    let ask = codex.ask().await;
    drop(terminal);
    let closed = codex.daemon.ask_reaches(&ask, "cancelled").await;
    assert_eq!(closed["reason"], "cancelled: its session ended");
    assert!(!codex.made("one.txt"));
}

#[tokio::test]
async fn a_hosted_real_codex_without_its_model_ends_with_a_sentence() {
    let Some(codex) = Codex::new("", vec![]).await else { return };
    let settings = codex.daemon.dir.path().join(".codex/config.toml");
    let text = fs::read_to_string(&settings).unwrap();
    // Nothing listens on port 9.
    fs::write(&settings, text.replace(&codex.model.url, "http://127.0.0.1:9/v1")).unwrap();
    let mut command = codex.daemon.command(&[
        "host",
        "codex",
        "--prompt",
        "do it",
        "--retry-for",
        "5",
        "--",
        &codex.program,
    ]);
    command.current_dir(&codex.work).env("NO_PROXY", "127.0.0.1");
    let ended = Process::start(command).ends().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    let said = "Codex did not get over an error for 5 s: Reconnecting... waiting for network";
    assert!(ended.stderr.contains(said), "{ended:?}");
}

/// A command that its reviewer is asked for, and whose every run leaves a line.
fn noted() -> (&'static str, Value) {
    let command = json!({"cmd": "echo ran >> runs", "justification": "Note it?",
        "sandbox_permissions": "require_escalated"});
    ("exec_command", command)
}

const REVIEWED: &str = "Codex's reviewer blocked this: scripted: sends data out.";

/// These calls; the turn is held by a question before the first, behind it and behind the last: it
/// goes on once the daemon has joined, and once a person has answered.
fn held(calls: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let first = [question(), calls[0].clone(), question()];
    let rest = calls[1..].iter().cloned().chain([question()]);
    first.into_iter().chain(rest).collect()
}

#[tokio::test]
async fn a_yes_overrules_the_reviewer_of_a_real_codex_once_and_it_reviews_again() {
    let calls = held(&[noted(), noted(), noted()]);
    let Some(mut codex) = Codex::reviewed(calls).await else { return };
    let (_server, _terminal) = codex.shared().await;
    codex.goes_on().await;
    let blocked = codex.ask_of("Bash").await;
    assert_eq!(blocked["why"], REVIEWED, "{blocked}");
    assert_eq!(blocked["call"]["args"], json!({"command": "echo ran >> runs"}));
    let id = blocked["id"].as_str().unwrap();
    codex.says(&["approve", id]).await;
    codex.is_released().await;
    codex.goes_on().await;
    // The retry, and the next one, which is reviewed again.
    codex.model.is_told("call_4").await;
    let runs = || fs::read_to_string(codex.work.join("runs")).unwrap();
    assert_eq!(runs(), "ran\n");
    let again = codex.ask_of("Bash").await;
    assert_eq!((&again["why"], again["id"] != id), (&json!(REVIEWED), true), "{again}");
    codex.says(&["deny", again["id"].as_str().unwrap()]).await;
    assert_eq!(runs(), "ran\n");
}

#[tokio::test]
async fn a_daemon_killed_while_it_overrules_a_real_codex_lets_it_run_at_most_once() {
    for step in ["approved", "changed", "told", "ran"] {
        let calls = held(&[noted(), noted(), noted()]);
        let Some(mut codex) = Codex::reviewed(calls).await else { return };
        let (_server, _terminal) = codex.shared().await;
        codex.goes_on().await;
        let blocked = codex.ask_of("Bash").await;
        codex.ask_of("request_user_input").await;
        codex.says(&["approve", blocked["id"].as_str().unwrap()]).await;
        if step != "approved" {
            codex.is_released().await;
        }
        if step == "ran" {
            codex.goes_on().await;
            codex.model.is_told("call_3").await;
        }
        codex.daemon.kill().await;
        codex.daemon.run().await;
        if step != "ran" {
            codex.goes_on().await;
        }
        codex.model.is_told("call_4").await;
        let runs = fs::read_to_string(codex.work.join("runs")).unwrap_or_default();
        assert!(["", "ran\n"].contains(&&*runs), "{step}: {runs}");
        eprintln!("killed when it was {step}: ran {} times", runs.lines().count());
    }
}

/// An MCP server with one tool, whose every call leaves a line.
const NOTES: &str = r#"
import sys, json
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    method, result = asked["method"], {}
    if method == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        result = {"tools": [{"name": "note", "description": "Notes it", "inputSchema": schema,
            "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}}]}
    elif method == "tools/call":
        open(sys.argv[1], "a").write(asked["params"]["arguments"]["text"] + "\n")
        result = {"content": [{"type": "text", "text": "noted"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

#[tokio::test]
async fn a_yes_overrules_the_reviewer_of_a_real_codex_for_a_patch_and_a_call_of_an_mcp_server() {
    let patch =
        "apply_patch <<'EOP'\n*** Begin Patch\n*** Add File: runs\n+ran\n*** End Patch\nEOP\n";
    let patch = ("exec_command", json!({ "cmd": patch }));
    let note = ("mcp__notes/note", json!({"text": "ran"}));
    for (tool, call, args) in
        [("apply_patch", patch, json!("ran")), ("mcp__notes__note", note, json!({"text": "ran"}))]
    {
        let calls = held(&[call.clone(), call]);
        let Some(mut codex) = Codex::reviewed(calls).await else { return };
        let settings = codex.daemon.dir.path().join(".codex/config.toml");
        let text = fs::read_to_string(&settings).unwrap().replace("workspace-write", "read-only");
        let (script, runs) = (codex.daemon.dir.path().join("notes.py"), codex.work.join("runs"));
        fs::write(&script, NOTES).unwrap();
        let server = format!(
            "[mcp_servers.notes]\ncommand = \"python3\"\nargs = [\"{}\", \"{}\"]\n",
            script.display(),
            runs.display()
        );
        fs::write(&settings, text + &server).unwrap();
        let (_server, _terminal) = codex.shared().await;
        codex.goes_on().await;
        let blocked = codex.ask_of(tool).await;
        assert_eq!(blocked["why"], REVIEWED, "{blocked}");
        let shown = &blocked["call"]["args"];
        assert!(shown == &args || shown["changes"].to_string().contains("ran"), "{shown}");
        codex.says(&["approve", "--yes", blocked["id"].as_str().unwrap()]).await;
        codex.is_released().await;
        assert!(!runs.exists(), "{tool}");
        codex.goes_on().await;
        codex.model.is_told("call_3").await;
        assert_eq!(fs::read_to_string(&runs).unwrap(), "ran\n", "{tool}");
        let asked = codex.daemon.all_in("answered").await;
        assert_eq!(asked.iter().filter(|ask| ask["call"]["tool"] == tool).count(), 1, "{tool}");
    }
}
