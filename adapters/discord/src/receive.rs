//! What people did to cards, and which commands they picked, out of Discord's interactions.

use crate::commands;
use crate::message::{AttachedFile, INPUT};
use countersign_port::{
    CommandCall, MessageRef, Outcome, Press, Presser, Presses, Receipt, TextReply,
};
use serenity::all::{
    ActionRowComponent, Attachment, ComponentInteractionData, ComponentInteractionDataKind,
    Interaction, Member, Message, ModalInteraction, User,
};

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
                    presser: presser(&button.user, button.member.as_ref()),
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
                    presser: presser(&modal.user, modal.member.as_ref()),
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
                    presser(&command.user, command.member.as_deref()),
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

fn presser(user: &User, member: Option<&Member>) -> Presser {
    let roles = member.iter().flat_map(|member| &member.roles).map(ToString::to_string).collect();
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
