//! A Telegram Bot API server on this machine, with people in its chats. It refuses what the real one
//! refuses, breaks when told to, and everything that happens in it can be awaited.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "tests fail by panicking, and each uses only a part"
)]

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

/// The token that the server knows.
pub const TOKEN: &str = "7000:a-token-for-tests";
/// The bot's own id.
pub const BOT: i64 = 7000;
/// The bot's name, without `@`.
pub const BOT_NAME: &str = "countersign_test_bot";
/// A group that is there from the start.
pub const GROUP: i64 = -1_001_000_000_001;
/// A forum that is there from the start, with topic 7 (open) and 8 (closed).
pub const FORUM: i64 = -1_001_000_000_002;

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(15);

/// The server; it ends when this is dropped.
pub struct Telegram {
    url: String,
    shared: Arc<Shared>,
    server: tokio::task::JoinHandle<()>,
}

/// Somebody with an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    pub id: i64,
    pub name: &'static str,
}

/// Somebody who may press.
pub const ANA: Person = Person { id: 4211, name: "Ana" };
/// Somebody else.
pub const BEN: Person = Person { id: 4212, name: "Ben" };
/// A stranger.
pub const EVE: Person = Person { id: 6666, name: "Eve" };

/// What the presser of a button was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub text: String,
    /// A box that must be closed, not a fleeting line.
    pub alert: bool,
}

/// A message of the bot, as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub id: i64,
    pub text: String,
    pub buttons: Vec<Vec<String>>,
    /// Name and content of its own file.
    pub file: Option<(String, String)>,
    pub reply_to: Option<i64>,
    pub topic: Option<i64>,
    /// Opens the reply box.
    pub force_reply: bool,
    pub edits: u32,
}

/// What goes wrong.
#[derive(Debug, Clone)]
pub enum Fault {
    /// 429, come back after so many seconds.
    RetryAfter(u64),
    /// 502 with an HTML page, as from the proxy before the real server.
    BadGateway,
    /// The line breaks before anything is done.
    DropBefore,
    /// The thing is done, then the line breaks.
    DropAfter,
    /// Half of an answer, though the thing is done.
    Garbled,
    /// The Bot API's own refusal.
    Refuse(u16, &'static str),
}

struct Shared {
    world: Mutex<World>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct World {
    chats: BTreeMap<i64, Chat>,
    updates: VecDeque<(i64, Value)>,
    next_update: i64,
    next_query: u64,
    polls: u64,
    queries: HashMap<String, Option<Told>>,
    faults: Vec<(String, Fault, u32)>,
    calls: Vec<(String, Value)>,
    violations: Vec<String>,
    token_refused: bool,
    down: bool,
    webhook: bool,
}

#[derive(Default)]
struct Chat {
    topics: BTreeMap<i64, bool>,
    messages: BTreeMap<i64, Stored>,
    gone: Option<(u16, &'static str)>,
    moved_to: Option<i64>,
}

struct Stored {
    js: Value,
    file: Option<(String, String)>,
    force_reply: bool,
    edits: u32,
    deleted: bool,
}

struct Refusal {
    code: u16,
    description: String,
    parameters: Value,
}

fn refuse<T>(code: u16, description: &str) -> Result<T, Refusal> {
    Err(Refusal { code, description: description.to_owned(), parameters: Value::Null })
}

/// Life cycle and what goes wrong.
impl Telegram {
    /// Starts a server with [`GROUP`], [`FORUM`] and nobody's private chat.
    pub async fn start() -> Self {
        let mut world = World { next_update: 900_000_001, ..World::default() };
        world.chats.insert(GROUP, Chat::default());
        let topics = BTreeMap::from([(7, true), (8, false)]);
        world.chats.insert(FORUM, Chat { topics, ..Chat::default() });
        let shared = Arc::new(Shared { world: Mutex::new(world), changed: watch::Sender::new(()) });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = axum::Router::new().fallback(serve).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, shared, server }
    }

    /// For `[telegram] api_url`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The next `times` calls of `method` (`*` for any) go wrong.
    pub fn fail(&self, method: &str, fault: Fault, times: u32) {
        self.change(|world| world.faults.push((method.to_lowercase(), fault, times)));
    }

    /// Breaks every connection until told otherwise.
    pub fn set_down(&self, down: bool) {
        self.change(|world| world.down = down);
    }

    /// The token is not known any more.
    pub fn refuse_token(&self) {
        self.change(|world| world.token_refused = true);
    }

    /// Somebody set a webhook.
    pub fn set_webhook(&self, set: bool) {
        self.change(|world| world.webhook = set);
    }

    /// The chat refuses everything with this, such as `(403, "Forbidden: bot was kicked from …")`.
    pub fn lose_chat(&self, chat: i64, code: u16, description: &'static str) {
        self.change(|world| world.chats.get_mut(&chat).unwrap().gone = Some((code, description)));
    }

    /// The group becomes a supergroup with another number.
    pub fn migrate(&self, chat: i64, to: i64) {
        self.change(|world| {
            world.chats.get_mut(&chat).unwrap().moved_to = Some(to);
            world.chats.insert(to, Chat::default());
        });
    }

    /// Forgets what was not fetched, as the real server does with presses after 150 s.
    pub fn forget_updates(&self) {
        self.change(|world| world.updates.clear());
    }

    /// A person deletes a message.
    pub fn delete(&self, chat: i64, message: i64) {
        self.change(|world| world.stored(chat, message).deleted = true);
    }
}

/// What people do.
impl Telegram {
    /// Presses the button with this label and waits for what the presser is told.
    pub async fn press(&self, chat: i64, message: i64, label: &str, person: Person) -> Told {
        let query = self.press_only(chat, message, label, person);
        self.told(&query).await
    }

    /// Presses the button with this label.
    pub fn press_only(&self, chat: i64, message: i64, label: &str, person: Person) -> String {
        let data = self.button(chat, message, label);
        self.press_data(chat, message, &data, person)
    }

    /// What the button with this label carries.
    pub fn button(&self, chat: i64, message: i64, label: &str) -> String {
        let world = self.world();
        let rows =
            world.chats[&chat].messages[&message].js["reply_markup"]["inline_keyboard"].clone();
        let buttons = rows.as_array().into_iter().flatten().flat_map(|row| row.as_array().unwrap());
        let button = buttons.clone().find(|button| button["text"] == label);
        let labels: Vec<_> = buttons.map(|button| &button["text"]).collect();
        let button = button.unwrap_or_else(|| panic!("no button `{label}`, only {labels:?}"));
        button["callback_data"].as_str().unwrap().to_owned()
    }

    /// Presses with any data, as a modified client can; the message may be deleted.
    pub fn press_data(&self, chat: i64, message: i64, data: &str, person: Person) -> String {
        self.change(|world| {
            world.next_query += 1;
            let id = format!("q{}", world.next_query);
            let stored = world.stored(chat, message);
            let shown = if stored.deleted {
                json!({"chat": chat_js(chat), "message_id": message, "date": 0})
            } else {
                stored.js.clone()
            };
            world.queries.insert(id.clone(), None);
            world.push(json!({"callback_query": {
                "id": id, "from": person_js(person), "message": shown, "chat_instance": "1", "data": data,
            }}));
            id
        })
    }

    /// Waits for what the presser is told.
    pub async fn told(&self, query: &str) -> Told {
        self.until("an answer to a press", || self.world().queries[query].clone()).await
    }

    /// Writes something; in a person's own chat this is what lets the bot write there.
    pub fn say(&self, chat: i64, text: &str, person: Person) -> i64 {
        self.write(chat, text, json!({"from": person_js(person)}), None)
    }

    /// Replies to a message.
    pub fn reply(&self, chat: i64, to: i64, text: &str, person: Person) -> i64 {
        self.write(chat, text, json!({"from": person_js(person)}), Some(to))
    }

    /// Replies to a message as an anonymous admin of the group.
    pub fn reply_anonymously(&self, chat: i64, to: i64, text: &str) -> i64 {
        let from = json!({"id": 1_087_968_824, "is_bot": true, "first_name": "Group"});
        self.write(chat, text, json!({"from": from, "sender_chat": chat_js(chat)}), Some(to))
    }

    fn write(&self, chat: i64, text: &str, sender: Value, to: Option<i64>) -> i64 {
        self.change(|world| {
            if chat > 0 {
                world.chats.entry(chat).or_default();
            }
            let mut js = world.base(chat, sender);
            js["text"] = json!(text);
            if let Some(to) = to {
                js["reply_to_message"] = world.stored(chat, to).js.clone();
                js["reply_to_message"].as_object_mut().unwrap().remove("reply_to_message");
            }
            let id = world.store(chat, js.clone(), None, false);
            // Privacy mode: a bot in a group sees commands, replies to itself and its own name.
            let for_bot = text.starts_with('/')
                || text.contains(BOT_NAME)
                || js["reply_to_message"]["from"]["id"] == BOT;
            if chat > 0 || for_bot {
                world.push(json!({"message": js}));
            }
            id
        })
    }
}

/// What there is to see.
impl Telegram {
    /// A message of the bot.
    pub fn message(&self, chat: i64, id: i64) -> Message {
        view(id, &self.world().chats[&chat].messages[&id])
    }

    /// All messages of the bot in a chat, oldest first.
    pub fn messages(&self, chat: i64) -> Vec<Message> {
        let world = self.world();
        let messages = world.chats.get(&chat).into_iter().flat_map(|chat| &chat.messages);
        let own = messages.filter(|(_, m)| m.js["from"]["id"] == BOT && !m.deleted);
        own.map(|(id, message)| view(*id, message)).collect()
    }

    /// The cards in a chat that can still be pressed, oldest first.
    pub fn open_cards(&self, chat: i64) -> Vec<Message> {
        self.messages(chat).into_iter().filter(|message| !message.buttons.is_empty()).collect()
    }

    /// The newest prompt for text in a chat.
    pub fn prompt(&self, chat: i64) -> Option<Message> {
        self.messages(chat).into_iter().rfind(|message| message.force_reply)
    }

    /// The parameters of all calls of a method so far, refused ones too.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        let world = self.world();
        let calls = world.calls.iter().filter(|(name, _)| name.eq_ignore_ascii_case(method));
        calls.map(|(_, parameters)| parameters.clone()).collect()
    }

    /// What the server put up with though it is wrong.
    pub fn violations(&self) -> Vec<String> {
        self.world().violations.clone()
    }

    /// How many updates wait to be fetched or confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.world().updates.len()
    }

    /// Waits until there is something to return; looks again whenever anything changes.
    pub async fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let mut changes = self.shared.changed.subscribe();
        let waiting = async {
            loop {
                if let Some(found) = look() {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        };
        timeout(PATIENCE, waiting)
            .await
            .unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"))
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world.lock().unwrap()
    }

    fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        self.shared.change(change)
    }
}

impl Drop for Telegram {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn view(id: i64, stored: &Stored) -> Message {
    let rows = stored.js["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let label = |button: &Value| button["text"].as_str().unwrap().to_owned();
    Message {
        id,
        text: stored.js["text"].as_str().unwrap_or_default().to_owned(),
        buttons: rows
            .iter()
            .map(|row| row.as_array().unwrap().iter().map(label).collect())
            .collect(),
        file: stored.file.clone(),
        reply_to: stored.js["reply_to_message"]["message_id"].as_i64(),
        topic: stored.js["message_thread_id"].as_i64(),
        force_reply: stored.force_reply,
        edits: stored.edits,
    }
}

impl Shared {
    fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let changed = change(&mut self.world.lock().unwrap());
        self.changed.send_replace(());
        changed
    }
}

/// One call of the bot.
async fn serve(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().strip_prefix("/bot").unwrap_or_default();
    let (token, method) = path.split_once('/').unwrap_or_default();
    let method = method.to_lowercase();
    let (parameters, file) = read(&headers, &body);
    let fault = shared.change(|world| {
        world.calls.push((method.clone(), Value::Object(parameters.clone())));
        if world.down { Some(Fault::DropBefore) } else { world.next_fault(&method) }
    });
    match &fault {
        Some(Fault::RetryAfter(seconds)) => {
            let description = format!("Too Many Requests: retry after {seconds}");
            let parameters = json!({ "retry_after": seconds });
            return answer(Err(Refusal { code: 429, description, parameters }));
        }
        Some(Fault::BadGateway) => {
            let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n";
            return (StatusCode::BAD_GATEWAY, page).into_response();
        }
        Some(Fault::Refuse(code, description)) => return answer(refuse(*code, description)),
        Some(Fault::DropBefore) => return dropped(),
        Some(Fault::DropAfter | Fault::Garbled) | None => {}
    }
    if token != TOKEN || shared.world.lock().unwrap().token_refused {
        return answer(refuse(401, "Unauthorized"));
    }
    let done = match method.as_str() {
        "getupdates" => get_updates(&shared, &parameters).await,
        _ => shared.change(|world| world.call(&method, &parameters, file)),
    };
    match fault {
        Some(Fault::DropAfter) => dropped(),
        Some(Fault::Garbled) => "{\"ok\":tru".into_response(),
        _ => answer(done),
    }
}

fn answer(done: Result<Value, Refusal>) -> Response {
    match done {
        Ok(result) => axum::Json(json!({"ok": true, "result": result})).into_response(),
        Err(Refusal { code, description, parameters }) => {
            let mut said = json!({"ok": false, "error_code": code, "description": description});
            if !parameters.is_null() {
                said["parameters"] = parameters;
            }
            (StatusCode::from_u16(code).unwrap(), axum::Json(said)).into_response()
        }
    }
}

/// An answer that ends before it began.
fn dropped() -> Response {
    let broken = futures::stream::iter([Err::<Bytes, _>(std::io::Error::other("the line broke"))]);
    Body::from_stream(broken).into_response()
}

/// Parameters and file of a JSON or multipart body.
fn read(headers: &HeaderMap, body: &[u8]) -> (Map<String, Value>, Option<(String, String)>) {
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let Some((_, boundary)) = kind.split_once("boundary=") else {
        return (serde_json::from_slice(body).unwrap_or_default(), None);
    };
    let (mut parameters, mut file) = (Map::new(), None);
    let body = String::from_utf8_lossy(body);
    for part in body.split(&format!("--{boundary}")) {
        let Some((head, content)) = part.split_once("\r\n\r\n") else { continue };
        let content = content.strip_suffix("\r\n").unwrap_or(content).to_owned();
        let quoted = |key: &str| Some(head.split_once(key)?.1.split_once('"')?.0.to_owned());
        match (quoted(" name=\""), quoted("filename=\"")) {
            (Some(_), Some(name)) => file = Some((name, content)),
            (Some(name), None) => {
                let value = serde_json::from_str(&content).unwrap_or(Value::String(content));
                parameters.insert(name, value);
            }
            _ => {}
        }
    }
    (parameters, file)
}

/// Long polling: holds the call until there is an update; a newer call ends it.
async fn get_updates(shared: &Shared, parameters: &Map<String, Value>) -> Result<Value, Refusal> {
    let number = |key: &str| parameters.get(key).and_then(Value::as_i64);
    let (offset, limit) = (number("offset"), number("limit").unwrap_or(100));
    let until =
        Instant::now() + Duration::from_secs(number("timeout").unwrap_or(0).clamp(0, 50) as u64);
    let mut changes = shared.changed.subscribe();
    let mine = shared.change(|world| {
        world.polls += 1;
        world.updates.retain(|(id, _)| offset.is_none_or(|offset| *id >= offset));
        world.polls
    });
    loop {
        {
            let world = shared.world.lock().unwrap();
            if world.webhook {
                return refuse(
                    409,
                    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to \
                     delete the webhook first",
                );
            }
            if world.polls != mine {
                return refuse(
                    409,
                    "Conflict: terminated by other getUpdates request; make sure that only one bot \
                     instance is running",
                );
            }
            let waiting: Vec<Value> = world
                .updates
                .iter()
                .take(limit as usize)
                .map(|(_, update)| update.clone())
                .collect();
            if !waiting.is_empty() {
                return Ok(Value::Array(waiting));
            }
        }
        if timeout_at(until, changes.changed()).await.is_err() {
            return Ok(json!([]));
        }
    }
}

/// The parameters that the methods know, beside `chat_id` and `message_id`.
const KNOWN: [(&str, &[&str]); 10] = [
    ("getme", &[]),
    ("getwebhookinfo", &[]),
    ("getchat", &[]),
    ("sendchataction", &["action", "message_thread_id"]),
    ("deletemessage", &[]),
    (
        "sendmessage",
        &[
            "text",
            "parse_mode",
            "entities",
            "link_preview_options",
            "message_thread_id",
            "reply_parameters",
            "reply_markup",
            "disable_notification",
            "protect_content",
        ],
    ),
    (
        "senddocument",
        &[
            "document",
            "caption",
            "message_thread_id",
            "reply_parameters",
            "disable_notification",
            "protect_content",
        ],
    ),
    (
        "editmessagetext",
        &["text", "parse_mode", "entities", "link_preview_options", "reply_markup"],
    ),
    ("editmessagereplymarkup", &["reply_markup"]),
    ("answercallbackquery", &["callback_query_id", "text", "show_alert", "cache_time"]),
];

impl World {
    fn next_fault(&mut self, method: &str) -> Option<Fault> {
        let due = self
            .faults
            .iter_mut()
            .find(|(name, _, times)| *times > 0 && (name == "*" || name == method));
        due.map(|(_, fault, times)| {
            *times -= 1;
            fault.clone()
        })
    }

    fn call(
        &mut self,
        method: &str,
        parameters: &Map<String, Value>,
        file: Option<(String, String)>,
    ) -> Result<Value, Refusal> {
        let Some((_, known)) = KNOWN.iter().find(|(name, _)| *name == method) else {
            return refuse(404, "Not Found");
        };
        for name in parameters.keys() {
            if !known.contains(&name.as_str()) && name != "chat_id" && name != "message_id" {
                self.violations.push(format!("{method} has no parameter `{name}`"));
            }
        }
        match method {
            "getme" => Ok(bot_js()),
            "getwebhookinfo" => {
                let url = if self.webhook { "https://hook.example.org" } else { "" };
                Ok(json!({"url": url, "has_custom_certificate": false, "pending_update_count": 0}))
            }
            "answercallbackquery" => self.answer_query(parameters),
            _ => self.call_in_chat(method, parameters, file),
        }
    }

    fn call_in_chat(
        &mut self,
        method: &str,
        parameters: &Map<String, Value>,
        file: Option<(String, String)>,
    ) -> Result<Value, Refusal> {
        let number = |key: &str| parameters.get(key).and_then(Value::as_i64);
        let id = number("chat_id").unwrap_or_default();
        let Some(chat) = self.chats.get(&id) else {
            return refuse(400, "Bad Request: chat not found");
        };
        if let Some((code, description)) = chat.gone {
            return refuse(code, description);
        }
        if let Some(to) = chat.moved_to {
            let description =
                "Bad Request: group chat was upgraded to a supergroup chat".to_owned();
            let parameters = json!({ "migrate_to_chat_id": to });
            return Err(Refusal { code: 400, description, parameters });
        }
        let topic = number("message_thread_id");
        match topic.map(|topic| chat.topics.get(&topic)) {
            Some(None) => return refuse(400, "Bad Request: message thread not found"),
            Some(Some(false)) => return refuse(400, "Bad Request: TOPIC_CLOSED"),
            _ => {}
        }
        match method {
            "getchat" => Ok(chat_js(id)),
            "sendchataction" => Ok(json!(true)),
            "editmessagetext" | "editmessagereplymarkup" => self.edit(id, parameters),
            "deletemessage" => {
                self.stored(id, number("message_id").unwrap_or_default()).deleted = true;
                Ok(json!(true))
            }
            _ => self.send(id, topic, parameters, file),
        }
    }

    fn send(
        &mut self,
        chat: i64,
        topic: Option<i64>,
        parameters: &Map<String, Value>,
        file: Option<(String, String)>,
    ) -> Result<Value, Refusal> {
        let mut js = self.base(chat, json!({"from": bot_js()}));
        if let Some(topic) = topic {
            js["message_thread_id"] = json!(topic);
            js["is_topic_message"] = json!(true);
        }
        match &file {
            Some((name, content)) if content.is_empty() => {
                return refuse(400, &format!("Bad Request: file must be non-empty: {name}"));
            }
            Some((name, content)) => {
                js["document"] = json!({
                    "file_id": name, "file_unique_id": name, "file_name": name, "file_size": content.len(),
                });
            }
            None => js["text"] = json!(text(parameters)?),
        }
        let markup = parameters.get("reply_markup").cloned().unwrap_or_default();
        let force_reply = markup["force_reply"] == true;
        if !force_reply && !markup.is_null() {
            check_keyboard(&markup)?;
            js["reply_markup"] = markup;
        }
        if let Some(reply) = parameters.get("reply_parameters") {
            let to = reply["message_id"].as_i64().unwrap_or_default();
            match self.chats[&chat].messages.get(&to).filter(|message| !message.deleted) {
                Some(message) => {
                    js["reply_to_message"] = message.js.clone();
                    js["reply_to_message"].as_object_mut().unwrap().remove("reply_to_message");
                }
                None if reply["allow_sending_without_reply"] == true => {}
                None => return refuse(400, "Bad Request: message to be replied not found"),
            }
        }
        self.store(chat, js.clone(), file, force_reply);
        Ok(js)
    }

    fn edit(&mut self, chat: i64, parameters: &Map<String, Value>) -> Result<Value, Refusal> {
        let id = parameters.get("message_id").and_then(Value::as_i64).unwrap_or_default();
        let messages = &mut self.chats.get_mut(&chat).unwrap().messages;
        let Some(stored) = messages.get_mut(&id).filter(|stored| !stored.deleted) else {
            return refuse(400, "Bad Request: message to edit not found");
        };
        if stored.js["from"]["id"] != BOT || stored.force_reply {
            return refuse(400, "Bad Request: message can't be edited");
        }
        if stored.file.is_some() {
            return refuse(400, "Bad Request: there is no text in the message to edit");
        }
        let mut js = stored.js.clone();
        if parameters.contains_key("text") {
            js["text"] = json!(text(parameters)?);
        }
        // An edit without a keyboard takes the keyboard away.
        js.as_object_mut().unwrap().remove("reply_markup");
        if let Some(markup) = parameters.get("reply_markup") {
            check_keyboard(markup)?;
            js["reply_markup"] = markup.clone();
        }
        if js == stored.js {
            return refuse(
                400,
                "Bad Request: message is not modified: specified new message content and reply markup are \
                 exactly the same as a current content and reply markup of the message",
            );
        }
        stored.js = js.clone();
        stored.edits += 1;
        Ok(js)
    }

    fn answer_query(&mut self, parameters: &Map<String, Value>) -> Result<Value, Refusal> {
        let text = parameters.get("text").and_then(Value::as_str).unwrap_or_default();
        if text.chars().count() > 200 {
            return refuse(400, "Bad Request: MESSAGE_TOO_LONG");
        }
        let id = parameters.get("callback_query_id").and_then(Value::as_str).unwrap_or_default();
        match self.queries.get_mut(id) {
            Some(told @ None) => {
                let alert = parameters.get("show_alert") == Some(&json!(true));
                *told = Some(Told { text: text.to_owned(), alert });
                Ok(json!(true))
            }
            answered => {
                if answered.is_some() {
                    self.violations.push(format!("press {id} was answered twice"));
                }
                refuse(
                    400,
                    "Bad Request: query is too old and response timeout expired or query ID is invalid",
                )
            }
        }
    }

    fn base(&self, chat: i64, sender: Value) -> Value {
        let last = self.chats[&chat].messages.keys().next_back();
        let id = last.map_or(101, |last| last + 1);
        let mut js = json!({"message_id": id, "date": 1_795_000_000, "chat": chat_js(chat)});
        js.as_object_mut().unwrap().extend(sender.as_object().unwrap().clone());
        js
    }

    fn store(
        &mut self,
        chat: i64,
        js: Value,
        file: Option<(String, String)>,
        force_reply: bool,
    ) -> i64 {
        let id = js["message_id"].as_i64().unwrap();
        let stored = Stored { js, file, force_reply, edits: 0, deleted: false };
        self.chats.get_mut(&chat).unwrap().messages.insert(id, stored);
        id
    }

    fn stored(&mut self, chat: i64, message: i64) -> &mut Stored {
        self.chats.get_mut(&chat).unwrap().messages.get_mut(&message).unwrap()
    }

    fn push(&mut self, mut update: Value) {
        update["update_id"] = json!(self.next_update);
        self.updates.push_back((self.next_update, update));
        self.next_update += 1;
    }
}

fn bot_js() -> Value {
    json!({
        "id": BOT, "is_bot": true, "first_name": "countersign", "username": BOT_NAME,
        "can_join_groups": true, "can_read_all_group_messages": false, "supports_inline_queries": false,
    })
}

fn person_js(person: Person) -> Value {
    json!({"id": person.id, "is_bot": false, "first_name": person.name})
}

fn chat_js(id: i64) -> Value {
    if id > 0 {
        json!({"id": id, "type": "private", "first_name": "Somebody"})
    } else {
        json!({"id": id, "type": "supergroup", "title": "Team", "is_forum": id == FORUM})
    }
}

/// A message's text after parsing and cleaning, or why it is refused.
fn text(parameters: &Map<String, Value>) -> Result<String, Refusal> {
    let raw = parameters.get("text").and_then(Value::as_str).unwrap_or_default();
    if raw.len() > 32_768 {
        return refuse(400, "Bad Request: text is too long");
    }
    let plain = match parameters.get("parse_mode").and_then(Value::as_str) {
        None => raw.to_owned(),
        Some("HTML") => plain(raw)
            .or_else(|why| refuse(400, &format!("Bad Request: can't parse entities: {why}")))?,
        Some(_) => return refuse(400, "Bad Request: unsupported parse_mode"),
    };
    let clean: String = plain
        .chars()
        .filter(|c| *c != '\r' && !('\u{2028}'..='\u{202e}').contains(c))
        .map(|c| if c < ' ' && c != '\n' { ' ' } else { c })
        .collect();
    let clean = clean.trim_end().trim_start_matches([' ', '\n']);
    match clean.chars().count() {
        0 => refuse(400, "Bad Request: message text is empty"),
        1..=4096 => Ok(clean.to_owned()),
        _ => refuse(400, "Bad Request: message is too long"),
    }
}

/// Telegram's HTML without its tags.
fn plain(html: &str) -> Result<String, String> {
    let (mut out, mut open, mut rest) = (String::new(), Vec::new(), html);
    while let Some(c) = rest.chars().next() {
        if c == '<' {
            let end = rest.find('>').ok_or("Unclosed start tag")?;
            let (tag, after) = (&rest[1..end], &rest[end + 1..]);
            rest = after;
            if let Some(closing) = tag.strip_prefix('/') {
                if open.pop() != Some(closing.to_owned()) {
                    return Err(format!("Unmatched end tag \"{closing}\""));
                }
                continue;
            }
            let (name, attribute) = tag.split_once(' ').unwrap_or((tag, ""));
            let known = ["a", "b", "i", "u", "s", "code", "pre", "blockquote", "tg-spoiler"];
            if !known.contains(&name) {
                return Err(format!("Unsupported start tag \"{name}\""));
            }
            if (name == "a") != attribute.starts_with("href=\"") {
                return Err(format!("Unexpected attribute of \"{name}\""));
            }
            open.push(name.to_owned());
            continue;
        }
        let named = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')];
        let (meant, length) = named
            .into_iter()
            .find(|(name, _)| rest.starts_with(name))
            .map_or((c, c.len_utf8()), |(name, meant)| (meant, name.len()));
        out.push(meant);
        rest = &rest[length..];
    }
    if open.is_empty() { Ok(out) } else { Err(format!("Can't find end tag of {open:?}")) }
}

fn check_keyboard(markup: &Value) -> Result<(), Refusal> {
    let rows = markup["inline_keyboard"].as_array().cloned().unwrap_or_default();
    for button in rows.iter().flat_map(|row| row.as_array().cloned().unwrap_or_default()) {
        if button["text"].as_str().is_none_or(str::is_empty) {
            return refuse(400, "Bad Request: button text must be non-empty");
        }
        let data = button["callback_data"].as_str().unwrap_or_default();
        if data.is_empty() {
            return refuse(
                400,
                "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline \
                 keyboard",
            );
        }
        if data.len() > 64 {
            return refuse(400, "Bad Request: BUTTON_DATA_INVALID");
        }
    }
    if rows.iter().any(|row| row.as_array().is_none_or(|row| row.len() > 8)) {
        return refuse(400, "Bad Request: reply markup is too long");
    }
    Ok(())
}
