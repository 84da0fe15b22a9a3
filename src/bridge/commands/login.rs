//! `/login`: a link that signs a person with a name in to the inbox.

use countersign_gate::Gate;
use countersign_people::approvers::Who;
use countersign_port::{CommandCall, CommandReply, Outcome, ReplyPiece};
use countersign_tokens::{clock, ids};

/// What is told where others would see the link.
const IN_PRIVATE: &str = "The link is for you alone, so write /login to me in a private chat.";
/// What is told in the inbox itself.
// SECURITY: a session cannot make the next one, so it ends when it ends.
const IN_A_CHAT: &str = "A link comes from a chat: write /login to the bot there.";

/// Makes a link for the one who wrote.
// SECURITY: a reply to a card names no place, so it may stand where others read it.
pub(super) fn login(gate: &Gate, who: Who, call: &CommandCall) -> CommandReply {
    if who.platform == "inbox" {
        return CommandReply::words(Outcome::Noted, IN_A_CHAT);
    }
    if !call.targets.is_empty() || call.message.is_some() {
        return CommandReply::words(Outcome::Noted, IN_PRIVATE);
    }
    let code = ids::code();
    let (platform, id) = (who.platform, who.id.clone());
    match gate.begin_sign_in(who, &code) {
        Ok(until) => {
            tracing::info!(platform, presser = id, "somebody asked for a sign-in link");
            let words = |text: String| vec![ReplyPiece::Words(text)];
            let until = clock::short(until);
            let lines = vec![
                words(gate.sign_in_link(&code)),
                words(format!("It works once, until {until}. Forward it to nobody.")),
            ];
            CommandReply { outcome: Outcome::Noted, lines }
        }
        Err(refused) => CommandReply::words(Outcome::NotAllowed, refused.0),
    }
}
