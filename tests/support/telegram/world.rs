//! The chats, and the effects of the bot's calls.

use super::limits::Limits;
use super::rules::{check_commands, check_keyboard, links, text};
use super::{BOT, BOT_NAME, FORUM, Fault, Person, Told};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};

#[derive(Default)]
pub(super) struct World {
    pub(super) chats: BTreeMap<i64, Chat>,
    pub(super) updates: VecDeque<(i64, Value)>,
    pub(super) next_update: i64,
    pub(super) next_query: u64,
    pub(super) polls: u64,
    pub(super) queries: HashMap<String, Option<Told>>,
    /// The last press, as it was sent.
    pub(super) last_press: Value,
    pub(super) faults: Vec<(String, Fault, u32)>,
    pub(super) calls: Vec<(String, Value)>,
    pub(super) limits: Limits,
    pub(super) violations: Vec<String>,
    pub(super) token_refused: bool,
    pub(super) down: bool,
    pub(super) webhook: bool,
    /// The registered commands.
    pub(super) commands: Value,
    /// The kinds of updates that the bot asked for last.
    pub(super) allowed: Vec<String>,
}

#[derive(Default)]
pub(super) struct Chat {
    pub(super) topics: BTreeMap<i64, bool>,
    /// The names of those that the bot made.
    pub(super) topic_names: BTreeMap<i64, String>,
    /// The administrators, and whether they are anonymous.
    pub(super) admins: Vec<(Person, bool)>,
    /// Whether the bot may make, close and open topics.
    pub(super) manages_topics: bool,
    pub(super) messages: BTreeMap<i64, Stored>,
    pub(super) gone: Option<(u16, &'static str)>,
    pub(super) moved_to: Option<i64>,
}

pub(super) struct Stored {
    pub(super) js: Value,
    pub(super) file: Option<(String, String)>,
    pub(super) force_reply: bool,
    pub(super) edits: u32,
    pub(super) deleted: bool,
}

pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) description: String,
    pub(super) parameters: Value,
}

pub(super) fn refuse<T>(code: u16, description: &str) -> Result<T, Refusal> {
    Err(Refusal { code, description: description.to_owned(), parameters: Value::Null })
}

/// The parameters of each method besides `chat_id` and `message_id`.
// In lower case, because the Bot API ignores the case of method names.
pub(super) const KNOWN: [(&str, &[&str]); 17] = [
    ("getme", &[]),
    ("getwebhookinfo", &[]),
    ("getchat", &[]),
    ("getmycommands", &["scope", "language_code"]),
    ("setmycommands", &["commands", "scope", "language_code"]),
    ("sendchataction", &["action", "message_thread_id"]),
    ("deletemessage", &[]),
    ("getchatmember", &["user_id"]),
    ("getchatadministrators", &[]),
    ("createforumtopic", &["name", "icon_color", "icon_custom_emoji_id"]),
    ("closeforumtopic", &["message_thread_id"]),
    ("reopenforumtopic", &["message_thread_id"]),
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
            "ephemeral_message_parameters",
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
    pub(super) fn find_fault(&mut self, method: &str) -> Option<Fault> {
        let due = self
            .faults
            .iter_mut()
            .find(|(name, _, times)| *times > 0 && (name == "*" || name == method));
        due.map(|(_, fault, times)| {
            *times -= 1;
            fault.clone()
        })
    }

    pub(super) fn call(
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
            "getmycommands" => Ok(self.commands.clone()),
            "setmycommands" => {
                let commands = parameters.get("commands").cloned().unwrap_or_default();
                check_commands(&commands)?;
                self.commands = commands;
                Ok(json!(true))
            }
            _ => self.call_in_chat(method, parameters, file),
        }
    }

    pub(super) fn call_in_chat(
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
        if method.ends_with("forumtopic") {
            return self.change_topics(id, method, topic, parameters);
        }
        let chat = &self.chats[&id];
        match topic.map(|topic| chat.topics.get(&topic)) {
            Some(None) => return refuse(400, "Bad Request: message thread not found"),
            Some(Some(false)) => return refuse(400, "Bad Request: TOPIC_CLOSED"),
            _ => {}
        }
        match method {
            "getchat" => Ok(chat_js(id)),
            "getchatadministrators" if id > 0 => {
                refuse(400, "Bad Request: there are no administrators in the private chat")
            }
            "getchatadministrators" => {
                let admin = |(person, anonymous): &(Person, bool)| {
                    json!({"user": person_js(*person), "status": "administrator",
                        "is_anonymous": anonymous, "can_be_edited": false})
                };
                Ok(chat.admins.iter().map(admin).collect())
            }
            "getchatmember" => Ok(json!({"user": bot_js(), "status": "administrator",
                "can_manage_topics": chat.manages_topics})),
            "sendchataction" => Ok(json!(true)),
            "editmessagetext" | "editmessagereplymarkup" => self.edit(id, parameters),
            "deletemessage" => {
                self.stored(id, number("message_id").unwrap_or_default()).deleted = true;
                Ok(json!(true))
            }
            _ => self.send(id, topic, parameters, file),
        }
    }

    /// Makes, closes and opens topics, where the group has topics and the bot may manage them.
    fn change_topics(
        &mut self,
        chat: i64,
        method: &str,
        topic: Option<i64>,
        parameters: &Map<String, Value>,
    ) -> Result<Value, Refusal> {
        let room = self.chats.get_mut(&chat).unwrap();
        if chat != FORUM {
            return refuse(400, "Bad Request: the chat is not a forum");
        }
        if !room.manages_topics {
            return refuse(400, "Bad Request: not enough rights to create a topic");
        }
        let open = match (method, topic) {
            ("createforumtopic", _) => {
                let name = parameters.get("name").and_then(Value::as_str).unwrap_or_default();
                if !(1..=128).contains(&name.chars().count()) {
                    return refuse(400, "Bad Request: TOPIC_TITLE_EMPTY");
                }
                let id = 501 + room.topic_names.len() as i64;
                room.topics.insert(id, true);
                room.topic_names.insert(id, name.to_owned());
                return Ok(json!({"message_thread_id": id, "name": name, "icon_color": 7_322_096}));
            }
            ("closeforumtopic", _) => false,
            _ => true,
        };
        match topic.and_then(|topic| room.topics.get_mut(&topic)) {
            None => refuse(400, "Bad Request: message thread not found"),
            Some(is) if *is == open => refuse(400, "Bad Request: TOPIC_NOT_MODIFIED"),
            Some(is) => {
                *is = open;
                Ok(json!(true))
            }
        }
    }

    pub(super) fn send(
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
            None => {
                js["text"] = json!(text(parameters)?);
                js["entities"] = json!(links(parameters));
            }
        }
        if let Some(only) = parameters.get("ephemeral_message_parameters") {
            match only["receiver_user_id"].as_i64() {
                Some(person) if chat < 0 => js["receiver_user"] = json!({ "id": person }),
                _ => return refuse(400, "Bad Request: EPHEMERAL_RECEIVER_INVALID"),
            }
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
                    // A message that is replied to never contains a further reply.
                    js["reply_to_message"].as_object_mut().unwrap().remove("reply_to_message");
                }
                None if reply["allow_sending_without_reply"] == true => {}
                None => return refuse(400, "Bad Request: message to be replied not found"),
            }
        }
        self.store(chat, js.clone(), file, force_reply);
        Ok(js)
    }

    pub(super) fn edit(
        &mut self,
        chat: i64,
        parameters: &Map<String, Value>,
    ) -> Result<Value, Refusal> {
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
        // An edit without a keyboard removes the keyboard.
        js.as_object_mut().unwrap().remove("reply_markup");
        if let Some(markup) = parameters.get("reply_markup") {
            check_keyboard(markup)?;
            js["reply_markup"] = markup.clone();
        }
        // The real server refuses an edit that changes nothing.
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

    pub(super) fn answer_query(
        &mut self,
        parameters: &Map<String, Value>,
    ) -> Result<Value, Refusal> {
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

    pub(super) fn base(&self, chat: i64, sender: Value) -> Value {
        let last = self.chats[&chat].messages.keys().next_back();
        let id = last.map_or(101, |last| last + 1);
        let mut js = json!({"message_id": id, "date": 1_795_000_000, "chat": chat_js(chat)});
        js.as_object_mut().unwrap().extend(sender.as_object().unwrap().clone());
        js
    }

    pub(super) fn store(
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

    pub(super) fn stored(&mut self, chat: i64, message: i64) -> &mut Stored {
        self.chats.get_mut(&chat).unwrap().messages.get_mut(&message).unwrap()
    }

    pub(super) fn push(&mut self, mut update: Value) {
        update["update_id"] = json!(self.next_update);
        self.updates.push_back((self.next_update, update));
        self.next_update += 1;
    }
}

pub(super) fn bot_js() -> Value {
    json!({
        "id": BOT, "is_bot": true, "first_name": "countersign", "username": BOT_NAME,
        "can_join_groups": true, "can_read_all_group_messages": false, "supports_inline_queries": false,
    })
}

pub(super) fn person_js(person: Person) -> Value {
    json!({"id": person.id, "is_bot": false, "first_name": person.name})
}

pub(super) fn chat_js(id: i64) -> Value {
    if id > 0 {
        json!({"id": id, "type": "private", "first_name": "Somebody"})
    } else {
        json!({"id": id, "type": "supergroup", "title": "Team", "is_forum": id == FORUM})
    }
}
