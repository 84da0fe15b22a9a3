//! Replies of the bot to interactions.

use super::people::{DEADLINE, Interaction, Told};
use super::rest::{Answer, EPHEMERAL, Files};
use super::rules::{self, Refusal};
use super::world::State;
use serde_json::{Value, json};

impl State {
    pub fn callback(&mut self, id: &str, token: &str, body: &Value, files: Files) -> Answer {
        let unknown = || Refusal::new(404, 10062, "Unknown interaction");
        let at = self.interactions.iter().position(|it| it.id == id && it.token == token);
        let at = at.ok_or_else(unknown)?;
        let interaction = &self.interactions[at];
        if interaction.sent.elapsed() > DEADLINE {
            self.violate(format!("interaction {id} is answered after 3 s"));
            return Err(unknown());
        }
        if interaction.answered.is_some() {
            return Err(Refusal::new(400, 40060, "Interaction has already been acknowledged."));
        }
        let (kind, data) = (body["type"].as_u64().unwrap_or(0), &body["data"]);
        let (channel, message) = (interaction.channel.clone(), interaction.message.clone());
        // 4 a message, 6 a deferred update, 7 an update of the message, 9 a modal.
        match kind {
            4 => {
                rules::message(data, files.len())?;
                if data["content"].as_str().unwrap_or_default().trim().is_empty() {
                    return Err(Refusal::new(400, 50006, "Cannot send an empty message"));
                }
                self.tell(at, data);
            }
            5 if interaction.kind == 2 => {
                if data["flags"].as_u64().unwrap_or(0) & EPHEMERAL == 0 {
                    self.violate("a command's answer that everybody sees");
                }
            }
            6 | 7 if interaction.kind == 2 => {
                return Err(Refusal::form("type", "Value must be one of {4, 5, 9}."));
            }
            6 => {}
            7 => {
                rules::message(data, files.len())?;
                self.edit(&channel, &message.unwrap_or_default(), data, files)?;
            }
            9 if interaction.kind == 5 => {
                return Err(Refusal::form("type", "Invalid interaction response type"));
            }
            9 => {
                rules::modal(data)?;
                let interaction = &mut self.interactions[at];
                interaction.modal = Some(data.clone());
                let title = data["title"].as_str().unwrap_or_default().to_owned();
                interaction.told.push(Told::Asked(title));
            }
            _ => return Err(Refusal::form("type", "Value must be one of {4, 6, 7, 9}.")),
        }
        self.interactions[at].answered = Some(kind);
        Ok(Value::Null)
    }

    pub fn follow_up(&mut self, token: &str, body: &Value) -> Answer {
        let answered = |it: &Interaction| it.token == token && it.answered.is_some();
        let at = self.interactions.iter().position(answered);
        let at = at.ok_or_else(|| Refusal::new(404, 10015, "Unknown Webhook"))?;
        rules::message(body, 0)?;
        self.tell(at, body);
        Ok(json!({"id": self.next_id()}))
    }

    fn tell(&mut self, interaction: usize, body: &Value) {
        let private = body["flags"].as_u64().unwrap_or(0) & EPHEMERAL != 0;
        if !private {
            self.violate("an answer that everybody sees");
        }
        let content = body["content"].as_str().unwrap_or_default();
        self.interactions[interaction].tell(content, private);
    }
}
