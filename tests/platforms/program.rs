//! The whole program with the example in it, from a call to a press in its room.

use crate::{
    example::ExamplePlatform,
    service::{Message, Service},
};
use countersign::{
    config::Config,
    daemon::{self, Inherited, ServeOptions},
    platforms::Registered,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    thread::{self, JoinHandle},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{runtime::Builder, sync::oneshot};

/// The one line.
static PLATFORMS: &[Registered] =
    &[Registered { name: "example", platform: Some(&ExamplePlatform) }];

/// A machine with the program on it.
struct Machine {
    folder: TempDir,
    token: &'static str,
}

/// The program, running.
struct Running {
    socket: PathBuf,
    kill: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Machine {
    fn new(token: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let machine = Self { folder, token };
        fs::write(machine.config(), machine.toml()).unwrap();
        machine
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("countersign.toml")
    }

    fn toml(&self) -> String {
        let state = self.folder.path().join("state");
        format!(
            "[daemon]\nsocket = '{state}/s.sock'\nlisten = '127.0.0.1:0'\nstate_dir = '{state}'\n\
             [example]\ntoken = '{token}'\ntargets = [{{ room = '#ops' }}]\n\
             [approvers]\nexample = ['UANA']\n",
            state = state.display(),
            token = self.token,
        )
    }

    fn load(&self) -> Config {
        Config::load_for(Some(&self.config()), PLATFORMS).unwrap()
    }

    /// Starts the program in a runtime of its own, which can be ended as a crash ends a process.
    fn start(&self) -> Running {
        let config = self.load();
        let socket = config.daemon.socket.clone();
        let (kill, killed) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = serve(config) => {}
                    _ = killed => {}
                }
            });
            // Its tasks are gone before a press can be sent to them.
            runtime.shutdown_timeout(Duration::from_secs(10));
        });
        Running { socket, kill: Some(kill), thread: Some(thread) }
    }
}

impl Running {
    async fn request(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let client = reqwest::Client::builder().unix_socket(self.socket.clone()).build().unwrap();
        let url = format!("http://localhost{path}");
        for _ in 0..200 {
            let request = match (method, &body) {
                ("POST", Some(body)) => client.post(&url).json(body),
                _ => client.get(&url),
            };
            match request.send().await {
                Ok(response) => return response.json().await.unwrap(),
                // It is starting: nothing tells this process when it is up.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        panic!("the program does not answer on {}", self.socket.display());
    }

    async fn ask(&self, call: Value) -> String {
        let asked = self.request("POST", "/v1/calls", Some(call)).await;
        asked["ask"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned()
    }

    /// Waits until the core knows where its card is.
    async fn noted(&self, ask: &str) {
        for _ in 0..1_000 {
            let record = self.request("GET", &format!("/v1/history/{ask}"), None).await;
            if record["deliveries"][0]["shown"] == true {
                return;
            }
            // No event tells of a single card.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the card of {ask} is not noted");
    }

    async fn answer(&self, ask: &str) -> Value {
        self.request("GET", &format!("/v1/asks/{ask}?wait=20"), None).await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.kill.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_some_and(|ended| ended.is_ok()));
    }
}

/// Runs the daemon. The threads of one that was killed may hold the store for a moment longer.
async fn serve(config: Config) {
    for _ in 0..100 {
        let (options, inherited) = (ServeOptions::default(), Inherited::default());
        match daemon::run(config.clone(), options, inherited).await {
            Ok(()) => return,
            Err(error) => eprintln!("not started yet: {error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the daemon does not start");
}

fn command(text: &str) -> Value {
    json!({"agent": "a", "session": "s", "tool": "shell_exec", "cwd": "/home/a",
        "args": {"command": text}})
}

/// The open card with this on it.
async fn card_of(service: &Service, words: &str) -> Message {
    let look = |it: &Service| {
        let mut cards = it.messages().into_iter();
        cards.find(|card| card.text.contains(words) && !card.buttons.is_empty())
    };
    service.until("a card", look).await
}

#[tokio::test]
async fn a_card_goes_to_the_examples_room_and_a_press_there_answers_the_ask() {
    let machine = Machine::new("program");
    let service = Service::at(machine.token);
    let running = machine.start();
    let ask = running.ask(command("git push origin main")).await;
    let card = card_of(&service, "git push origin main").await;

    let told = service.press(&card.id, "Approve", "UEVE", "Ana").await;
    assert_eq!(told, "You may not answer this: you are not on the list of approvers.");
    assert_eq!(service.press(&card.id, "Approve", "UANA", "Ana").await, "Approved once.");

    let answered = running.answer(&ask).await;
    assert_eq!(answered["state"], "answered", "{answered}");
    assert_eq!(answered["answer"]["by"]["platform"], "example", "{answered}");
    assert_eq!(answered["answer"]["by"]["id"], "UANA", "{answered}");
    let closed = |it: &Service| it.message(&card.id).buttons.is_empty().then_some(());
    service.until("the card is closed", closed).await;
    let ready = running.request("GET", "/readyz", None).await;
    assert_eq!(ready["adapters"]["example"]["state"], "up", "{ready}");
}

#[tokio::test]
async fn the_core_knows_who_owes_a_text_also_after_a_crash() {
    let machine = Machine::new("owed");
    let service = Service::at(machine.token);
    let running = machine.start();
    let ask = running
        .ask(json!({"agent": "a", "session": "s", "tool": "ask_user", "args": {},
            "questions": [{"question": "Which branch?", "options": [{"label": "main"}]}]}))
        .await;
    let card = card_of(&service, "Which branch?").await;
    let told = service.press(&card.id, "Other…", "UANA", "Ana").await;
    assert!(told.ends_with("Reply in the thread."), "{told}");

    running.noted(&ask).await;

    // Nobody else's words, and no words elsewhere, are the answer.
    let other = service.reply(&card.id, "please", "UEVE", "Ana").await;
    assert!(other.starts_with("You may not answer this"), "{other}");
    drop(running);
    let running = machine.start();
    let told = service.reply(&card.id, "the release branch", "UANA", "Ana").await;
    let answered = running.answer(&ask).await;
    let answers = json!({"Which branch?": "the release branch"});
    assert_eq!(answered["answer"]["answers"], answers, "{told} {answered}");
    // What is written next is a plain reply to a card that is closed.
    let later = service.reply(&card.id, "or any other", "UANA", "Ana").await;
    assert!(later.starts_with("Already answered by Ana"), "{later}");
}

#[test]
fn the_examples_own_keys_and_ids_are_held_to_its_registration() {
    let machine = Machine::new("keys");
    let config = machine.load();
    assert_eq!(config.chats.len(), 1);
    assert_eq!(config.chats[0].targets[0].0, "#ops");
    let printed = format!("{config:?}");
    assert!(!printed.contains("'keys'") && !printed.contains("\"keys\""), "{printed}");
    for (from, to, mistake) in [
        ("['UANA']", "['ana']", "[approvers] `example` must be member ids such as UANA"),
        (
            "room = '#ops'",
            "room = 'ops'",
            "[example.targets] `room` must be a room such as \"#ops\"",
        ),
        ("token = 'keys'\n", "", "[example] has no `token`; the service's settings show it"),
        ("[example]", "[exmple]", "unknown section [exmple]; did you mean [example]?"),
        ("[approvers]\nexample", "[approvers]\nexampel", "did you mean `example`?"),
    ] {
        let toml = machine.toml();
        assert!(toml.contains(from), "{toml}");
        fs::write(machine.config(), toml.replace(from, to)).unwrap();
        let error = Config::load_for(Some(&machine.config()), PLATFORMS).unwrap_err().to_string();
        assert!(error.contains(mistake), "{error}");
    }
}
