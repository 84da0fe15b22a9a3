//! A fake platform, as the kit drives it.

use countersign_port::{Adapter, MessageRef, Presser, Target};
use std::{sync::Arc, time::Duration};

/// A fake platform, from the side of the people in the chat. The fake itself may run anywhere and
/// be written in any language: this is what a test has to say to it.
#[countersign_port::async_trait]
pub trait FakePlatform: Send + Sync {
    /// An adapter for the platform, as a process that was just started has it: it remembers nothing
    /// of earlier ones.
    fn adapter(&self) -> Arc<dyn Adapter>;
    /// Somebody in the chat, under an id of the form that the platform gives.
    fn somebody(&self) -> Presser;
    /// A chat where the adapter may post.
    fn target(&self) -> Target;
    /// A chat where sessions can have threads; `None` where the platform has none.
    fn thread_target(&self) -> Option<Target> {
        None
    }
    /// Deletes a thread with all that is in it, as a person does.
    async fn delete_thread(&self, _thread: &Target) {}
    /// What a message shows now.
    async fn shown(&self, message: &MessageRef) -> VisibleMessage;
    /// Presses the button with this label as this person, behind *More…* where it is there,
    /// waits for the answer, and returns what the presser was told. `None` when the platform showed
    /// no words.
    async fn press(&self, message: &MessageRef, label: &str, person: &Presser) -> Option<String>;
    /// Gives the text that a text button asked for, as this person.
    async fn give_text(&self, message: &MessageRef, text: &str, person: &Presser)
    -> Option<String>;
    /// Lets something go wrong once.
    async fn inject(&self, fault: PlatformFault) -> Injected;
}

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlatformFault {
    /// The next message is refused, because too many were sent: come back after this.
    Limited(Duration),
    /// The next message is posted, and the answer to that is lost.
    AnswerLost,
    /// The connection over which presses come ends.
    Disconnected,
}

/// Whether a fault will happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Injected {
    /// It will, once.
    Once,
    /// It cannot happen on this platform.
    Never,
}

/// What a person sees of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VisibleMessage {
    /// All its text.
    pub text: String,
    /// The labels of the buttons that can be pressed, without the platform's own way to *More…*.
    pub buttons: Vec<String>,
    /// The content of the files attached to it.
    pub files: Vec<String>,
}
