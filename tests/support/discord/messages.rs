//! Messages in channels.

use super::rest::{Answer, EPHEMERAL, Files};
use super::rules::{self, Refusal};
use super::world::{Channel, Message, StandingFile, State};
use serde_json::{Value, json};

impl State {
    pub fn channel(&mut self, id: &str) -> Result<&mut Channel, Refusal> {
        let gone = Refusal::new(404, 10003, "Unknown Channel");
        let channel = self.channels.get_mut(id).ok_or(gone)?;
        match channel.refusal {
            Some(10003) => Err(Refusal::new(404, 10003, "Unknown Channel")),
            Some(code) => Err(Refusal::new(403, code, "Missing Access or Permissions")),
            None => Ok(channel),
        }
    }

    pub fn edit_channel(&mut self, id: &str, body: &Value) -> Answer {
        let channel = self.channel(id)?;
        if channel.locked {
            return Err(Refusal::new(403, 50013, "Missing Permissions"));
        }
        channel.archived = body["archived"].as_bool().unwrap_or(channel.archived);
        Ok(self.channel_json(id))
    }

    pub fn post(&mut self, channel: &str, body: &Value, files: Files) -> Answer {
        self.limit("POST", channel)?;
        let thread = self.channel(channel)?;
        if thread.archived && thread.locked {
            return Err(Refusal::new(400, 50083, "Thread is archived"));
        }
        // A message reopens an archived thread that is not locked.
        thread.archived = false;
        rules::message(body, files.len())?;
        if body["flags"].as_u64().unwrap_or(0) & EPHEMERAL != 0 {
            self.violate("EPHEMERAL is ignored outside of answers");
        }
        let nonce = body["nonce"].as_str().map(str::to_owned);
        // Discord returns the first message for a repeated nonce instead of a second one.
        if nonce.is_some() && body["enforce_nonce"] == true {
            let same = |it: &&Message| it.nonce == nonce;
            if let Some(first) = self.messages.iter().find(same) {
                return Ok(first.json());
            }
        }
        let id = self.next_id();
        let mut message = Message {
            id: id.clone(),
            channel: channel.to_owned(),
            content: String::new(),
            components: json!([]),
            files: Vec::new(),
            flags: 0,
            nonce,
            private_to: None,
            reply_to: body["message_reference"]["message_id"].as_str().map(str::to_owned),
            edits: 0,
            deleted: false,
        };
        self.write(&mut message, body, files)?;
        let json = message.json();
        self.messages.push(message);
        Ok(json)
    }

    /// Makes a thread at a message; it has the message's id.
    pub fn start_thread(&mut self, channel: &str, message: &str, body: &Value) -> Answer {
        let parent = self.channel(channel)?;
        if parent.thread || parent.direct {
            return Err(Refusal::new(400, 50024, "Cannot execute action on this channel type"));
        }
        if self.permissions & 1 << 35 == 0 {
            return Err(Refusal::new(403, 50013, "Missing Permissions"));
        }
        self.message(channel, message)?;
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        if !(1..=100).contains(&name.chars().count()) {
            return Err(Refusal::form("name", "Must be between 1 and 100 in length."));
        }
        let rests = body["auto_archive_duration"].as_u64().unwrap_or(1440);
        if ![60, 1440, 4320, 10080].contains(&rests) {
            return Err(Refusal::form("auto_archive_duration", "Value must be one of these."));
        }
        if self.channels.contains_key(message) {
            let already = "A thread has already been created for this message";
            return Err(Refusal::new(400, 160_004, already));
        }
        self.add_channel(message, &name, true);
        Ok(self.channel_json(message))
    }

    /// Deletes a message of the bot's.
    pub fn delete_message(&mut self, channel: &str, id: &str) -> Answer {
        self.message(channel, id)?.deleted = true;
        Ok(Value::Null)
    }

    pub fn message(&mut self, channel: &str, id: &str) -> Result<&mut Message, Refusal> {
        self.channel(channel)?;
        let found = self.message_mut(id).filter(|it| it.channel == channel);
        found.ok_or_else(|| Refusal::new(404, 10008, "Unknown Message"))
    }

    pub fn patch(&mut self, channel: &str, id: &str, body: &Value, files: Files) -> Answer {
        self.limit("PATCH", channel)?;
        if self.channel(channel)?.archived {
            return Err(Refusal::new(400, 50083, "Thread is archived"));
        }
        rules::message(body, files.len())?;
        self.edit(channel, id, body, files)
    }

    pub fn edit(&mut self, channel: &str, id: &str, body: &Value, files: Files) -> Answer {
        let mut message = self.message(channel, id)?.clone();
        self.write(&mut message, body, files)?;
        message.edits += 1;
        let json = message.json();
        *self.message(channel, id)? = message;
        Ok(json)
    }

    /// Writes a body into a message. `attachments`, if present, lists every file that stays or is
    /// added.
    fn write(&mut self, message: &mut Message, body: &Value, files: Files) -> Result<(), Refusal> {
        if let Some(content) = body["content"].as_str() {
            content.trim().clone_into(&mut message.content);
        }
        if body["components"].is_array() {
            message.components = body["components"].clone();
        }
        // Only SUPPRESS_EMBEDS can be set by the bot.
        message.flags = body["flags"].as_u64().unwrap_or(message.flags) & 4;
        self.uploads += files.len();
        let uploads: Vec<StandingFile> = files
            .into_iter()
            .map(|(name, text)| StandingFile { id: self.next_id(), name, text })
            .collect();
        if let Some(list) = body["attachments"].as_array() {
            let mut kept = Vec::new();
            for entry in list {
                let id = entry["id"].as_str().unwrap_or_default();
                let upload = id.parse::<usize>().ok().and_then(|n| uploads.get(n));
                let old = message.files.iter().find(|file| file.id == id);
                let file = upload.or(old).cloned();
                kept.push(file.ok_or_else(|| Refusal::form("attachments", "Unknown attachment"))?);
            }
            message.files = kept;
        } else {
            message.files.extend(uploads);
        }
        if message.content.is_empty() && message.files.is_empty() && message.buttons().is_empty() {
            return Err(Refusal::new(400, 50006, "Cannot send an empty message"));
        }
        Ok(())
    }
}
