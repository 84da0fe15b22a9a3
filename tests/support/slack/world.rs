//! What is in the workspace.

use super::{APP_TOKEN, BOT, CHANNEL, TEAM, TOKEN, blocks, people::Interaction, people::Person};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;

/// What can go wrong with a call.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// 429 with this Retry-After.
    Limited { retry_after: u64 },
    /// An HTML page with this status.
    Html(u16),
    /// The connection ends before anything is done.
    DropBefore,
    /// It is done, and the answer is lost.
    DropAfter,
    /// The answer cannot be read.
    Garbage,
    /// `ok: false` with this word.
    Error(&'static str),
}

/// What goes out over a connection.
#[derive(Debug)]
pub enum Out {
    Frame(Value),
    Refresh(&'static str),
    Drop,
}

pub struct Socket {
    pub number: usize,
    pub out: UnboundedSender<Out>,
    pub zombie: bool,
    /// Asked to be replaced: it still works for a while.
    pub old: bool,
}

pub struct Channel {
    pub name: String,
    pub bot: bool,
    pub archived: bool,
}

/// A message, as it is stored.
#[derive(Debug, Clone)]
pub struct Message {
    pub channel: String,
    pub ts: String,
    pub user: String,
    pub text: String,
    pub blocks: Value,
    pub metadata: Value,
    pub thread: Option<String>,
    pub private_to: Option<String>,
    pub file: Option<String>,
    pub deleted: bool,
    pub edits: usize,
}

/// A card as a person sees it.
#[derive(Debug, Clone)]
pub struct Posted {
    /// `channel/ts`.
    pub reference: String,
    pub text: String,
    /// What a notification shows.
    pub fallback: String,
    pub buttons: Vec<String>,
    pub tokens: Vec<String>,
    /// Labels and values of what is behind *More…*.
    pub options: Vec<(String, String)>,
    /// Labels of the boxes to tick, and whether each is ticked to begin with.
    pub boxes: Vec<(String, bool)>,
    /// The first message of the thread that it is in.
    pub thread: Option<String>,
    /// Names and texts of the files in its thread.
    pub files: Vec<(String, String)>,
    pub edits: usize,
}

impl Posted {
    /// Whether it has no buttons (any more) but *Undo*.
    pub fn is_over(&self) -> bool {
        self.buttons
            .iter()
            .all(|label| label.starts_with("Undo") || label.starts_with("Approve the next"))
    }
}

pub struct State {
    pub people: HashMap<String, Person>,
    pub channels: HashMap<String, Channel>,
    pub messages: Vec<Message>,
    /// Name, announced length and text by id.
    pub files: HashMap<String, (String, usize, Option<String>)>,
    pub interactions: Vec<Interaction>,
    pub sockets: Vec<Socket>,
    pub tickets: Vec<String>,
    pub connected: usize,
    pub faults: Vec<(String, usize, Fault)>,
    pub calls: Vec<String>,
    pub violations: Vec<String>,
    pub down: bool,
    pub token_refused: bool,
    pub app_token_refused: bool,
    pub limits: bool,
    /// What the app may do.
    pub scopes: Vec<String>,
    /// What somebody has ticked, by person, message and the id of the boxes.
    pub ticked: HashMap<(String, String, String), Vec<String>>,
    /// When a channel has all of its allowance again.
    pub posts: HashMap<String, Instant>,
    pub edits: Vec<Instant>,
    next: u64,
}

impl State {
    pub fn new() -> Self {
        let mut state = Self {
            people: HashMap::new(),
            channels: HashMap::new(),
            messages: Vec::new(),
            files: HashMap::new(),
            interactions: Vec::new(),
            sockets: Vec::new(),
            tickets: Vec::new(),
            connected: 0,
            faults: Vec::new(),
            calls: Vec::new(),
            violations: Vec::new(),
            down: false,
            token_refused: false,
            app_token_refused: false,
            limits: true,
            scopes: manifest("/oauth_config/scopes/bot"),
            ticked: HashMap::new(),
            posts: HashMap::new(),
            edits: Vec::new(),
            next: 0,
        };
        state.add_channel(CHANNEL, "approvals");
        state
    }

    pub fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub fn add_channel(&mut self, id: &str, name: &str) {
        let channel = Channel { name: name.to_owned(), bot: true, archived: false };
        self.channels.insert(id.to_owned(), channel);
    }

    pub fn channel(&mut self, id: &str) -> &mut Channel {
        self.channels.get_mut(id).unwrap()
    }

    pub fn is_online(&self) -> bool {
        self.sockets.iter().any(|it| !it.zombie)
    }

    pub fn tell_sockets(&mut self, out: impl Fn() -> Out) {
        for socket in &mut self.sockets {
            let out = out();
            socket.old |= matches!(out, Out::Refresh(_));
            let _ = socket.out.send(out);
        }
    }

    /// Sends something over one of the connections, as Slack does.
    pub fn deliver(&mut self, kind: &str, payload: &Value, accepts: bool) -> Option<String> {
        let id = format!("envelope-{}", self.next());
        let frame = json!({"envelope_id": id, "type": kind, "payload": payload,
            "accepts_response_payload": accepts});
        let count = self.sockets.len();
        let at = usize::try_from(self.next()).unwrap() % count.max(1);
        let socket = self.sockets.get(at)?;
        if !socket.zombie {
            let _ = socket.out.send(Out::Frame(frame));
        }
        Some(id)
    }

    pub fn message_mut(&mut self, reference: &str) -> Option<&mut Message> {
        let (channel, ts) = reference.split_once('/')?;
        let is_it = |it: &&mut Message| it.channel == channel && it.ts == ts && !it.deleted;
        self.messages.iter_mut().find(is_it)
    }

    /// Stores a message and returns its time.
    pub fn store(&mut self, mut message: Message) -> String {
        message.ts = format!("1700000000.{:06}", self.next());
        let ts = message.ts.clone();
        self.messages.push(message);
        ts
    }

    pub fn posted(&self, message: &Message) -> Posted {
        let in_thread = |it: &&Message| {
            it.channel == message.channel && it.thread.as_deref() == Some(&*message.ts)
        };
        let ids = self.messages.iter().filter(in_thread).filter_map(|it| it.file.as_ref());
        let files = ids.map(|id| {
            let (name, _, text) = &self.files[id];
            (name.clone(), text.clone().unwrap())
        });
        let buttons = blocks::buttons(&message.blocks);
        Posted {
            reference: format!("{}/{}", message.channel, message.ts),
            text: blocks::text(&message.blocks),
            fallback: message.text.clone(),
            buttons: buttons.iter().map(|(label, _)| label.clone()).collect(),
            tokens: buttons.into_iter().map(|(_, token)| token).collect(),
            options: blocks::options(&message.blocks),
            boxes: boxes(&message.blocks),
            files: files.collect(),
            thread: message.thread.clone(),
            edits: message.edits,
        }
    }

    /// The fault of a call, if it has one.
    pub fn fault(&mut self, method: &str) -> Option<Fault> {
        let fault = self.faults.iter_mut().find(|(on, times, _)| on == method && *times > 0)?;
        fault.1 -= 1;
        Some(fault.2)
    }

    /// Why a token is refused for a method.
    pub fn refusal(&mut self, method: &str, token: &str) -> Option<&'static str> {
        let of_app = method == "apps.connections.open";
        match token {
            TOKEN if of_app => self.broke(format!("{method} with the bot's token")),
            APP_TOKEN if !of_app => self.broke(format!("{method} with the app's token")),
            TOKEN => self.token_refused.then_some("token_revoked"),
            APP_TOKEN => self.app_token_refused.then_some("invalid_auth"),
            _ => Some("invalid_auth"),
        }
    }

    fn broke(&mut self, what: String) -> Option<&'static str> {
        self.violations.push(what);
        Some("not_allowed_token_type")
    }
}

/// The list at this place of the manifest that `connect slack` prints.
pub fn manifest(at: &str) -> Vec<String> {
    let manifest = include_str!("../../../adapters/slack/manifest.json");
    let manifest: Value = serde_json::from_str(manifest).unwrap();
    let list = manifest.pointer(at).unwrap().as_array().unwrap().iter();
    list.map(|it| it.as_str().unwrap().to_owned()).collect()
}

fn boxes(blocks: &Value) -> Vec<(String, bool)> {
    let blocks::Ticks { options, initial, .. } = blocks::ticks(blocks).unwrap_or_default();
    options.into_iter().map(|(label, value)| (label, initial.contains(&value))).collect()
}

impl Message {
    /// A message of the bot's that everybody sees and that is no file.
    pub fn is_card(&self) -> bool {
        let public = self.private_to.is_none() && self.file.is_none();
        public && !self.deleted && self.user == BOT
    }

    pub fn wire(&self) -> Value {
        let mut wire = json!({"type": "message", "user": self.user, "ts": self.ts,
            "text": self.text, "team": TEAM});
        for (key, value) in [("blocks", &self.blocks), ("metadata", &self.metadata)] {
            if !value.is_null() {
                wire[key] = value.clone();
            }
        }
        if self.user == BOT {
            wire["bot_id"] = "B0000000001".into();
        }
        if let Some(thread) = &self.thread {
            wire["thread_ts"] = thread.clone().into();
        }
        wire
    }
}
