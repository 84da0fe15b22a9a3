//! A chat platform with its adapter, as somebody writes one who has read docs/platforms.md.
//!
//! Its people write in threads: a text comes back bare, as a reply to the card's message, and says
//! nothing of the button that asked for it. It waits for an acknowledgement for half a second.

use crate::service::{Event, Service, ServiceError};
use countersign_port::{
    Absent, Acknowledged, Adapter, ApproverList, Block, CancellationToken, Card, CheckError,
    Description, IdForm, Key, Lead, MessageRef, Names, Outcome, Platform, Posting, Press, Presser,
    Presses, Receipt, RetryScope, SendError, SendGuard, Setting, Settings, Signals, Takes, Target,
    TextReply, Tone, async_trait, diff_text, excerpt, line, visible, within,
};
use std::{sync::Arc, time::Duration};

/// The registration.
pub struct ExamplePlatform;

const IDS: IdForm = IdForm::Text {
    fits: |text| text.starts_with('U') && text.len() > 1,
    wanted: "member ids such as UANA, because names can change hands",
};

const DESCRIPTION: Description = Description {
    name: "example",
    keys: &[Key {
        name: "token",
        takes: Takes::Secret,
        absent: Absent::Wrong("the service's settings show it"),
    }],
    account: "token",
    target: &[Key {
        name: "room",
        takes: Takes::Id(IdForm::Text {
            fits: |text| text.starts_with('#'),
            wanted: "a room such as \"#ops\"",
        }),
        absent: Absent::Wrong("it is the name of a room"),
    }],
    approvers: &[ApproverList {
        key: "example",
        names: Names::People,
        form: IDS,
        example: "[\"UANA\"]",
    }],
    example: "\
# [example]
# token = \"…\"
# targets = [{ room = \"#ops\" }]
",
};

#[async_trait]
impl Platform for ExamplePlatform {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn target(&self, entry: &Settings) -> Result<Target, String> {
        Ok(Target(entry.text("room").to_owned()))
    }

    fn adapter(&self, account: &Settings) -> Arc<dyn Adapter> {
        Arc::new(Example::new(Service::at(account.text("token"))))
    }

    async fn check(&self, account: &Settings) -> Result<String, CheckError> {
        let bot = Service::at(account.text("token")).who_am_i();
        bot.ok_or_else(|| CheckError::WrongToken("the service refuses the token".to_owned()))
    }

    async fn check_target(
        &self,
        account: &Settings,
        target: &Target,
    ) -> Result<String, CheckError> {
        if Service::at(account.text("token")).has_room(&target.0) {
            Ok(target.0.clone())
        } else {
            Err(CheckError::Other(format!("there is no room {}", target.0)))
        }
    }
}

/// The settings of an account with this token.
pub fn account(token: &str) -> Settings {
    Settings::from([("token", Setting::Secret(token.to_owned()))])
}

/// The adapter.
pub struct Example {
    service: Arc<Service>,
    signals: Signals,
    guard: SendGuard,
}

/// How long the service waits for an acknowledgement, less what it takes to arrive.
const PATIENCE: Duration = Duration::from_millis(400);
/// How much of a command the message itself shows, in characters.
const EXCERPT: usize = 2_000;

impl Example {
    pub fn new(service: Arc<Service>) -> Self {
        Self { service, signals: Signals::default(), guard: SendGuard::default() }
    }

    /// Nothing goes out without leading.
    fn may_send(&self) -> Result<(), SendError> {
        if self.guard.is_open() {
            Ok(())
        } else {
            Err(SendError::Transient("another daemon may lead by now".to_owned()))
        }
    }
}

#[async_trait]
impl Adapter for Example {
    fn signals(&self) -> &Signals {
        &self.signals
    }

    fn lead(&self, lead: Arc<dyn Lead>) {
        self.guard.follow(lead);
    }

    async fn post(
        &self,
        target: &Target,
        card: &Card,
        posting: Posting,
    ) -> Result<MessageRef, SendError> {
        self.may_send()?;
        // The service sends nothing only once, but it can be searched.
        let stands = match posting {
            Posting::First => None,
            Posting::MayRepeat => self.service.find(&target.0, &card.id),
        };
        match stands {
            Some(message) => Ok(MessageRef(message)),
            None => {
                let (text, files) = draw(card);
                let posted = self.service.post(&target.0, &card.id, text, buttons(card), files);
                posted.map(MessageRef).map_err(send_error)
            }
        }
    }

    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        self.may_send()?;
        let (text, files) = draw(card);
        self.service.edit(&message.0, text, buttons(card), files).map_err(send_error)
    }

    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        let mut events = self.service.connect();
        self.signals.listening();
        loop {
            let event = tokio::select! {
                () = stop.cancelled() => return,
                event = events.recv() => event,
            };
            match event {
                Some(event) => {
                    let (service, presses) = (self.service.clone(), presses.clone());
                    // Nobody waits for another's press.
                    tokio::spawn(async move { answer(&service, &*presses, event).await });
                }
                None => {
                    self.signals.deaf("the service closed the connection");
                    events = self.service.connect();
                    self.signals.listening();
                }
            }
        }
    }
}

/// Hands it to the core and tells the presser alone what came of it, in time or late.
async fn answer(service: &Service, presses: &dyn Presses, event: Event) {
    let Event { id, message, person, name, button, text } = event;
    let presser = Presser { id: person, name, roles: Vec::new() };
    let at = Some(MessageRef(message.clone()));
    let deciding = async {
        match (button, text) {
            (Some(token), _) => presses.press(Press { presser, message: at, token }).await,
            (None, text) => {
                let text = text.unwrap_or_default();
                presses.reply(TextReply { presser, message: at, token: None, text }).await
            }
        }
    };
    let told = within(PATIENCE, deciding, async { service.acknowledge(id) }).await;
    let receipt = match told {
        Acknowledged::InTime(receipt) => {
            service.acknowledge(id);
            receipt
        }
        Acknowledged::Late { receipt, acknowledged: () } => receipt,
    };
    let Receipt { outcome, sentence, card } = receipt;
    let sentence = match outcome {
        Outcome::TextWanted => format!("{sentence} Reply in the thread."),
        _ => sentence,
    };
    // The pressed copy may be one that the core does not know.
    if let Some(card) = card {
        let (text, files) = draw(&card);
        let _ = service.edit(&message, text, buttons(&card), files);
    }
    service.tell(id, sentence);
}

/// The card as text, and what does not fit as files. The service shows plain text only, so nothing
/// that an agent writes can format, link or ping.
fn draw(card: &Card) -> (String, Vec<String>) {
    let word = if card.tone == Tone::Critical { "CRITICAL " } else { "" };
    let mut text = format!("{word}{}\n{}", line(&card.title), line(&card.origin));
    let mut files = Vec::new();
    card.blocks.iter().for_each(|block| write_block(block, &mut text, &mut files));
    (text, files)
}

fn write_block(block: &Block, text: &mut String, files: &mut Vec<String>) {
    match block {
        Block::Code { label, text: code, .. } | Block::Quote { label, text: code } => {
            write_text(label, code, text, files);
        }
        Block::Diff { path, lines, .. } => write_text(&line(path), &diff_text(lines), text, files),
        Block::Fields { fields } => {
            for field in fields {
                text.push_str(&format!("\n{}: {}", line(&field.name), line(&field.value)));
            }
        }
        // The service cannot fold.
        Block::Details { blocks } => blocks.iter().for_each(|it| write_block(it, text, files)),
        Block::Note { text: note } | Block::Outcome { text: note } => {
            text.push_str(&format!("\n= {}", line(note)));
        }
    }
}

fn write_text(label: &str, exact: &str, text: &mut String, files: &mut Vec<String>) {
    let cut = excerpt(exact, EXCERPT);
    if cut.hidden > 0 {
        files.push(exact.to_owned());
    }
    let tail = cut.tail.map(|tail| format!(" […{} in the file…] {tail}", cut.hidden));
    let tail = tail.unwrap_or_default();
    text.push_str(&format!("\n{label}| {}{}", visible(&cut.head), visible(&tail)));
}

/// The service has room for any number of buttons, so what stands behind *More…* stands with them.
fn buttons(card: &Card) -> Vec<(String, String)> {
    let all = card.buttons.iter().flatten().chain(&card.more);
    all.map(|button| (button.label.clone(), button.token.clone())).collect()
}

fn send_error(error: ServiceError) -> SendError {
    match error {
        ServiceError::TooMany(after) => SendError::Retry { after, scope: RetryScope::Account },
        ServiceError::NoRoom => SendError::TargetGone("there is no such room".to_owned()),
        ServiceError::NoAnswer => SendError::Transient("the service does not answer".to_owned()),
    }
}
