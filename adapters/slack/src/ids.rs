//! Slack's lasting ids: of channels, people, user groups and messages.

use countersign_port::{MessageRef, Target};

/// Whether a text is the id of a channel or of a direct message.
pub(crate) fn is_channel(text: &str) -> bool {
    is_id(text, &['C', 'G', 'D'])
}

/// Whether a text is the id of a person: the workspace (or organization), and the member in it.
pub(crate) fn is_person(text: &str) -> bool {
    let parts = text.split_once('/');
    parts.is_some_and(|(team, user)| is_id(team, &['T', 'E']) && is_id(user, &['U', 'W']))
}

/// Whether a text is the id of a user group.
pub(crate) fn is_usergroup(text: &str) -> bool {
    is_id(text, &['S'])
}

/// The channel of a target.
pub(crate) fn channel(target: &Target) -> Result<&str, String> {
    let id = target.0.as_str();
    if is_channel(id) {
        return Ok(id);
    }
    Err(format!(
        "`{id}` is not a Slack channel: in `[slack] targets` give the id at the end of the \
         channel's details, such as C024BE7LH"
    ))
}

/// The reference of a message: its channel, and the time at which it was posted.
pub(crate) fn reference(channel: &str, ts: &str) -> MessageRef {
    MessageRef(format!("{channel}/{ts}"))
}

/// The channel and the time of a message.
pub(crate) fn parts(message: &MessageRef) -> Result<(&str, &str), String> {
    let parts = message.0.split_once('/');
    parts.ok_or_else(|| format!("`{}` is not a Slack message", message.0))
}

/// Where a pairing code came from, for the person at the terminal.
pub(crate) fn place_in_words(channel: &str) -> String {
    match channel.starts_with('D') {
        true => "a direct message".to_owned(),
        false => format!("the channel {channel}"),
    }
}

fn is_id(text: &str, kinds: &[char]) -> bool {
    let rest = text.strip_prefix(kinds);
    let letter = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    rest.is_some_and(|rest| (2..=30).contains(&rest.len()) && rest.bytes().all(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_from_names_and_from_each_other() {
        for id in ["C024BE7LH", "G012", "D0ABC"] {
            assert!(is_channel(id) && channel(&Target(id.to_owned())) == Ok(id), "{id}");
        }
        for other in ["#approvals", "approvals", "U024BE7LH", "C", "c024be7lh", "C02 4", ""] {
            assert!(!is_channel(other) && channel(&Target(other.to_owned())).is_err(), "{other}");
        }
        assert!(is_person("T024BE7LH/U024BE7LH") && is_person("E024BE7LH/W024BE7LH"));
        for other in ["U024BE7LH", "T024BE7LH", "T024BE7LH/@ana", "/U024BE7LH", "T02/U02/U03"] {
            assert!(!is_person(other), "{other}");
        }
        assert!(is_usergroup("S0614TZR7") && !is_usergroup("@ops"));
    }

    #[test]
    fn a_message_is_known_by_its_channel_and_its_time() {
        let message = reference("C024BE7LH", "1503435956.000247");
        assert_eq!(parts(&message), Ok(("C024BE7LH", "1503435956.000247")));
        assert!(parts(&MessageRef("42".to_owned())).is_err());
    }
}
