//! The service that the example adapter speaks to: rooms, messages with buttons, threads.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, MutexGuard},
    time::{Duration, Instant},
};
use tokio::sync::{mpsc, watch};

/// How long it waits for an acknowledgement; after that a press is shown as failed.
const PATIENCE: Duration = Duration::from_secs(3);

static SERVICES: LazyLock<Mutex<HashMap<String, Arc<Service>>>> = LazyLock::new(Mutex::default);

/// A service, by the token that opens it.
#[derive(Default)]
pub struct Service {
    inside: Mutex<Inside>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Inside {
    messages: Vec<Message>,
    /// How many times it was told what by event.
    told: HashMap<u64, String>,
    acknowledged: HashMap<u64, Instant>,
    events: Option<mpsc::UnboundedSender<Event>>,
    last_event: u64,
    faults: Vec<ServiceFault>,
}

/// A message in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub id: String,
    pub card: String,
    pub text: String,
    /// Labels, and what they carry.
    pub buttons: Vec<(String, String)>,
    pub files: Vec<String>,
}

/// What somebody did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub id: u64,
    pub message: String,
    pub person: String,
    pub name: String,
    pub button: Option<String>,
    pub text: Option<String>,
}

/// What the service answers where it does not do what it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceError {
    TooMany(Duration),
    NoRoom,
    NoAnswer,
}

/// What goes wrong with the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceFault {
    TooMany(Duration),
    AnswerLost,
}

impl Service {
    /// The service that a token opens.
    pub fn at(token: &str) -> Arc<Self> {
        SERVICES.lock().unwrap().entry(token.to_owned()).or_default().clone()
    }

    pub fn who_am_i(&self) -> Option<String> {
        Some("example-bot".to_owned())
    }

    pub fn has_room(&self, room: &str) -> bool {
        room == "#ops"
    }

    pub fn post(
        &self,
        room: &str,
        card: &str,
        text: String,
        buttons: Vec<(String, String)>,
        files: Vec<String>,
    ) -> Result<String, ServiceError> {
        if !self.has_room(room) {
            return Err(ServiceError::NoRoom);
        }
        let mut inside = self.inside();
        let fault = inside.faults.pop();
        if let Some(ServiceFault::TooMany(after)) = fault {
            return Err(ServiceError::TooMany(after));
        }
        let id = format!("{room}/{}", inside.messages.len());
        let (card, answer) = (card.to_owned(), id.clone());
        inside.messages.push(Message { id, card, text, buttons, files });
        self.changed(inside);
        match fault {
            Some(ServiceFault::AnswerLost) => Err(ServiceError::NoAnswer),
            _ => Ok(answer),
        }
    }

    pub fn edit(
        &self,
        message: &str,
        text: String,
        buttons: Vec<(String, String)>,
        files: Vec<String>,
    ) -> Result<(), ServiceError> {
        let mut inside = self.inside();
        if let Some(found) = inside.messages.iter_mut().find(|it| it.id == message) {
            (found.text, found.buttons, found.files) = (text, buttons, files);
        }
        self.changed(inside);
        Ok(())
    }

    /// The message that shows a card.
    pub fn find(&self, room: &str, card: &str) -> Option<String> {
        let inside = self.inside();
        let mut here = inside.messages.iter().filter(|it| it.id.starts_with(room));
        here.find(|it| it.card == card).map(|it| it.id.clone())
    }

    /// Opens the connection over which events come; an earlier one ends.
    pub fn connect(&self) -> mpsc::UnboundedReceiver<Event> {
        let (sender, events) = mpsc::unbounded_channel();
        let mut inside = self.inside();
        inside.events = Some(sender);
        self.changed(inside);
        events
    }

    pub fn acknowledge(&self, event: u64) {
        let mut inside = self.inside();
        inside.acknowledged.entry(event).or_insert_with(Instant::now);
        self.changed(inside);
    }

    pub fn tell(&self, event: u64, sentence: String) {
        let mut inside = self.inside();
        inside.told.insert(event, sentence);
        self.changed(inside);
    }

    // From the side of the people.

    pub fn message(&self, id: &str) -> Message {
        self.inside().messages.iter().find(|it| it.id == id).unwrap().clone()
    }

    pub fn messages(&self) -> Vec<Message> {
        self.inside().messages.clone()
    }

    pub fn fail(&self, fault: ServiceFault) {
        self.inside().faults.push(fault);
    }

    pub fn disconnect(&self) {
        self.inside().events = None;
    }

    /// Waits for what is wanted, which some change brings.
    pub async fn until<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changes = self.changes.subscribe();
        let found = async {
            loop {
                if let Some(found) = look(self) {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(30), found).await;
        found.unwrap_or_else(|_| panic!("{what} did not come: {:?}", self.messages()))
    }

    /// Presses a button, and returns what the presser was told.
    pub async fn press(&self, message: &str, label: &str, person: &str, name: &str) -> String {
        let buttons = self.message(message).buttons;
        let button = buttons.into_iter().find(|(known, _)| known == label);
        let (_, token) = button.unwrap_or_else(|| panic!("no button `{label}` at {message}"));
        self.happens(message, person, name, Some(token), None).await
    }

    /// Writes into the thread of a message.
    pub async fn reply(&self, message: &str, text: &str, person: &str, name: &str) -> String {
        self.happens(message, person, name, None, Some(text.to_owned())).await
    }

    async fn happens(
        &self,
        message: &str,
        person: &str,
        name: &str,
        button: Option<String>,
        text: Option<String>,
    ) -> String {
        let connected =
            |it: &Self| it.inside().events.as_ref().filter(|it| !it.is_closed()).cloned();
        let events = self.until("a connection", connected).await;
        let id = {
            let mut inside = self.inside();
            inside.last_event += 1;
            inside.last_event
        };
        let (message, person, name) = (message.to_owned(), person.to_owned(), name.to_owned());
        let began = Instant::now();
        events.send(Event { id, message, person, name, button, text }).unwrap();
        let told = self.until("a word to the presser", |it| it.inside().told.remove(&id)).await;
        let acknowledged = self.inside().acknowledged[&id];
        assert!(acknowledged - began < PATIENCE, "a press is acknowledged in time");
        told
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap()
    }

    /// Wakes those who wait for a change.
    fn changed(&self, inside: MutexGuard<'_, Inside>) {
        drop(inside);
        self.changes.send_modify(|count| *count += 1);
    }
}
