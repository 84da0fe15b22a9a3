//! The people's side: what they do and what they see.

use super::world::{Stored, chat_js, person_js};
use super::{BOT, BOT_NAME, Message, PATIENCE, Person, Telegram, Told};
use serde_json::{Value, json};
use tokio::time::timeout;

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

    /// What the button with this label carries, while it stands there.
    pub fn standing_button(&self, chat: i64, message: i64, label: &str) -> Option<String> {
        let world = self.world();
        let rows = &world.chats[&chat].messages[&message].js["reply_markup"]["inline_keyboard"];
        let mut buttons = rows.as_array()?.iter().flat_map(|row| row.as_array().unwrap());
        let button = buttons.find(|button| button["text"] == label)?;
        button["callback_data"].as_str().map(str::to_owned)
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

    /// A press in a shape that nobody expects.
    pub fn press_unreadable(&self) -> String {
        self.change(|world| {
            let id = "unreadable".to_owned();
            world.queries.insert(id.clone(), None);
            world.push(json!({"callback_query": {"id": id, "from": {"id": "?"}, "data": 7}}));
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

    /// Waits for the prompt that a press brought, replies to it, and returns what the bot says to
    /// that.
    pub async fn give_text(&self, chat: i64, text: &str, person: Person) -> String {
        let prompt = self.until("a prompt for text", || self.prompt(chat)).await;
        let reply = self.reply(chat, prompt.id, text, person);
        let said = || self.messages(chat).into_iter().find(|m| m.reply_to == Some(reply));
        self.until("an answer to a text", said).await.text
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
        let world = self.world();
        let messages = world.chats.get(&chat).into_iter().flat_map(|chat| &chat.messages);
        let open = messages.filter(|(_, m)| {
            m.js["from"]["id"] == BOT && !m.deleted && m.js.get("reply_markup").is_some()
        });
        open.map(|(id, message)| view(*id, message)).filter(|m| !m.buttons.is_empty()).collect()
    }

    /// Waits for a card that can be pressed and returns the newest.
    pub async fn card(&self, chat: i64) -> Message {
        self.until("a card with buttons", || self.open_cards(chat).pop()).await
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

    /// Waits for the next call of a method.
    pub async fn next_call(&self, method: &str) {
        let count = || {
            let world = self.world();
            world.calls.iter().filter(|(name, _)| name.eq_ignore_ascii_case(method)).count()
        };
        let (before, mut changes) = (count(), self.changes());
        while count() == before {
            changes.changed().await.unwrap();
        }
    }

    /// Tells that anything has changed.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.shared.changed.subscribe()
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
