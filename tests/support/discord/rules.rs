//! What Discord refuses in a body, with its 50035 errors.

use serde_json::{Value, json};

/// A refusal.
#[derive(Debug)]
pub(super) struct Refusal {
    pub status: u16,
    pub body: Value,
}

impl Refusal {
    pub fn new(status: u16, code: i64, message: &str) -> Self {
        Self { status, body: json!({"message": message, "code": code}) }
    }

    /// Invalid Form Body at this path.
    pub fn form(path: &str, message: &str) -> Self {
        let mut errors = json!({"_errors": [{"code": "INVALID", "message": message}]});
        for key in path.rsplit('.') {
            errors = json!({ key: errors });
        }
        let body = json!({"message": "Invalid Form Body", "code": 50035, "errors": errors});
        Self { status: 400, body }
    }
}

/// Checks what a message says.
pub(super) fn message(body: &Value, uploads: usize) -> Result<(), Refusal> {
    length(body, "content", 0, 2000)?;
    if body.get("nonce").is_some() {
        length(body, "nonce", 0, 25)?;
    }
    if uploads > 10 {
        return Err(Refusal::form("attachments", "Must be 10 or fewer in length."));
    }
    components(&body["components"])
}

/// Checks a window.
pub(super) fn modal(body: &Value) -> Result<(), Refusal> {
    length(body, "title", 1, 45)?;
    length(body, "custom_id", 1, 100)?;
    let rows = body["components"].as_array().cloned().unwrap_or_default();
    if rows.is_empty() || rows.len() > 5 {
        return Err(Refusal::form("data.components", "Must be between 1 and 5 in length."));
    }
    for row in &rows {
        let input = &row["components"][0];
        if input["type"] != 4 || row["components"].as_array().map(Vec::len) != Some(1) {
            return Err(Refusal::form("data.components", "A row of a modal holds one text input."));
        }
        length(input, "label", 1, 45)?;
        length(input, "custom_id", 1, 100)?;
        length(input, "placeholder", 0, 100)?;
    }
    Ok(())
}

/// Whom a content would ping: the server reads mentions whatever the markdown around them.
pub(super) fn pings(body: &Value) -> bool {
    let content = body["content"].as_str().unwrap_or_default();
    let mentions = ["@everyone", "@here", "<@"].iter().any(|mention| content.contains(mention));
    let allowed = &body["allowed_mentions"];
    let silent =
        ["users", "roles"].iter().all(|key| allowed[key].as_array().is_none_or(Vec::is_empty))
            && allowed["parse"].as_array().is_some_and(Vec::is_empty);
    mentions && !silent
}

fn components(components: &Value) -> Result<(), Refusal> {
    let rows = components.as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.len() > 5 {
        return Err(Refusal::form("components", "Must be 5 or fewer in length."));
    }
    let mut seen = Vec::new();
    for row in rows {
        let buttons = row["components"].as_array().map(Vec::as_slice).unwrap_or_default();
        if row["type"] != 1 || buttons.is_empty() || buttons.len() > 5 {
            return Err(Refusal::form("components", "Must be between 1 and 5 in length."));
        }
        for button in buttons {
            if button["type"] != 2 || !(1..=4).contains(&button["style"].as_u64().unwrap_or(0)) {
                return Err(Refusal::form("components", "Not a button that can be pressed."));
            }
            length(button, "label", 1, 80)?;
            length(button, "custom_id", 1, 100)?;
            if seen.contains(&&button["custom_id"]) {
                return Err(Refusal::form(
                    "components",
                    "Component custom id cannot be duplicated",
                ));
            }
            seen.push(&button["custom_id"]);
        }
    }
    Ok(())
}

/// Lengths are taken of the trimmed text, in UTF-16 units to be strict.
fn length(body: &Value, key: &str, least: usize, most: usize) -> Result<(), Refusal> {
    let text = body[key].as_str().unwrap_or_default().trim();
    let length = text.encode_utf16().count();
    if (least..=most).contains(&length) {
        return Ok(());
    }
    Err(Refusal::form(key, &format!("Must be between {least} and {most} in length.")))
}
