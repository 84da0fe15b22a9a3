//! The checks that Discord applies to a body, with its 50035 errors.

use serde_json::{Value, json};

/// An error response.
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

/// Checks a message.
pub(super) fn message(body: &Value, uploads: usize) -> Result<(), Refusal> {
    // The limits in Discord's documentation.
    length(body, "content", 0, 2000)?;
    if body.get("nonce").is_some() {
        length(body, "nonce", 0, 25)?;
    }
    if uploads > 10 {
        return Err(Refusal::form("attachments", "Must be 10 or fewer in length."));
    }
    components(&body["components"])
}

/// Checks a modal.
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

/// Checks a command.
pub(super) fn command(body: &Value) -> Result<(), Refusal> {
    let options = body["options"].as_array().cloned().unwrap_or_default();
    let mut optional = false;
    for named in std::iter::once(body).chain(&options) {
        length(named, "name", 1, 32)?;
        length(named, "description", 1, 100)?;
        let name = named["name"].as_str().unwrap_or_default();
        if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return Err(Refusal::form("name", "Command name is invalid"));
        }
    }
    for option in &options {
        if option["type"] != 3 {
            return Err(Refusal::form("options", "Value must be one of {3}."));
        }
        let required = option["required"] == true;
        if required && optional {
            let order = "Required options must be placed before non-required options";
            return Err(Refusal::form("options", order));
        }
        optional |= !required;
    }
    if options.len() > 25 { Err(Refusal::form("options", "Must be 25 or fewer.")) } else { Ok(()) }
}

/// Returns whether a message pings somebody: the server parses mentions whatever the markdown is.
pub(super) fn pings(body: &Value) -> bool {
    let mut content = body["content"].as_str().unwrap_or_default().to_owned();
    // A role that is named on purpose.
    for role in body["allowed_mentions"]["roles"].as_array().into_iter().flatten() {
        content = content.replace(&format!("<@&{}>", role.as_str().unwrap_or_default()), "");
    }
    // A person who is named on purpose; the fake keeps whom a message mentions in its content.
    for user in body["allowed_mentions"]["users"].as_array().into_iter().flatten() {
        content = content.replace(&format!("<@{}>", user.as_str().unwrap_or_default()), "");
    }
    let mentions = ["@everyone", "@here", "<@"].iter().any(|mention| content.contains(mention));
    let allowed = &body["allowed_mentions"];
    let silent = ["users"].iter().all(|key| allowed[key].as_array().is_none_or(Vec::is_empty))
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
            if button["type"] == 3 && buttons.len() == 1 {
                select(button)?;
                length(button, "custom_id", 1, 100)?;
                continue;
            }
            // Style 5 is a link, which cannot be pressed.
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

/// Checks a select of texts.
fn select(select: &Value) -> Result<(), Refusal> {
    length(select, "placeholder", 0, 150)?;
    let options = select["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    if options.is_empty() || options.len() > 25 {
        return Err(Refusal::form("components", "Must be between 1 and 25 in length."));
    }
    let mut seen = Vec::new();
    for option in options {
        length(option, "label", 1, 100)?;
        length(option, "value", 1, 100)?;
        if seen.contains(&&option["value"]) {
            return Err(Refusal::form("components", "The specified option value is already used"));
        }
        seen.push(&option["value"]);
    }
    Ok(())
}

/// Checks the length of the trimmed text, in UTF-16 units to be strict.
fn length(body: &Value, key: &str, least: usize, most: usize) -> Result<(), Refusal> {
    let text = body[key].as_str().unwrap_or_default().trim();
    let length = text.encode_utf16().count();
    if (least..=most).contains(&length) {
        return Ok(());
    }
    Err(Refusal::form(key, &format!("Must be between {least} and {most} in length.")))
}
