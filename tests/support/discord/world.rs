//! The state of the fake.

use super::{BOT, CHANNEL, GUILD, markdown, people::Interaction};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The fault of a request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// 429 with this many seconds.
    Limited { retry_after: f64, global: bool },
    /// This status with an HTML body, as a proxy sends it.
    Html(u16),
    /// An error response of Discord.
    Refused { status: u16, code: i64, message: String },
    /// The connection is lost before the request is handled.
    DropBefore,
    /// The request is handled and its response is lost.
    DropAfter,
    /// 200 and half of an object.
    Garbage,
    /// The response takes this long.
    Slow(std::time::Duration),
}

/// A message as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// `channel/id`.
    pub reference: String,
    /// The rendered text.
    pub text: String,
    /// The content as sent.
    pub content: String,
    /// The buttons' labels, in reading order.
    pub buttons: Vec<String>,
    /// The buttons' tokens.
    pub tokens: Vec<String>,
    /// Labels and values of the options of selects.
    pub options: Vec<(String, String)>,
    /// Names and contents of the files.
    pub files: Vec<(String, String)>,
    /// The number of edits.
    pub edits: usize,
    /// The message that it replies to.
    pub reply_to: Option<String>,
}

impl Posted {
    /// Whether nothing on it waits for an answer: a settled card may offer Undo, or a late yes.
    pub fn is_over(&self) -> bool {
        self.buttons.iter().all(|label| label == "Undo" || label.starts_with("Approve the next"))
    }

    pub(super) fn of(message: &Message) -> Self {
        let all = |key: &str| {
            let buttons = message.buttons().into_iter();
            buttons.map(|button| button[key].as_str().unwrap_or_default().to_owned()).collect()
        };
        Self {
            reference: format!("{}/{}", message.channel, message.id),
            text: markdown::read(&message.content),
            content: message.content.clone(),
            buttons: all("label"),
            tokens: all("custom_id"),
            options: message.options(),
            files: message.files.iter().map(|it| (it.name.clone(), it.text.clone())).collect(),
            edits: message.edits,
            reply_to: message.reply_to.clone(),
        }
    }
}

pub(super) struct State {
    pub messages: Vec<Message>,
    pub channels: HashMap<String, Channel>,
    pub interactions: Vec<Interaction>,
    pub sessions: Vec<Session>,
    pub faults: Vec<(String, usize, Fault)>,
    pub violations: Vec<String>,
    pub calls: Vec<String>,
    pub buckets: HashMap<String, (Instant, u32)>,
    /// Until when a bucket, or all (`*`), must not be used, because a 429 demanded it.
    pub quiet: HashMap<String, Instant>,
    pub limits: bool,
    pub down: bool,
    pub token_refused: bool,
    pub gateway_refusal: Option<u16>,
    pub identified: usize,
    pub uploads: usize,
    /// The last press, as it was sent.
    pub last_press: Value,
    /// The registered commands.
    pub commands: Vec<Value>,
    pub permissions: u64,
    last_id: u64,
}

#[derive(Default)]
pub(super) struct Channel {
    pub name: String,
    pub thread: bool,
    /// Between the bot and one person, outside of the server.
    pub direct: bool,
    pub archived: bool,
    pub locked: bool,
    pub refusal: Option<i64>,
}

#[derive(Clone)]
pub(super) struct Message {
    pub id: String,
    pub channel: String,
    pub content: String,
    pub components: Value,
    pub files: Vec<StandingFile>,
    pub flags: u64,
    pub nonce: Option<String>,
    pub private_to: Option<String>,
    pub reply_to: Option<String>,
    pub edits: usize,
    pub deleted: bool,
}

#[derive(Clone)]
pub(super) struct StandingFile {
    pub id: String,
    pub name: String,
    pub text: String,
}

/// A session of the gateway, which outlives its connection.
pub(super) struct Session {
    pub id: String,
    /// The intents of its IDENTIFY.
    pub intents: u64,
    pub events: Vec<Value>,
    pub connection: Option<mpsc::UnboundedSender<Out>>,
}

/// A command to a gateway connection.
#[derive(Debug)]
pub(super) enum Out {
    Send(Value),
    Reconnect,
    Close(u16),
    Drop,
}

impl State {
    pub fn new() -> Self {
        let mut state = Self {
            messages: Vec::new(),
            channels: HashMap::new(),
            interactions: Vec::new(),
            sessions: Vec::new(),
            faults: Vec::new(),
            violations: Vec::new(),
            calls: Vec::new(),
            buckets: HashMap::new(),
            quiet: HashMap::new(),
            limits: true,
            down: false,
            token_refused: false,
            gateway_refusal: None,
            identified: 0,
            uploads: 0,
            last_press: Value::Null,
            commands: Vec::new(),
            // VIEW_CHANNEL, SEND_MESSAGES, ATTACH_FILES, READ_MESSAGE_HISTORY,
            // CREATE_PUBLIC_THREADS, SEND_MESSAGES_IN_THREADS.
            permissions: 1 << 10 | 1 << 11 | 1 << 15 | 1 << 16 | 1 << 35 | 1 << 38,
            last_id: 1_300_000_000_000_000_000,
        };
        state.add_channel(CHANNEL, "approvals", false);
        state
    }

    pub fn add_channel(&mut self, id: &str, name: &str, thread: bool) {
        let channel = Channel { name: name.to_owned(), thread, ..Channel::default() };
        self.channels.insert(id.to_owned(), channel);
    }

    pub fn next_id(&mut self) -> String {
        self.last_id += 1;
        self.last_id.to_string()
    }

    pub fn violate(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }

    pub fn online(&self) -> bool {
        self.sessions.iter().any(|session| session.connection.is_some())
    }

    pub fn message_mut(&mut self, id: &str) -> Option<&mut Message> {
        self.messages.iter_mut().find(|message| message.id == id && !message.deleted)
    }

    pub fn tell_connections(&mut self, what: impl Fn() -> Out) {
        for session in &mut self.sessions {
            // Taken away: the session has no connection until a RESUME.
            if let Some(connection) = session.connection.take() {
                let _ = connection.send(what());
            }
        }
    }

    /// The fault of this request, if any. A request before its `retry_after` is over is a
    /// violation.
    pub fn meet_fault(&mut self, call: &str) -> Option<Fault> {
        if self.down {
            return Some(Fault::Html(502));
        }
        if let Some(left) = self.too_soon(call) {
            self.violate(format!("{call} came {left:?} before its retry_after was over"));
            return Some(Fault::Limited { retry_after: left.as_secs_f64(), global: false });
        }
        let fault = self.next_fault(call);
        if let (Some(Fault::Limited { retry_after, global }), Some(bucket)) = (&fault, bucket(call))
        {
            let bucket = if *global { "*".to_owned() } else { bucket };
            let until = Instant::now() + Duration::from_secs_f64(*retry_after);
            self.quiet.insert(bucket, until);
        }
        fault
    }

    /// The time until this call is permitted again.
    fn too_soon(&self, call: &str) -> Option<Duration> {
        let untils = [self.quiet.get(&bucket(call)?), self.quiet.get("*")];
        let left =
            untils.into_iter().flatten().map(|at| at.duration_since(Instant::now())).max()?;
        Some(left).filter(|left| !left.is_zero())
    }

    fn next_fault(&mut self, call: &str) -> Option<Fault> {
        let call = format!("{call} ");
        let at = self.faults.iter().position(|(on, _, _)| call.contains(on.as_str()))?;
        let (_, times, fault) = &mut self.faults[at];
        let fault = fault.clone();
        *times -= 1;
        if *times == 0 {
            self.faults.remove(at);
        }
        Some(fault)
    }

    pub fn channel_json(&self, id: &str) -> Value {
        let channel = &self.channels[id];
        if channel.direct {
            return json!({"id": id, "type": 1, "last_message_id": null, "recipients": [],
                "flags": 0});
        }
        json!({
            // 11 is a public thread, 0 a text channel.
            "id": id, "type": if channel.thread { 11 } else { 0 }, "guild_id": GUILD,
            "name": channel.name, "position": 0, "permission_overwrites": [], "topic": null,
            "nsfw": false, "last_message_id": null, "rate_limit_per_user": 0, "parent_id": null,
            "flags": 0,
        })
    }
}

impl Session {
    pub fn dispatch(&mut self, kind: &str, data: &Value) {
        let event = json!({"op": 0, "t": kind, "s": self.events.len() + 1, "d": data});
        self.events.push(event.clone());
        if let Some(connection) = &self.connection {
            let _ = connection.send(Out::Send(event));
        }
    }
}

impl Message {
    fn components(&self) -> impl Iterator<Item = &Value> {
        let rows = self.components.as_array().into_iter().flatten();
        rows.flat_map(|row| row["components"].as_array().into_iter().flatten())
    }

    pub fn buttons(&self) -> Vec<&Value> {
        self.components().filter(|it| it["type"] == 2).collect()
    }

    fn options(&self) -> Vec<(String, String)> {
        let selects = self.components().filter(|it| it["type"] == 3);
        let options = selects.flat_map(|it| it["options"].as_array().into_iter().flatten());
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        options.map(|option| (text(&option["label"]), text(&option["value"]))).collect()
    }

    pub fn json(&self) -> Value {
        let files = self.files.iter().map(|file| {
            json!({
                "id": file.id, "filename": file.name, "size": file.text.len(),
                "url": format!("https://cdn.invalid/{}/{}", file.id, file.name),
                "proxy_url": format!("https://cdn.invalid/{}/{}", file.id, file.name),
                "content_type": "text/plain; charset=utf-8",
            })
        });
        let mut json = json!({
            "id": self.id, "channel_id": self.channel, "author": bot(), "content": self.content,
            "timestamp": "2026-11-21T12:00:00.000000+00:00",
            "edited_timestamp": (self.edits > 0).then_some("2026-11-21T12:00:01.000000+00:00"),
            "tts": false, "mention_everyone": false, "mentions": [], "mention_roles": [],
            "attachments": files.collect::<Vec<_>>(), "embeds": [], "pinned": false, "type": 0,
            "flags": self.flags, "components": self.components, "application_id": BOT,
        });
        if let Some(nonce) = &self.nonce {
            json["nonce"] = json!(nonce);
        }
        json
    }
}

/// The bot's user.
pub(super) fn bot() -> Value {
    json!({
        "id": BOT, "username": "countersign", "discriminator": "0000", "global_name": null,
        "avatar": null, "bot": true, "public_flags": 0, "flags": 0,
    })
}

/// The bucket of a call: its method and channel. Replies to interactions have no bucket.
fn bucket(call: &str) -> Option<String> {
    let (method, path) = call.split_once(' ')?;
    let channel = path.strip_prefix("/channels/")?.split('/').next()?;
    Some(format!("{method} {channel}"))
}
