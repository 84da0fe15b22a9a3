//! The plugin of opencode in node, with a stand-in for opencode; skipped where there is no node.

use crate::{
    daemon::{Daemon, LONG},
    process::run,
};
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// Loads the plugin as opencode does, gives it the events from stdin and prints what it posts.
const HOST: &str = "
const { Countersign } = await import(process.argv[1]);
const print = (what) => process.stdout.write(JSON.stringify(what) + '\\n');
const sessions = { ses_child: { parentID: 'ses_root', title: 'Explore' }, ses_root: { title: 'x' } };
let late = false;
const client = {
    session: { get: async ({ path }) => ({ data: sessions[path.id] }) },
    _client: { post: async (request) => (print(request), late ? { error: {} } : {}) },
};
const plugin = await Countersign({ client, directory: '/home/ana/shop' });
const lines = (await import('node:readline')).createInterface({ input: process.stdin });
lines.on('line', async (line) => {
    const event = JSON.parse(line);
    late ||= event.type === 'host.late';
    if (event.type === 'host.call') {
        const { args, ...call } = event.properties;
        const runs = () => print({ ran: call.callID });
        return plugin['tool.execute.before'](call, { args }).then(runs, (e) => print({ blocked: e.message }));
    }
    await plugin.event({ event });
});
print('ready');
";

/// The plugin in its host.
struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    posts: Lines<BufReader<ChildStdout>>,
}

impl Host {
    /// Connects opencode and loads the plugin; `None` where there is no node.
    async fn start(daemon: &Daemon) -> Option<Self> {
        Self::connected(daemon, &["connect", "opencode", "--yes"]).await
    }

    async fn connected(daemon: &Daemon, words: &[&str]) -> Option<Self> {
        if Command::new("node").arg("--version").output().await.is_err() {
            eprintln!("SKIPPED: there is no node here to run the plugin with");
            return None;
        }
        let connected = run(daemon, words).await;
        assert_eq!(connected.code, Some(0), "{connected:?}");
        let plugin = daemon.dir.path().join(".config/opencode/plugin/countersign.js");
        let module = daemon.dir.path().join("plugin.mjs");
        std::fs::copy(plugin, &module).unwrap();
        let mut node = Command::new("node");
        node.args(["--input-type=module", "-e", HOST]).arg(module);
        node.env("HOME", daemon.dir.path());
        node.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = node.spawn().unwrap();
        let posts = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut host = Self { stdin: child.stdin.take(), child, posts };
        assert_eq!(host.next().await, Some(json!("ready")));
        Some(host)
    }

    async fn sees(&mut self, event: &Value) {
        let line = format!("{event}\n");
        self.stdin.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    /// The next thing that the plugin posts; `None` when it has ended.
    async fn next(&mut self) -> Option<Value> {
        let line = timeout(LONG, self.posts.next_line()).await.unwrap().unwrap();
        line.map(|line| serde_json::from_str(&line).unwrap())
    }

    /// Waits until nothing of it runs any more; what it posted meanwhile.
    async fn ends(mut self) -> Vec<Value> {
        drop(self.stdin.take());
        let mut posted = Vec::new();
        while let Some(post) = self.next().await {
            posted.push(post);
        }
        assert!(self.child.wait().await.unwrap().success());
        posted
    }
}

fn golden(name: &str) -> Value {
    let file = format!("{}/tests/golden/opencode/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn frame(name: &str, index: usize) -> Value {
    golden(name)["frames"][index]["data"].clone()
}

fn posted(name: &str) -> Value {
    let frame = &golden(name)["frames"][1];
    json!({"url": frame["path"], "body": frame["data"],
        "headers": {"content-type": "application/json"}})
}

/// The ask that the plugin's hook submitted.
async fn open(daemon: &Daemon) -> Value {
    let asks = daemon.until("/v1/asks?state=open", |reply| reply["asks"] != json!([])).await;
    asks["asks"][0].clone()
}

async fn answer(daemon: &Daemon, ask: &Value, args: &[&str]) {
    let id = ask["id"].as_str().unwrap();
    let (command, rest) = args.split_first().unwrap();
    let answered = run(daemon, &[&[*command, id], rest].concat()).await;
    assert_eq!(answered.code, Some(0), "{answered:?}");
}

#[tokio::test]
async fn a_press_is_the_recorded_reply_and_a_denial_goes_on_with_its_reason() {
    let daemon = Daemon::start("").await;
    let Some(mut host) = Host::start(&daemon).await else { return };
    host.sees(&frame("01_once", 0)).await;
    // Seen twice, asked once.
    host.sees(&frame("01_once", 0)).await;
    let ask = open(&daemon).await;
    assert_eq!(ask["call"]["cwd"], "/home/ana/shop");
    answer(&daemon, &ask, &["approve"]).await;
    assert_eq!(host.next().await, Some(posted("01_once")));
    host.sees(&frame("01_once", 3)).await;

    host.sees(&frame("03_reject_feedback", 0)).await;
    answer(&daemon, &open(&daemon).await, &["deny", "--reason", "open a pull request."]).await;
    let mut expected = posted("03_reject_feedback");
    expected["body"]["message"] = json!("Denied by the approver's token: open a pull request.");
    assert_eq!(host.next().await, Some(expected));

    // What was denied a moment ago is denied again, in the same session.
    let mut other = frame("04_reject_stop", 0);
    other["properties"]["sessionID"] = json!("ses_other");
    host.sees(&other).await;
    answer(&daemon, &open(&daemon).await, &["deny", "--stop"]).await;
    assert_eq!(host.ends().await, [posted("04_reject_stop")]);
}

#[tokio::test]
async fn questions_of_a_subagent_are_answered_too() {
    let daemon = Daemon::start("").await;
    let Some(mut host) = Host::start(&daemon).await else { return };
    let mut asked = frame("06_question_reply", 0);
    asked["properties"]["sessionID"] = json!("ses_child");
    host.sees(&asked).await;
    let ask = open(&daemon).await;
    let from = (&ask["call"]["session"], &ask["call"]["meta"]["agent_type"]);
    assert_eq!(from, (&json!("ses_root"), &json!("Explore")));
    answer(&daemon, &ask, &["answer", "--text", "Postgres", "Lint,Docs"]).await;
    assert_eq!(host.ends().await, [posted("06_question_reply")]);
}

#[tokio::test]
async fn an_answer_in_the_dialog_takes_the_ask_back_and_nothing_is_posted() {
    let daemon = Daemon::start("").await;
    let Some(mut host) = Host::start(&daemon).await else { return };
    host.sees(&frame("05_terminal_wins", 0)).await;
    let ask = open(&daemon).await;
    host.sees(&frame("05_terminal_wins", 1)).await;
    let closed = daemon.closed(ask["id"].as_str().unwrap()).await;
    assert_eq!(closed["reason"], "cancelled: it was answered elsewhere");
    assert_eq!(host.ends().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_reply_that_opencode_does_not_take_is_told_on_the_card() {
    let daemon = Daemon::start("").await;
    let Some(mut host) = Host::start(&daemon).await else { return };
    host.sees(&json!({"type": "host.late", "properties": {}})).await;
    host.sees(&frame("01_once", 0)).await;
    let ask = open(&daemon).await;
    answer(&daemon, &ask, &["approve"]).await;
    assert_eq!(host.ends().await, [posted("01_once")]);
    let ask = daemon.read(ask["id"].as_str().unwrap()).await;
    assert!(ask["answer"]["overtaken"].is_string(), "{ask}");
}

#[tokio::test]
async fn of_two_replies_that_opencode_takes_the_first_counts_and_the_card_says_so() {
    let daemon = Daemon::start("").await;
    let Some(mut host) = Host::start(&daemon).await else { return };
    // Its own reply comes back as an event, and is not too late.
    host.sees(&frame("01_once", 0)).await;
    let first = open(&daemon).await["id"].as_str().unwrap().to_owned();
    run(&daemon, &["approve", &first]).await;
    assert_eq!(host.next().await, Some(posted("01_once")));
    let replied = |frame: &Value, reply: &str| {
        let asked = &frame["properties"];
        json!({"type": "permission.replied", "properties":
            {"sessionID": asked["sessionID"], "requestID": asked["id"], "reply": reply}})
    };
    host.sees(&replied(&frame("01_once", 0), "once")).await;
    // The dialog's "once" was first, though opencode takes our "reject" too.
    let asked = frame("03_reject_feedback", 0);
    host.sees(&asked).await;
    let second = open(&daemon).await["id"].as_str().unwrap().to_owned();
    run(&daemon, &["deny", &second]).await;
    assert_eq!(host.next().await.unwrap()["body"]["reply"], "reject");
    host.sees(&replied(&asked, "once")).await;
    host.sees(&replied(&asked, "reject")).await;
    assert_eq!(host.ends().await, Vec::<Value>::new());
    let overtaken = async |id: &str| daemon.read(id).await["answer"]["overtaken"].is_string();
    assert_eq!((overtaken(&first).await, overtaken(&second).await), (false, true));
}

#[tokio::test]
async fn answers_to_questions_that_opencode_does_not_take_are_told_on_the_card() {
    let daemon = Daemon::start("").await;
    let Some(mut host) = Host::start(&daemon).await else { return };
    host.sees(&json!({"type": "host.late", "properties": {}})).await;
    host.sees(&frame("06_question_reply", 0)).await;
    let ask = open(&daemon).await;
    answer(&daemon, &ask, &["answer", "--text", "Postgres", "Lint,Docs"]).await;
    assert_eq!(host.ends().await, [posted("06_question_reply")]);
    let ask = daemon.read(ask["id"].as_str().unwrap()).await;
    assert!(ask["answer"]["overtaken"].is_string(), "{ask}");
}

#[tokio::test]
async fn without_a_daemon_the_dialog_stays() {
    let mut daemon = Daemon::start("").await;
    let Some(mut host) = Host::start(&daemon).await else { return };
    daemon.stop().await;
    host.sees(&frame("01_once", 0)).await;
    host.sees(&json!({"type": "permission.asked", "properties": {}})).await;
    host.sees(&json!({"type": "permission.replied", "properties": {}})).await;
    assert_eq!(host.ends().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_daemon_that_is_killed_while_it_waits_is_found_again() {
    let mut daemon = Daemon::start("").await;
    let Some(mut host) = Host::start(&daemon).await else { return };
    host.sees(&frame("01_once", 0)).await;
    let ask = open(&daemon).await;
    daemon.kill().await;
    daemon.run().await;
    answer(&daemon, &ask, &["approve"]).await;
    assert_eq!(host.ends().await, [posted("01_once")]);
}

#[tokio::test]
async fn opencode_that_was_killed_leaves_no_open_ask() {
    let daemon = Daemon::start("").await;
    let Some(mut host) = Host::start(&daemon).await else { return };
    host.sees(&frame("01_once", 0)).await;
    let ask = open(&daemon).await;
    host.child.kill().await.unwrap();
    let closed = daemon.closed(ask["id"].as_str().unwrap()).await;
    assert_eq!(closed["state"], "cancelled");
}

#[tokio::test]
async fn events_of_the_second_version_are_asked_once_and_answered_on_their_own_route() {
    let daemon = Daemon::start("").await;
    let Some(mut host) = Host::start(&daemon).await else { return };
    let data = |id: &str| {
        json!({"id": id, "sessionID": "ses_root", "action": "bash", "resources": ["touch x"],
            "metadata": {"command": "touch x"}})
    };
    let asked = |id: &str| json!({"id": "evt", "type": "permission.v2.asked", "data": data(id)});
    host.sees(&asked("per_1")).await;
    // A server that tells both names means one request.
    let mut first = json!({"type": "permission.asked", "properties": data("per_1")});
    first["properties"]["permission"] = json!("bash");
    host.sees(&first).await;
    let ask = open(&daemon).await;
    assert_eq!(ask["call"]["args"]["command"], "touch x");
    answer(&daemon, &ask, &["approve"]).await;
    let posted = host.next().await.unwrap();
    assert_eq!(posted["url"], "/api/session/ses_root/permission/per_1/reply", "{posted}");
    assert_eq!(posted["body"], json!({"reply": "once"}));
    assert_eq!(daemon.open().await, Vec::<Value>::new());

    host.sees(&asked("per_2")).await;
    let ask = open(&daemon).await["id"].as_str().unwrap().to_owned();
    let replied = json!({"sessionID": "ses_root", "requestID": "per_2", "reply": "once"});
    host.sees(&json!({"id": "evt", "type": "permission.v2.replied", "data": replied})).await;
    daemon.ask_reaches(&ask, "cancelled").await;
    assert_eq!(host.ends().await, Vec::<Value>::new());
}

const GATE: &[&str] = &["connect", "opencode", "--gate", "--yes"];

fn call(id: &str) -> Value {
    json!({"type": "host.call", "properties": {"tool": "bash", "sessionID": "ses_root",
        "callID": id, "args": {"command": "touch x"}}})
}

#[tokio::test]
async fn a_gate_lets_a_call_run_that_was_approved_and_answers_opencodes_prompt_for_it_alone() {
    let daemon = Daemon::start("").await;
    let Some(mut host) = Host::connected(&daemon, GATE).await else { return };
    host.sees(&call("call_1")).await;
    answer(&daemon, &open(&daemon).await, &["approve"]).await;
    assert_eq!(host.next().await, Some(json!({"ran": "call_1"})));
    host.sees(&call("call_2")).await;
    answer(&daemon, &open(&daemon).await, &["deny", "--reason", "no files"]).await;
    let why = "Denied by the approver's token: no files";
    assert_eq!(host.next().await, Some(json!({"blocked": why})));
    let prompt = |session: &str, call: &str| {
        json!({"type": "permission.asked", "properties": {"id": "per_1", "sessionID": session,
            "permission": "bash", "tool": {"callID": call}}})
    };
    host.sees(&prompt("ses_root", "call_2")).await;
    host.sees(&prompt("ses_other", "call_1")).await;
    host.sees(&json!({"type": "permission.asked", "properties": {"id": "per_2"}})).await;
    host.sees(&prompt("ses_root", "call_1")).await;
    let once = json!({"url": "/permission/per_1/reply", "body": {"reply": "once"},
        "headers": {"content-type": "application/json"}});
    assert_eq!(host.ends().await, [once]);
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_gate_blocks_without_a_daemon_and_after_the_turn_is_over_and_leaves_questions_alone() {
    let mut daemon = Daemon::start("").await;
    let Some(mut host) = Host::connected(&daemon, GATE).await else { return };
    host.sees(&call("call_1")).await;
    let ask = open(&daemon).await;
    host.sees(&json!({"type": "session.idle", "properties": {"sessionID": "ses_root"}})).await;
    let blocked = host.next().await.unwrap();
    assert!(blocked["blocked"].is_string(), "{blocked}");
    let closed = daemon.closed(ask["id"].as_str().unwrap()).await;
    assert_eq!(closed["reason"], "cancelled: it was answered elsewhere");
    let mut question = call("call_2");
    question["properties"]["tool"] = json!("question");
    host.sees(&question).await;
    assert_eq!(host.next().await, Some(json!({"ran": "call_2"})));
    daemon.stop().await;
    host.sees(&call("call_3")).await;
    let blocked = host.next().await.unwrap();
    let why = blocked["blocked"].as_str().unwrap();
    assert!(why.contains("so it is blocked: "), "{why}");
    assert_eq!(host.ends().await, Vec::<Value>::new());
}
