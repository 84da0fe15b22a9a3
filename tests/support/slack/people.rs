//! The people in the workspace, and what they see.

use super::world::{Message, State, manifest};
use super::{BOT, CHANNEL, FakeSlack, TEAM, blocks};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Slack's deadline for an acknowledgement, and for opening a window.
pub const DEADLINE: Duration = Duration::from_secs(3);

/// Somebody in the workspace.
#[derive(Debug, Clone)]
pub struct Person {
    pub id: String,
    pub name: String,
    pub team: String,
    pub groups: Vec<String>,
    pub is_guest: bool,
    pub is_bot: bool,
}

impl Person {
    pub fn new(id: &str, name: &str) -> Self {
        let (team, groups) = (TEAM.to_owned(), Vec::new());
        let (id, name) = (id.to_owned(), name.to_owned());
        Self { id, name, team, groups, is_guest: false, is_bot: false }
    }

    pub fn in_group(mut self, group: &str) -> Self {
        self.groups.push(group.to_owned());
        self
    }

    /// Somebody of another company, in a shared channel.
    pub fn of_team(mut self, team: &str) -> Self {
        self.team = team.to_owned();
        self
    }

    pub fn guest(mut self) -> Self {
        self.is_guest = true;
        self
    }

    pub fn bot(mut self) -> Self {
        self.is_bot = true;
        self
    }

    pub fn wire(&self) -> Value {
        json!({"id": self.id, "team_id": self.team, "name": self.name, "deleted": false,
            "is_bot": self.is_bot, "is_restricted": self.is_guest, "is_ultra_restricted": false,
            "profile": {"display_name": self.name}})
    }
}

/// What somebody who did something is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A message that they alone see.
    Privately(String),
    /// A window that asks for text, with its label.
    Asked(String),
    /// The message was redrawn, or nothing visible happened.
    Nothing,
    /// Slack's own warning: nobody acknowledged it in time.
    Failed,
}

impl Told {
    /// The words, if there are any.
    pub fn words(self) -> Option<String> {
        match self {
            Self::Privately(words) | Self::Asked(words) => Some(words),
            Self::Nothing | Self::Failed => None,
        }
    }
}

/// Something that somebody did.
pub struct Interaction {
    pub envelope: String,
    pub payload: Value,
    pub kind: &'static str,
    /// What its response URL ends in, and its trigger.
    pub envelope_key: String,
    pub trigger: String,
    pub user: String,
    pub message: Option<String>,
    pub sent: Instant,
    pub acked: Option<Duration>,
    pub modal: Option<Value>,
    pub told: Vec<String>,
    /// How often the message had been edited by then.
    edits: usize,
}

impl State {
    /// The user groups with their members.
    pub fn usergroups(&self) -> Vec<Value> {
        let mut groups: Vec<&String> = self.people.values().flat_map(|it| &it.groups).collect();
        groups.sort();
        groups.dedup();
        let group = |id: &String| {
            let users = self.people.values().filter(|it| it.groups.contains(id));
            let users: Vec<_> = users.map(|it| it.id.clone()).collect();
            json!({"id": id, "date_delete": 0, "users": users})
        };
        groups.into_iter().map(group).collect()
    }

    /// Somebody is told something about what they did last.
    pub fn told(&mut self, user: &str, words: &str) {
        let it = self.interactions.iter_mut().rev().find(|it| it.user == user);
        it.expect("nobody is told something out of the blue").told.push(words.to_owned());
    }
}

fn is_labelled(shown: &str, label: &str) -> bool {
    let shown = shown.strip_prefix("✓ ").unwrap_or(shown);
    let rest = shown.strip_prefix(label);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(": ") || rest == "…")
}

impl FakeSlack {
    /// Presses the button with this label, or chooses the option behind *More…*, once the bot is
    /// online; returns what the person sees.
    pub async fn press(&self, reference: &str, label: &str, person: &Person) -> Told {
        let message = self.message(reference).expect("the message stands");
        let options = message.options.iter().find(|(it, _)| is_labelled(it, label));
        if let Some((_, value)) = options {
            let option = json!({"value": value});
            let action = json!({"type": "overflow", "selected_option": option});
            return self.act(reference, action, person).await;
        }
        let at = message.buttons.iter().position(|it| is_labelled(it, label));
        let at = at.unwrap_or_else(|| panic!("no button `{label}` among {:?}", message.buttons));
        self.press_token(reference, &message.tokens[at], person).await
    }

    /// The same with a button's token, whether the button still exists or not.
    pub async fn press_token(&self, reference: &str, token: &str, person: &Person) -> Told {
        let blocks = self.change(|it| it.message_mut(reference).unwrap().blocks.clone());
        let id = blocks::action_id(&blocks, token).unwrap_or_else(|| token.to_owned());
        let action = json!({"type": "button", "action_id": id, "value": token});
        self.act(reference, action, person).await
    }

    /// Ticks the box with this label, or takes the tick away. Only this person sees that.
    pub async fn tick(&self, reference: &str, label: &str, person: &Person) {
        self.until_online().await;
        let action = self.change(|state| {
            let blocks = state.message_mut(reference).unwrap().blocks.clone();
            let ticks = blocks::ticks(&blocks).expect("boxes to tick");
            let blocks::Ticks { action_id: id, options, initial } = ticks;
            let (_, value) = options.iter().find(|(it, _)| it == label).expect("such a box");
            let key = (person.id.clone(), reference.to_owned(), id.clone());
            let ticked = state.ticked.entry(key).or_insert(initial);
            match ticked.iter().position(|it| it == value) {
                Some(at) => drop(ticked.remove(at)),
                None => ticked.push(value.clone()),
            }
            let selected: Vec<_> = ticked.iter().map(|it| json!({"value": it})).collect();
            json!({"type": "checkboxes", "action_id": id, "selected_options": selected})
        });
        let payload = self.pressed(reference, action, person);
        let at = self.send("interactive", payload, person, Some(reference));
        let acked = || self.lock().interactions[at].acked.is_some().then_some(());
        self.wait("the acknowledgement of a tick", acked).await;
    }

    /// The payload of what somebody does to a message.
    fn pressed(&self, reference: &str, action: Value, person: &Person) -> Value {
        let (channel, ts) = reference.split_once('/').unwrap();
        let (message, values) = self.change(|state| {
            let Some(message) = state.message_mut(reference).cloned() else {
                return (Value::Null, json!({}));
            };
            let values = blocks::ticks(&message.blocks).map(|ticks| {
                let blocks::Ticks { action_id: id, initial, .. } = ticks;
                let key = (person.id.clone(), reference.to_owned(), id.clone());
                let ticked = state.ticked.get(&key).cloned().unwrap_or(initial);
                let ticked: Vec<_> = ticked.iter().map(|it| json!({"value": it})).collect();
                json!({"row": {id: {"type": "checkboxes", "selected_options": ticked}}})
            });
            (message.wire(), values.unwrap_or_else(|| json!({})))
        });
        let mut container = json!({"type": "message", "channel_id": channel, "message_ts": ts});
        if let Some(thread) = message.get("thread_ts") {
            container["thread_ts"] = thread.clone();
        }
        json!({"type": "block_actions", "actions": [action], "message": message,
            "channel": {"id": channel}, "team": {"id": TEAM}, "api_app_id": "A0000000001",
            "state": {"values": values}, "container": container})
    }

    /// The same, whether anybody listens or not.
    pub async fn press_deaf(&self, reference: &str, label: &str, person: &Person) -> Told {
        let message = self.message(reference).expect("the message stands");
        let at = message.buttons.iter().position(|it| is_labelled(it, label)).unwrap();
        let token = &message.tokens[at];
        let action = json!({"type": "button", "action_id": token, "value": token});
        self.act_now(reference, action, person).await
    }

    async fn act(&self, reference: &str, action: Value, person: &Person) -> Told {
        self.until_online().await;
        self.act_now(reference, action, person).await
    }

    async fn act_now(&self, reference: &str, action: Value, person: &Person) -> Told {
        let payload = self.pressed(reference, action, person);
        let at = self.send("interactive", payload, person, Some(reference));
        self.outcome(at).await
    }

    /// Sends what this person did last once more, as a second envelope.
    pub async fn redeliver(&self, person: &Person) {
        let (kind, payload, message) = {
            let state = self.lock();
            let last = state.interactions.iter().rev().find(|it| it.user == person.id).unwrap();
            (last.kind, last.payload.clone(), last.message.clone())
        };
        let at = self.deliver(kind, &payload, person, message.as_deref());
        let acked = || self.lock().interactions[at].acked.is_some().then_some(());
        self.wait("the second acknowledgement", acked).await;
    }

    /// Gives the text that a window of this message asked this person for last.
    pub async fn give_text(&self, reference: &str, text: &str, person: &Person) -> Told {
        self.until_online().await;
        let view = {
            let state = self.lock();
            let ours = |it: &&super::people::Interaction| {
                it.user == person.id && it.message.as_deref() == Some(reference)
            };
            let asked = state.interactions.iter().rev().filter(ours);
            asked.filter_map(|it| it.modal.clone()).next().expect("a window is open")
        };
        let mut view = view;
        let block = &view["blocks"][0];
        let (block_id, action) = (&block["block_id"], &block["element"]["action_id"]);
        let values = json!({block_id.as_str().unwrap(): {action.as_str().unwrap():
            {"type": "plain_text_input", "value": text}}});
        view["state"] = json!({"values": values});
        let payload = json!({"type": "view_submission", "view": view});
        let at = self.send("interactive", payload, person, Some(reference));
        self.outcome(at).await
    }

    /// Writes `/countersign TEXT` in the channel.
    pub async fn command(&self, text: &str, person: &Person) -> Told {
        self.command_in(CHANNEL, text, person).await
    }

    pub async fn command_in(&self, channel: &str, text: &str, person: &Person) -> Told {
        self.until_online().await;
        let payload = json!({"command": "/countersign", "text": text, "user_id": person.id,
            "channel_id": channel, "team_id": person.team});
        let at = self.send("slash_commands", payload, person, None);
        self.outcome(at).await
    }

    /// Replies in the thread of a message.
    pub async fn reply(&self, reference: &str, text: &str, person: &Person) -> Told {
        let (channel, ts) = reference.split_once('/').unwrap();
        self.write((channel, Some(ts)), text, person, Some(reference), &json!({})).await
    }

    /// Writes into a channel, or into the direct messages with the bot.
    pub async fn say(&self, channel: &str, text: &str, person: &Person) -> Told {
        self.write((channel, None), text, person, None, &json!({})).await
    }

    /// Writes a message with more fields than those of a person's own words, such as the message that
    /// it shares.
    pub async fn say_with(&self, channel: &str, text: &str, person: &Person, more: &Value) -> Told {
        self.write((channel, None), text, person, None, more).await
    }

    async fn write(
        &self,
        (channel, thread): (&str, Option<&str>),
        text: &str,
        person: &Person,
        reference: Option<&str>,
        more: &Value,
    ) -> Told {
        self.until_online().await;
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let text = text.replace("@countersign", &format!("<@{BOT}>"));
        let kind = if channel.starts_with('D') { "im" } else { "channel" };
        let event = self.change(|state| {
            let ts = state.store(Message {
                channel: channel.to_owned(),
                ts: String::new(),
                user: person.id.clone(),
                text: text.clone(),
                blocks: Value::Null,
                metadata: Value::Null,
                thread: thread.map(str::to_owned),
                private_to: None,
                file: None,
                deleted: false,
                edits: 0,
            });
            let mut event = json!({"type": "message", "user": person.id, "text": text, "ts": ts,
                "channel": channel, "channel_type": kind});
            if let Some(thread) = thread {
                event["thread_ts"] = thread.into();
                event["parent_user_id"] = BOT.into();
            }
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event
        });
        let id = self.change(State::next);
        let payload = json!({"type": "event_callback", "event_id": format!("Ev{id}"),
            "event": event});
        let at = self.send("events_api", payload, person, reference);
        self.outcome(at).await
    }

    /// Tells the bot of something that nobody in particular did.
    pub(super) fn event(&self, event: Value) {
        let subscribed = manifest("/settings/event_subscriptions/bot_events");
        if !subscribed.iter().any(|it| event["type"] == **it) {
            return;
        }
        let id = self.change(State::next);
        let payload = json!({"event_id": format!("Ev{id}"), "event": event});
        self.deliver("events_api", &payload, &Person::new("U0NOBODY", "nobody"), None);
    }

    fn send(
        &self,
        kind: &'static str,
        mut payload: Value,
        person: &Person,
        message: Option<&str>,
    ) -> usize {
        let key = self.change(State::next).to_string();
        if kind != "events_api" {
            payload["trigger_id"] = format!("trigger-{key}").into();
            payload["response_url"] = format!("{}/actions/{key}", self.url()).into();
        }
        if kind == "interactive" {
            payload["user"] = json!({"id": person.id, "team_id": person.team});
        }
        self.deliver(kind, &payload, person, message)
    }

    fn deliver(
        &self,
        kind: &'static str,
        payload: &Value,
        person: &Person,
        message: Option<&str>,
    ) -> usize {
        let trigger = payload["trigger_id"].as_str().unwrap_or_default().to_owned();
        self.change(|state| {
            state.people.insert(person.id.clone(), person.clone());
            let edits = message.and_then(|it| state.message_mut(it)).map_or(0, |it| it.edits);
            let envelope = state.deliver(kind, payload, kind != "events_api");
            state.interactions.push(Interaction {
                envelope: envelope.unwrap_or_default(),
                payload: payload.clone(),
                kind,
                envelope_key: trigger.replace("trigger-", ""),
                trigger,
                user: person.id.clone(),
                message: message.map(str::to_owned),
                sent: Instant::now(),
                acked: None,
                modal: None,
                told: Vec::new(),
                edits,
            });
            state.interactions.len() - 1
        })
    }

    /// What became of something that somebody did.
    async fn outcome(&self, at: usize) -> Told {
        let began = Instant::now();
        let mut redrawn = None;
        loop {
            {
                let mut state = self.lock();
                let it = &state.interactions[at];
                if it.acked.is_none() && it.sent.elapsed() >= DEADLINE {
                    return Told::Failed;
                }
                if let Some(words) = it.told.first() {
                    return Told::Privately(words.clone());
                }
                if let Some(modal) = &it.modal {
                    let label = &modal["blocks"][0]["label"]["text"];
                    return Told::Asked(label.as_str().unwrap().to_owned());
                }
                let (edits, message) = (it.edits, it.message.clone());
                let now = message.and_then(|it| state.message_mut(&it).map(|it| it.edits));
                if now.is_some_and(|now| now > edits) {
                    redrawn.get_or_insert(Instant::now());
                }
            }
            // Words come at about the same time as the redrawn message, which a restart redraws too.
            let seen = redrawn.is_some_and(|at: Instant| at.elapsed() > Duration::from_secs(2));
            if seen || began.elapsed() > Duration::from_secs(8) {
                return Told::Nothing;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
