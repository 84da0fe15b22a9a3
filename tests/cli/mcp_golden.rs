//! Recorded MCP conversations, replayed frame by frame, and the gate in front of a real server. That
//! one is not shipped with this repository: set `COUNTERSIGN_TEST_FILESYSTEM` to the script of
//! `@modelcontextprotocol/server-filesystem` (from npm).

use crate::{
    daemon::Daemon,
    process::{Process, run, start},
};
use serde_json::{Value, json};
use std::{fs, path::Path};

const ASK: &str = "A person is asked; the ask is ";

/// One conversation of a client with the real program.
struct Conversation<'a> {
    daemon: &'a Daemon,
    process: Process,
    ask: String,
}

impl<'a> Conversation<'a> {
    fn new(daemon: &'a Daemon, words: &[&str]) -> Self {
        Self { daemon, process: start(daemon, words), ask: "{ask}".to_owned() }
    }

    /// A line that reached the client, with the ask that it tells kept and replaced.
    async fn line(&mut self) -> String {
        let line = self.process.line().await;
        if let Some((_, rest)) = line.split_once(ASK) {
            rest.split('.').next().unwrap().clone_into(&mut self.ask);
        }
        line.trim_end_matches('\n').replace(&self.ask, "{ask}")
    }

    /// What comes behind notifications of progress.
    async fn reply(&mut self) -> Value {
        loop {
            let message: Value = serde_json::from_str(&self.line().await).unwrap();
            if message["method"] != "notifications/progress" {
                return message;
            }
        }
    }

    /// Waits until a person is asked.
    async fn asks(&mut self) {
        while !self.line().await.contains(ASK) {}
    }

    /// Changes the call of the ask, and approves it so.
    async fn edits(&self, to: &str) {
        let edit = json!({"decision": "edit", "edit": to});
        let (_, proposed) = self.daemon.answer(&self.ask, &edit).await;
        let approve = json!({"decision": "edit", "digest": proposed["edit"]["digest"]});
        let (status, answer) = self.daemon.answer(&self.ask, &approve).await;
        assert_eq!((status, &answer["applied"]), (200, &json!(true)), "{answer}");
    }

    async fn presses(&self, words: &[&str]) {
        let words: Vec<_> = words.iter().map(|word| word.replace("{ask}", &self.ask)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(run(self.daemon, &words).await.code, Some(0), "{words:?}");
    }

    /// Plays one frame, or holds what comes to it.
    async fn frame(&mut self, frame: &Value) {
        let text = frame["text"].as_str();
        match frame["dir"].as_str().unwrap() {
            "client->bridge" => {
                let data = frame["data"].to_string();
                self.process.tell(text.unwrap_or(&data)).await;
            }
            "bridge->client" => match text {
                // Byte for byte.
                Some(text) => assert_eq!(self.line().await, text),
                None => {
                    let data = frame["data"].to_string();
                    let data = data.replace("{version}", env!("CARGO_PKG_VERSION"));
                    let came: Value = serde_json::from_str(&self.line().await).unwrap();
                    assert_eq!(came, serde_json::from_str::<Value>(&data).unwrap());
                }
            },
            _ => match frame["edit"].as_str() {
                Some(edit) => self.edits(edit).await,
                None => {
                    let words = frame["words"].as_array().unwrap().iter();
                    self.presses(&words.map(|word| word.as_str().unwrap()).collect::<Vec<_>>())
                        .await;
                }
            },
        }
    }
}

/// Plays a transcript to its end.
async fn replay(name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mcp").join(name);
    let transcript: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let rules = r#"{"mcp__files__read": "allow", "mcp__files__delete": "deny"}"#;
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    let daemon = Daemon::start_with(config, &[("rules.jsonc", rules)]).await;
    let words = transcript["integration"].as_str().unwrap();
    let words: Vec<&str> = words.split(' ').skip(1).collect();
    let mut conversation = Conversation::new(&daemon, &words);
    for frame in transcript["frames"].as_array().unwrap() {
        conversation.frame(frame).await;
    }
    let ended = conversation.process.ends().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{name}: {ended:?}");
}

#[tokio::test]
async fn the_server_introduces_itself_and_lists_its_tools_as_recorded() {
    replay("01_server.json").await;
}

#[tokio::test]
async fn a_permission_prompt_is_approved_denied_and_edited_as_recorded() {
    replay("02_approve.json").await;
}

#[tokio::test]
async fn a_models_question_is_answered_and_declined_as_recorded() {
    replay("03_ask_human.json").await;
}

#[tokio::test]
async fn the_gate_passes_unknown_messages_on_and_decides_on_tools_as_recorded() {
    replay("04_proxy.json").await;
}

#[tokio::test]
async fn a_real_server_gets_exactly_what_was_approved_or_edited() {
    let Ok(server) = std::env::var("COUNTERSIGN_TEST_FILESYSTEM") else {
        eprintln!("SKIPPED: set COUNTERSIGN_TEST_FILESYSTEM to try a real MCP server");
        return;
    };
    let daemon = Daemon::start("").await;
    let work = fs::canonicalize(daemon.dir.path()).unwrap().join("work");
    fs::create_dir(&work).unwrap();
    let file = |name: &str| work.join(name).display().to_string();
    let folder = work.display().to_string();
    let words = ["mcp-proxy", "--name", "files", "--", "node", &server, &folder];
    let mut client = Conversation::new(&daemon, &words);
    let request = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let write = |id: u64, name: &str| {
        let arguments = json!({"path": file(name), "content": "as the agent wants it"});
        let meta = json!({"progressToken": id});
        let params = json!({"name": "write_file", "arguments": arguments, "_meta": meta});
        request(id, "tools/call", params)
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    client.process.tell(&request(0, "initialize", hello)).await;
    let ready = client.reply().await;
    assert_eq!(ready["result"]["serverInfo"]["name"], "secure-filesystem-server", "{ready}");
    client.process.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    client.process.tell(&request(1, "tools/list", json!({}))).await;
    let tools = client.reply().await["result"]["tools"].to_string();
    assert!(tools.contains("write_file"), "{tools}");

    client.process.tell(&write(2, "approved.txt")).await;
    client.asks().await;
    client.presses(&["approve", "{ask}"]).await;
    let done = client.reply().await;
    assert_eq!((&done["id"], done["result"].get("isError")), (&json!(2), None), "{done}");
    assert_eq!(fs::read_to_string(file("approved.txt")).unwrap(), "as the agent wants it");

    client.process.tell(&write(3, "denied.txt")).await;
    client.asks().await;
    client.presses(&["deny", "{ask}", "--reason", "no such file"]).await;
    let denied = client.reply().await;
    assert_eq!((&denied["id"], &denied["result"]["isError"]), (&json!(3), &json!(true)));
    assert!(denied.to_string().contains("no such file"), "{denied}");
    assert!(!work.join("denied.txt").exists());

    client.process.tell(&write(4, "edited.txt")).await;
    client.asks().await;
    client.edits("as the person wants it").await;
    assert_eq!(client.reply().await["id"], 4);
    assert_eq!(fs::read_to_string(file("edited.txt")).unwrap(), "as the person wants it");
    assert_eq!(client.process.ends().await.code, Some(0));
}
