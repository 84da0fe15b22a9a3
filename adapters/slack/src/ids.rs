//! Slack's lasting ids: of channels, people, user groups and messages; and the channels of direct
//! messages, which Slack opens when it is asked to.

use crate::api::WebApi;
use crate::problem::ApiProblem;
use countersign_port::{MessageRef, SendError, Target, locked};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;

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

/// A place that cards go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlackPlace<'t> {
    /// A channel, or direct messages that exist already.
    Channel(&'t str),
    /// The direct messages with a member.
    Member(&'t str),
    /// A thread in a channel, by the time of its first message.
    Thread(&'t str, &'t str),
}

/// The direct messages with a person: `@` and the member's id, which is unique in all workspaces.
pub(crate) fn direct(person: &str) -> Option<Target> {
    member(person).map(|user| Target(format!("@{user}")))
}

/// The member's id of a person.
pub(crate) fn member(person: &str) -> Option<&str> {
    person.split_once('/').filter(|_| is_person(person)).map(|(_, user)| user)
}

/// What a target means.
pub(crate) fn place(target: &Target) -> Result<SlackPlace<'_>, String> {
    let id = target.0.as_str();
    match id.strip_prefix('@') {
        Some(user) if is_id(user, &['U', 'W']) => Ok(SlackPlace::Member(user)),
        None if is_channel(id) => Ok(SlackPlace::Channel(id)),
        _ => thread(target).map(|(channel, ts)| SlackPlace::Thread(channel, ts)).ok_or_else(|| {
            format!(
                "`{id}` is not a Slack channel: in `[slack] targets` give the id at the end of \
                 the channel's details, such as C024BE7LH"
            )
        }),
    }
}

/// The channel and the first message of a thread that is a target.
pub(crate) fn thread(target: &Target) -> Option<(&str, &str)> {
    let (channel, ts) = target.0.split_once('/')?;
    let is_ts = ts.bytes().all(|b| b.is_ascii_digit() || b == b'.') && ts.contains('.');
    (is_channel(channel) && is_ts).then_some((channel, ts))
}

/// The reference of a message: its channel, and the time at which it was posted.
pub(crate) fn reference(channel: &str, ts: &str) -> MessageRef {
    MessageRef(format!("{channel}/{ts}"))
}

/// The same for a message that may be in a thread, of which Slack says so at each press.
pub(crate) fn reference_in(channel: &str, ts: &str, thread: Option<&str>) -> MessageRef {
    match thread.filter(|thread| *thread != ts) {
        Some(thread) => MessageRef(format!("{channel}/{ts}/{thread}")),
        None => reference(channel, ts),
    }
}

/// The channel and the time of a message.
pub(crate) fn parts(message: &MessageRef) -> Result<(&str, &str), String> {
    let parts = message.0.split_once('/');
    let parts = parts.map(|(channel, ts)| (channel, ts.split_once('/').map_or(ts, |it| it.0)));
    parts.ok_or_else(|| format!("`{}` is not a Slack message", message.0))
}

/// The first message of the thread that a message is in.
pub(crate) fn thread_of(message: &MessageRef) -> Option<&str> {
    message.0.split('/').nth(2)
}

/// Where a pairing code came from, for the person at the terminal.
pub(crate) fn place_in_words(channel: &str) -> String {
    if channel.starts_with('D') {
        "a direct message".to_owned()
    } else {
        format!("the channel {channel}")
    }
}

fn is_id(text: &str, kinds: &[char]) -> bool {
    let rest = text.strip_prefix(kinds);
    let letter = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    rest.is_some_and(|rest| (2..=30).contains(&rest.len()) && rest.bytes().all(letter))
}

/// The channels that are known already, by member.
#[derive(Debug, Default)]
pub(crate) struct MemberChannels(Mutex<HashMap<String, String>>);

impl MemberChannels {
    /// The channel of a target.
    pub(crate) async fn channel(&self, api: &WebApi, to: &Target) -> Result<String, SendError> {
        let user = match place(to).map_err(SendError::TargetGone)? {
            SlackPlace::Channel(channel) | SlackPlace::Thread(channel, _) => {
                return Ok(channel.to_owned());
            }
            SlackPlace::Member(user) => user,
        };
        let known = || locked(&self.0);
        let found = known().get(user).cloned();
        if let Some(channel) = found {
            return Ok(channel);
        }
        let channel = open(api, user).await.map_err(|problem| unopened(problem, user))?;
        known().insert(user.to_owned(), channel.clone());
        Ok(channel)
    }
}

/// The id of the channel of direct messages with a member.
pub(crate) async fn open(api: &WebApi, user: &str) -> Result<String, ApiProblem> {
    let told = api.write("conversations.open", &json!({"users": user})).await?;
    let channel = told.pointer("/channel/id").and_then(Value::as_str).map(str::to_owned);
    channel.ok_or_else(|| ApiProblem::Unreachable("its answer names no channel".to_owned()))
}

/// Whatever Slack refuses here concerns this person alone: the route goes on to its next target.
fn unopened(problem: ApiProblem, user: &str) -> SendError {
    match problem {
        ApiProblem::Scope(_) | ApiProblem::Refused { .. } => {
            SendError::TargetGone(format!("direct messages with {user} in Slack: {problem}"))
        }
        other => other.send_error(user),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_from_names_and_from_each_other() {
        for id in ["C024BE7LH", "G012", "D0ABC"] {
            assert_eq!(place(&Target(id.to_owned())), Ok(SlackPlace::Channel(id)));
        }
        for other in ["#approvals", "approvals", "U024BE7LH", "C", "c024be7lh", "@C024BE7LH", ""] {
            assert!(!is_channel(other) && place(&Target(other.to_owned())).is_err(), "{other}");
        }
        assert!(is_person("T024BE7LH/U024BE7LH") && is_person("E024BE7LH/W024BE7LH"));
        for other in ["U024BE7LH", "T024BE7LH", "T024BE7LH/@ana", "/U024BE7LH", "T02/U02/U03"] {
            assert!(!is_person(other), "{other}");
        }
        assert!(is_usergroup("S0614TZR7") && !is_usergroup("@ops"));
    }

    #[test]
    fn the_direct_messages_of_a_person_are_a_place_of_their_own() {
        let ana = direct("T024BE7LH/U024BE7LH").unwrap_or(Target(String::new()));
        assert_eq!(place(&ana), Ok(SlackPlace::Member("U024BE7LH")));
        assert!(!is_channel(&ana.0), "the config does not spell one");
        assert_eq!(direct("U024BE7LH"), None);
    }

    #[test]
    fn a_message_is_known_by_its_channel_and_its_time() {
        let message = reference("C024BE7LH", "1503435956.000247");
        assert_eq!(parts(&message), Ok(("C024BE7LH", "1503435956.000247")));
        assert!(parts(&MessageRef("42".to_owned())).is_err());
    }

    #[test]
    fn a_message_in_a_thread_says_so_and_the_first_of_a_thread_is_a_message_of_the_channel() {
        let inside = reference_in("C024BE7LH", "2.2", Some("1.1"));
        assert_eq!((parts(&inside), thread_of(&inside)), (Ok(("C024BE7LH", "2.2")), Some("1.1")));
        let first = reference_in("C024BE7LH", "1.1", Some("1.1"));
        assert_eq!((&first, thread_of(&first)), (&reference("C024BE7LH", "1.1"), None));
        assert_eq!(thread(&Target(first.0)), Some(("C024BE7LH", "1.1")));
        for other in ["C024BE7LH", "C024BE7LH/", "C024BE7LH/x", "nowhere/1.1", "C024BE7LH/1.1/2"] {
            assert_eq!(thread(&Target(other.to_owned())), None, "{other}");
        }
    }
}
