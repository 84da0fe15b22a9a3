//! Payloads as Slack sends them.

use super::*;

fn written(event: Value) -> Option<SlackAction> {
    read("events_api", &json!({"event": event}), "UBOT")
}

#[test]
fn a_persons_words_are_read_as_they_typed_them_and_a_bots_are_not() {
    let event = json!({"type": "message", "user": "U1", "channel": "C1", "channel_type": "im",
        "text": "not &lt;now&gt; &amp;amp; see <https://x.org|x.org>, <https://y.org> <@UBOT>",
        "thread_ts": "1.2", "parent_user_id": "UBOT"});
    let message = WrittenMessage {
        user: "U1".to_owned(),
        channel: "C1".to_owned(),
        text: "not <now> &amp; see x.org, https://y.org <@UBOT>".to_owned(),
        thread: Some((ids::reference("C1", "1.2"), "UBOT".to_owned())),
        private: true,
        second_hand: None,
    };
    assert_eq!(written(event.clone()), Some(SlackAction::Message(message)));
    for (key, value) in [("bot_id", "B1"), ("user", "UBOT"), ("subtype", "message_changed")] {
        let mut event = event.clone();
        event.as_object_mut().map(|event| event.insert(key.to_owned(), value.into()));
        assert_eq!(written(event), None, "{key}");
    }
}

#[test]
fn what_is_shared_sent_by_an_app_or_edited_is_not_its_writers_own() {
    let event = |key: &str, value: Value| json!({"type": "message", "user": "U1", "channel": "C1", "text": "approve a7f3", key: value});
    let read = |key: &str, value: Value| match written(event(key, value)) {
        Some(SlackAction::Message(message)) => message.second_hand.unwrap_or("its own"),
        _ => "no message",
    };
    let shared = json!([{"is_share": true, "author_id": "U2", "text": "approve a7f3"}]);
    for (key, value, word) in [
        ("attachments", shared, "shares"),
        ("app_id", json!("A1"), "sent for you"),
        ("edited", json!({"user": "U1", "ts": "1.3"}), "edited"),
        ("attachments", json!([]), "its own"),
        ("ts", json!("1.2"), "its own"),
    ] {
        assert!(read(key, value.clone()).contains(word), "{key} {value}");
    }
}

#[test]
fn the_bots_own_way_into_a_channel_changes_its_access_and_nobody_elses_does() {
    let joined = |user: &str| written(json!({"type": "member_joined_channel", "user": user}));
    assert_eq!(joined("UBOT"), Some(SlackAction::Access));
    assert_eq!(joined("U1"), None);
    assert_eq!(written(json!({"type": "channel_unarchive"})), Some(SlackAction::Access));
}

#[test]
fn only_our_own_window_and_only_buttons_and_menus_are_read() {
    let asked = AskedText { token: "t".to_owned(), message: ids::reference("C1", "1.2") };
    let submitted = |callback: &str| {
        let values = json!({WINDOW: {WINDOW: {"value": "use trash-put"}}});
        let view = json!({"callback_id": callback, "private_metadata": asked.metadata(),
            "state": {"values": values}});
        json!({"type": "view_submission", "user": {"id": "U1"}, "view": view})
    };
    let text = WindowText {
        user: "U1".to_owned(),
        asked: asked.clone(),
        text: "use trash-put".to_owned(),
    };
    let ours = read("interactive", &submitted(WINDOW), "UBOT");
    assert_eq!(ours, Some(SlackAction::Window(text)));
    assert_eq!(read("interactive", &submitted("other"), "UBOT"), None);
    let pressed = |action: Value| {
        json!({"type": "block_actions", "user": {"id": "U1"}, "actions": [action],
            "container": {"channel_id": "C1", "message_ts": "1.2"}})
    };
    let button = pressed(json!({"type": "button", "value": "t", "action_id": "t"}));
    assert!(read("interactive", &button, "UBOT").is_some());
    let tick = pressed(json!({"type": "checkboxes", "action_id": "t:0"}));
    assert_eq!(read("interactive", &tick, "UBOT"), None, "nothing is submitted yet");
    let date = pressed(json!({"type": "datepicker", "value": "t"}));
    assert_eq!(read("interactive", &date, "UBOT"), None);
}

#[test]
fn what_is_ticked_comes_with_the_button_that_submits_it_and_with_no_other() {
    let payload = |id: &str| {
        let ticked = json!({"type": "checkboxes",
            "selected_options": [{"value": "o0"}, {"value": "o2"}]});
        json!({"type": "block_actions", "user": {"id": "U1"},
            "actions": [{"type": "button", "value": "e", "action_id": id}],
            "container": {"channel_id": "C1", "message_ts": "1.2"},
            "state": {"values": {"b": {"a": ticked}}}})
    };
    let chosen = |payload: &Value| button(payload).map(|press| press.chosen);
    assert_eq!(chosen(&payload("e")), Some(None));
    let ticked = vec!["o0".to_owned(), "o2".to_owned()];
    assert_eq!(chosen(&payload("submit:e")), Some(Some(ticked)));
    let mut without = payload("submit:e");
    without.as_object_mut().map(|it| it.remove("state"));
    assert_eq!(chosen(&without), Some(Some(vec![])), "nothing, and not what stands elsewhere");
}
