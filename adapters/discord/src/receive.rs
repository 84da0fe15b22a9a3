//! What people did to cards, out of Discord's interactions.

use crate::message::{INPUT, Standing};
use countersign_port::{MessageRef, Press, Presser};
use serenity::all::{
    ActionRowComponent, Attachment, Interaction, Member, Message, ModalInteraction, User,
};

/// A press and what is needed to answer it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Incoming {
    /// What the core is told.
    pub press: Press,
    /// The interaction's id.
    pub id: String,
    /// Whom follow-ups go through.
    pub application: String,
    /// What answers it, for 15 minutes.
    pub token: String,
    /// The files that stand with the pressed message.
    pub files: Vec<Standing>,
}

impl Incoming {
    /// A press of a button or a text given; `None` for everything that no card asked for.
    pub(crate) fn read(interaction: &Interaction) -> Option<Self> {
        match interaction {
            Interaction::Component(button) => Some(Self {
                press: Press {
                    adapter: crate::NAME,
                    presser: presser(&button.user, button.member.as_ref()),
                    message: Some(reference(&button.message)),
                    token: button.data.custom_id.clone(),
                    text: None,
                },
                id: button.id.to_string(),
                application: button.application_id.to_string(),
                token: button.token.clone(),
                files: files(&button.message.attachments),
            }),
            Interaction::Modal(modal) => Some(Self {
                press: Press {
                    adapter: crate::NAME,
                    presser: presser(&modal.user, modal.member.as_ref()),
                    message: modal.message.as_deref().map(reference),
                    token: modal.data.custom_id.clone(),
                    text: Some(text(modal)),
                },
                id: modal.id.to_string(),
                application: modal.application_id.to_string(),
                token: modal.token.clone(),
                files: modal.message.iter().flat_map(|it| files(&it.attachments)).collect(),
            }),
            _ => None,
        }
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

fn files(attachments: &[Attachment]) -> Vec<Standing> {
    let standing = |file: &Attachment| Standing {
        id: file.id.to_string(),
        filename: file.filename.clone(),
        size: u64::from(file.size),
    };
    attachments.iter().map(standing).collect()
}

fn text(modal: &ModalInteraction) -> String {
    let inputs = modal.data.components.iter().flat_map(|row| &row.components);
    let value = inputs.filter_map(|component| match component {
        ActionRowComponent::InputText(input) if input.custom_id == INPUT => input.value.clone(),
        _ => None,
    });
    value.collect()
}
