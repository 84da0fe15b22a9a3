//! The Web API.

use super::world::{Fault, Message, State as World};
use super::{BOT, FakeSlack, TEAM, blocks};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// The methods that take JSON; the others read a form only.
const WRITING: [&str; 7] = [
    "chat.postMessage",
    "chat.postEphemeral",
    "chat.update",
    "views.open",
    "conversations.open",
    "files.completeUploadExternal",
    "apps.connections.open",
];

type Outcome = Result<Value, String>;

pub async fn call(
    State(fake): State<FakeSlack>,
    Path(method): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let fault = fake.change(|state| state.fault(&method));
    if fake.lock().down {
        return html(502);
    }
    match fault {
        Some(Fault::Limited { retry_after }) => return limited(retry_after),
        Some(Fault::Html(status)) => return html(status),
        Some(Fault::DropBefore) => panic!("the connection ends"),
        Some(Fault::Garbage) => return "{\"ok\": tr".into_response(),
        Some(Fault::Error(error)) => return axum::Json(refusal(error)).into_response(),
        Some(Fault::DropAfter) | None => {}
    }
    let header = |name| headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let kind = header(header::CONTENT_TYPE).to_owned();
    let token = header(header::AUTHORIZATION).strip_prefix("Bearer ").unwrap_or_default();
    let token = token.to_owned();
    let url = fake.url().replacen("http", "ws", 1);
    let outcome = fake.change(|state| {
        if let Some(error) = state.refusal(&method, &token) {
            return Err(error.to_owned());
        }
        if let Some(scope) = lacking(state, &method) {
            return Err(format!("missing_scope {scope}"));
        }
        let arguments = arguments(state, &method, &kind, &body);
        let outcome = answer(state, &method, &arguments, (&url, fake.url()));
        let word = outcome.as_ref().err().map_or("ok", String::as_str);
        state.calls.push(format!("{method} {word}"));
        outcome
    });
    if matches!(fault, Some(Fault::DropAfter)) {
        panic!("the connection ends");
    }
    match outcome {
        Ok(mut answer) => {
            answer["ok"] = true.into();
            axum::Json(answer).into_response()
        }
        Err(error) if error.starts_with("ratelimited") => limited(1),
        Err(error) => axum::Json(refusal(&error)).into_response(),
    }
}

fn refusal(error: &str) -> Value {
    let (error, detail) = error.split_once(' ').unwrap_or((error, ""));
    let needed = if error == "missing_scope" { detail } else { "" };
    json!({"ok": false, "error": error, "needed": needed,
        "response_metadata": {"messages": [detail]}})
}

/// The scope that a method needs and that the app's manifest does not ask for, or that was taken
/// away.
fn lacking(state: &World, method: &str) -> Option<&'static str> {
    let needed = match method {
        "chat.postMessage" | "chat.postEphemeral" | "chat.update" => "chat:write",
        "conversations.open" => "im:write",
        "conversations.info" => "channels:read",
        "conversations.history" | "conversations.replies" => "channels:history",
        "users.info" | "bots.info" => "users:read",
        "usergroups.list" => "usergroups:read",
        "files.getUploadURLExternal" | "files.completeUploadExternal" => "files:write",
        _ => return None,
    };
    (!state.scopes.iter().any(|it| it == needed)).then_some(needed)
}

fn limited(seconds: u64) -> Response {
    let body = axum::Json(json!({"ok": false, "error": "ratelimited"}));
    let retry = [(header::RETRY_AFTER, seconds.to_string())];
    (StatusCode::TOO_MANY_REQUESTS, retry, body).into_response()
}

fn html(status: u16) -> Response {
    (StatusCode::from_u16(status).unwrap(), "<html>Server Error</html>").into_response()
}

fn arguments(state: &mut World, method: &str, kind: &str, body: &[u8]) -> Value {
    if kind.starts_with("application/json") {
        if !WRITING.contains(&method) {
            state.violations.push(format!("{method} takes no JSON"));
        }
        if !kind.contains("charset=utf-8") {
            state.violations.push(format!("{method}: JSON without a charset"));
        }
        return serde_json::from_slice(body).unwrap();
    }
    let pairs = String::from_utf8(body.to_vec()).unwrap();
    let url = reqwest::Url::parse(&format!("http://x/?{pairs}")).unwrap();
    let pairs = url.query_pairs().map(|(key, value)| (key.into_owned(), value.into_owned().into()));
    Value::Object(pairs.collect::<Map<_, _>>())
}

fn text(arguments: &Value, key: &str) -> String {
    arguments[key].as_str().unwrap_or_default().to_owned()
}

fn answer(state: &mut World, method: &str, arguments: &Value, urls: (&str, &str)) -> Outcome {
    match method {
        "auth.test" => Ok(json!({"url": "https://test.slack.com/", "team": "Test Team",
            "user": "fakebot", "team_id": TEAM, "user_id": BOT, "bot_id": "B0000000001"})),
        "bots.info" => Ok(json!({"bot": {"id": "B0000000001", "app_id": "A0000000001"}})),
        "apps.connections.open" => {
            let ticket = format!("ticket-{}", state.next());
            state.tickets.push(ticket.clone());
            Ok(json!({"url": format!("{}/link?ticket={ticket}", urls.0)}))
        }
        "chat.postMessage" => post(state, arguments),
        "chat.postEphemeral" => whisper(state, arguments),
        "chat.update" => update(state, arguments),
        "conversations.info" => info(state, arguments),
        "conversations.open" => open_direct(state, arguments),
        "conversations.history" => history(state, arguments, None),
        "conversations.replies" => history(state, arguments, Some(&text(arguments, "ts"))),
        "users.info" => {
            let person = state.people.get(&text(arguments, "user")).ok_or("user_not_found")?;
            Ok(json!({"user": person.wire()}))
        }
        "usergroups.list" => Ok(json!({"usergroups": state.usergroups()})),
        "views.open" => open(state, arguments),
        "files.getUploadURLExternal" => {
            let id = format!("F{}", state.next());
            let length = text(arguments, "length").parse().unwrap();
            state.files.insert(id.clone(), (text(arguments, "filename"), length, None));
            Ok(json!({"file_id": id, "upload_url": format!("{}/upload/{id}", urls.1)}))
        }
        "files.completeUploadExternal" => share(state, arguments),
        other => Err(format!("unknown_method {other}")),
    }
}

/// The channel, where the bot may write.
fn writable(state: &mut World, channel: &str) -> Result<(), String> {
    let channel = state.channels.get(channel).ok_or("channel_not_found")?;
    match (channel.archived, channel.bot) {
        (true, _) => Err("is_archived".to_owned()),
        (_, false) => Err("not_in_channel".to_owned()),
        _ => Ok(()),
    }
}

fn checked(state: &mut World, method: &str, arguments: &Value, known: &[&str]) -> Outcome {
    let unknown = arguments.as_object().unwrap().keys().find(|it| !known.contains(&it.as_str()));
    if let Some(unknown) = unknown {
        state.violations.push(format!("{method}: unknown argument {unknown}"));
    }
    let fallback = text(arguments, "text");
    if fallback.trim().is_empty() || fallback.chars().count() > 4_000 {
        state.violations.push(format!("{method}: a fallback of {} bytes", fallback.len()));
    }
    if fallback.contains(['<', '>']) || has_bare_ampersand(&fallback) {
        state.violations.push(format!("{method}: not escaped: {fallback}"));
    }
    if let Some(why) = blocks::fault(&arguments["blocks"]) {
        state.violations.push(format!("{method}: {why}"));
        return Err(format!("invalid_blocks {why}"));
    }
    Ok(arguments["blocks"].clone())
}

fn has_bare_ampersand(text: &str) -> bool {
    text.split('&')
        .skip(1)
        .any(|rest| !["amp;", "lt;", "gt;"].iter().any(|it| rest.starts_with(it)))
}

fn post(state: &mut World, arguments: &Value) -> Outcome {
    let known = [
        "channel",
        "text",
        "blocks",
        "metadata",
        "unfurl_links",
        "unfurl_media",
        "parse",
        "thread_ts",
    ];
    let channel = text(arguments, "channel");
    writable(state, &channel)?;
    let thread = arguments["thread_ts"].as_str().map(str::to_owned);
    if let Some(thread) = &thread {
        let first = state.message_mut(&format!("{channel}/{thread}"));
        let first = first.filter(|it| !it.deleted).ok_or("thread_not_found")?;
        if first.thread.is_some() {
            state.violations.push(format!("chat.postMessage: {thread} is no parent"));
        }
    }
    let now = Instant::now();
    let full_at = state.posts.get(&channel).copied().unwrap_or(now).max(now);
    if state.limits && full_at > now + Duration::from_secs(4) {
        return Err("ratelimited".to_owned());
    }
    state.posts.insert(channel.clone(), full_at + Duration::from_secs(1));
    let blocks = checked(state, "chat.postMessage", arguments, &known)?;
    if arguments["unfurl_links"] != false || arguments["unfurl_media"] != false {
        state.violations.push("chat.postMessage: Slack would fetch links of the text".to_owned());
    }
    let metadata = arguments["metadata"].clone();
    let message =
        Message { metadata, thread, ..message(&channel, &text(arguments, "text"), blocks) };
    let ts = state.store(message);
    Ok(json!({"channel": channel, "ts": ts}))
}

fn message(channel: &str, text: &str, blocks: Value) -> Message {
    Message {
        channel: channel.to_owned(),
        ts: String::new(),
        user: BOT.to_owned(),
        text: text.to_owned(),
        blocks,
        metadata: Value::Null,
        thread: None,
        private_to: None,
        file: None,
        deleted: false,
        edits: 0,
    }
}

fn update(state: &mut World, arguments: &Value) -> Outcome {
    let known = ["channel", "ts", "text", "blocks", "parse"];
    let channel = text(arguments, "channel");
    let now = Instant::now();
    state.edits.retain(|at| now - *at < Duration::from_secs(60));
    if state.limits && state.edits.len() >= 50 {
        state.violations.push("chat.update: more than 50 a minute".to_owned());
        return Err("ratelimited".to_owned());
    }
    state.edits.push(now);
    let blocks = checked(state, "chat.update", arguments, &known)?;
    if arguments["parse"] != "none" {
        state.violations.push("chat.update parses names and links of the text".to_owned());
    }
    if state.channels.get(&channel).is_none_or(|it| !it.bot) {
        return Err("channel_not_found".to_owned());
    }
    if state.channel(&channel).archived {
        return Err("is_inactive".to_owned());
    }
    let reference = format!("{channel}/{}", text(arguments, "ts"));
    let message = state.message_mut(&reference).ok_or("message_not_found")?;
    if message.user != BOT || message.private_to.is_some() {
        return Err("cant_update_message".to_owned());
    }
    (message.text, message.blocks) = (text(arguments, "text"), blocks);
    message.edits += 1;
    Ok(json!({"channel": channel, "ts": arguments["ts"]}))
}

fn whisper(state: &mut World, arguments: &Value) -> Outcome {
    let known = ["channel", "user", "text", "blocks", "thread_ts"];
    let (channel, user) = (text(arguments, "channel"), text(arguments, "user"));
    writable(state, &channel)?;
    let blocks = checked(state, "chat.postEphemeral", arguments, &known)?;
    state.told(&user, &blocks::text(&blocks));
    Ok(json!({"message_ts": "1.1"}))
}

fn info(state: &mut World, arguments: &Value) -> Outcome {
    let id = text(arguments, "channel");
    let channel = state.channels.get(&id).ok_or("channel_not_found")?;
    Ok(json!({"channel": {"id": id, "name": channel.name, "is_im": id.starts_with('D'),
        "is_archived": channel.archived, "is_member": channel.bot}}))
}

fn open_direct(state: &mut World, arguments: &Value) -> Outcome {
    let user = text(arguments, "users");
    let person = state.people.get(&user).ok_or("user_not_found")?;
    if person.is_bot {
        return Err("cannot_dm_bot".to_owned());
    }
    let id = format!("D{}", user.split_at(1).1);
    if !state.channels.contains_key(&id) {
        state.add_channel(&id, "");
    }
    Ok(json!({"channel": {"id": id}}))
}

fn history(state: &mut World, arguments: &Value, thread: Option<&str>) -> Outcome {
    let channel = text(arguments, "channel");
    if state.channels.get(&channel).is_none_or(|it| !it.bot) {
        return Err("not_in_channel".to_owned());
    }
    let here = state.messages.iter().filter(|it| {
        let of_thread = match thread {
            Some(ts) => it.thread.as_deref() == Some(ts) || it.ts == ts,
            None => it.thread.is_none(),
        };
        it.channel == channel && !it.deleted && it.private_to.is_none() && of_thread
    });
    let mut messages: Vec<_> = here
        .map(|it| {
            let mut wire = it.wire();
            if let Some(id) = &it.file {
                wire["files"] = json!([{"id": id, "name": state.files[id].0}]);
            }
            wire
        })
        .collect();
    if thread.is_none() {
        messages.reverse();
    }
    Ok(json!({"messages": messages, "has_more": false}))
}

fn open(state: &mut World, arguments: &Value) -> Outcome {
    let trigger = text(arguments, "trigger_id");
    let view = &arguments["view"];
    let short = |key: &str| view[key]["text"].as_str().is_some_and(|it| it.chars().count() <= 24);
    if view["type"] != "modal" || !["title", "submit", "close"].iter().all(|key| short(key)) {
        state.violations.push(format!("views.open: {view}"));
        return Err("invalid_arguments".to_owned());
    }
    let it = state.interactions.iter_mut().find(|it| it.trigger == trigger);
    let it = it.ok_or("invalid_trigger_id")?;
    if it.sent.elapsed() > super::people::DEADLINE {
        return Err("expired_trigger_id".to_owned());
    }
    if it.modal.is_some() {
        return Err("exchanged_trigger_id".to_owned());
    }
    it.modal = Some(view.clone());
    Ok(json!({"view": {"id": "V1"}}))
}

fn share(state: &mut World, arguments: &Value) -> Outcome {
    let channel = text(arguments, "channel_id");
    writable(state, &channel)?;
    let id = text(&arguments["files"][0], "id");
    let uploaded = state.files.get(&id).is_some_and(|(_, _, text)| text.is_some());
    if !uploaded {
        return Err("file_not_found".to_owned());
    }
    let thread = Some(text(arguments, "thread_ts"));
    state.store(Message { thread, file: Some(id), ..message(&channel, "", Value::Null) });
    Ok(json!({"files": []}))
}

pub async fn upload(
    State(fake): State<FakeSlack>,
    Path(id): Path<String>,
    body: Bytes,
) -> StatusCode {
    fake.change(|state| {
        let Some(file) = state.files.get_mut(&id) else { return StatusCode::NOT_FOUND };
        if file.1 != body.len() {
            state.violations.push(format!("a file of {} bytes, not as announced", body.len()));
            return StatusCode::BAD_REQUEST;
        }
        file.2 = Some(String::from_utf8(body.to_vec()).unwrap());
        StatusCode::OK
    })
}

/// What is sent to the address that came with an interaction.
pub async fn respond(
    State(fake): State<FakeSlack>,
    Path(key): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let body: Value = serde_json::from_slice(&body).unwrap();
    fake.change(|state| {
        if headers.contains_key(header::AUTHORIZATION) {
            state.violations.push("a token goes to a response URL".to_owned());
        }
        if body["response_type"] != "ephemeral" || body["replace_original"] != false {
            state.violations.push(format!("an answer that others see: {body}"));
        }
        let known = ["response_type", "replace_original", "text", "blocks"];
        let Ok(blocks) = checked(state, "response_url", &body, &known) else {
            return StatusCode::BAD_REQUEST;
        };
        let Some(it) = state.interactions.iter_mut().find(|it| it.envelope_key == key) else {
            return StatusCode::NOT_FOUND;
        };
        it.told.push(blocks::text(&blocks));
        StatusCode::OK
    })
}
