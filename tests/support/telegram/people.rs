//! The people: what they do, and what they see.

use super::world::{Stored, chat_js, person_js};
use super::{BOT, BOT_NAME, Message, PATIENCE, Person, Telegram, Told};
use serde_json::{Value, json};
use tokio::time::timeout;

/// Actions.
impl Telegram {
    /// Presses the button with this label, and waits for the reply.
    pub async fn press(&self, chat: i64, message: i64, label: &str, person: Person) -> Told {
        self.open_more(chat, message, label, person).await;
        let query = self.press_only(chat, message, label, person);
        self.told(&query).await
    }

    /// Presses *More…* if the button with this label is behind it, and waits for the keyboard.
    pub async fn open_more(&self, chat: i64, message: i64, label: &str, person: Person) {
        let stands = |label: &str| self.standing_button(chat, message, label);
        let (None, Some(more)) = (stands(label), stands("More…")) else { return };
        self.told(&self.press_data(chat, message, &more, person)).await;
        self.until("the keyboard behind More…", || stands("‹ Back")).await;
    }

    /// Presses the button with this label; returns the query's id.
    pub fn press_only(&self, chat: i64, message: i64, label: &str, person: Person) -> String {
        let data = self.button(chat, message, label);
        self.press_data(chat, message, &data, person)
    }

    /// The data of the button with this label, if the button exists.
    pub fn standing_button(&self, chat: i64, message: i64, label: &str) -> Option<String> {
        let world = self.world();
        let rows = &world.chats[&chat].messages[&message].js["reply_markup"]["inline_keyboard"];
        let mut buttons = rows.as_array()?.iter().flat_map(|row| row.as_array().unwrap());
        let button = buttons.find(|button| is_labelled(button["text"].as_str().unwrap(), label))?;
        button["callback_data"].as_str().map(str::to_owned)
    }

    /// The data of the button with this label.
    pub fn button(&self, chat: i64, message: i64, label: &str) -> String {
        let world = self.world();
        let rows =
            world.chats[&chat].messages[&message].js["reply_markup"]["inline_keyboard"].clone();
        let buttons = rows.as_array().into_iter().flatten().flat_map(|row| row.as_array().unwrap());
        let button =
            buttons.clone().find(|button| is_labelled(button["text"].as_str().unwrap(), label));
        let labels: Vec<_> = buttons.map(|button| &button["text"]).collect();
        let button = button.unwrap_or_else(|| panic!("no button `{label}`, only {labels:?}"));
        button["callback_data"].as_str().unwrap().to_owned()
    }

    /// Presses with arbitrary data, as a modified client can; the message may be deleted.
    pub fn press_data(&self, chat: i64, message: i64, data: &str, person: Person) -> String {
        self.change(|world| {
            world.next_query += 1;
            let id = format!("q{}", world.next_query);
            let stored = world.stored(chat, message);
            let shown = if stored.deleted {
                // The Bot API marks an inaccessible message by the date 0.
                json!({"chat": chat_js(chat), "message_id": message, "date": 0})
            } else {
                stored.js.clone()
            };
            world.queries.insert(id.clone(), None);
            world.last_press = json!({"callback_query": {
                "id": id, "from": person_js(person), "message": shown, "chat_instance": "1", "data": data,
            }});
            world.push(world.last_press.clone());
            id
        })
    }

    /// Sends the last press again, as after a crash before it was confirmed, and waits for the
    /// reply.
    pub async fn redeliver_press(&self) -> Told {
        let query = self.change(|world| {
            let press = world.last_press.clone();
            let query = press["callback_query"]["id"].as_str().unwrap().to_owned();
            world.queries.insert(query.clone(), None);
            world.push(press);
            query
        });
        self.told(&query).await
    }

    /// Sends a press of an unexpected form.
    pub fn press_unreadable(&self) -> String {
        self.change(|world| {
            let id = "unreadable".to_owned();
            world.queries.insert(id.clone(), None);
            world.push(json!({"callback_query": {"id": id, "from": {"id": "?"}, "data": 7}}));
            id
        })
    }

    /// Waits for the reply to a press.
    pub async fn told(&self, query: &str) -> Told {
        self.until("an answer to a press", || self.world().queries[query].clone()).await
    }

    /// Sends a message; in a private chat this permits the bot to write there.
    pub fn say(&self, chat: i64, text: &str, person: Person) -> i64 {
        self.write(chat, text, json!({"from": person_js(person)}), None)
    }

    /// Replies to a message.
    pub fn reply(&self, chat: i64, to: i64, text: &str, person: Person) -> i64 {
        self.write(chat, text, json!({"from": person_js(person)}), Some(to))
    }

    /// Waits for the prompt of a press, replies to it, and returns the bot's answer.
    pub async fn give_text(&self, chat: i64, text: &str, person: Person) -> String {
        let prompt = self.until("a prompt for text", || self.prompt(chat)).await;
        let reply = self.reply(chat, prompt.id, text, person);
        let said = || self.messages(chat).into_iter().find(|m| m.reply_to == Some(reply));
        self.until("an answer to a text", said).await.text
    }

    /// Waits for the bot's reply to a person's message.
    pub async fn answer_to(&self, chat: i64, message: i64) -> String {
        let said = || self.messages(chat).into_iter().find(|m| m.reply_to == Some(message));
        self.until("an answer to a message", said).await.text
    }

    /// The sign-in link that the bot sends to a person, who reads its label alone.
    pub async fn sign_in_link(&self, person: Person) -> String {
        let asked = self.say(person.id, "/login", person);
        let said = || self.messages(person.id).into_iter().find(|m| m.reply_to == Some(asked));
        let said = self.until("an answer to a message", said).await;
        let first = said.text.lines().next().map(str::to_owned);
        assert_eq!(first.as_deref(), Some("Sign in to the inbox"), "{}", said.text);
        said.links.first().cloned().unwrap()
    }

    /// Sends the same message again, as after a crash before it was confirmed.
    pub fn redeliver(&self, chat: i64, message: i64) {
        self.change(|world| {
            let js = world.stored(chat, message).js.clone();
            world.push(json!({"message": js}));
        });
    }

    /// The names of the registered commands.
    pub fn listed_commands(&self) -> Vec<String> {
        let world = self.world();
        let names = world.commands.as_array().into_iter().flatten();
        names.map(|it| it["command"].as_str().unwrap().to_owned()).collect()
    }

    /// Replies to a message as an anonymous admin of the group.
    pub fn reply_anonymously(&self, chat: i64, to: i64, text: &str) -> i64 {
        let from = json!({"id": 1_087_968_824, "is_bot": true, "first_name": "Group"});
        self.write(chat, text, json!({"from": from, "sender_chat": chat_js(chat)}), Some(to))
    }

    /// Sends a message with more fields than those of plain text, such as the origin of a forwarded
    /// one.
    pub fn say_with(
        &self,
        chat: i64,
        to: Option<i64>,
        text: &str,
        person: Person,
        more: &Value,
    ) -> i64 {
        let mut sender = json!({"from": person_js(person)});
        sender.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.write(chat, text, sender, to)
    }

    /// Edits a person's own message.
    pub fn edit(&self, chat: i64, message: i64, text: &str) {
        self.change(|world| {
            let js = &mut world.stored(chat, message).js;
            js["text"] = json!(text);
            js["edit_date"] = json!(1_795_000_100);
            let edited = js.clone();
            world.push(json!({"edited_message": edited}));
        });
    }

    fn write(&self, chat: i64, text: &str, sender: Value, to: Option<i64>) -> i64 {
        self.change(|world| {
            // Private chats have positive ids.
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
            // In privacy mode a bot receives only commands, replies to itself, and messages with
            // its name.
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

/// What people see.
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

    /// The cards with buttons in a chat, oldest first.
    pub fn open_cards(&self, chat: i64) -> Vec<Message> {
        let world = self.world();
        let messages = world.chats.get(&chat).into_iter().flat_map(|chat| &chat.messages);
        let open = messages.filter(|(_, m)| {
            m.js["from"]["id"] == BOT && !m.deleted && m.js.get("reply_markup").is_some()
        });
        // A settled card may offer to undo its answer.
        let waits = |m: &Message| !m.is_over();
        open.map(|(id, message)| view(*id, message)).filter(waits).collect()
    }

    /// Waits for a card with buttons; returns the newest.
    pub async fn card(&self, chat: i64) -> Message {
        self.until("a card with buttons", || self.open_cards(chat).pop()).await
    }

    /// The newest prompt for a text in a chat.
    pub fn prompt(&self, chat: i64) -> Option<Message> {
        self.messages(chat).into_iter().rfind(|message| message.force_reply)
    }

    /// The parameters of all calls of a method so far, including refused ones.
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

    /// Notifies of every change.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.shared.changed.subscribe()
    }

    /// Calls that the server accepted although they break its rules.
    pub fn violations(&self) -> Vec<String> {
        self.world().violations.clone()
    }

    /// The number of updates that are not fetched or confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.world().updates.len()
    }

    /// Waits until `look` returns something; it is called after every change.
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
        only_for: stored.js["receiver_user"]["id"].as_i64(),
        links: links_of(&stored.js),
        force_reply: stored.force_reply,
        edits: stored.edits,
    }
}

/// Returns whether a button has this label, possibly followed by a colon and the rule that it
/// stores.
fn is_labelled(shown: &str, label: &str) -> bool {
    shown
        .strip_prefix(label)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(": ") || rest == "…")
}

fn links_of(js: &Value) -> Vec<String> {
    let links = js["entities"].as_array().into_iter().flatten();
    links.filter_map(|link| link["url"].as_str().map(str::to_owned)).collect()
}
