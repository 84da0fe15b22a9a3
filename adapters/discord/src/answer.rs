//! What people did to cards, and which commands they picked; from there to the answer, within Discord's 3 s.

use crate::bot::DiscordBot;
use crate::card::draw;
use crate::commands;
use crate::errors::Problem;
use crate::message::{AttachedFile, INPUT, InteractionResponse, MessageBody, Modal};
use crate::rest::ANSWER_WITHIN;
use countersign_port::{
    Acknowledged, Card, CommandCall, MessageRef, Outcome, Press, Presser, Presses, Receipt,
    TEXT_NOT_NOW, TextReply, within,
};
use serenity::all::{
    ActionRowComponent, Attachment, ComponentInteractionData, ComponentInteractionDataKind,
    Interaction, Message, ModalInteraction, RoleId, User,
};
use std::time::{Duration, Instant};
use tracing::{debug, warn};

/// Discord's codes for an interaction that has its first answer, and for one that is over.
const ANSWERED: i64 = 40060;
const TOO_LATE: i64 = 10062;
/// Between two tries of an answer.
const PAUSE: Duration = Duration::from_millis(200);

/// How long the core may take before Discord is asked for patience.
const PROMPT: Duration = Duration::from_secs(2);
/// How long a press that the core does not know is left to others: Discord hands every press to all
/// programs of a bot, and the one whose card it is has acknowledged by then, at the latest with a
/// plea for patience.
const LEFT_TO_OTHERS: Duration = Duration::from_millis(2200);

/// Hands to the core what somebody did, and shows them what came of it.
pub(crate) async fn answer(shared: &DiscordBot, core: &dyn Presses, incoming: &Incoming) {
    let answering = Answering { shared, incoming, began: Instant::now() };
    // An answer with nothing to see keeps the press from being called failed.
    let patience = match incoming.done {
        Done::Command(_) => InteractionResponse::Wait,
        Done::Button(_) | Done::Window(_) => InteractionResponse::Nothing,
    };
    let empty = answering.first(&patience);
    let told = match within(PROMPT, incoming.done.hand_to(core), empty).await {
        Acknowledged::InTime(receipt) => {
            if receipt.outcome == Outcome::Unknown {
                tokio::time::sleep(LEFT_TO_OTHERS.saturating_sub(answering.began.elapsed())).await;
            }
            answering.tell(receipt).await
        }
        Acknowledged::Late { receipt, acknowledged: Ok(()) } => answering.tell_late(receipt).await,
        Acknowledged::Late { acknowledged: Err(problem), .. } => Err(problem),
    };
    told.unwrap_or_else(|problem| answering.missed(&problem));
}

struct Answering<'a> {
    shared: &'a DiscordBot,
    incoming: &'a Incoming,
    began: Instant,
}

impl Answering<'_> {
    /// Tells what came of a press, as the first answer to it.
    async fn tell(&self, receipt: Receipt) -> Result<(), Problem> {
        let Receipt { outcome, sentence, card } = receipt;
        if let Some(button) = self.wants_window(outcome) {
            return self.first(&InteractionResponse::Ask(Modal::new(button, &sentence))).await;
        }
        let redrawn = match &card {
            Some(card) => self.redraw(card).await,
            None => false,
        };
        match (redrawn, sentence.trim().is_empty()) {
            (true, true) => Ok(()),
            (true, false) => self.more(&sentence).await,
            (false, true) => self.first(&InteractionResponse::Nothing).await,
            (false, false) => {
                self.first(&InteractionResponse::Whisper(MessageBody::whisper(&sentence))).await
            }
        }
    }

    /// The same after the first answer was given.
    async fn tell_late(&self, receipt: Receipt) -> Result<(), Problem> {
        let Receipt { outcome, sentence, card } = receipt;
        let sentence = match self.wants_window(outcome) {
            // A window can only be the first answer.
            Some(_) => TEXT_NOT_NOW,
            None => sentence.as_str(),
        };
        let told = if sentence.trim().is_empty() { Ok(()) } else { self.more(sentence).await };
        if let (Some(card), Some(message)) = (&card, self.incoming.done.message())
            && let Err(error) = self.shared.update(message, card).await
        {
            debug!(ask = card.ask, %error, "a pressed card is left to the core to redraw");
        }
        told
    }

    /// The token of the button whose text is wanted next.
    fn wants_window(&self, outcome: Outcome) -> Option<&str> {
        match &self.incoming.done {
            Done::Button(press) if outcome == Outcome::TextWanted => Some(&press.token),
            Done::Button(_) | Done::Window(_) | Done::Command(_) => None,
        }
    }

    /// Redraws the pressed message as the first answer; says whether that happened. Where somebody
    /// else draws it just now the core's own edit will show the card.
    async fn redraw(&self, card: &Card) -> bool {
        let Some(message) = self.incoming.done.message() else { return false };
        let Some(mut newest) = self.shared.turns.now(message) else { return false };
        if card.revision < *newest {
            return false;
        }
        let update =
            InteractionResponse::Update(MessageBody::edit(draw(card), &self.incoming.files));
        match self.first(&update).await {
            Ok(()) => {
                *newest = card.revision;
                true
            }
            Err(problem) => {
                debug!(ask = card.ask, %problem, "a pressed card was not redrawn in the answer");
                false
            }
        }
    }

    /// Gives the first answer, trying again while there is time.
    async fn first(&self, reply: &InteractionResponse) -> Result<(), Problem> {
        let mut lost = false;
        loop {
            let reply =
                self.shared.rest.reply(&self.incoming.id, &self.incoming.token, reply).await;
            let Err(problem) = reply else { return Ok(()) };
            let pause = match &problem {
                Problem::Unreachable(_) => {
                    lost = true;
                    PAUSE
                }
                Problem::Wait { after, .. } => *after,
                // The try whose answer was lost arrived.
                Problem::Refused { code: ANSWERED, .. } if lost => return Ok(()),
                Problem::Refused { .. } | Problem::Unauthorized | Problem::Deposed => {
                    return Err(problem);
                }
            };
            if self.began.elapsed() + pause >= ANSWER_WITHIN {
                return Err(problem);
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Tells the presser something after the first answer.
    async fn more(&self, sentence: &str) -> Result<(), Problem> {
        let application = &self.incoming.application;
        let token = &self.incoming.token;
        self.shared.rest.follow_up(application, token, &MessageBody::whisper(sentence)).await
    }

    /// The press still counts: the core has it, and redraws every copy of the card.
    fn missed(&self, problem: &Problem) {
        let after = self.began.elapsed();
        if *problem == Problem::Deposed || matches!(problem.code(), Some(ANSWERED | TOO_LATE)) {
            debug!(?after, %problem, "a press was answered by another bridge, or too late");
        } else {
            warn!(?after, %problem, "a press was recorded, but the reply to its presser failed");
        }
    }
}

/// What somebody did, and what is needed to answer it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Incoming {
    /// What the core is told.
    pub done: Done,
    /// The interaction's id.
    pub id: String,
    /// Whom follow-ups go through.
    pub application: String,
    /// What answers it, for 15 minutes.
    pub token: String,
    /// The files of the pressed message.
    pub files: Vec<AttachedFile>,
}

/// What somebody did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Done {
    /// Pressed a button.
    Button(Press),
    /// Wrote into the window that a button opened.
    Window(TextReply),
    /// Picked a command.
    Command(CommandCall),
}

impl Incoming {
    /// A press of a button or a text given; `None` for everything that no card asked for.
    pub(crate) fn read(interaction: &Interaction) -> Option<Self> {
        match interaction {
            Interaction::Component(button) => Some(Self {
                done: Done::Button(Press {
                    presser: presser(&button.user, button.member.as_ref().map(|it| &it.roles)),
                    message: Some(reference(&button.message)),
                    token: pressed(&button.data)?,
                }),
                id: button.id.to_string(),
                application: button.application_id.to_string(),
                token: button.token.clone(),
                files: files(&button.message.attachments),
            }),
            Interaction::Modal(modal) => Some(Self {
                done: Done::Window(TextReply {
                    presser: presser(&modal.user, modal.member.as_ref().map(|it| &it.roles)),
                    message: modal.message.as_deref().map(reference),
                    token: Some(modal.data.custom_id.clone()),
                    text: text(modal),
                }),
                id: modal.id.to_string(),
                application: modal.application_id.to_string(),
                token: modal.token.clone(),
                files: modal.message.iter().flat_map(|it| files(&it.attachments)).collect(),
            }),
            Interaction::Command(command) => Some(Self {
                done: Done::Command(commands::call(
                    command,
                    presser(&command.user, command.member.as_ref().map(|it| &it.roles)),
                )),
                id: command.id.to_string(),
                application: command.application_id.to_string(),
                token: command.token.clone(),
                files: Vec::new(),
            }),
            _ => None,
        }
    }
}

impl Done {
    /// Hands it to the core.
    pub(crate) async fn hand_to(&self, core: &dyn Presses) -> Receipt {
        match self {
            Self::Button(press) => core.press(press.clone()).await,
            Self::Window(reply) => core.reply(reply.clone()).await,
            Self::Command(call) => {
                let reply = core.command(call.clone()).await;
                let sentence = commands::spoken(&reply);
                Receipt { outcome: Outcome::Noted, sentence, card: None }
            }
        }
    }

    /// The message that it was done to, where Discord tells.
    pub(crate) fn message(&self) -> Option<&MessageRef> {
        match self {
            Self::Button(press) => press.message.as_ref(),
            Self::Window(reply) => reply.message.as_ref(),
            Self::Command(_) => None,
        }
    }
}

/// The token of the button, or of the one option that was chosen.
fn pressed(data: &ComponentInteractionData) -> Option<String> {
    match &data.kind {
        ComponentInteractionDataKind::Button => Some(data.custom_id.clone()),
        ComponentInteractionDataKind::StringSelect { values } => match values.as_slice() {
            [token] => Some(token.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Where a message is, in the adapter's spelling.
pub(crate) fn reference(message: &Message) -> MessageRef {
    MessageRef(format!("{}/{}", message.channel_id, message.id))
}

pub(crate) fn presser(user: &User, roles: Option<&Vec<RoleId>>) -> Presser {
    let roles = roles.into_iter().flatten().map(ToString::to_string).collect();
    Presser {
        id: user.id.to_string(),
        name: user.global_name.clone().unwrap_or_else(|| user.name.clone()),
        roles,
    }
}

fn files(attachments: &[Attachment]) -> Vec<AttachedFile> {
    let attached = |file: &Attachment| AttachedFile {
        id: file.id.to_string(),
        filename: file.filename.clone(),
        size: u64::from(file.size),
    };
    attachments.iter().map(attached).collect()
}

fn text(modal: &ModalInteraction) -> String {
    let inputs = modal.data.components.iter().flat_map(|row| &row.components);
    let value = inputs.filter_map(|component| match component {
        ActionRowComponent::InputText(input) if input.custom_id == INPUT => input.value.clone(),
        _ => None,
    });
    value.collect()
}
