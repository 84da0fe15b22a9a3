//! The REST API.

use super::rules::{self, Refusal};
use super::world::{Fault, State as World, bot};
use super::{BOT, FakeDiscord, GUILD, TOKEN};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

pub(super) const EPHEMERAL: u64 = 1 << 6;
/// The number of messages per window and channel, and as many edits.
const LIMIT: u32 = 5;
const WINDOW: Duration = Duration::from_secs(5);

pub(super) type Files = Vec<(String, String)>;
pub(super) type Answer = Result<Value, Refusal>;

pub(super) async fn any(State(fake): State<FakeDiscord>, request: Request) -> Response {
    let path = request.uri().path().trim_start_matches("/api/v10").to_owned();
    let (method, headers) = (request.method().to_string(), request.headers().clone());
    let call = format!("{method} {path}");
    let fault = fake.change(|state| state.meet_fault(&call));
    match fault {
        Some(Fault::DropBefore) => hang_up(),
        Some(Fault::Html(status)) => return answer(&fake, &call, html(status)),
        Some(Fault::Garbage) => return answer(&fake, &call, r#"{"id": "#.into_response()),
        Some(Fault::Limited { retry_after, global }) => {
            return answer(&fake, &call, limited(retry_after, global));
        }
        Some(Fault::Refused { status, code, ref message }) => {
            return answer(&fake, &call, refused(Refusal::new(status, code, message)));
        }
        Some(Fault::Slow(time)) => tokio::time::sleep(time).await,
        Some(Fault::DropAfter) | None => {}
    }
    let result = match read(request).await {
        Ok((body, files)) => fake.change(|state| {
            let parts: Vec<&str> = path.split('/').skip(1).collect();
            state.handle(&method, &parts, &headers, &body, files)
        }),
        Err(refusal) => Err(refusal),
    };
    if matches!(fault, Some(Fault::DropAfter)) {
        hang_up();
    }
    let response = match result {
        Ok(Value::Null) => StatusCode::NO_CONTENT.into_response(),
        Ok(body) => axum::Json(body).into_response(),
        Err(refusal) => refused(refusal),
    };
    let response = fake.lock().with_bucket(&call, response);
    answer(&fake, &call, response)
}

/// Ends the connection without a response. `resume_unwind` skips the panic hook, which would print.
fn hang_up() -> ! {
    std::panic::resume_unwind(Box::new("the connection breaks"))
}

fn answer(fake: &FakeDiscord, call: &str, response: Response) -> Response {
    fake.change(|state| state.calls.push(format!("{call} {}", response.status().as_u16())));
    response
}

fn refused(refusal: Refusal) -> Response {
    if let Some(after) = refusal.body["retry_after"].as_f64() {
        return limited(after, false);
    }
    (StatusCode::from_u16(refusal.status).unwrap(), axum::Json(refusal.body)).into_response()
}

fn html(status: u16) -> Response {
    (StatusCode::from_u16(status).unwrap(), "<html><body>Bad Gateway</body></html>").into_response()
}

fn limited(retry_after: f64, global: bool) -> Response {
    let message = "You are being rate limited.";
    let body = json!({"message": message, "retry_after": retry_after, "global": global});
    let seconds = (retry_after.ceil() as u64).to_string();
    let headers = [(header::RETRY_AFTER, seconds)];
    (StatusCode::TOO_MANY_REQUESTS, headers, axum::Json(body)).into_response()
}

async fn read(request: Request<Body>) -> Result<(Value, Files), Refusal> {
    let kind = request.headers().get(header::CONTENT_TYPE).cloned();
    let kind = kind.as_ref().and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
    let bad = || Refusal::new(400, 50109, "The request body contains invalid JSON.");
    if !kind.starts_with("multipart/") {
        let bytes = axum::body::to_bytes(request.into_body(), 30 << 20).await.map_err(|_| bad())?;
        let body = if bytes.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(&bytes) };
        return Ok((body.map_err(|_| bad())?, Vec::new()));
    }
    let boundary = multer::parse_boundary(kind).map_err(|_| bad())?;
    let mut form = multer::Multipart::new(request.into_body().into_data_stream(), boundary);
    let (mut body, mut files) = (Value::Null, Vec::new());
    while let Some(field) = form.next_field().await.map_err(|_| bad())? {
        let (part, name) = (field.name().unwrap_or_default().to_owned(), field.file_name());
        let name = name.map(str::to_owned);
        let text = field.text().await.map_err(|_| bad())?;
        match name {
            Some(_) if text.len() > 10 << 20 => {
                return Err(Refusal::new(413, 40005, "Request entity too large"));
            }
            Some(name) if part == format!("files[{}]", files.len()) => files.push((name, text)),
            Some(_) => return Err(Refusal::form("files", "parts are named files[n], in order")),
            None => body = serde_json::from_str(&text).map_err(|_| bad())?,
        }
    }
    Ok((body, files))
}

impl World {
    fn handle(
        &mut self,
        method: &str,
        path: &[&str],
        headers: &HeaderMap,
        body: &Value,
        files: Files,
    ) -> Answer {
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        if !header(header::USER_AGENT).starts_with("DiscordBot (") {
            self.violate("a User-Agent that is not `DiscordBot (url, version)`");
        }
        if rules::pings(body) || rules::pings(&body["data"]) {
            self.violate(format!("somebody would be pinged: {body}"));
        }
        let open = matches!(path, ["interactions" | "webhooks", ..] | ["gateway"]);
        let ours = header(header::AUTHORIZATION) == format!("Bot {TOKEN}");
        if !open && (self.token_refused || !ours) {
            return Err(Refusal::new(401, 0, "401: Unauthorized"));
        }
        match (method, path) {
            ("GET", ["gateway"]) => Ok(json!({"url": self.gateway(headers)})),
            ("GET", ["gateway", "bot"]) => Ok(json!({
                "url": self.gateway(headers), "shards": 1,
                "session_start_limit": {
                    "total": 1000, "remaining": 1000 - self.identified, "reset_after": 86_400_000,
                    "max_concurrency": 1,
                },
            })),
            ("GET", ["users", "@me"]) => Ok(bot()),
            ("GET", ["applications", "@me"]) => Ok(json!({"id": BOT, "name": "countersign"})),
            ("GET", ["applications", BOT, "commands"]) => Ok(json!(self.commands)),
            ("POST", ["applications", BOT, "commands"]) => self.create_command(body),
            ("GET", ["channels", channel]) => {
                // Reading a channel needs no right to write in it.
                let muted = self.channels.get(*channel).is_some_and(|it| it.refusal == Some(50013));
                if !muted {
                    self.channel(channel)?;
                }
                Ok(self.channel_json(channel))
            }
            ("POST", ["users", "@me", "channels"]) => Ok(self.direct_channel(body)),
            ("POST", ["channels", channel, "typing"]) => self.channel(channel).map(|_| Value::Null),
            ("PATCH", ["channels", channel]) => self.edit_channel(channel, body),
            ("POST", ["channels", channel, "messages"]) => self.post(channel, body, files),
            ("GET", ["channels", channel, "messages", id]) => Ok(self.message(channel, id)?.json()),
            ("DELETE", ["channels", channel, "messages", id]) => self.delete_message(channel, id),
            ("POST", ["channels", channel, "messages", id, "threads"]) => {
                self.start_thread(channel, id, body)
            }
            ("PATCH", ["channels", channel, "messages", id]) => {
                self.patch(channel, id, body, files)
            }
            ("POST", ["interactions", id, token, "callback"]) => {
                self.callback(id, token, body, files)
            }
            ("POST", ["webhooks", BOT, token]) => self.follow_up(token, body),
            ("GET", ["guilds", GUILD]) => Ok(self.guild()),
            ("GET", ["guilds", GUILD, "members", BOT]) => Ok(json!({
                "user": bot(), "roles": [], "joined_at": "2026-01-01T00:00:00.000000+00:00",
                "deaf": false, "mute": false, "flags": 0,
            })),
            _ => {
                self.violate(format!("unknown: {method} /{}", path.join("/")));
                Err(Refusal::new(404, 0, "404: Not Found"))
            }
        }
    }

    /// The channel of direct messages with a person, made when it is asked for.
    fn direct_channel(&mut self, body: &Value) -> Value {
        let channel = format!("7{}", body["recipient_id"].as_str().unwrap_or_default());
        if !self.channels.contains_key(&channel) {
            self.add_channel(&channel, "", false);
            self.channels.get_mut(&channel).unwrap().direct = true;
        }
        self.channel_json(&channel)
    }

    /// Registers a command; one with the same name is replaced.
    fn create_command(&mut self, body: &Value) -> Answer {
        rules::command(body)?;
        let mut command = body.clone();
        command["id"] = json!(self.next_id());
        command["application_id"] = json!(BOT);
        self.commands.retain(|it| it["name"] != command["name"]);
        self.commands.push(command.clone());
        Ok(command)
    }

    fn gateway(&self, headers: &HeaderMap) -> String {
        let host = headers.get(header::HOST).unwrap().to_str().unwrap();
        format!("ws://{host}/gateway")
    }

    fn guild(&self) -> Value {
        let everyone = json!({
            "id": GUILD, "name": "@everyone", "color": 0, "hoist": false, "position": 0,
            "colors": {"primary_color": 0, "secondary_color": null, "tertiary_color": null},
            "permissions": self.permissions.to_string(), "managed": false, "mentionable": false, "flags": 0,
        });
        json!({
            "id": GUILD, "name": "Test", "icon": null, "splash": null, "discovery_splash": null,
            "owner_id": "1", "afk_channel_id": null, "afk_timeout": 300, "verification_level": 0,
            "default_message_notifications": 0, "explicit_content_filter": 0, "roles": [everyone],
            "emojis": [], "features": [], "mfa_level": 0, "application_id": null,
            "system_channel_id": null, "system_channel_flags": 0, "rules_channel_id": null,
            "vanity_url_code": null, "description": null, "banner": null, "premium_tier": 0,
            "premium_subscription_count": 0, "preferred_locale": "en-US", "nsfw_level": 0,
            "public_updates_channel_id": null, "stickers": [], "nsfw": false,
            "premium_progress_bar_enabled": false,
        })
    }

    /// Takes one request from the channel's bucket.
    pub fn limit(&mut self, method: &str, channel: &str) -> Result<(), Refusal> {
        if !self.limits {
            return Ok(());
        }
        let fresh = || (Instant::now(), LIMIT);
        let bucket = self.buckets.entry(format!("{method} {channel}")).or_insert_with(fresh);
        if bucket.0.elapsed() >= WINDOW {
            *bucket = fresh();
        }
        if bucket.1 == 0 {
            let after = (WINDOW - bucket.0.elapsed()).as_secs_f64();
            self.violate(format!("{method} to {channel} beyond its limit"));
            let body = json!({"message": "rate limited", "retry_after": after, "global": false});
            return Err(Refusal { status: 429, body });
        }
        bucket.1 -= 1;
        Ok(())
    }

    /// Adds the headers with the state of the bucket.
    fn with_bucket(&self, call: &str, mut response: Response) -> Response {
        let key = call.split('/').collect::<Vec<_>>();
        let key = match key.as_slice() {
            // `method` ends with the space in front of the path, so this is the key that `limit`
            // uses.
            [method, "channels", channel, "messages", ..] => {
                format!("{method}{channel}")
            }
            _ => return response,
        };
        let Some((begun, left)) = self.buckets.get(&key) else { return response };
        let after = WINDOW.saturating_sub(begun.elapsed()).as_secs_f64();
        for (name, value) in [
            ("x-ratelimit-limit", LIMIT.to_string()),
            ("x-ratelimit-remaining", left.to_string()),
            ("x-ratelimit-reset-after", format!("{after:.3}")),
        ] {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        response
    }
}
